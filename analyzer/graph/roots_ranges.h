/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ranges of memory that hold roots, with their owners; each byte at most once. Claims of threads,
 * the C library and the tracer come first, then the rest of mappings. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_ROOTS_RANGES_H
#define HAWK_ANALYZER_GRAPH_ROOTS_RANGES_H

#include "hawk/target/words.h"
#include "hawk/graph/roots.h"
#include "hawk/libc/stacks.h"
#include "hawk/libc/tls.h"

struct hawk_root_range {
	uint64_t start; /**< a multiple of 8, as is `end` */
	uint64_t end;
	uint32_t kind; /**< enum hawk_root_kind; HAWK_ROOT_KINDS = nobody's */
	uint32_t owner;
	struct hawk_tls_vector
		vector; /**< of a thread whose descriptor is in the range; or zeros */
	bool in_block;  /**< the range itself is part of a block: a stack on the heap */
};

struct hawk_root_ranges {
	struct hawk_root_range *items; /**< sorted, disjoint */
	size_t count;
	size_t capacity;
	uint64_t threads_without_stack;
	bool stacks_incomplete; /**< as in struct hawk_stacks */
	uint64_t missing_bytes[HAWK_ROOT_KINDS];
	uint64_t heap_missing_bytes;
	uint64_t undumped_bytes; /**< the part of these that the program keeps out of cores */
};

/** Finds all ranges. `*ret` must be zeros; the caller frees its items, also after an error. */
struct hawk_error *hawk_root_ranges_find(const struct hawk_heap *heap,
					 struct hawk_root_ranges *ret);

/** The input that ranges are made from. */
struct hawk_roots_finder {
	const struct hawk_heap *heap;
	struct hawk_root_ranges *ranges;
	uint64_t tls_bytes; /**< static TLS below thread pointers; 0 = not known */
	struct hawk_stacks stacks;
	bool unwritten_known; /**< anonymous memory that was not dumped was never written, unless
				   a span says otherwise */
};

/** roots_ranges.c: adds the whole words of a range, if there are any. */
struct hawk_error *hawk_roots_add_range(struct hawk_root_ranges *ranges,
					struct hawk_root_range range);

/** roots_threads.c: add memory that a thread uses; `owner` is its index. */
struct hawk_error *hawk_roots_add_stack(const struct hawk_roots_finder *finder,
					const struct hawk_thread *thread, uint32_t owner);
struct hawk_error *hawk_roots_add_tls(const struct hawk_roots_finder *finder,
				      const struct hawk_thread *thread, uint32_t owner);

/** roots_ranges.c: adds memory that holds no roots. */
struct hawk_error *hawk_roots_claim_nobodys(const struct hawk_roots_finder *finder, uint64_t start,
					    uint64_t end);

/** roots_missing.c: returns true if anonymous memory that was not dumped was never written. */
bool hawk_roots_knows_unwritten(const struct hawk_heap *heap);

/** roots_missing.c: counts the missing bytes of a mapping; `heap` is true if it holds blocks. */
void hawk_roots_count_missing(const struct hawk_roots_finder *finder,
			      const struct hawk_mapping *mapping, const struct hawk_module *module,
			      bool heap, uint32_t kind);

/** roots_missing.c: counts undumped memory that has no mapping. */
void hawk_roots_count_undumped(const struct hawk_roots_finder *finder);

#endif
