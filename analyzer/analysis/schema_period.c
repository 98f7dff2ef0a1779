/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The period of arrays: words that are the same, again and again.
 */
#include "schema_tally.h"

enum {
	PERIOD_WORDS_MIN = 16,       /**< shorter blocks are structs */
	PERIOD_PLAIN_WORDS_MIN = 64, /**< likewise, if their words are all of one plain class */
	PERIOD_REPEATS_MIN = 3,
	PERIOD_DIFFERENT_PART = 20, /**< 1/this of the words may break the rule: some doubles look
				       like text, say */
};

/** What most of the words that are not null are; HAWK_WORD_NULL: nothing that can be compared. */
static struct hawk_word main_word(const struct hawk_schema_word *word)
{
	uint64_t rest = word->count - word->by_class[HAWK_WORD_NULL];
	struct hawk_word none = {HAWK_WORD_NULL, 0};

	if (!rest || rest < word->count / 20)
		return none;
	for (uint32_t i = 0; i < word->value_count; i++) {
		struct hawk_word is = word->values[i].word;

		if (is.class == HAWK_WORD_NULL)
			continue;
		/* Blocks of which site matters; which number or which place in data does not. */
		if (is.class > HAWK_WORD_END)
			is.key = 0;
		return 2 * word->by_class[is.class] >= rest ? is : none;
	}
	return none;
}

static bool is_plain(enum hawk_word_class class)
{
	return class >= HAWK_WORD_TEXT;
}

static bool has_period(const struct hawk_word *words, uint32_t count, uint32_t period)
{
	uint32_t compared = 0, plain = 0, different = 0;

	for (uint32_t i = 0; i + period < count; i++) {
		const struct hawk_word *a = &words[i], *b = &words[i + period];

		if (a->class == HAWK_WORD_NULL || b->class == HAWK_WORD_NULL)
			continue;
		different += a->class != b->class || a->key != b->key;
		compared++;
		plain += is_plain(a->class);
	}
	if (different > compared / PERIOD_DIFFERENT_PART)
		return false;
	if (plain == compared && count < PERIOD_PLAIN_WORDS_MIN)
		return false;
	return compared >= 4 && compared >= (PERIOD_REPEATS_MIN - 1) * period / 2;
}

uint32_t hawk_schema_period(const struct hawk_schema_group *group)
{
	struct hawk_word words[HAWK_SCHEMA_WORDS_MAX];

	if (group->period || group->word_count < PERIOD_WORDS_MIN)
		return 0;
	for (uint32_t i = 0; i < group->word_count; i++)
		words[i] = main_word(&group->words[i]);
	for (uint32_t period = 1; period <= group->word_count / PERIOD_REPEATS_MIN; period++)
		if (has_period(words, group->word_count, period))
			return period;
	return 0;
}
