/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Damages of a heap, as values with a place. Findings are made from them, and a search for the
 * culprit begins here.
 */
#ifndef HAWK_ANALYZER_HEAP_DAMAGE_H
#define HAWK_ANALYZER_HEAP_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"

struct hawk_findings;

enum hawk_damage_kind {
	HAWK_DAMAGE_OVERLAP = 0, /**< a sealed header overlaps a younger one and was set aside */
	HAWK_DAMAGE_HEADER,      /**< a sealed header with impossible contents */
	HAWK_DAMAGE_SIZE,        /**< an impossible size */
	HAWK_DAMAGE_LINK,        /**< a link of a list that leads nowhere, or is not returned */
	HAWK_DAMAGE_LOOP,        /**< a list that leads back into itself */
	HAWK_DAMAGE_FREED_TWICE, /**< memory that is free twice */
	HAWK_DAMAGE_GUARD,       /**< an overwritten guard word */
	HAWK_DAMAGE_CONFLICT, /**< a block that overlaps another one, or begins where no block can
			       */
	HAWK_DAMAGE_FREED_INSIDE, /**< a pointer into the middle of `neighbour` was freed */
	HAWK_DAMAGE_WRITTEN,      /**< the free block `neighbour` was written to */
	HAWK_DAMAGE_KINDS
};

struct hawk_damage {
	uint64_t address;         /**< of the damaged word, or block */
	uint64_t bytes;           /**< damaged bytes from `address` on; 0 = not known */
	uint64_t neighbour;       /**< the block below, which may have run over; 0 = not known */
	uint64_t neighbour_bytes; /**< usable; 0 = not known */
	uint64_t victim;          /**< block whose header has the word; 0 = none */
	uint64_t victim_bytes;    /**< 0 = not known */
	uint64_t expected;        /**< expected word at `address`; 0 = not known */
	uint64_t found;           /**< actual word */
	const char *allocator;    /**< name of the damaged structures' owner; NULL = the tracer */
	uint8_t kind;             /**< enum hawk_damage_kind */
	uint8_t source;           /**< index into struct hawk_heap's `origins` */
};

enum { HAWK_DAMAGES_MAX = 1024 };

/** The first HAWK_DAMAGES_MAX, in the order of the walk; the others are only counted. */
struct hawk_damages {
	struct hawk_damage *items;
	size_t count;
	size_t capacity;
	uint64_t counts[HAWK_DAMAGE_KINDS]; /**< of all */
};

/** Returns true if the last byte of a block and the one behind it look like one write: a fill, or
 * text. */
static inline bool hawk_damage_runs_over(uint8_t last, uint8_t behind)
{
	return last &&
	       (last == behind || (last >= ' ' && last <= '~' && behind >= ' ' && behind <= '~'));
}

/** Adds `damage`. Only counts it if memory runs out. */
void hawk_damages_add(struct hawk_damages *damages, const struct hawk_damage *damage);

/** Adds a finding for each kind of damage present. */
void hawk_damages_report(const struct hawk_damages *damages, struct hawk_findings *findings);

/** Accepts zeros. */
void hawk_damages_deinit(struct hawk_damages *damages);

#endif
