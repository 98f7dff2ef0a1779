/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Progress of long work. The worker reports it; a listener, if any, decides what to show and when.
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
 * Progress belongs to the thread that began it, and only that thread calls its listener. Parts of
 * hawk_parallel_run() add to the caller's stage and call nothing. Callbacks therefore always run on
 * the thread that registered them. Without a listener a thread only counts.
 */
#ifndef HAWK_ANALYZER_BASE_PROGRESS_H
#define HAWK_ANALYZER_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { HAWK_PROGRESS_STRIDE = 1 << 12 };

/** Owned by the caller of begin until end; other code must not write to it. */
struct hawk_progress {
	const char *stage; /**< an English phrase ("reading memory"); not copied */
	uint64_t all;      /**< 0 = unknown total */
	bool in_bytes;     /**< `all` is in bytes, worth showing */
	uint64_t done;     /**< internal: several threads add to it */
	uint64_t grain;    /**< internal: smaller steps are not reported */
	struct hawk_progress *outer;
};

struct hawk_progress_listener {
	/** Called when a stage begins and ends, at intervals in between, and while a thread waits
	 * for others. */
	void (*tell)(void *context, const struct hawk_progress *progress);
	void *context;
};

/** Reports this thread's progress to `listener`, which must outlive its use; NULL = none. A child
 * of fork() inherits it. */
void hawk_progress_listen(const struct hawk_progress_listener *listener);

/** Begins `stage`. Stages nest; the outer one is not reported until the inner one ends. */
void hawk_progress_begin(struct hawk_progress *progress, const char *stage, uint64_t all);

/** The same in bytes; `all` may become known later (hawk_progress_reach_of()). */
void hawk_progress_begin_bytes(struct hawk_progress *progress, const char *stage, uint64_t all);

/** Ends the innermost stage, which counts as fully done. */
void hawk_progress_end(struct hawk_progress *progress);

/** Adds `count` to the innermost stage; does nothing without one. Unmeasurably cheap when called
 * every few thousand blocks. */
void hawk_progress_add(uint64_t count);

/** Raises the innermost stage's total done to `done`; never lowers it. */
void hawk_progress_reach(uint64_t done);

/** The same, and sets `all`. */
void hawk_progress_reach_of(uint64_t done, uint64_t all);

/** Reports the innermost stage again, while waiting for threads that add to it. */
void hawk_progress_refresh(void);

/** Returns true if this thread has a listener. */
bool hawk_progress_is_heard(void);

/** Returns how much is done; any thread may call it. */
static inline uint64_t hawk_progress_done(const struct hawk_progress *progress)
{
	return __atomic_load_n(&progress->done, __ATOMIC_RELAXED);
}

/** Counts item `i` as done. Items are numbered from 0 and may come in any order. */
static inline void hawk_progress_tick(uint64_t i)
{
	if (__builtin_expect(i % HAWK_PROGRESS_STRIDE == HAWK_PROGRESS_STRIDE - 1, 0))
		hawk_progress_add(HAWK_PROGRESS_STRIDE);
}

/**
 * Likewise for loops that skip items: all before `i` are done; those before `*told` were reported.
 */
static inline void hawk_progress_pass(uint64_t *told, uint64_t i)
{
	if (__builtin_expect(i - *told < HAWK_PROGRESS_STRIDE, 1))
		return;
	hawk_progress_add(i - *told);
	*told = i;
}

/** Internal to base/parallel.c: the stage that a thread's parts add to. */
struct hawk_progress *hawk_progress_current(void);
void hawk_progress_adopt(struct hawk_progress *progress);
/** Adds this thread's pending count. */
void hawk_progress_settle(void);

#endif
