/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the walkers of allocators share: words of the target, memory that an allocator claims, and
 * anonymous memory that nobody has claimed. Private to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_WALKER_H
#define HAWK_ANALYZER_HEAP_WALKER_H

#include "hawk/base/array.h"
#include "hawk/heap/spans.h"
#include "hawk/target/near.h"

/** Memory of one allocator, claimed before others are looked for. */
struct hawk_claim {
	uint64_t start, end;
};

/** Zeros are none. After hawk_claims_sort() they are ascending and disjoint. */
struct hawk_claims {
	struct hawk_claim *items;
	size_t count, capacity;
};

struct hawk_error *hawk_claims_add(struct hawk_claims *claims, uint64_t start, uint64_t end);
void hawk_claims_sort(struct hawk_claims *claims);

/** Returns the first claim that ends above `address`, or NULL. Sorted claims only. */
const struct hawk_claim *hawk_claims_from(const struct hawk_claims *claims, uint64_t address);
void hawk_claims_deinit(struct hawk_claims *claims);

/** Adds all claims as spans of `kind`. */
struct hawk_error *hawk_claims_put(const struct hawk_claims *claims, uint8_t kind,
				   struct hawk_heap_spans *ret);

/** Reads a word; false: not in the target. */
static inline bool hawk_word(struct hawk_near *near, uint64_t address, uint64_t *ret)
{
	return hawk_near_read(near, address, ret, sizeof(*ret)) == sizeof(*ret);
}

/** Reads 32 bits; false: not in the target. */
static inline bool hawk_half(struct hawk_near *near, uint64_t address, uint32_t *ret)
{
	return hawk_near_read(near, address, ret, sizeof(*ret)) == sizeof(*ret);
}

/** Returns the thread pointer: thread-local storage lies below. */
static inline uint64_t hawk_thread_pointer(const struct hawk_thread *thread)
{
	return thread->thread_pointer & -UINT64_C(8);
}

/** Finds the first word in [*at, end) that is not 0, and moves `*at` to it; false: there is none.
 * Skips what the core has no data of. */
bool hawk_next_word(struct hawk_near *near, uint64_t *at, uint64_t end, uint64_t *ret);

/** Returns true for writable memory that belongs to no file and no module. */
bool hawk_is_anonymous(const struct hawk_target *target, const struct hawk_mapping *mapping);

/** Returns true for a module's writable data, .bss included. */
bool hawk_is_module_data(const struct hawk_target *target, const struct hawk_mapping *mapping);

/** A stretch of anonymous memory that holds data and that nobody has claimed. */
struct hawk_unclaimed {
	const struct hawk_target *target;
	const struct hawk_claims *claims;
	size_t mapping; /**< index */
	uint64_t at;    /**< goes on from here; the caller may move it up */
	uint64_t data_end;
	uint64_t limit; /**< of the stretch: the next claim, or the mapping's end */
};

/** Starts at the lowest address. `claims` are sorted. */
void hawk_unclaimed_begin(struct hawk_unclaimed *walk, const struct hawk_target *target,
			  const struct hawk_claims *claims);

/** Finds the page at or above `walk->at` to look at, and makes it `walk->at`; false: no more. */
bool hawk_unclaimed_page(struct hawk_unclaimed *walk);

#endif
