/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Damages its heap in one of the classic ways, and dies.
 *
 *     heap_damage CASE
 *     heap_damage cases      lists them
 *
 * Prints the address of the block at fault before it does: what `hawk-core verify` has to name. The
 * first part of a case's name is the kind of damage.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 400, SMALL = 24, ODD = 0xf8, LARGE = 0x600, MAPPED = 300000, CACHED = 7 };

static char *volatile kept[KEPT];
static const char long_name[] = "a name that is much longer than whoever made room for it thought";

/** Blocks of many sizes around those of the case, some of them freed. */
static void live(void)
{
	for (int i = 0; i < KEPT; i++) {
		kept[i] = malloc(8 + (size_t)(i * 37 % 700));
		memset(kept[i], 'k', 8);
	}
	for (int i = 0; i < KEPT; i += 3) {
		free(kept[i]);
		kept[i] = NULL;
	}
}

static void at_fault(void *block)
{
	printf("%#lx\n", (unsigned long)(uintptr_t)block);
	fflush(stdout);
}

/* Neighbours: `first` lies right below `second`. Takes all free blocks of these sizes first. */
static char *volatile first, *volatile second, *volatile third;

static __attribute__((noinline)) char *make_block(size_t size)
{
	return malloc(size);
}

static void make_pair(size_t size, size_t next)
{
	for (int i = 0; i < 64; i++) {
		kept[i] = malloc(size);
		kept[i + 64] = malloc(next);
	}
	for (int i = 0; i < 64; i++) {
		first = make_block(size);
		second = make_block(next);
		third = make_block(next);
		if (second > first && (size_t)(second - first) < size + 64 && third > second)
			break;
	}
	memset(first, 'A', size);
	memset(second, 'z', next);
	at_fault(first);
}

static void over(size_t bytes)
{
	make_pair(SMALL, SMALL);
	memset(first, 'A', SMALL + bytes);
}

static void overflow_1(void)
{
	over(1);
}

static void overflow_8(void)
{
	over(8);
}

static void overflow_12(void)
{
	over(12);
}

static void overflow_100(void)
{
	over(100);
}

static void overflow_zeros(void)
{
	make_pair(SMALL, 40);
	memset(first + 8, 0, SMALL);
}

static void overflow_nul_flag(void)
{
	make_pair(SMALL, ODD);
	first[SMALL] = '\0';
}

static void overflow_nul_size(void)
{
	make_pair(SMALL, ODD + 64);
	first[SMALL] = '\0';
}

static void overflow_strcpy(void)
{
	make_pair(40, 40);
	strcpy(first, long_name);
}

static void overflow_element(void)
{
	make_pair(SMALL, 40);
	((volatile int *)first)[SMALL / sizeof(int)] = 1234567;
}

static void overflow_pointer(void)
{
	make_pair(SMALL, 40);
	((void *volatile *)first)[3] = (void *)long_name;
}

static void overflow_into_cached(void)
{
	make_pair(SMALL, SMALL);
	free(second);
	memset(first, 'A', SMALL + 12);
}

static void overflow_into_free(void)
{
	make_pair(SMALL, LARGE);
	kept[0] = malloc(SMALL);
	free(second);
	memset(first, 'A', SMALL + 20);
}

static void overflow_into_top(void)
{
	char *last = malloc(100000);

	at_fault(last);
	memset(last, 'A', 100000 + 32);
}

static void overflow_into_top_size(void)
{
	char *last = malloc(100008);

	at_fault(last);
	last[100007] = last[100008] = 'A';
}

static void overflow_mapped(void)
{
	char *above = malloc(MAPPED), *below = malloc(MAPPED);
	char *low = above < below ? above : below;

	at_fault(low);
	memset(low, 'M', MAPPED + 8192);
}

static void overflow_then_free(void)
{
	over(8);
	free(second);
}

static void overflow_then_realloc(void)
{
	make_pair(200, 200);
	memset(first, 'A', 216);
	first = realloc(first, 5000);
}

static void overflow_then_malloc(void)
{
	overflow_into_top();
	kept[0] = malloc(120000);
}

static void *in_thread(void *function)
{
	live();
	((void (*)(void))(uintptr_t)function)();
	return NULL;
}

static void run_thread(void (*function)(void))
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, in_thread, (void *)(uintptr_t)function))
		pthread_join(thread, NULL);
}

static void overflow_thread(void)
{
	run_thread(overflow_12);
}

static void die_in_thread(void)
{
	over(12);
	abort();
}

static void overflow_living_thread(void)
{
	run_thread(die_in_thread);
}

static void under(int bytes)
{
	make_pair(SMALL, SMALL);
	at_fault(second);
	memset(second - bytes, 'z', (size_t)bytes);
}

static void underflow_1(void)
{
	under(1);
}

static void underflow_4(void)
{
	under(4);
}

static void underflow_8(void)
{
	under(8);
}

static void fill_cache(size_t size)
{
	char *blocks[CACHED];

	for (int i = 0; i < CACHED; i++)
		blocks[i] = malloc(size);
	for (int i = 0; i < CACHED; i++)
		free(blocks[i]);
}

static void double_unnoticed(void)
{
	make_pair(SMALL, SMALL);
	free(first);
	memset(first + 8, 0, 8);
	free(first);
}

static void double_fast(void)
{
	make_pair(SMALL, SMALL);
	fill_cache(SMALL);
	free(first);
	free(second);
	free(first);
}

static void double_fast_and_cached(void)
{
	make_pair(SMALL, SMALL);
	fill_cache(SMALL);
	free(first);
	kept[0] = malloc(SMALL);
	free(first);
}

static void double_abort(void)
{
	make_pair(SMALL, SMALL);
	free(first);
	free(first);
}

static void double_abort_fast(void)
{
	make_pair(SMALL, SMALL);
	fill_cache(SMALL);
	free(first);
	free(first);
}

static void double_abort_large(void)
{
	make_pair(LARGE, LARGE);
	free(first);
	free(first);
}

static void use_cached(void)
{
	make_pair(SMALL, SMALL);
	free(second);
	free(first);
	memset(first, 'F', 8);
}

static void use_cached_key(void)
{
	make_pair(SMALL, SMALL);
	free(second);
	free(first);
	memset(first + 8, 'F', 8);
}

static void use_cached_zeros(void)
{
	make_pair(40, 40);
	free(second);
	free(first);
	memset(first, 0, 8);
}

static void use_fast(void)
{
	make_pair(SMALL, SMALL);
	fill_cache(SMALL);
	free(second);
	free(first);
	memset(first, 'F', 8);
}

static void use_free(void)
{
	make_pair(LARGE, LARGE);
	free(first);
	memset(first, 'F', 8);
}

static void use_free_links(void)
{
	make_pair(LARGE, LARGE);
	free(first);
	memset(first, 'F', 16);
}

static void use_free_pointer(void)
{
	make_pair(LARGE, LARGE);
	free(first);
	*(void *volatile *)first = kept[1];
}

static void use_then_malloc(void)
{
	make_pair(LARGE, LARGE);
	free(first);
	memset(first, 'F', 16);
	kept[0] = malloc(LARGE / 2);
}

static void use_thread(void)
{
	run_thread(use_cached);
}

static void invalid_inside(void)
{
	make_pair(200, 200);
	free(first + 32);
}

static void invalid_unaligned(void)
{
	make_pair(200, 200);
	free(first + 5);
}

/* The block holds what looks like a chunk, so that free() takes it. */
static void invalid_unnoticed(void)
{
	make_pair(200, 200);
	((uint64_t *)first)[3] = 0x31;
	((uint64_t *)first)[9] = 0x31;
	free(first + 32);
}

#define CASE(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		CASE(overflow_1),
		CASE(overflow_8),
		CASE(overflow_12),
		CASE(overflow_100),
		CASE(overflow_zeros),
		CASE(overflow_nul_flag),
		CASE(overflow_nul_size),
		CASE(overflow_strcpy),
		CASE(overflow_element),
		CASE(overflow_pointer),
		CASE(overflow_into_cached),
		CASE(overflow_into_free),
		CASE(overflow_into_top),
		CASE(overflow_into_top_size),
		CASE(overflow_mapped),
		CASE(overflow_then_free),
		CASE(overflow_then_realloc),
		CASE(overflow_then_malloc),
		CASE(overflow_thread),
		CASE(overflow_living_thread),
		CASE(underflow_1),
		CASE(underflow_4),
		CASE(underflow_8),
		CASE(double_unnoticed),
		CASE(double_fast),
		CASE(double_fast_and_cached),
		CASE(double_abort),
		CASE(double_abort_fast),
		CASE(double_abort_large),
		CASE(use_cached),
		CASE(use_cached_key),
		CASE(use_cached_zeros),
		CASE(use_fast),
		CASE(use_free),
		CASE(use_free_links),
		CASE(use_free_pointer),
		CASE(use_then_malloc),
		CASE(use_thread),
		CASE(invalid_inside),
		CASE(invalid_unaligned),
		CASE(invalid_unnoticed),
	};

	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0;
	     argc > 1 && !strcmp(argv[1], "cases") && i < sizeof(cases) / sizeof(cases[0]); i++)
		puts(cases[i].name);
	live();
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run();
			abort();
		}
	return 1;
}
