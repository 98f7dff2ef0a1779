/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Codes for what is known of blocks' evidence so far: a pointer moves the block that it leads to
 * from one code to the next, which is looked up once for each code and sort of pointer. Codes are
 * given out as they are met; blocks with many pointers, and those that come when there is no code
 * left, are odd, and have an entry each. Internal to analysis/.
 */
#ifndef HAWK_EVIDENCE_CODES_H
#define HAWK_EVIDENCE_CODES_H

#include "hawk_kept_evidence.h"

enum {
	HAWK_EVIDENCE_EVENTS = HAWK_LEAK_SOURCES * 8, /**< what a pointer may be */
	HAWK_EVIDENCE_NO_CODE = 0, /**< to which no pointer leads: that of kind 0 */
};

struct hawk_evidence_codes {
	uint16_t *codes; /**< by block */
	/** By code; `next`: HAWK_EVIDENCE_EVENTS for each, HAWK_EVIDENCE_NO_CODE = not known. */
	struct hawk_evidence *items;
	uint16_t *next;
	size_t count, capacity;
	uint32_t *code_of; /**< 0, or a code and 1, by hash */
	struct hawk_evidence *odd;
	size_t odd_count;
	uint32_t *odd_of; /**< 0, or an index and 1, by hash of a block */
	bool too_many;    /**< odd ones: what there is, is of no meaning */
	struct hawk_error *err;
	struct hawk_area area; /**< codes */
};

/** Of `count` blocks that are of `kinds` (below HAWK_REACH_KINDS), without pointers. Caller
 * deinitializes, after an error too. */
struct hawk_error *hawk_evidence_codes_init(const uint8_t *kinds, uint32_t count,
					    struct hawk_evidence_codes *ret);
/** Accepts codes of zeros, and leaves them behind. */
void hawk_evidence_codes_deinit(struct hawk_evidence_codes *codes);

/** Moves codes and what they mean into `kept`. */
struct hawk_error *hawk_evidence_codes_keep(struct hawk_evidence_codes *codes,
					    struct hawk_kept_evidence *kept);

/** A pointer as a number below HAWK_EVIDENCE_EVENTS. `sole`: it adds a source. */
static inline unsigned hawk_evidence_event(unsigned source, bool interior, bool explained,
					   bool sole)
{
	return source << 3 | (unsigned)interior << 2 | (unsigned)explained << 1 | (unsigned)sole;
}

/** The slow half of the function below. */
void hawk_evidence_codes_move(struct hawk_evidence_codes *codes, uint32_t block, unsigned event);

/** A pointer leads to `block`. Not after `too_many`, or an error. */
static inline void hawk_evidence_codes_add(struct hawk_evidence_codes *codes, uint32_t block,
					   unsigned event)
{
	uint16_t code = codes->codes[block];
	uint16_t next = code == HAWK_EVIDENCE_ODD
				? (uint16_t)HAWK_EVIDENCE_NO_CODE
				: codes->next[code * (size_t)HAWK_EVIDENCE_EVENTS + event];

	if (next != HAWK_EVIDENCE_NO_CODE)
		codes->codes[block] = next;
	else
		hawk_evidence_codes_move(codes, block, event);
}

#endif
