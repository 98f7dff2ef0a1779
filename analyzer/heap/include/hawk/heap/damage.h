/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What is damaged in a heap: values with a place. Findings are made from them, and whoever looks
 * for a culprit begins here.
 */
#ifndef HAWK_ANALYZER_HEAP_DAMAGE_H
#define HAWK_ANALYZER_HEAP_DAMAGE_H

#include <stddef.h>

#include "hawk/base/error.h"

struct hawk_findings;

enum hawk_damage_kind {
	HAWK_DAMAGE_OVERLAP = 0, /**< a sealed header overlaps a younger one and was set aside */
	HAWK_DAMAGE_HEADER,      /**< a sealed header that says what cannot be */
	HAWK_DAMAGE_SIZE,        /**< a size that cannot be */
	HAWK_DAMAGE_LINK,        /**< a link of a list that leads nowhere, or is not answered */
	HAWK_DAMAGE_LOOP,        /**< a list that leads back into itself */
	HAWK_DAMAGE_FREED_TWICE, /**< memory that is free twice */
	HAWK_DAMAGE_GUARD,       /**< a guard word that was overwritten */
	HAWK_DAMAGE_CONFLICT,    /**< a block that overlaps another one, or begins where none can */
	HAWK_DAMAGE_KINDS
};

struct hawk_damage {
	uint64_t address;   /**< of the damaged word, or block */
	uint64_t bytes;     /**< that cannot be understood from there on; 0 = not known */
	uint64_t neighbour; /**< the block below, which may have run over; 0 = not known */
	uint64_t expected;  /**< what should be at `address`; 0 = not known */
	uint64_t found;     /**< what is there */
	uint8_t kind;       /**< enum hawk_damage_kind */
	uint8_t source;     /**< index into struct hawk_heap's `origins` */
};

enum { HAWK_DAMAGES_MAX = 1024 };

/** The first HAWK_DAMAGES_MAX, in the order of the walk; the others are only counted. */
struct hawk_damages {
	struct hawk_damage *items;
	size_t count;
	size_t capacity;
	uint64_t counts[HAWK_DAMAGE_KINDS]; /**< of all */
};

/** Adds `damage`. Where memory runs out it is only counted. */
void hawk_damages_add(struct hawk_damages *damages, const struct hawk_damage *damage);

/** Adds a finding for each kind of damage that there is. */
void hawk_damages_report(const struct hawk_damages *damages, struct hawk_findings *findings);

/** Accepts zeros. */
void hawk_damages_deinit(struct hawk_damages *damages);

#endif
