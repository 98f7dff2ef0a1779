/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What every thread does: its stack, its system call, the lock it waits for and who holds that, the
 * blocks that its frames point to. Threads that wait for each other in a circle are a deadlock.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_THREADS_H
#define HAWK_ANALYZER_ANALYSIS_THREADS_H

#include "hawk/analysis/whatis.h"
#include "hawk/heap/guest_frames.h"
#include "hawk/libc/lock.h"
#include "hawk/names/system_call.h"

struct hawk_snapshot_writer;

enum { HAWK_NO_THREAD = UINT32_MAX };

/** A live block to which a frame points. */
struct hawk_frame_block {
	uint32_t frame; /**< 0 = innermost, with the registers */
	uint32_t block; /**< its number in the heap */
	const char *type;
};

struct hawk_thread_work {
	const struct hawk_thread *thread;
	struct hawk_system_call call;
	struct hawk_lock lock;     /**< `address` 0: the thread waits for no futex */
	struct hawk_whatis object; /**< where the lock lies */
	uint32_t owner;            /**< number of the thread that holds it, or HAWK_NO_THREAD */
	bool owner_ended;          /**< the lock names an owner, which is no thread any more */
	uint32_t deadlock;         /**< number of its deadlock, from 1 on; 0 = none */
	uint32_t group;
	size_t block_first, block_count; /**< among struct hawk_threads' blocks */
};

/** Threads with the same stack, waiting for the same. */
struct hawk_thread_group {
	uint32_t first; /**< number of one of them */
	uint32_t count;
	struct hawk_stack stack;
	struct hawk_guest_frames guest; /**< functions of interpreters */
};

struct hawk_threads {
	struct hawk_thread_work *items; /**< in the target's order; owned */
	uint32_t count;
	/** The one that crashed first, then deadlocks, then the largest; owned. */
	struct hawk_thread_group *groups;
	size_t group_count;
	struct hawk_frame_block *blocks; /**< owned */
	size_t block_count, block_capacity;
	bool waits_unknown; /**< an older snapshot, which does not say what threads wait for */
	uint32_t deadlocks;
	uint32_t ended_owners; /**< threads that wait for a lock whose owner has ended */
};

/** What hawk_threads_make() reads. */
struct hawk_threads_wish {
	const struct hawk_target *target;
	struct hawk_symbols *symbols;
	const struct hawk_heap *heap;
	struct hawk_block_types *types;
	bool is_brief; /**< only the innermost frames, for locks; no blocks, no guests */
};

/** Fills `ret` with all threads. Reads the target. Deinitialize `ret` also after an error. */
struct hawk_error *hawk_threads_make(const struct hawk_threads_wish *wish,
				     struct hawk_threads *ret);
/** Looks up the names of where locks lie. The target may run again. */
void hawk_threads_resolve(const struct hawk_threads_wish *wish, struct hawk_threads *threads);
/** Writes to a snapshot what threads wait for. */
struct hawk_error *hawk_threads_save(const struct hawk_threads *threads,
				     struct hawk_snapshot_writer *writer);

void hawk_threads_deinit(struct hawk_threads *threads);

#endif
