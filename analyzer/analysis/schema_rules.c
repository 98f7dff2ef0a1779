/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rules are of families that nearly all words at an offset are of.
 */
#include "schema_rules.h"

#include <math.h>
#include <stdlib.h>

enum { SAME_MIN = 20, SAME_PERCENT = 99, ONE_MAY_MIN = 50, WORD_BYTES = sizeof(uint64_t) };

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

/** Its family is HAWK_FAMILY_NULL where there is none: anything may be there. */
static struct hawk_schema_rule make_rule(const struct hawk_schema_word *word, uint32_t at)
{
	uint64_t families[HAWK_FAMILIES] = {0}, rest;
	struct hawk_schema_rule rule = {.at = at, .null_fits = true};

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

struct hawk_error *hawk_schema_rules_make(const struct hawk_schema_group *group,
					  struct hawk_schema_rules *ret)
{
	struct hawk_schema_rules rules = {
		.items = calloc((size_t)group->word_count + 1, sizeof(*rules.items)),
		.element_bytes = (group->period ? group->period : HAWK_SCHEMA_WORDS_MAX) *
				 (size_t)WORD_BYTES,
	};

	if (!rules.items)
		return &hawk_enomem;
	for (uint32_t i = 0; i < group->word_count; i++) {
		rules.items[rules.count] = make_rule(&group->words[i], i * WORD_BYTES);
		rules.count += rules.items[rules.count].family != HAWK_FAMILY_NULL;
	}
	*ret = rules;
	return NULL;
}

void hawk_schema_rules_deinit(struct hawk_schema_rules *rules)
{
	free(rules->items);
	*rules = (struct hawk_schema_rules){0};
}
