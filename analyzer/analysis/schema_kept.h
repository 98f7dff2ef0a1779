/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Kept schemas as they lie in memory and in an index cache: no pointers, and nothing between
 * fields. What belongs together follows one another in each array. Internal to analysis/.
 */
#ifndef SCHEMA_KEPT_H
#define SCHEMA_KEPT_H

#include "hawk_schema.h"
#include "hawk_schema_kept.h"

struct kept_schema {
	uint32_t site;
	uint32_t group_count;
	uint64_t objects, bytes, carved;
	uint64_t sizes; /**< UINT64_MAX = too many to count */
	uint64_t rest_objects;
	/** The values before those of its words: their keys are the words of struct
	 * hawk_asked_modules. */
	uint64_t asked_count;
};

struct kept_group {
	uint64_t size_min, size_max;
	uint64_t objects, examined, unreadable;
	uint64_t bytes_each;
	uint32_t period;
	uint32_t word_count;
	uint32_t outlier_count;
	uint32_t unused; /**< 0, here and below */
	uint64_t outliers_all;
};

struct kept_word {
	uint64_t count;
	uint64_t by_class[HAWK_WORD_CLASSES];
	int64_t integer_min, integer_max;
	uint64_t text_min, text_max;
	uint32_t value_count;
	uint32_t unused;
};

struct kept_value {
	uint64_t key;
	uint64_t count;
	uint32_t class;
	uint32_t unused;
};

struct kept_outlier {
	uint32_t block;
	uint32_t misfit_count;
	double bits;
	struct {
		uint64_t offset, value, key;
		double bits;
		uint32_t class;
		uint32_t unused;
	} misfits[HAWK_SCHEMA_MISFITS_MAX];
};

static_assert(sizeof(struct kept_schema) == 56, "nothing between fields");
static_assert(sizeof(struct kept_group) == 72, "nothing between fields");
static_assert(sizeof(struct kept_word) == (HAWK_WORD_CLASSES + 6) * 8, "nothing between fields");
static_assert(sizeof(struct kept_value) == 24, "nothing between fields");
static_assert(sizeof(struct kept_outlier) == 16 + HAWK_SCHEMA_MISFITS_MAX * 40,
	      "nothing between fields");

/** Bytes of a thing. */
static inline uint64_t kept_size(enum hawk_kept_sort sort)
{
	static const uint64_t sizes[HAWK_KEPT_SORTS] = {
		sizeof(struct kept_schema), sizeof(struct kept_group),   sizeof(struct kept_word),
		sizeof(struct kept_value),  sizeof(struct kept_outlier),
	};

	return sizes[sort];
}

/** Whether all they say can be about a heap of so many sites and blocks, and each has what it says
 * it has: what is true of those that were made, and has to be of what comes from a file. */
bool kept_schemas_fit(const struct hawk_kept_schemas *kept, uint64_t sites, uint64_t blocks);

#endif
