/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts words by offset and class, and finds the period of arrays: repeating words. Distinguishes
 * keys as they appear, up to a limit.
 */
#include <stdlib.h>
#include <string.h>

#include "schema_blocks.h"

enum {
	WORD_BYTES = sizeof(uint64_t),
	PERIOD_WORDS_MIN = 16,       /**< shorter blocks are structs */
	PERIOD_PLAIN_WORDS_MIN = 64, /**< likewise, if their words are all of one plain class */
	PERIOD_REPEATS_MIN = 3,
	PERIOD_DIFFERENT_PART = 20, /**< 1/this of the words may break the rule: some doubles look
				       like text, say */
};

/** Values distinguished at one offset. */
struct distinct {
	struct {
		uint64_t value, count;
	} numbers[HAWK_SCHEMA_NUMBERS_MAX]; /**< small integers, as long as they are few */
	uint32_t number_count;
	bool many_numbers;
	uint32_t latest; /**< of the values: the one that was met last */
};

struct tally {
	const struct hawk_schema_group *group;
	struct hawk_word_classes *classes;
	struct hawk_schema_word *words; /**< of the group; owned */
	struct distinct *distinct;      /**< likewise */
	bool in_text;
};

static bool has_key(enum hawk_word_class class)
{
	return class >= HAWK_WORD_BLOCK && class <= HAWK_WORD_TEXT_POINTER;
}

static bool is_value(const struct hawk_schema_value *value, struct hawk_word word)
{
	return value->word.class == word.class && value->word.key == word.key;
}

static void count_key(struct hawk_schema_word *to, struct distinct *distinct, struct hawk_word word)
{
	uint32_t at = distinct->latest;

	if (at >= to->value_count || !is_value(&to->values[at], word))
		for (at = 0; at < to->value_count && !is_value(&to->values[at], word);)
			at++;
	if (at == HAWK_SCHEMA_KEYS_MAX)
		return;
	if (at == to->value_count)
		to->values[to->value_count++] = (struct hawk_schema_value){.word = word};
	to->values[at].count++;
	distinct->latest = at;
}

static void count_number(struct distinct *distinct, uint64_t value)
{
	uint32_t at = 0;

	if (distinct->many_numbers)
		return;
	while (at < distinct->number_count && distinct->numbers[at].value != value)
		at++;
	if (at == HAWK_SCHEMA_NUMBERS_MAX) {
		distinct->many_numbers = true;
		return;
	}
	distinct->number_count += at == distinct->number_count;
	distinct->numbers[at].value = value;
	distinct->numbers[at].count++;
}

static void note_integer(struct hawk_schema_word *to, int64_t value)
{
	if (value < to->integer_min)
		to->integer_min = value;
	if (value > to->integer_max)
		to->integer_max = value;
}

static void note_text(struct hawk_schema_word *to, uint64_t length)
{
	if (length && (!to->text_max || length < to->text_min))
		to->text_min = length;
	if (length > to->text_max)
		to->text_max = length;
}

static struct hawk_error *count_piece(void *context, const struct hawk_schema_piece *piece)
{
	struct tally *tally = context;
	uint32_t period = tally->group->period;
	uint64_t first = piece->offset / WORD_BYTES;

	if (!piece->offset)
		tally->in_text = false;
	for (size_t at = 0; at + WORD_BYTES <= piece->size; at += WORD_BYTES) {
		uint64_t index = first + at / WORD_BYTES;
		struct hawk_schema_word *to;
		struct hawk_word word;
		uint64_t value;

		if (period)
			index %= period;
		if (index >= tally->group->word_count)
			break;
		to = &tally->words[index];
		memcpy(&value, piece->bytes + at, sizeof(value));
		word = hawk_word_classify(tally->classes, value);
		to->count++;
		to->by_class[word.class]++;
		if (has_key(word.class)) {
			count_key(to, &tally->distinct[index], word);
		} else if (word.class == HAWK_WORD_INTEGER) {
			note_integer(to, (int64_t)value);
			count_number(&tally->distinct[index], value);
		} else if (word.class == HAWK_WORD_TEXT && !tally->in_text) {
			note_text(to, hawk_text_length(piece->bytes + at, piece->size - at));
		}
		tally->in_text = word.class == HAWK_WORD_TEXT;
	}
	return NULL;
}

static int compare_values(const void *left, const void *right)
{
	const struct hawk_schema_value *a = left;
	const struct hawk_schema_value *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->word.class != b->word.class)
		return a->word.class < b->word.class ? -1 : 1;
	return a->word.key < b->word.key ? -1 : a->word.key > b->word.key;
}

/** Adds words without a key, or with too many keys. */
static void complete_word(const struct distinct *distinct, struct hawk_schema_word *word)
{
	uint64_t rest[HAWK_WORD_CLASSES];

	for (unsigned class = 0; class < HAWK_WORD_CLASSES; class ++)
		rest[class] = word->by_class[class];
	for (uint32_t i = 0; i < word->value_count; i++)
		rest[word->values[i].word.class] -= word->values[i].count;
	for (uint32_t i = 0; i < distinct->number_count && !distinct->many_numbers; i++) {
		word->values[word->value_count++] =
			(struct hawk_schema_value){{HAWK_WORD_INTEGER, distinct->numbers[i].value},
						   distinct->numbers[i].count};
		rest[HAWK_WORD_INTEGER] -= distinct->numbers[i].count;
	}
	for (unsigned class = 0; class < HAWK_WORD_CLASSES; class ++)
		if (rest[class])
			word->values[word->value_count++] = (struct hawk_schema_value){
				{(enum hawk_word_class) class, HAWK_SCHEMA_OTHERS}, rest[class]};
	qsort(word->values, word->value_count, sizeof(*word->values), compare_values);
}

struct hawk_error *hawk_schema_tally(const struct hawk_schema_blocks *blocks,
				     struct hawk_schema_group *group)
{
	uint64_t most = group->size_max / WORD_BYTES;
	struct tally tally = {.group = group, .classes = blocks->words};
	struct hawk_schema_walk walk = {
		.blocks = blocks,
		.group = group,
		.share = group->objects <= HAWK_SCHEMA_BLOCKS_MAX
				 ? HAWK_SCHEMA_ALL
				 : HAWK_SCHEMA_ALL * HAWK_SCHEMA_BLOCKS_MAX / group->objects,
		.visit = count_piece,
		.context = &tally,
	};
	struct hawk_error *err = &hawk_enomem;

	group->word_count = group->period                  ? group->period
			    : most < HAWK_SCHEMA_WORDS_MAX ? (uint32_t)most
							   : HAWK_SCHEMA_WORDS_MAX;
	tally.words = calloc((size_t)group->word_count + 1, sizeof(*tally.words));
	tally.distinct = calloc((size_t)group->word_count + 1, sizeof(*tally.distinct));
	for (uint32_t i = 0; tally.words && i < group->word_count; i++) {
		tally.words[i].integer_min = INT64_MAX;
		tally.words[i].integer_max = INT64_MIN;
	}
	if (tally.words && tally.distinct)
		err = hawk_schema_walk(&walk, "counting words");
	if (!err) {
		for (uint32_t i = 0; i < group->word_count; i++)
			complete_word(&tally.distinct[i], &tally.words[i]);
		group->examined = walk.examined;
		group->unreadable = walk.unreadable;
		free(group->words);
		group->words = tally.words;
		tally.words = NULL;
	}
	free(tally.words);
	free(tally.distinct);
	return err;
}

/** Returns the class and key of most non-null words; HAWK_WORD_NULL if nothing can be compared. */
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
