/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ground truth, the part that C and C++ share: threads that allocate, resize, free and hand blocks
 * to each other at random, and that write down every block that is left before the program aborts.
 *
 * A call path is named by three digits: level1_A calls level2_B calls level3_C, which allocates.
 * The truth file has one line per live block and one per path with its cumulative counters:
 *
 *     block ADDRESS SIZE KIND A B C
 *     path A B C OBJECTS BYTES
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	LEVEL1_COUNT = 4,
	LEVEL2_COUNT = 4,
	LEVEL3_COUNT = 8,
	PATH_COUNT = LEVEL1_COUNT * LEVEL2_COUNT * LEVEL3_COUNT,
};

#ifdef __clang__
#define LINK_OF_PATH __attribute__((noinline))
#else
#define LINK_OF_PATH __attribute__((noipa))
#endif

/** Keeps the call in front of it from becoming a tail call. */
#define NO_TAIL_CALL() __asm__ volatile("" : : : "memory")

/** One allocation to make. `how` chooses among the program's entry points. */
struct job {
	int path1, path2, path3;
	int how;
	size_t size;
	void *old;        /**< block to resize, or NULL */
	const char *kind; /**< result: the name of the entry point's kind */
	int release;      /**< result: which way to free it */
};

/* Defined by the program. */

/** Number of different `how`s. */
extern const int how_count;
void *allocate(struct job *job);
void release(void *block, int way, size_t size);
/** Returns true if blocks released in this way may be passed to realloc(). */
int can_resize(int way);

/* Defined by truth_workload.c. */
int run_workload(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
