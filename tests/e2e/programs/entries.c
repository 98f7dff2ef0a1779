/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Every entry point of every allocator that is there (all are weak), in any mix: what one function
 * makes another one resizes and a third one frees. Content, alignment and sizes are checked at each
 * step; any mistake ends the program with exit code 3.
 *
 *     entries FAMILY STEPS THREADS SEED end|abort|count
 *
 * FAMILY is jemalloc, tcmalloc or mimalloc. At the end it prints "live ADDRESS SIZE FUNCTION" for
 * every block, where FUNCTION is the one that called the allocator last, and aborts. `count` prints
 * how many functions are there. Compiled with ENTRIES_DLSYM every function is looked up by dlsym()
 * at each call; compiled as a library with another name for main() it can be loaded late.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "entries.h"
#include "random.h"

enum { SLOTS = 300, THREADS_MAX = 16, FUNCTIONS_MAX = 100 };

struct slot {
	unsigned char *pointer;
	size_t size;
	unsigned salt;
	const char *function;
};

struct worker {
	pthread_t thread;
	uint64_t random;
	struct slot slots[SLOTS];
};

static const struct entries_family *const families[] = {&entries_jemalloc, &entries_tcmalloc,
							&entries_mimalloc};
static const struct entries_family *family;
/** The entries present. */
static const struct entries_function *by_kind[ENTRIES_KINDS][FUNCTIONS_MAX];
static unsigned counts[ENTRIES_KINDS];
static struct worker workers[THREADS_MAX];
static unsigned long step_count;

static void fail(const char *what, const char *function, size_t size)
{
	char text[200];
	int length =
		snprintf(text, sizeof(text), "entries: %s: %s (%zu bytes)\n", function, what, size);

	if (write(2, text, (size_t)length) < 0)
		_exit(4);
	_exit(3);
}

static void fill(struct slot *slot, size_t from)
{
	for (size_t i = from; i < slot->size; i++)
		slot->pointer[i] = (unsigned char)((slot->salt + i) * 131);
}

static void check(const struct slot *slot, size_t size, const char *function)
{
	for (size_t i = 0; i < size; i++)
		if (slot->pointer[i] != (unsigned char)((slot->salt + i) * 131))
			fail("content has changed", function, size);
}

static size_t usable_size(void *pointer)
{
	size_t usable = malloc_usable_size(pointer);

	for (unsigned i = 0; i < counts[ENTRIES_QUERY]; i++)
		if (by_kind[ENTRIES_QUERY][i]->query(pointer) != usable)
			fail("another size than malloc_usable_size's",
			     by_kind[ENTRIES_QUERY][i]->name, usable);
	return usable;
}

static const struct entries_function *choose(enum entries_kind kind, uint64_t *random)
{
	return by_kind[kind][next_random(random) % counts[kind]];
}

static size_t random_size(uint64_t *random)
{
	uint64_t value = next_random(random);

	if (value % 400 == 0)
		return 1 + (value >> 20) % 3000000;
	if (value % 10 == 0)
		return 1 + (value >> 20) % 20000;
	return 1 + (value >> 20) % 300;
}

static size_t random_alignment(uint64_t *random)
{
	uint64_t value = next_random(random);

	return (size_t)8 << (value % 50 ? value % 6 : value % 14);
}

static void make(struct slot *slot, uint64_t *random)
{
	const struct entries_function *maker = choose(ENTRIES_MAKE, random);
	size_t alignment = random_alignment(random), size = random_size(random), usable;

	size += !(size & (size - 1)); /* mimalloc 2.0.9 aligns badly if size = alignment >= 256 */
	slot->pointer = maker->make(size, alignment);
	slot->size = size;
	slot->function = maker->name;
	slot->salt = (unsigned)next_random(random);
	if (!slot->pointer)
		fail("no memory", maker->name, size);
	if ((maker->flags & ALIGNED) && (uintptr_t)slot->pointer % alignment)
		fail("badly aligned", maker->name, alignment);
	for (size_t i = 0; (maker->flags & ZEROED) && i < size; i++)
		if (slot->pointer[i])
			fail("not zero", maker->name, i);
	usable = usable_size(slot->pointer);
	if (usable < size)
		fail("too small", maker->name, size);
	memset(slot->pointer, 0xa5, usable);
	fill(slot, 0);
}

static void resize(struct slot *slot, uint64_t *random)
{
	const struct entries_function *resizer = choose(ENTRIES_RESIZE, random);
	size_t alignment = random_alignment(random), size = random_size(random);
	size_t kept = slot->size < size ? slot->size : size;
	unsigned char *pointer;

	pointer = resizer->resize(slot->pointer, size, alignment);
	if (!pointer && !(resizer->flags & IN_PLACE))
		fail("no memory", resizer->name, size);
	if (!pointer) {
		check(slot, slot->size, resizer->name);
		return;
	}
	if ((resizer->flags & IN_PLACE) && pointer != slot->pointer)
		fail("has moved", resizer->name, size);
	if ((resizer->flags & ALIGNED) && (uintptr_t)pointer % alignment)
		fail("badly aligned", resizer->name, alignment);
	slot->pointer = pointer;
	/* A request in place for the present size does not make the block anew. */
	if (!(resizer->flags & IN_PLACE) || size != slot->size)
		slot->function = resizer->name;
	slot->size = size;
	check(slot, kept, resizer->name);
	if (usable_size(pointer) < size)
		fail("too small", resizer->name, size);
	fill(slot, kept);
}

static void release(struct slot *slot, uint64_t *random)
{
	check(slot, slot->size, slot->function);
	choose(ENTRIES_FREE, random)->free(slot->pointer, slot->size);
	slot->pointer = NULL;
}

static void *work(void *data)
{
	struct worker *worker = data;

	for (unsigned long i = 0; i < step_count; i++) {
		struct slot *slot = &worker->slots[next_random(&worker->random) % SLOTS];

		if (!slot->pointer)
			make(slot, &worker->random);
		else if (next_random(&worker->random) % 3)
			release(slot, &worker->random);
		else
			resize(slot, &worker->random);
	}
	if (family->at_thread_end)
		family->at_thread_end();
	return NULL;
}

static void print_live(unsigned threads)
{
	for (unsigned t = 0; t < threads; t++)
		for (unsigned i = 0; i < SLOTS; i++)
			if (workers[t].slots[i].pointer)
				printf("live %p %zu %s\n", (void *)workers[t].slots[i].pointer,
				       workers[t].slots[i].size, workers[t].slots[i].function);
	fflush(stdout);
}

static void release_all(unsigned threads)
{
	for (unsigned t = 0; t < threads; t++)
		for (unsigned i = 0; i < SLOTS; i++)
			while (workers[t].slots[i].pointer)
				release(&workers[t].slots[i], &workers[t].random);
	printf("done\n");
}

static const struct entries_family *find_family(const char *name)
{
	for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (!strcmp(families[i]->name, name))
			return families[i];
	return NULL;
}

/** Returns how many there are. */
static unsigned find_functions(void)
{
	unsigned found = 0;

	for (unsigned i = 0; i < family->count; i++) {
		struct entries_function *function = &family->functions[i];

#ifdef ENTRIES_DLSYM
		function->there = dlsym(RTLD_DEFAULT, function->symbol);
#endif
		if (!function->there)
			continue;
		by_kind[function->kind][counts[function->kind]++] = function;
		found++;
	}
	return found;
}

int main(int argc, char **argv)
{
	unsigned threads, functions;
	const char *wrong;

	if (argc < 6)
		return 2;
	family = find_family(argv[1]);
	if (!family)
		return 2;
	functions = find_functions();
	if (!strcmp(argv[5], "count")) {
		printf("%u\n", functions);
		return 0;
	}
	step_count = strtoul(argv[2], NULL, 10);
	threads = (unsigned)strtoul(argv[3], NULL, 10);
	if (threads > THREADS_MAX)
		return 2;
	for (unsigned t = 0; t < threads; t++) {
		workers[t].random = strtoul(argv[4], NULL, 10) * 1000003 + t + 1;
		if (pthread_create(&workers[t].thread, NULL, work, &workers[t]))
			return 2;
	}
	for (unsigned t = 0; t < threads; t++)
		pthread_join(workers[t].thread, NULL);
	wrong = family->check();
	if (wrong)
		fail("a wrong answer", wrong, 0);
	if (!strcmp(argv[5], "abort")) {
		print_live(threads);
		abort();
	}
	release_all(threads);
	return 0;
}
