/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds blocks with words of a family that is rare at their offset: overwritten, or stale. An
 * offset has a rule if nearly all its words are of one family. All blocks are examined; nearly all
 * fit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "schema_blocks.h"

enum {
	SAME_MIN = 20,
	SAME_PERCENT = 99,
	ONE_MAY_MIN = 50,
	OUTLIERS_SHARE = 10,
	WORD_BYTES = sizeof(uint64_t),
};

/** Rule for an offset: the family that belongs there. */
struct rule {
	uint32_t at;                  /**< bytes, in the block or element */
	enum hawk_word_family family; /**< that belongs there */
	bool null_fits;
	float bits[HAWK_FAMILIES]; /**< of each family that does not belong there */
};

struct search {
	const struct hawk_schema_blocks *blocks;
	struct rule *rules; /**< in the order of `at` */
	uint32_t rule_count;
	size_t element_bytes; /**< of what is no array: as much as is looked at */
	uint64_t small;       /**< numbers below are numbers */
	struct hawk_schema_outlier current;
	struct hawk_schema_group *group;
};

static bool may_rule(enum hawk_word_family family)
{
	return family == HAWK_FAMILY_POINTER || family == HAWK_FAMILY_FIXED ||
	       family == HAWK_FAMILY_NUMBER;
}

/** Returns how many of `count` may deviate as exceptions. */
static uint64_t exceptions(uint64_t count)
{
	uint64_t most = count / 100 * (100 - SAME_PERCENT);

	return most || count < ONE_MAY_MIN ? most : 1;
}

/** Makes the rule for a word. Family HAWK_FAMILY_NULL means no rule: anything may be there. */
static struct rule make_rule(const struct hawk_schema_word *word, uint32_t at)
{
	uint64_t families[HAWK_FAMILIES] = {0}, rest;
	struct rule rule = {.at = at, .null_fits = true};

	for (unsigned class = 0; class < HAWK_WORD_CLASSES; class ++)
		families[hawk_word_family_of((enum hawk_word_class) class)] +=
			word->by_class[class];
	rest = word->count - families[HAWK_FAMILY_NULL];
	for (unsigned family = 1; family < HAWK_FAMILIES; family++)
		if (may_rule((enum hawk_word_family)family) && families[family] >= SAME_MIN &&
		    families[family] >= rest - exceptions(rest))
			rule.family = (enum hawk_word_family)family;
	/* An object without its virtual table is none. */
	if (rule.family == HAWK_FAMILY_FIXED && word->by_class[HAWK_WORD_VTABLE] &&
	    families[HAWK_FAMILY_NULL] <= exceptions(word->count)) {
		rule.null_fits = false;
		rest = word->count;
	}
	/* Families not seen by the tally are as rare as possible. */
	for (unsigned family = 0; rest && family < HAWK_FAMILIES; family++)
		rule.bits[family] = (float)log2((double)rest /
						(double)(families[family] ? families[family] : 1));
	return rule;
}

static struct hawk_error *make_rules(const struct hawk_schema_group *group, struct search *search)
{
	search->rules = calloc((size_t)group->word_count + 1, sizeof(*search->rules));
	if (!search->rules)
		return &hawk_enomem;
	search->element_bytes =
		(group->period ? group->period : HAWK_SCHEMA_WORDS_MAX) * (size_t)WORD_BYTES;
	for (uint32_t i = 0; i < group->word_count; i++) {
		search->rules[search->rule_count] = make_rule(&group->words[i], i * WORD_BYTES);
		search->rule_count += search->rules[search->rule_count].family != HAWK_FAMILY_NULL;
	}
	return NULL;
}

/** Returns true if a word fits without classification. Small numbers are numbers, whatever they
 * look like; pointers to blocks need no class. */
static bool plainly_fits(const struct search *search, const struct rule *rule, uint64_t word)
{
	bool interior;

	if (rule->family == HAWK_FAMILY_POINTER)
		return !word || hawk_block_index_find(&search->blocks->heap->index, word,
						      &interior) != HAWK_BLOCK_NOWHERE;
	return rule->family == HAWK_FAMILY_NUMBER && word < search->small;
}

static struct hawk_error *judge_word(struct search *search, const struct rule *rule,
				     uint64_t offset, uint64_t value)
{
	struct hawk_schema_outlier *current = &search->current;
	enum hawk_word_family family;
	struct hawk_word word = hawk_word_classify(search->blocks->words, value);
	double bits;

	family = hawk_word_family_of(word.class);
	if (family == rule->family || (family == HAWK_FAMILY_NULL && rule->null_fits))
		return NULL;
	bits = (double)rule->bits[family];
	if (current->misfit_count < HAWK_SCHEMA_MISFITS_MAX)
		current->misfits[current->misfit_count] =
			(struct hawk_schema_misfit){offset, value, word, bits};
	current->misfit_count++;
	current->bits += bits;
	return NULL;
}

/** Keeps the least probable ones in order; of equals, the first. */
static void keep(struct hawk_schema_group *group, const struct hawk_schema_outlier *outlier)
{
	uint32_t at = group->outlier_count;

	group->outliers_all++;
	while (at && group->outliers[at - 1].bits < outlier->bits)
		at--;
	if (at == HAWK_SCHEMA_OUTLIERS_MAX)
		return;
	group->outlier_count += group->outlier_count < HAWK_SCHEMA_OUTLIERS_MAX;
	memmove(&group->outliers[at + 1], &group->outliers[at],
		(group->outlier_count - at - 1) * sizeof(*group->outliers));
	group->outliers[at] = *outlier;
}

static struct hawk_error *judge_piece(void *context, const struct hawk_schema_piece *piece)
{
	struct search *search = context;
	struct hawk_error *err = NULL;

	for (size_t base = 0; base < piece->size && !err; base += search->element_bytes)
		for (uint32_t i = 0; i < search->rule_count && !err; i++) {
			const struct rule *rule = &search->rules[i];
			size_t at = base + rule->at;
			uint64_t word;

			if (at + WORD_BYTES > piece->size)
				break;
			memcpy(&word, piece->bytes + at, sizeof(word));
			if (!plainly_fits(search, rule, word))
				err = judge_word(search, rule, piece->offset + at, word);
		}
	if (!err && piece->is_last && search->current.misfit_count) {
		search->current.block = piece->block;
		keep(search->group, &search->current);
		search->current = (struct hawk_schema_outlier){0};
	}
	return err;
}

struct hawk_error *hawk_schema_find_outliers(const struct hawk_schema_blocks *blocks,
					     struct hawk_schema_group *group)
{
	uint64_t lowest = hawk_word_classes_lowest(blocks->words);
	struct search search = {
		.blocks = blocks,
		.small = lowest <= UINT32_MAX ? lowest : UINT32_MAX + UINT64_C(1),
		.group = group,
	};
	struct hawk_schema_walk walk = {
		.blocks = blocks,
		.group = group,
		.share = HAWK_SCHEMA_ALL,
		.visit = judge_piece,
		.context = &search,
	};
	struct hawk_error *err = make_rules(group, &search);

	group->outliers = calloc(HAWK_SCHEMA_OUTLIERS_MAX, sizeof(*group->outliers));
	if (!err && !group->outliers)
		err = &hawk_enomem;
	if (!err && search.rule_count)
		err = hawk_schema_walk(&walk, "comparing blocks");
	free(search.rules);
	/* Many rules with few exceptions each (long arrays, say) are no rule for blocks. */
	if (group->outliers_all > 1 && group->outliers_all * OUTLIERS_SHARE > group->objects)
		group->outliers_all = group->outlier_count = 0;
	return err;
}
