/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Interrupts the tracer at every single instruction: the processor's trap flag sends a SIGTRAP
 * after each. What the handler does is the mode:
 *
 *     check     looks at the headers: each live block's is valid at every instant, no freed one's
 * is allocate  allocates and frees jump      jumps out, never to return: once at each instruction
 * of a short scene fork      forks a child that allocates: at every 7th instruction
 *
 * With a number behind it `jump` leaves out all but one of so many instructions. Needs an allocator
 * that may itself be interrupted (stress_allocator.c). The scenes: each function of the family; a
 * thread's first allocation and its end. Exit code 3 and a text: it has failed.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "hawk_trace_table.h"

enum {
	TRAP_FLAG = 0x100,
	BLOCKS = 16,
};

enum mode {
	CHECK,
	ALLOCATE,
	JUMP,
	FORK,
};

static const struct hawk_table_header *table;
static enum mode mode;
static volatile unsigned long steps, jump_at;
static unsigned long total_steps, stride = 1;
static volatile bool stepping;
static sigjmp_buf way_out;
static void *volatile keep;

/** Blocks that are alive, or were and are not; 0 where a call is in flight. */
static struct {
	void *volatile pointer;
	volatile bool live;
} blocks[BLOCKS];

static void fail(const char *what)
{
	fprintf(stderr, "stress_step: %s, step %lu\n", what, steps);
	_exit(3);
}

static void find_table(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start, end;
	char line[512], rights[8];

	while (maps && !table && fgets(line, sizeof(line), maps)) {
		const struct hawk_table_header *at;

		if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3 ||
		    strcmp(rights, "rw-p"))
			continue;
		for (; start + sizeof(*at) <= end && !table; start += HAWK_TABLE_ALIGNMENT) {
			at = (const void *)start;
			if (at->magic == hawk_table_magic() && at->self_address == start &&
			    at->primary_address == start)
				table = at;
		}
	}
	if (maps)
		fclose(maps);
	if (!table)
		fail("no table");
}

static bool is_live(void *pointer)
{
	const struct hawk_block_header *header = (const struct hawk_block_header *)pointer - 1;

	return hawk_header_is_live(&table->key, header->word0, header->word1, (uint64_t)header);
}

static void check_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].pointer && is_live(blocks[i].pointer) != blocks[i].live)
			fail(blocks[i].live ? "a live block has no header"
					    : "a dead block has a header");
}

static __attribute__((noinline)) void allocate_in_handler(void)
{
	void *one = malloc(33), *two = calloc(3, 44);

	if (!one || !two || !is_live(one) || !is_live(two))
		fail("no block in the handler");
	one = realloc(one, 3000);
	free(two);
	free(one);
	if (malloc_usable_size(two = aligned_alloc(64, 64)) < 64)
		fail("an aligned block is too small");
	free(two);
}

static void fork_in_handler(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		alarm(10);
		for (int i = 0; i < 10; i++)
			allocate_in_handler();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail("a child did not end well");
}

static void on_trap(int number, siginfo_t *info, void *data)
{
	ucontext_t *context = data;
	int saved_errno = errno;

	(void)number;
	(void)info;
	if (!stepping) {
		context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
		return;
	}
	steps++;
	if (mode == CHECK)
		check_all();
	else if (mode == ALLOCATE)
		allocate_in_handler();
	else if (mode == FORK && steps % 7 == 0)
		fork_in_handler();
	else if (mode == JUMP && steps == jump_at) {
		stepping = false;
		siglongjmp(way_out, 1);
	}
	errno = saved_errno;
}

static inline __attribute__((always_inline)) void start_stepping(void)
{
	stepping = true;
	__asm__ volatile("sub $128, %%rsp; pushfq; orq %0, (%%rsp); popfq; add $128, %%rsp"
			 :
			 : "i"(TRAP_FLAG)
			 : "memory", "cc");
}

static inline __attribute__((always_inline)) void stop_stepping(void)
{
	stepping = false; /* the next trap clears the flag */
}

static void begin(int i)
{
	blocks[i].pointer = NULL;
}

static void end(int i, void *pointer, bool live)
{
	blocks[i].live = live;
	blocks[i].pointer = pointer;
}

static void drop(int i)
{
	void *pointer = blocks[i].pointer;

	begin(i);
	free(pointer);
}

/** Every function; the errno of before must be there afterwards. */
static void scene_family(void)
{
	void *pointer = NULL;

	errno = 77;
	start_stepping();
	end(0, malloc(100), true);
	end(1, calloc(10, 30), true);
	end(2, realloc(NULL, 55), true);
	pointer = blocks[2].pointer;
	begin(2);
	end(2, realloc(pointer, 5000), true);
	end(3, aligned_alloc(256, 512), true);
	if (!posix_memalign(&pointer, 1 << 20, 10))
		end(4, pointer, true);
	end(5, memalign(4096, 1), true);
	pointer = blocks[0].pointer;
	begin(0);
	free(pointer);
	for (int i = 1; i < 6; i++)
		drop(i);
	stop_stepping();
	if (errno != 77)
		fail("errno has changed");
}

static pthread_key_t last_key;

/** Ours runs after the tracer's in every round: in the fourth the thread has no slot any more. */
static void in_destructor(void *data)
{
	end(6, malloc(10), true);
	drop(6);
	if (data == (void *)4)
		stop_stepping();
	else
		pthread_setspecific(last_key, (char *)data + 1);
}

static void *first_allocation(void *data)
{
	pthread_setspecific(last_key, (void *)1);
	start_stepping();
	end(7, malloc(100), true);
	drop(7);
	return data;
}

static void *family_in_thread(void *data)
{
	scene_family();
	return data;
}

/** What is jumped out of: short, so that every instruction of it can be tried. */
static __attribute__((noinline)) void scene_short(void)
{
	void *pointer;

	start_stepping();
	pointer = malloc(100);
	pointer = realloc(pointer, 40);
	free(pointer);
	stop_stepping();
}

/** Of a call from the very place of the call before, as in a loop: the cheapest there is. */
static __attribute__((noinline)) unsigned long usual_instructions(void)
{
	unsigned long before = 0;

	jump_at = 0;
	for (int i = 0; i < 3; i++) {
		before = steps;
		start_stepping();
		keep = malloc(100);
		stop_stepping();
		free(keep);
	}
	return steps - before;
}

static void run_thread(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL) || pthread_join(thread, NULL))
		fail("no thread");
	stepping = false;
}

static bool jump_out(unsigned long at)
{
	if (sigsetjmp(way_out, 1))
		return true;
	steps = 0;
	jump_at = at;
	scene_short();
	return false;
}

/**
 * Out of the scene at its first instruction, the second ... in one and the same thread. Every time
 * the thread must get back to where a call costs as little as before.
 */
static void *jump_everywhere(void *data)
{
	unsigned long usual = 0;

	for (unsigned long at = 1; jump_out(at); at += stride) {
		unsigned long now;

		for (int i = 0; i < 100; i++)
			allocate_in_handler();
		now = usual_instructions();
		usual = usual ? usual : now;
		if (now > usual * 3 / 2)
			fail("the thread has not recovered");
		total_steps++;
	}
	return data;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	static const char *const names[] = {"check", "allocate", "jump", "fork"};

	if (argc < 2)
		return 2;
	while (strcmp(names[mode], argv[1]))
		if (++mode > FORK)
			return 2;
	if (argc > 2)
		stride = strtoul(argv[2], NULL, 0);
	find_table();
	sigaction(SIGTRAP, &action, NULL);
	pthread_key_create(&last_key, in_destructor);
	if (mode == JUMP) {
		run_thread(jump_everywhere);
	} else {
		scene_family();
		scene_family();
		run_thread(family_in_thread);
		run_thread(first_allocation);
		run_thread(first_allocation);
		total_steps = steps;
	}
	printf("%lu instructions, %u slots, %lu dropped\n", total_steps, table->thread_count,
	       (unsigned long)table->dropped_objects);
	return total_steps < 200 / stride ? 4 : 0;
}
