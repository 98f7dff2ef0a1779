/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How far a long piece of work is. Who works says it; who listens, if anybody does, decides what to
 * show and when.
 *
 *     struct hawk_progress progress;
 *
 *     hawk_progress_begin(&progress, "reading pointers", count);
 *     for (i = 0; i < count; i++) {
 *             ...
 *             hawk_progress_tick(i);
 *     }
 *     hawk_progress_end(&progress);
 *
 * Progress is of the thread that began it, which alone tells its listener; the parts of
 * hawk_parallel_run() count for what the caller had begun, and say nothing. So no callback is ever
 * called from another thread than the one that asked for it, and nothing need be handed down. A
 * thread that nobody listens to only counts.
 */
#ifndef HAWK_ANALYZER_BASE_PROGRESS_H
#define HAWK_ANALYZER_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { HAWK_PROGRESS_STRIDE = 1 << 12 };

/** The owner's from begin to end; nobody else writes to it. */
struct hawk_progress {
	const char *stage; /**< an English phrase ("reading memory"); not copied */
	uint64_t all;      /**< 0 = how much there is to do is not known */
	bool in_bytes;     /**< `all` is worth a word */
	uint64_t done;     /**< internal: added to by several threads */
	uint64_t grain;    /**< internal: less is not worth telling */
	struct hawk_progress *outer;
};

struct hawk_progress_listener {
	/** Called at the beginning and the end of each stage, now and then between them, and while
	 * a thread waits for others. */
	void (*tell)(void *context, const struct hawk_progress *progress);
	void *context;
};

/** What this thread does is told to `listener` from now on, which must outlive that; NULL = nobody.
 * A child of fork() inherits it. */
void hawk_progress_listen(const struct hawk_progress_listener *listener);

/** `stage` begins, perhaps within another, of which nothing is told before this one has ended.
 */
void hawk_progress_begin(struct hawk_progress *progress, const char *stage, uint64_t all);

/** Likewise of bytes; `all` may become known later (hawk_progress_reach_of()). */
void hawk_progress_begin_bytes(struct hawk_progress *progress, const char *stage, uint64_t all);

/** It is the innermost. All of it counts as done. */
void hawk_progress_end(struct hawk_progress *progress);

/** So much more of the innermost stage is done. Cheap: called for every few thousand blocks it
 * costs nothing that can be measured. Does nothing if no stage has begun. */
void hawk_progress_add(uint64_t count);

/** So much of the innermost stage is done altogether, if that is more than was known. */
void hawk_progress_reach(uint64_t done);

/** The same of `all`. */
void hawk_progress_reach_of(uint64_t done, uint64_t all);

/** Tells again how far the innermost stage is: while waiting for others that add to it. */
void hawk_progress_refresh(void);

/** Whether anybody listens to this thread. */
bool hawk_progress_is_heard(void);

/** How much is done; any thread may ask. */
static inline uint64_t hawk_progress_done(const struct hawk_progress *progress)
{
	return __atomic_load_n(&progress->done, __ATOMIC_RELAXED);
}

/** One more is done: number `i` of those from 0 on that are counted one by one, in any order. */
static inline void hawk_progress_tick(uint64_t i)
{
	if (__builtin_expect(i % HAWK_PROGRESS_STRIDE == HAWK_PROGRESS_STRIDE - 1, 0))
		hawk_progress_add(HAWK_PROGRESS_STRIDE);
}

/** Likewise, of who passes some over: all before number `i` are done, those before `*told` were
 * told. */
static inline void hawk_progress_pass(uint64_t *told, uint64_t i)
{
	if (__builtin_expect(i - *told < HAWK_PROGRESS_STRIDE, 1))
		return;
	hawk_progress_add(i - *told);
	*told = i;
}

/** Internal to base/parallel.c: the stage that a thread's parts count for. */
struct hawk_progress *hawk_progress_current(void);
void hawk_progress_adopt(struct hawk_progress *progress);
/** Adds what this thread has not added yet. */
void hawk_progress_settle(void);

#endif
