/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the blocks of a site look like without debug information: blocks of the same stack and size
 * are taken for objects of the same type, and each of their words is tallied by class. Arrays are
 * recognized by a period in that, and tallied by element.
 *
 * A block does not fit (is an outlier) where a word is of a family that is rare there. There is a
 * rule for an offset when 20 blocks or more, and 99 % of those whose word is not null (of 50 to 99
 * blocks: all but one), hold a pointer to live memory there; or a virtual table or code; or a small
 * integer. Null fits everywhere but in place of a virtual table. Text, floating point and "other"
 * make no rules: bits of any shape may stand there. Where more than one in ten blocks would not fit
 * there are no outliers.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SCHEMA_H
#define HAWK_ANALYZER_ANALYSIS_SCHEMA_H

#include "hawk/analysis/block_choice.h"
#include "hawk/analysis/word_class.h"

enum {
	HAWK_SCHEMA_WORDS_MAX = 128, /**< looked at of each block, or in an element of an array */
	HAWK_SCHEMA_KEYS_MAX = 48,   /**< told apart at each offset */
	HAWK_SCHEMA_NUMBERS_MAX = 8, /**< values of integers that are listed */
	HAWK_SCHEMA_OUTLIERS_MAX = 64,
	HAWK_SCHEMA_MISFITS_MAX = 8, /**< words named of an outlier */
	HAWK_SCHEMA_GROUPS_MAX = 16,
	/** Of more blocks in a group about so many are tallied, evenly spread: the standard error
	 * of shares is below 0.05 %. Outliers are looked for in all. */
	HAWK_SCHEMA_BLOCKS_MAX = 1 << 20,
};

/** In place of a key: others, of which there are too many to tell apart. */
static const uint64_t HAWK_SCHEMA_OTHERS = UINT64_MAX;

struct hawk_schema_value {
	struct hawk_word word; /**< of integers without key, unless there are few */
	uint64_t count;
};

struct hawk_schema_word {
	uint64_t count;                       /**< words looked at */
	uint64_t by_class[HAWK_WORD_CLASSES]; /**< sum: `count` */
	/** Most frequent first; sum: `count`. */
	struct hawk_schema_value values[HAWK_SCHEMA_KEYS_MAX + 2 * HAWK_WORD_CLASSES];
	uint32_t value_count;
	int64_t integer_min, integer_max; /**< of HAWK_WORD_INTEGER; min > max = none */
	uint64_t text_min, text_max;      /**< lengths of text that begins here; max 0 = none */
};

struct hawk_schema_misfit {
	uint64_t offset; /**< in the block */
	uint64_t value;
	struct hawk_word word;
	double bits; /**< how improbable: -log2 of the share of its family there */
};

struct hawk_schema_outlier {
	uint32_t block;
	uint32_t misfit_count; /**< all */
	double bits;           /**< sum over all of them */
	struct hawk_schema_misfit misfits[HAWK_SCHEMA_MISFITS_MAX];
};

struct hawk_schema_group {
	uint64_t size_min, size_max; /**< requested bytes */
	uint64_t objects;            /**< blocks of such a size */
	uint64_t examined;           /**< of those */
	uint64_t unreadable;         /**< of those */
	uint64_t bytes_each;         /**< looked at of each at most; UINT64_MAX = all */
	uint32_t period;             /**< words of an element; 0 = no array */
	uint32_t word_count;
	struct hawk_schema_word *words; /**< owned */
	/** The least probable first. */
	struct hawk_schema_outlier *outliers; /**< owned */
	uint32_t outlier_count;               /**< listed */
	uint64_t outliers_all;
};

struct hawk_schema {
	uint64_t objects; /**< that were asked for */
	uint64_t bytes;
	uint64_t carved; /**< of those: left out, because a pool has carved them up */
	size_t sizes;    /**< different ones; SIZE_MAX = too many to count */
	struct hawk_schema_group groups[HAWK_SCHEMA_GROUPS_MAX];
	size_t group_count;
	uint64_t rest_objects; /**< of other sizes than the groups' */
};

/** In place of a site: what `chosen` has of all sites. */
static const uint32_t HAWK_SCHEMA_ANY_SITE = UINT32_MAX;

struct hawk_schema_wish {
	uint32_t site;          /**< index into the heap's sites */
	const uint64_t *chosen; /**< a bit for each block; NULL = all */
	size_t groups;          /**< at most; 0 = a default */
};

/** Reads blocks. `vtables` may be NULL. `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_schema_make(const struct hawk_heap *heap,
				    const struct hawk_schema_wish *wish,
				    const struct hawk_vtable_oracle *vtables,
				    struct hawk_findings *findings, struct hawk_schema *ret);
void hawk_schema_deinit(struct hawk_schema *schema);

#endif
