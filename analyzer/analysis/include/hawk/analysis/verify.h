/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Damages of the heap, and the block at fault for each: it ran over, was freed twice, or was
 * written to after free().
 */
#ifndef HAWK_ANALYZER_ANALYSIS_VERIFY_H
#define HAWK_ANALYZER_ANALYSIS_VERIFY_H

#include "hawk/analysis/crash.h"
#include "hawk/analysis/whatis.h"
#include "hawk/heap/verify.h"

enum hawk_corruption_kind {
	HAWK_CORRUPTION_OVERFLOW = 0,
	HAWK_CORRUPTION_UNDERFLOW,
	HAWK_CORRUPTION_DOUBLE_FREE,
	HAWK_CORRUPTION_USE_AFTER_FREE,
	HAWK_CORRUPTION_INVALID_FREE,
	HAWK_CORRUPTION_METADATA, /**< nothing tells which block is at fault */
	HAWK_CORRUPTION_KINDS
};

enum { HAWK_CORRUPTION_PLACES = 2 };

struct hawk_corruption {
	uint8_t kind; /**< enum hawk_corruption_kind */
	bool refused; /**< the allocator noticed the call and aborted: nothing is damaged */
	struct hawk_damage damage;
	uint64_t start, size; /**< of the block at fault; size 0 = not known, start 0 = neither */
	uint64_t bytes;       /**< past its end, or before its start */
	struct hawk_whatis block; /**< the same; state HAWK_BLOCK_NONE if it is free */
	struct hawk_whatis victim;
	struct hawk_whatis to; /**< where the found word leads, if it is an address */
	struct hawk_whatis places[HAWK_CORRUPTION_PLACES]; /**< other places with the found bytes */
	unsigned place_count;
};

struct hawk_verify {
	struct hawk_corruption *items;
	size_t count;
	uint64_t all; /**< more than `count` if there are very many */
	struct hawk_crash crash;
};

/** Finds all damages. Reads the target; the caller deinitializes `ret`, also after an error. */
struct hawk_error *hawk_verify_make(const struct hawk_heap *heap, struct hawk_block_types *types,
				    struct hawk_symbols *symbols, struct hawk_findings *findings,
				    struct hawk_verify *ret);

/** Looks up names. The target may run again. */
void hawk_verify_resolve(struct hawk_symbols *symbols, struct hawk_block_types *types,
			 struct hawk_verify *verify);
void hawk_verify_deinit(struct hawk_verify *verify);

#endif
