/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shared by the allocators' walkers: reading words, claims of memory, and unclaimed anonymous
 * memory. Private to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_WALKER_H
#define HAWK_ANALYZER_HEAP_WALKER_H

#include "hawk/base/array.h"
#include "hawk/heap/spans.h"
#include "hawk/target/near.h"

/** Memory of one allocator, claimed before others are searched. */
struct hawk_claim {
	uint64_t start, end;
};

/** A list of claims; zeros mean none. Ascending and disjoint after hawk_claims_sort(). */
struct hawk_claims {
	struct hawk_claim *items;
	size_t count, capacity;
};

/** Ignores empty claims, and those that wrap around. */
struct hawk_error *hawk_claims_add(struct hawk_claims *claims, uint64_t start, uint64_t end);
void hawk_claims_sort(struct hawk_claims *claims);

/** Returns the first claim that ends above `address`, or NULL. Sorted claims only. */
const struct hawk_claim *hawk_claims_from(const struct hawk_claims *claims, uint64_t address);
void hawk_claims_deinit(struct hawk_claims *claims);

/** Fills `ret`, which is empty, with all spans, sorted. The caller frees it, also after an error.
 */
struct hawk_error *hawk_claims_of_spans(const struct hawk_heap_spans *spans,
					struct hawk_claims *ret);

/** Adds all claims as spans of `kind`. */
struct hawk_error *hawk_claims_put(const struct hawk_claims *claims, uint8_t kind,
				   struct hawk_heap_spans *ret);

/** Reads a word; returns false if the target does not hold it. */
static inline bool hawk_word(struct hawk_near *near, uint64_t address, uint64_t *ret)
{
	return hawk_near_read(near, address, ret, sizeof(*ret)) == sizeof(*ret);
}

/** Reads 32 bits; returns false if the target does not hold them. */
static inline bool hawk_half(struct hawk_near *near, uint64_t address, uint32_t *ret)
{
	return hawk_near_read(near, address, ret, sizeof(*ret)) == sizeof(*ret);
}

/** Returns the thread pointer; hawk_tls_at() leads from it to thread-local storage. */
static inline uint64_t hawk_thread_pointer(const struct hawk_thread *thread)
{
	return thread->thread_pointer & -UINT64_C(8);
}

/** Returns true if the thread may be at work in the module that holds `address`: an allocator's
 * lists may be in flux then. Of what a program has linked in, that cannot be told. */
bool hawk_thread_is_inside(const struct hawk_target *target, const struct hawk_thread *thread,
			   uint64_t address);

/** The same for all threads. */
bool hawk_threads_are_inside(const struct hawk_target *target, uint64_t address);

/** Charges `*budget` for the `bytes` of a table that were read; returns false if nothing is left.
 * Links that lie may lead to one table again and again; sound tables fit into the core once. */
static inline bool hawk_charge(uint64_t *budget, uint64_t bytes)
{
	enum { TABLE = 64 /* what an empty one costs */ };

	*budget -= bytes + TABLE < *budget ? bytes + TABLE : *budget;
	return *budget;
}

/** Returns a budget to read the tables of an allocator with. */
uint64_t hawk_budget_to_read(const struct hawk_target *target);

/** Budget to test whatever pointers lead to, in bytes: takes seconds. */
static const uint64_t hawk_budget_to_search = UINT64_C(1) << 33;

/** Finds the first word in [*at, end) that is not 0, and moves `*at` to it; returns false if none
 * is left. Skips memory without data in the core. */
bool hawk_next_word(struct hawk_near *near, uint64_t *at, uint64_t end, uint64_t *ret);

/** Returns true for writable memory that belongs to no file and no module. */
bool hawk_is_anonymous(const struct hawk_target *target, const struct hawk_mapping *mapping);

/** Called for an address at which a structure may begin. */
typedef struct hawk_error *hawk_place_function(void *context, uint64_t address);

/** Calls `take` for each address in anonymous memory that is a multiple of `alignment`. */
struct hawk_error *hawk_each_aligned(const struct hawk_target *target, uint64_t alignment,
				     hawk_place_function *take, void *context);

/** Returns true for a module's writable data, .bss included. */
bool hawk_is_module_data(const struct hawk_target *target, const struct hawk_mapping *mapping);

/** A walk over the words of modules' writable data that are not 0. Start with zeros. */
struct hawk_data_words {
	const struct hawk_module *module;   /**< the only one; NULL = all */
	const struct hawk_mapping *mapping; /**< the current one */
	uint64_t at;                        /**< address of the current word */
	uint64_t end;
	size_t next; /**< index of the next mapping */
};

/** Moves to the next word; returns false behind the last one. */
bool hawk_data_words_next(struct hawk_data_words *words, struct hawk_near *near, uint64_t *ret);

/** A stretch of unclaimed anonymous memory with data. */
struct hawk_unclaimed {
	const struct hawk_target *target;
	const struct hawk_claims *claims;
	size_t mapping; /**< index */
	uint64_t at;    /**< continues here; the caller may raise it */
	uint64_t data_end;
	uint64_t limit; /**< of the stretch: the next claim, or the mapping's end */
};

/** Starts at the lowest address. `claims` are sorted. */
void hawk_unclaimed_begin(struct hawk_unclaimed *walk, const struct hawk_target *target,
			  const struct hawk_claims *claims);

/** Moves `walk->at` to the next page to search, itself included; returns false behind the last one.
 */
bool hawk_unclaimed_page(struct hawk_unclaimed *walk);

#endif
