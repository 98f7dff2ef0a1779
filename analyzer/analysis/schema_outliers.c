/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks with words of a family that is rare at their offset: overwritten, or stale.
 */
#include "schema_tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"

enum { SAME_MIN = 20, SAME_PERCENT = 99, ONE_MAY_MIN = 50, OUTLIERS_SHARE = 10 };

/** What belongs at an offset; HAWK_FAMILY_NULL: anything may. */
struct rule {
	enum hawk_word_family family;
	bool null_fits;
	float bits[HAWK_FAMILIES]; /**< of each family that does not belong there */
};

struct search {
	const struct hawk_block_graph *graph;
	struct hawk_schema_group *group;
	struct rule *rules; /**< by word */
	struct hawk_schema_outlier current;
	size_t room; /**< of the group's outliers */
};

static bool may_rule(enum hawk_word_family family)
{
	return family == HAWK_FAMILY_POINTER || family == HAWK_FAMILY_FIXED ||
	       family == HAWK_FAMILY_NUMBER;
}

/** How many of `count` may deviate and still be called exceptions. */
static uint64_t exceptions(uint64_t count)
{
	uint64_t most = count / 100 * (100 - SAME_PERCENT);

	return most || count < ONE_MAY_MIN ? most : 1;
}

static struct rule make_rule(const struct hawk_schema_word *word)
{
	uint64_t families[HAWK_FAMILIES] = {0}, rest;
	struct rule rule = {.null_fits = true};

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
	/* What the tally has not seen is as rare as can be. */
	for (unsigned family = 0; rest && family < HAWK_FAMILIES; family++)
		rule.bits[family] = (float)log2((double)rest /
						(double)(families[family] ? families[family] : 1));
	return rule;
}

static void judge_word(void *context, uint32_t block, uint64_t offset, uint64_t value,
		       struct hawk_word word)
{
	struct search *search = context;
	uint32_t index = hawk_schema_index(search->group, offset);
	struct hawk_schema_outlier *current = &search->current;
	enum hawk_word_family family = hawk_word_family_of(word.class);
	const struct rule *rule;

	(void)block;
	if (index >= search->group->word_count)
		return;
	rule = &search->rules[index];
	if (rule->family == HAWK_FAMILY_NULL || family == rule->family ||
	    (family == HAWK_FAMILY_NULL && rule->null_fits))
		return;
	if (current->misfit_count < HAWK_SCHEMA_MISFITS_MAX)
		current->misfits[current->misfit_count] = (struct hawk_schema_misfit){
			offset, value, word, (double)rule->bits[family]};
	current->misfit_count++;
	current->bits += (double)rule->bits[family];
}

/** Keeps the least probable ones in order; of equals, the first. */
static void end_block(void *context, uint32_t block)
{
	struct search *search = context;
	struct hawk_schema_group *group = search->group;
	uint32_t at;

	if (!search->current.misfit_count)
		return;
	search->current.block = block;
	group->outliers_all++;
	at = group->outlier_count;
	while (at && group->outliers[at - 1].bits < search->current.bits)
		at--;
	if (at < HAWK_SCHEMA_OUTLIERS_MAX) {
		uint32_t moved = group->outlier_count - at;

		if (group->outlier_count == HAWK_SCHEMA_OUTLIERS_MAX)
			moved--;
		else
			group->outlier_count++;
		memmove(&group->outliers[at + 1], &group->outliers[at],
			moved * sizeof(*group->outliers));
		group->outliers[at] = search->current;
	}
	search->current = (struct hawk_schema_outlier){0};
}

struct hawk_error *hawk_schema_find_outliers(const struct hawk_block_graph *graph,
					     struct hawk_words *words,
					     const struct hawk_schema_blocks *blocks,
					     struct hawk_schema_group *group)
{
	CLEANUP(free_ptr)
	struct rule *rules = calloc((size_t)group->word_count + 1, sizeof(*rules));
	CLEANUP(free_ptr) uint8_t *families = calloc((size_t)group->word_count + 1, 1);
	struct search search = {.graph = graph, .group = group, .rules = rules};
	struct hawk_schema_walk walk = {
		.graph = graph,
		.words = words,
		.blocks = blocks,
		.group = group,
		.visit = judge_word,
		.end = end_block,
		.context = &search,
		.all = true,
		.families = families,
	};

	group->outliers = calloc(HAWK_SCHEMA_OUTLIERS_MAX, sizeof(*group->outliers));
	if (!rules || !families || !group->outliers)
		return &hawk_enomem;
	for (uint32_t i = 0; i < group->word_count; i++) {
		rules[i] = make_rule(&group->words[i]);
		families[i] = (uint8_t)rules[i].family;
	}
	struct hawk_error *err = hawk_schema_walk(&walk);

	/* Many rules with few exceptions each (long arrays, say) are no rule for blocks. */
	if (!err && group->outliers_all > 1 &&
	    group->outliers_all * OUTLIERS_SHARE > group->objects) {
		group->outliers_all = 0;
		group->outlier_count = 0;
	}
	return err;
}
