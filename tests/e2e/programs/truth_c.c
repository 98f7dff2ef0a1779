/* SPDX-License-Identifier: Apache-2.0 */
/** @file Ground truth in C: every C entry point, along named call paths. */
#include "truth.h"

#include <malloc.h>
#include <stdlib.h>

enum { WAY_FREE };

const int how_count = 9;

void release(void *block, int way, size_t size)
{
	(void)way;
	(void)size;
	free(block);
}

int can_resize(int way)
{
	return way == WAY_FREE;
}

static inline void *allocate_now(struct job *job)
{
	size_t alignment = (size_t)32 << job->path3;
	void *block = NULL;
	void *volatile none = NULL; /* realloc of a known NULL would be compiled to malloc */

	job->release = WAY_FREE;
	if (job->old) {
		job->kind = "realloc";
		return job->how % 2 ? realloc(job->old, job->size)
				    : reallocarray(job->old, job->size, 1);
	}
	job->kind = "aligned";
	switch (job->how) {
	case 0:
		job->kind = "calloc";
		return calloc(1, job->size);
	case 1:
		job->kind = "realloc";
		return realloc(none, job->size);
	case 2:
		return posix_memalign(&block, alignment, job->size) ? NULL : block;
	case 3:
		job->size = (job->size + alignment - 1) / alignment * alignment;
		return aligned_alloc(alignment, job->size);
	case 4:
		return memalign(alignment, job->size);
	case 5:
		if (job->size < 4096)
			return valloc(job->size);
		/* fall through */
	default:
		job->kind = "malloc";
		return malloc(job->size);
	}
}

/* Used with a semicolon, as a declaration. */
#define LEVEL3(n)                                                                                  \
	LINK_OF_PATH static void *level3_##n(struct job *job)                                      \
	{                                                                                          \
		void *block = allocate_now(job);                                                   \
		NO_TAIL_CALL();                                                                    \
		return block;                                                                      \
	}                                                                                          \
	struct job
LEVEL3(0);
LEVEL3(1);
LEVEL3(2);
LEVEL3(3);
LEVEL3(4);
LEVEL3(5);
LEVEL3(6);
LEVEL3(7);

static void *(*const level3[])(struct job *) = {level3_0, level3_1, level3_2, level3_3,
						level3_4, level3_5, level3_6, level3_7};

/* Frames of different sizes, some of them known at run time only. */
#define LEVEL2(n)                                                                                  \
	LINK_OF_PATH static void *level2_##n(struct job *job)                                      \
	{                                                                                          \
		volatile char padding[16 + (n)*72];                                                \
		void *block;                                                                       \
		padding[0] = (char)job->how;                                                       \
		block = level3[job->path3](job);                                                   \
		padding[1] = padding[0];                                                           \
		return block;                                                                      \
	}                                                                                          \
	struct job
LEVEL2(0);
LEVEL2(1);
LEVEL2(2);

LINK_OF_PATH static void *level2_3(struct job *job)
{
	volatile char *space = (volatile char *)__builtin_alloca(16 + job->size % 200);
	void *block;

	space[0] = (char)job->how;
	block = level3[job->path3](job);
	space[1] = space[0];
	return block;
}

static void *(*const level2[])(struct job *) = {level2_0, level2_1, level2_2, level2_3};

#define LEVEL1(n)                                                                                  \
	LINK_OF_PATH static void *level1_##n(struct job *job)                                      \
	{                                                                                          \
		void *block = level2[job->path2](job);                                             \
		NO_TAIL_CALL();                                                                    \
		return block;                                                                      \
	}                                                                                          \
	struct job
LEVEL1(0);
LEVEL1(1);
LEVEL1(2);
LEVEL1(3);

static void *(*const level1[])(struct job *) = {level1_0, level1_1, level1_2, level1_3};

void *allocate(struct job *job)
{
	void *block = level1[job->path1](job);

	NO_TAIL_CALL();
	return block;
}

int main(int argc, char **argv)
{
	return run_workload(argc, argv);
}
