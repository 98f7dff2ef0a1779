/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Decides which words of a core's memory a redacted core keeps. A pure function of address and
 * contents: the output does not depend on the order of reading.
 *
 *     pointers             addresses of mapped memory, but not of the trace table
 *     headers              sealed, live or dead (formats/hawk_block_header.h)
 *     structures           byte ranges, found beforehand: redactor_structures.c
 *     verdicts             bytes that a heuristic of leaks read: redactor_verdicts.c
 *
 * All other words become zero. Internal to redact/.
 */
#ifndef HAWK_ANALYZER_REDACT_REDACTOR_H
#define HAWK_ANALYZER_REDACT_REDACTOR_H

#include "hawk/graph/graph.h"

enum {
	HAWK_REDACT_PAGE_BYTES = 4096,
	HAWK_REDACT_PAGES = 1024, /**< remembered */
};

struct hawk_redactor {
	const struct hawk_target *target;
	const struct hawk_arch_context *context; /**< of the target's machine */
	const struct hawk_heap *heap;            /**< knows nothing if there are no headers */
	struct hawk_span *spans; /**< kept as they are; sorted and disjoint after finish */
	size_t span_count;
	size_t span_capacity;
	/** Bytes read by a verdict, sorted: address << 8 | size << 1 | fill. `fill`: not the
	 * original's bytes but ones, so that zeros are not taken for something. */
	uint64_t *verdicts;
	size_t verdict_count;
	uint64_t magic;                    /**< of trace tables */
	uint64_t lowest, highest;          /**< of all mappings */
	uint64_t pages[HAWK_REDACT_PAGES]; /**< page << 1 | whether its addresses are pointers */
	uint64_t words_kept, words_zeroed; /**< words that were not zero */
};

/** Initializes; `heap` must outlive it. */
void hawk_redactor_init(struct hawk_redactor *redactor, const struct hawk_heap *heap);
void hawk_redactor_deinit(struct hawk_redactor *redactor);

/** Keeps [start, end). */
struct hawk_error *hawk_redactor_add_span(struct hawk_redactor *redactor, uint64_t start,
					  uint64_t end);

/** Call after the last span, before redacting. */
void hawk_redactor_finish_spans(struct hawk_redactor *redactor);

/** Adds the tracer's table, headers of modules, the loader's records of them, numbers in thread
 * descriptors, sizes of glibc's heaps (redactor_structures.c). */
struct hawk_error *hawk_redactor_find_structures(struct hawk_redactor *redactor);

/** Adds bytes without which heuristics would decide differently (redactor_verdicts.c). */
struct hawk_error *hawk_redactor_find_verdicts(struct hawk_redactor *redactor,
					       const struct hawk_graph *graph,
					       const struct hawk_vtables *vtables);

/** Returns true if `word` is an address of mapped memory that answers may depend on. */
bool hawk_redactor_is_pointer(struct hawk_redactor *redactor, uint64_t word);

/**
 * Redacts `size` bytes of memory at `address`, both multiples of HAWK_GRANULE_BYTES: from `from`,
 * which may be unaligned, to `to`.
 */
void hawk_redactor_apply(struct hawk_redactor *redactor, uint64_t address, const uint8_t *from,
			 size_t size, uint8_t *to);

#endif
