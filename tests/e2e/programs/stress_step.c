/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Interrupts the tracer at every single instruction: the processor's trap flag sends a SIGTRAP
 * after each. What the handler does is the mode:
 *
 *     check     looks at the headers: each live block's is valid at every instant, no freed one's
 *               is, and no block is counted that has none
 *     allocate  allocates and frees
 *     jump      jumps out, never to return: once at each instruction of a short scene
 *     fork      forks a child that allocates and then ends the scene: at every 7th instruction, or
 *               the number given behind the other one
 *     clone     as fork, past the C library's handlers: _Fork() or a raw system call. Every other
 *               child allocates only when it is back. Of what it does its parent's table has no
 *               more than the call that was interrupted
 *     poor      as clone, and the child has no memory for a table of its own
 *
 * With a number behind it `jump` leaves out all but one of so many instructions. Needs an allocator
 * that may itself be interrupted (stress_allocator.c). The scenes: each function of the family; a
 * thread's first allocation and its end. Exit code 3 and a text: it has failed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "paths.h"
#include "stress_table.h"

enum {
	TRAP_FLAG = 0x100,
	BLOCKS = 16,
};

enum mode {
	CHECK,
	ALLOCATE,
	JUMP,
	FORK,
	CLONE,
	POOR,
	SUMS,
};

static enum mode mode;
static volatile unsigned long steps, jump_at;
static unsigned long total_steps, stride = 1, fork_every = 7;
static volatile bool stepping, is_child, is_poor;
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

static bool is_live(void *pointer)
{
	const struct hawk_block_header *header = (const struct hawk_block_header *)pointer - 1;

	return hawk_header_is_live(&table->key, header->word0, header->word1, (uint64_t)header);
}

static uint64_t live_elsewhere;  /**< not in `blocks` */
static void *const *latest_base; /**< what stress_allocator.c gave out last */

/** The block that the call at hand has made has its header already. */
static bool is_latest_sealed(void)
{
	enum { ALIGNMENT_LOG2_MAX = 20 };

	for (unsigned i = 4; *latest_base && i <= ALIGNMENT_LOG2_MAX; i++)
		if (is_live((char *)*latest_base + (1 << i)))
			return true;
	return false;
}

/** No more than in `blocks`, but for the one at hand. */
static void check_count(void)
{
	uint64_t sealed = live_elsewhere;

	for (int i = 0; i < BLOCKS; i++)
		sealed += blocks[i].pointer && blocks[i].live;
	if (count_live() > sealed + is_latest_sealed())
		fail("a block without a header is counted");
}

static void check_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].pointer && is_live(blocks[i].pointer) != blocks[i].live)
			fail(blocks[i].live ? "a live block has no header"
					    : "a dead block has a header");
	check_count();
}

/** Before the first call of a scene. */
static void count_elsewhere(void)
{
	live_elsewhere = count_live();
	for (int i = 0; i < BLOCKS; i++)
		live_elsewhere -= blocks[i].pointer && blocks[i].live;
}

/** The counts before the current call, and its bytes. */
static struct sums known;
static uint64_t call_bytes, flushes_seen;
static bool call_frees;

/** A number that is what it was, or that and what the call adds. */
static bool grows(uint64_t now, uint64_t before, uint64_t more)
{
	return now == before || now == before + more;
}

static void check_sums(void)
{
	struct sums now = add_up();
	uint64_t allocates = call_frees ? 0 : 1, frees = call_frees ? 1 : 0;

	for (uint32_t i = 0; i < table->thread_count; i++)
		flushes_seen += thread_at(i)->flush & HAWK_FLUSH_PENDING;
	if (!grows(now.alloc_objects, known.alloc_objects, allocates) ||
	    !grows(now.alloc_bytes, known.alloc_bytes, allocates * call_bytes) ||
	    !grows(now.free_objects, known.free_objects, frees) ||
	    !grows(now.free_bytes, known.free_bytes, frees * call_bytes))
		fail("the counters do not add up");
}

static __attribute__((noinline)) void allocate_in_handler(void)
{
	void *one = malloc(33), *two = calloc(3, 44);

	if (!one || !two || (!is_poor && (!is_live(one) || !is_live(two))))
		fail("no block in the handler");
	one = realloc(one, 3000);
	free(two);
	free(one);
	if (malloc_usable_size(two = aligned_alloc(64, 64)) < 64)
		fail("an aligned block is too small");
	free(two);
}

extern pid_t _Fork(void) __attribute__((weak)); /* glibc 2.34 */

static unsigned long clones;

static pid_t clone_somehow(void)
{
	if (_Fork && clones & 1)
		return _Fork();
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void be_poor(void)
{
	const struct rlimit nothing = {0, 0};

	is_poor = true;
	setrlimit(RLIMIT_AS, &nothing);
}

/** By how much: a free may also be taken back, and numbers wrap. */
static uint64_t differ(uint64_t one, uint64_t other)
{
	const uint64_t mask = (UINT64_C(1) << HAWK_COUNTER_OBJECTS_BITS) - 1;
	uint64_t more = (one - other) & mask, less = (other - one) & mask;

	return more < less ? more : less;
}

/** The child returns to the call that was interrupted, too. */
static void fork_in_handler(void)
{
	struct sums before = add_up(), after;
	pid_t pid = mode == FORK ? fork() : clone_somehow();
	int status = 0;

	if (!pid) {
		alarm(100);
		if (mode == POOR)
			be_poor();
		if (mode == FORK || clones & 2)
			for (int i = 0; i < 10; i++)
				allocate_in_handler();
		is_child = true;
		stepping = false;
		return;
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail("a child did not end well");
	clones++;
	after = add_up();
	if (differ(after.alloc_objects, before.alloc_objects) > (mode != FORK) ||
	    differ(after.free_objects, before.free_objects) > (mode != FORK))
		fail("a child has counted in its parent's table");
}

/** One step in `fork_every`, at no fixed distance: a child that shares the table's file takes what
 * its parent was about to take, so forks in every turn of a loop would keep the parent there. */
static bool is_time_to_fork(void)
{
	uint64_t mixed = steps * UINT64_C(0x9e3779b97f4a7c15);

	return (mixed >> 32) % fork_every == 0;
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
	else if (mode == SUMS)
		check_sums();
	else if (mode == ALLOCATE)
		allocate_in_handler();
	else if (mode >= FORK && mode <= POOR && is_time_to_fork())
		fork_in_handler();
	else if (mode == JUMP && steps == jump_at) {
		stepping = false;
		siglongjmp(way_out, 1);
	}
	errno = saved_errno;
}

static inline __attribute__((always_inline)) void start_stepping(void)
{
	if (is_child)
		return;
	if (mode == CHECK)
		count_elsewhere();
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

/** The block is in a call from now on. */
static void *take(int i)
{
	void *pointer = blocks[i].pointer;

	blocks[i].pointer = NULL;
	return pointer;
}

static void put(int i, void *pointer)
{
	blocks[i].live = true;
	blocks[i].pointer = pointer;
}

/** Every function; the errno of before must be there afterwards. */
static void scene_family(void)
{
	void *pointer = NULL;

	start_stepping();
	errno = 77;
	put(0, malloc(100));
	put(1, calloc(10, 30));
	put(2, realloc(NULL, 55));
	put(2, realloc(take(2), 5000));
	pointer = take(2);
	if (realloc(pointer, 1UL << 40))
		fail("so much memory");
	errno = 77;
	put(2, pointer);
	put(3, aligned_alloc(256, 512));
	if (!posix_memalign(&pointer, 1 << 20, 10))
		put(4, pointer);
	put(5, memalign(4096, 1));
	for (int i = 0; i < 6; i++)
		free(take(i));
	stop_stepping();
	if (errno != 77)
		fail("errno has changed");
	if (is_child) {
		for (int i = 0; i < 10; i++)
			allocate_in_handler();
		_exit(0);
	}
}

static pthread_key_t last_key;

/** Ours runs after the tracer's in every round: in the fourth the thread has no slot any more. */
static void in_destructor(void *data)
{
	put(6, malloc(10));
	free(take(6));
	if (data == (void *)4)
		stop_stepping();
	else
		pthread_setspecific(last_key, (char *)data + 1);
}

static void *first_allocation(void *data)
{
	pthread_setspecific(last_key, (void *)1);
	start_stepping();
	put(7, malloc(100));
	free(take(7));
	return data;
}

static void *family_in_thread(void *data)
{
	scene_family();
	return data;
}

/** A scene to jump out of: short, so that every instruction can be tried. */
static __attribute__((noinline)) void scene_short(void)
{
	void *pointer;

	start_stepping();
	pointer = malloc(100);
	pointer = realloc(pointer, 40);
	free(pointer);
	stop_stepping();
}

/** Returns the instructions of a call from the same place as the one before, as in a loop: the
 * cheapest of a few, since some calls read the clock. */
static __attribute__((noinline)) unsigned long usual_instructions(void)
{
	unsigned long least = ULONG_MAX;

	jump_at = 0;
	for (int i = 0; i < 4; i++) {
		unsigned long before = steps;

		start_stepping();
		keep = malloc(100);
		stop_stepping();
		free(keep);
		if (steps - before < least)
			least = steps - before;
	}
	return least;
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

enum { PATH_BITS = 11 };

/** Makes a block and frees it; with the trap flag if `data` says so. */
static void count_calls(void *data)
{
	const bool *step = data;
	void *volatile block = NULL;

	for (int i = 0; i < 2; i++) {
		known = add_up();
		call_frees = i;
		if (*step)
			start_stepping();
		if (i)
			free(block);
		else
			block = malloc(call_bytes);
		if (*step)
			stop_stepping();
		if (i ? add_up().free_objects != known.free_objects + 1
		      : add_up().alloc_bytes != known.alloc_bytes + call_bytes)
			fail("a call was not counted");
	}
}

/** More stacks than a thread has counters: first all of them, then some under the trap flag. */
static void scene_sums(void)
{
	call_bytes = 48;
	for (unsigned path = 0; path < 1 << PATH_BITS; path++)
		call_by_path(path, PATH_BITS, count_calls, &(bool){false});
	for (unsigned path = 0; path < 1 << PATH_BITS; path += 61)
		call_by_path(path, PATH_BITS, count_calls, &(bool){true});
	total_steps = steps;
	if (!flushes_seen)
		fail("no flush was seen");
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	static const char *const names[] = {"check", "allocate", "jump", "fork",
					    "clone", "poor",     "sums"};

	if (argc < 2)
		return 2;
	while (strcmp(names[mode], argv[1]))
		if (++mode > SUMS)
			return 2;
	if (argc > 2)
		stride = strtoul(argv[2], NULL, 0);
	if (argc > 3)
		fork_every = strtoul(argv[3], NULL, 0);
	if (!find_table())
		fail("no table");
	latest_base = dlsym(RTLD_DEFAULT, "stress_latest_base");
	if (!latest_base)
		fail("no allocator that may be interrupted");
	sigaction(SIGTRAP, &action, NULL);
	pthread_key_create(&last_key, in_destructor);
	if (mode == JUMP) {
		run_thread(jump_everywhere);
	} else if (mode == SUMS) {
		scene_sums();
	} else {
		scene_family();
		scene_family();
		run_thread(family_in_thread);
		run_thread(first_allocation);
		run_thread(first_allocation);
		total_steps = steps;
	}
	printf("%lu instructions, %u slots, %lu dropped\n", total_steps, table->thread_count,
	       (unsigned long)count_dropped());
	return total_steps < 200 / stride ? 4 : 0;
}
