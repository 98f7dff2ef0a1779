/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The lock of the C library that a thread waits for in futex(), and its owner.
 */
#ifndef HAWK_ANALYZER_LIBC_LOCK_H
#define HAWK_ANALYZER_LIBC_LOCK_H

#include "hawk/target/target.h"

/** Snapshots hold these values: add new ones at the end. */
enum hawk_lock_kind {
	HAWK_LOCK_NONE = 0, /**< not the C library's, or not known */
	HAWK_LOCK_MUTEX,    /**< pthread_mutex_t, std::mutex */
	HAWK_LOCK_RWLOCK,
	HAWK_LOCK_CONDITION,
	HAWK_LOCK_SEMAPHORE,
	HAWK_LOCK_BARRIER,
	HAWK_LOCK_ONCE,
	HAWK_LOCK_THREAD,   /**< the end of another thread (pthread_join) */
	HAWK_LOCK_STREAM,   /**< of a FILE */
	HAWK_LOCK_INTERNAL, /**< one of the C library's own, which has no owner: malloc's, say */
	HAWK_LOCK_KINDS
};

struct hawk_lock {
	enum hawk_lock_kind kind;
	uint64_t address; /**< of the object; of the word if `kind` is NONE; 0 = no futex */
	/** As the C library has it (hawk_lock_tid_of()); 0 = not locked, or the kind has no owner.
	 */
	uint32_t owner_tid;
};

/** A thread that waits in futex(). */
struct hawk_futex {
	const struct hawk_thread *thread;
	uint64_t address;
	unsigned operation;
	enum hawk_lock_kind kind; /**< by the function that waits; NONE = not known */
};

/** Returns the kind of lock that a C library's function waits for, by the function's name. */
enum hawk_lock_kind hawk_lock_kind_of(const char *function);

/** Returns the thread's number as the C library knows it: in the process's own PID namespace, which
 * need not be that of the target's numbers. Reads the target. */
uint32_t hawk_lock_tid_of(const struct hawk_target *target, const struct hawk_thread *thread);

/** Finds the lock. Reads the target. */
void hawk_lock_find(const struct hawk_target *target, const struct hawk_futex *futex,
		    struct hawk_lock *ret);

#endif
