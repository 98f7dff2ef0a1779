/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes spans, and decides which thread makes one: the others sleep on its claim.
 */
#include "span.h"

#include <limits.h>
#include <linux/futex.h>
#include <time.h>

#include "arena.h"
#include "file.h"
#include "place.h"
#include "syscall.h"

enum {
	PAGE_BYTES = 1 << HAWK_SPAN_PAGE_LOG2,
	PAUSE_NS = 10000000,
#ifdef HAWK_MODEL
	PAUSES_MAX = 1, /**< small, so that the model checker sees claims being taken over */
#else
	PAUSES_MAX = 100,
#endif
};

static uint64_t pack(uint64_t address, size_t bytes)
{
	return address >> HAWK_SPAN_PAGE_LOG2 << HAWK_SPAN_COUNT_BITS |
	       bytes >> HAWK_SPAN_PAGE_LOG2;
}

static bool is_in_file(const struct hawk_span_shape *shape)
{
	return shape->kind != HAWK_EXTENT_PRIVATE && hawk_file_active();
}

/** Returns the size to map for at least `bytes`; 0 without room. */
static size_t choose_size(const struct hawk_span_shape *shape, size_t bytes)
{
	uint64_t room = hawk_place_room(), file = is_in_file(shape) ? hawk_file_room() : UINT64_MAX;
	size_t least = (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
	size_t half;

	room = room < file ? room : file;
	half = room / 2 & -(uint64_t)PAGE_BYTES;
	if (shape->bytes <= half)
		return shape->bytes;
	if (least > room)
		return 0;
	return half > least ? half : least;
}

static void *map_in_file(size_t bytes, uint64_t *file_offset)
{
	void *memory;

	if (!hawk_place_take(bytes))
		return NULL;
	memory = hawk_file_map(bytes, file_offset);
	if (!memory)
		hawk_place_give_back(NULL, bytes);
	return memory;
}

static void make(struct hawk_span *span, const struct hawk_span_shape *shape, size_t least)
{
	uint64_t expected = 0, file_offset = 0;
	size_t bytes = choose_size(shape, least);
	void *memory;

	if (!bytes)
		return;
	memory = is_in_file(shape) ? map_in_file(bytes, &file_offset)
				   : hawk_place_map(bytes, shape->kind != HAWK_EXTENT_PRIVATE);
	if (!memory)
		return;
	if ((!shape->wiped || hawk_file_wipe_on_fork(memory, shape->wiped)) &&
	    __atomic_compare_exchange_n(&span->state, &expected, pack((uint64_t)memory, bytes),
					false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		hawk_arena_publish(memory, bytes, shape->kind, file_offset);
	else if (!is_in_file(shape)) /* file mappings stay: others may be growing from them */
		hawk_place_give_back(memory, bytes);
}

static void pause_for(const uint32_t *claim, uint32_t owner)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	/* If a sandbox forbids this, claims are taken over sooner. */
	hawk_syscall6(SYS_futex, (long)claim, FUTEX_WAIT_PRIVATE, owner, (long)&pause, 0, 0);
}

/** Waits until the thread `tid` has the claim or the span is made. Returns true with the claim; the
 * caller must check the span again.
 */
static bool take_claim(struct hawk_span *span, uint32_t tid)
{
	uint32_t last = 0;
	unsigned pauses = 0;

	for (;;) {
		uint32_t owner = 0;

		if (__atomic_compare_exchange_n(&span->claim, &owner, tid, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED) ||
		    owner == tid)
			return true;
		if (__atomic_load_n(&span->state, __ATOMIC_ACQUIRE))
			return false;
		if (owner != last)
			pauses = 0;
		last = owner;
		if (pauses++ == PAUSES_MAX &&
		    __atomic_compare_exchange_n(&span->claim, &owner, tid, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		pause_for(&span->claim, owner);
	}
}

/** Ends the thread's claim unless it was taken over, and wakes the threads waiting for it. */
static void end_claim(struct hawk_span *span, uint32_t tid)
{
	if (__atomic_compare_exchange_n(&span->claim, &tid, 0, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		hawk_syscall3(SYS_futex, (long)&span->claim, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/** Returns true if there is no room left and nobody is making the span. Avoids a vain wait in every
 * call once the room is used up; the thread that takes the last room holds a claim until its span
 * is made. */
static bool is_hopeless(const struct hawk_span *span, const struct hawk_span_shape *shape,
			size_t bytes)
{
	return !choose_size(shape, bytes) && !__atomic_load_n(&span->claim, __ATOMIC_ACQUIRE);
}

uint64_t hawk_span_reach(struct hawk_span *span, const struct hawk_span_shape *shape, size_t bytes)
{
	uint32_t tid;

	if (!__atomic_load_n(&span->state, __ATOMIC_ACQUIRE) && !is_hopeless(span, shape, bytes)) {
		tid = (uint32_t)hawk_syscall3(SYS_gettid, 0, 0, 0);
		if (take_claim(span, tid)) {
			if (!__atomic_load_n(&span->state, __ATOMIC_ACQUIRE))
				make(span, shape, bytes);
			end_claim(span, tid);
		}
	}
	return hawk_span_find(span, bytes);
}

void hawk_span_set(struct hawk_span *span, uint64_t address, size_t bytes)
{
	span->state = pack(address, bytes);
	span->claim = 0;
}
