/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The layout of a site's blocks, without debug information. Blocks of the same stack and size are
 * taken for objects of one type, and each word is tallied by class. Arrays are recognized by their
 * period and tallied by element.
 *
 * An outlier is a block with a word of a family that is rare at its offset. An offset has a rule if
 * 20 blocks or more, and 99 % of the non-null words (of 50 to 99 blocks: all but one), hold a
 * pointer to live memory; or a virtual table or code; or a small integer. Null fits everywhere
 * except for a virtual table. Text, floating point and "other" make no rules, as they match any
 * bits. If more than one block in ten would be an outlier, none is.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SCHEMA_H
#define HAWK_ANALYZER_ANALYSIS_SCHEMA_H

#include "hawk/analysis/selection.h"
#include "hawk/analysis/word_class.h"

enum {
	HAWK_SCHEMA_WORDS_MAX = 128, /**< examined per block, or per array element */
	HAWK_SCHEMA_KEYS_MAX = 48,   /**< distinguished at each offset */
	HAWK_SCHEMA_NUMBERS_MAX = 8, /**< values of integers that are listed */
	HAWK_SCHEMA_OUTLIERS_MAX = 64,
	HAWK_SCHEMA_MISFITS_MAX = 8, /**< listed per outlier */
	HAWK_SCHEMA_GROUPS_MAX = 16,
	/** Larger groups are sampled evenly down to about this many: the standard error of shares
	 * is below 0.05 %. Outliers are searched in all blocks. */
	HAWK_SCHEMA_BLOCKS_MAX = 1 << 20,
};

/** In place of a key: all others, too many to distinguish. */
static const uint64_t HAWK_SCHEMA_OTHERS = UINT64_MAX;

struct hawk_schema_value {
	struct hawk_word word; /**< integers have no key unless there are few */
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
	uint64_t objects; /**< requested */
	uint64_t bytes;
	uint64_t carved; /**< of those: skipped, carved up by a pool */
	size_t sizes;    /**< different ones; SIZE_MAX = too many to count */
	struct hawk_schema_group groups[HAWK_SCHEMA_GROUPS_MAX];
	size_t group_count;
	uint64_t rest_objects; /**< of other sizes than the groups' */
};

/** In place of a site: the chosen blocks of all sites. */
static const uint32_t HAWK_SCHEMA_ANY_SITE = UINT32_MAX;

struct hawk_schema_query {
	uint32_t site;          /**< index into the heap's sites */
	const uint64_t *chosen; /**< a bit for each block; NULL = all */
	size_t groups;          /**< at most; 0 = a default */
};

/** Reads blocks. `types` tell virtual tables, and may be NULL. `ret` is to be deinitialized after
 * success only. */
struct hawk_error *hawk_schema_make(const struct hawk_heap *heap,
				    const struct hawk_schema_query *query,
				    struct hawk_block_types *types, struct hawk_findings *findings,
				    struct hawk_schema *ret);
void hawk_schema_deinit(struct hawk_schema *schema);

#endif
