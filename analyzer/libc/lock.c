/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds a lock around the word that a thread waits for. Layouts: glibc's struct_mutex.h,
 * struct_rwlock.h, thread-shared-types.h, stdio-lock.h; the same in all versions but for
 * pthread_cond_t.
 *
 *     pthread_mutex_t    lock | count | owner | ...             waits at lock
 *     pthread_rwlock_t   readers | writers | phase | writer ... waits at phase, writer, or readers
 *     pthread_cond_t     ... | signals[2]                       waits at a signal; at 40, since 2.41 at 32
 *     pthread_barrier_t  in | round | ...                       waits at round
 *     _IO_lock_t         lock | count | owner (pthread_t)       waits at lock
 */
#include "hawk/libc/lock.h"

#include <linux/futex.h>
#include <string.h>

#include "descriptor.h"

enum {
	MUTEX_OWNER = 8,
	STREAM_OWNER = 8,
	RWLOCK_OWNER = 24,
	LOCKED_WITH_WAITERS = 2,
	STACK_WORDS = 256, /**< of the functions that wait: they keep the object's address */
};

enum hawk_lock_kind hawk_lock_kind_of(const char *function)
{
	static const struct {
		const char *part;
		enum hawk_lock_kind kind;
	} parts[] = {
		{"pthread_mutex_", HAWK_LOCK_MUTEX},     {"pthread_rwlock_", HAWK_LOCK_RWLOCK},
		{"pthread_cond_", HAWK_LOCK_CONDITION},  {"sem_wait", HAWK_LOCK_SEMAPHORE},
		{"sem_timedwait", HAWK_LOCK_SEMAPHORE},  {"sem_clockwait", HAWK_LOCK_SEMAPHORE},
		{"pthread_barrier_", HAWK_LOCK_BARRIER}, {"pthread_once", HAWK_LOCK_ONCE},
		{"pthread_join", HAWK_LOCK_THREAD},      {"pthread_clockjoin", HAWK_LOCK_THREAD},
		{"pthread_timedjoin", HAWK_LOCK_THREAD},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(function, parts[i].part))
			return parts[i].kind;
	return HAWK_LOCK_NONE;
}

static uint32_t read_number(const struct hawk_target *target, uint64_t address)
{
	uint32_t number;

	return hawk_target_read_some(target, address, &number, sizeof(number)) == sizeof(number)
		       ? number
		       : 0;
}

uint32_t hawk_lock_tid_of(const struct hawk_target *target, const struct hawk_thread *thread)
{
	const struct hawk_descriptors in = hawk_descriptors_of(target);
	uint64_t descriptor = in.layout ? hawk_descriptor_of(&in, thread) : 0;
	uint32_t tid = descriptor ? read_number(target, descriptor + in.layout->tid) : 0;

	return tid ? tid : thread->tid;
}

static bool is_thread(const struct hawk_target *target, uint32_t tid)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	for (size_t i = 0; i < count; i++)
		if (hawk_lock_tid_of(target, &threads[i]) == tid)
			return true;
	return false;
}

/* Returns true if the thread holds the address in a register, or in the innermost frames. */
static bool is_kept(const struct hawk_target *target, const struct hawk_thread *thread,
		    uint64_t address)
{
	uint64_t words[STACK_WORDS];
	size_t count =
		hawk_target_read_some(target, thread->sp, words, sizeof(words)) / sizeof(*words);

	for (size_t i = 0; i < count; i++)
		if (words[i] == address)
			return true;
	for (size_t i = 0; i < HAWK_REGISTERS_MAX; i++)
		if (thread->registers[i] == address)
			return true;
	return false;
}

/* Returns the object that has the word at one of these offsets, 0 ends them; else 0. */
static uint64_t find_start(const struct hawk_target *target, const struct hawk_futex *futex,
			   const uint8_t *offsets)
{
	for (; *offsets; offsets++)
		if ((futex->address - *offsets) % 8 == 0 &&
		    is_kept(target, futex->thread, futex->address - *offsets))
			return futex->address - *offsets;
	return 0;
}

/* The thread whose descriptor holds the word that the kernel clears at its end. */
static uint32_t joined_thread(const struct hawk_target *target, uint64_t address)
{
	const struct hawk_descriptors in = hawk_descriptors_of(target);

	if (!in.layout || !hawk_is_descriptor(&in, address - in.layout->tid))
		return 0;
	return read_number(target, address);
}

static uint32_t stream_owner(const struct hawk_target *target, uint64_t address)
{
	const struct hawk_descriptors in = hawk_descriptors_of(target);
	uint64_t owner = 0;
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	if (hawk_target_read_some(target, address + STREAM_OWNER, &owner, sizeof(owner)) !=
	    sizeof(owner))
		return 0;
	for (size_t i = 0; i < count && owner; i++)
		if (threads[i].thread_pointer - in.below == owner)
			return hawk_lock_tid_of(target, &threads[i]);
	return 0;
}

/* Finds out by its contents what a thread waits for. */
static void tell(const struct hawk_target *target, const struct hawk_futex *futex,
		 struct hawk_lock *ret)
{
	uint32_t owner = read_number(target, futex->address + MUTEX_OWNER);

	ret->owner_tid = joined_thread(target, futex->address);
	if (ret->owner_tid) {
		ret->kind = HAWK_LOCK_THREAD;
		return;
	}
	if (read_number(target, futex->address) != LOCKED_WITH_WAITERS)
		return;
	ret->owner_tid = stream_owner(target, futex->address);
	if (ret->owner_tid)
		ret->kind = HAWK_LOCK_STREAM;
	else if (owner && is_thread(target, owner))
		*ret = (struct hawk_lock){HAWK_LOCK_MUTEX, futex->address, owner};
	else
		ret->kind = HAWK_LOCK_INTERNAL;
}

void hawk_lock_find(const struct hawk_target *target, const struct hawk_futex *futex,
		    struct hawk_lock *ret)
{
	static const uint8_t in_condition[] = {40, 44, 32, 36, 0}, in_rwlock[] = {8, 12, 0},
			     in_barrier[] = {4, 0};
	unsigned command = futex->operation & FUTEX_CMD_MASK;
	uint64_t start = 0;

	*ret = (struct hawk_lock){.kind = futex->kind, .address = futex->address};
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		ret->kind = HAWK_LOCK_MUTEX;
		ret->owner_tid = read_number(target, futex->address) & FUTEX_TID_MASK;
		return;
	}
	switch (futex->kind) {
	case HAWK_LOCK_MUTEX:
		ret->owner_tid = read_number(target, futex->address + MUTEX_OWNER);
		break;
	case HAWK_LOCK_CONDITION:
		start = find_start(target, futex, in_condition);
		break;
	case HAWK_LOCK_RWLOCK:
		start = find_start(target, futex, in_rwlock);
		if (!start)
			start = futex->address; /* waits at `readers` */
		ret->owner_tid = read_number(target, start + RWLOCK_OWNER);
		break;
	case HAWK_LOCK_BARRIER:
		start = find_start(target, futex, in_barrier);
		break;
	case HAWK_LOCK_THREAD:
		ret->owner_tid = joined_thread(target, futex->address);
		break;
	case HAWK_LOCK_NONE:
		tell(target, futex, ret);
		break;
	default:
		break;
	}
	if (start)
		ret->address = start;
}
