/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Words counted by offset and class, and the period of arrays.
 */
#include "schema_tally.h"

#include <stdlib.h>

#include "hawk_cleanup.h"

enum {
	PERIOD_WORDS_MIN = 16,       /**< shorter blocks are structs */
	PERIOD_PLAIN_WORDS_MIN = 64, /**< likewise, if their words are all of one plain class */
	PERIOD_REPEATS_MIN = 3,
	PERIOD_DIFFERENT_PART = 20, /**< 1/this of the words may break the rule: some doubles look
				       like text, say */
};

/** Small integers at one offset, as long as they are few. */
struct numbers {
	struct {
		uint64_t value, count;
	} items[HAWK_SCHEMA_NUMBERS_MAX];
	uint32_t count;
	bool many;
};

struct tally {
	struct hawk_schema_group *group;
	struct numbers *numbers;                /**< by word */
	uint32_t latest[HAWK_SCHEMA_WORDS_MAX]; /**< by word: the value that was met last */
};

static bool has_key(enum hawk_word_class class)
{
	return class >= HAWK_WORD_BLOCK && class <= HAWK_WORD_TEXT_POINTER;
}

static void count_key(struct tally *tally, uint32_t index, struct hawk_word word)
{
	struct hawk_schema_word *to = &tally->group->words[index];
	uint32_t latest = tally->latest[index];

	if (latest < to->value_count && to->values[latest].word.class == word.class &&
	    to->values[latest].word.key == word.key) {
		to->values[latest].count++;
		return;
	}
	for (uint32_t i = 0; i < to->value_count; i++)
		if (to->values[i].word.class == word.class && to->values[i].word.key == word.key) {
			to->values[i].count++;
			tally->latest[index] = i;
			return;
		}
	if (to->value_count == HAWK_SCHEMA_KEYS_MAX)
		return;
	tally->latest[index] = to->value_count;
	to->values[to->value_count++] = (struct hawk_schema_value){word, 1};
}

static void count_number(struct tally *tally, uint32_t index, uint64_t value)
{
	struct hawk_schema_word *to = &tally->group->words[index];
	struct numbers *numbers = &tally->numbers[index];

	if ((int64_t)value < to->integer_min)
		to->integer_min = (int64_t)value;
	if ((int64_t)value > to->integer_max)
		to->integer_max = (int64_t)value;
	if (numbers->many)
		return;
	for (uint32_t i = 0; i < numbers->count; i++)
		if (numbers->items[i].value == value) {
			numbers->items[i].count++;
			return;
		}
	if (numbers->count == HAWK_SCHEMA_NUMBERS_MAX) {
		numbers->many = true;
		return;
	}
	numbers->items[numbers->count].value = value;
	numbers->items[numbers->count++].count = 1;
}

static void count_word(void *context, uint32_t block, uint64_t offset, uint64_t value,
		       struct hawk_word word)
{
	struct tally *tally = context;
	uint32_t index = hawk_schema_index(tally->group, offset);
	struct hawk_schema_word *to;

	(void)block;
	if (index >= tally->group->word_count)
		return;
	to = &tally->group->words[index];
	to->count++;
	to->by_class[word.class]++;
	if (has_key(word.class))
		count_key(tally, index, word);
	else if (word.class == HAWK_WORD_INTEGER)
		count_number(tally, index, value);
}

static void note_text(void *context, uint64_t offset, uint64_t length)
{
	struct tally *tally = context;
	uint32_t index = hawk_schema_index(tally->group, offset);
	struct hawk_schema_word *to;

	if (index >= tally->group->word_count || !length)
		return;
	to = &tally->group->words[index];
	if (!to->text_max || length < to->text_min)
		to->text_min = length;
	if (length > to->text_max)
		to->text_max = length;
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

/** Adds what has no key, or whose keys were too many. */
static void complete_word(const struct numbers *numbers, struct hawk_schema_word *word)
{
	uint64_t rest[HAWK_WORD_CLASSES];

	for (unsigned class = 0; class < HAWK_WORD_CLASSES; class ++)
		rest[class] = word->by_class[class];
	for (uint32_t i = 0; i < word->value_count; i++)
		rest[word->values[i].word.class] -= word->values[i].count;
	for (uint32_t i = 0; i < numbers->count && !numbers->many; i++) {
		word->values[word->value_count++] = (struct hawk_schema_value){
			{HAWK_WORD_INTEGER, numbers->items[i].value}, numbers->items[i].count};
		rest[HAWK_WORD_INTEGER] -= numbers->items[i].count;
	}
	for (unsigned class = 0; class < HAWK_WORD_CLASSES; class ++)
		if (rest[class])
			word->values[word->value_count++] = (struct hawk_schema_value){
				{(enum hawk_word_class) class, HAWK_SCHEMA_OTHERS}, rest[class]};
	qsort(word->values, word->value_count, sizeof(*word->values), compare_values);
}

static struct hawk_error *allocate_words(struct hawk_schema_group *group)
{
	uint64_t most = group->size_max / sizeof(uint64_t);

	group->word_count = group->period                  ? group->period
			    : most < HAWK_SCHEMA_WORDS_MAX ? (uint32_t)most
							   : HAWK_SCHEMA_WORDS_MAX;
	free(group->words);
	group->words = calloc((size_t)group->word_count + 1, sizeof(*group->words));
	if (!group->words)
		return &hawk_enomem;
	for (uint32_t i = 0; i < group->word_count; i++) {
		group->words[i].integer_min = INT64_MAX;
		group->words[i].integer_max = INT64_MIN;
	}
	return NULL;
}

struct hawk_error *hawk_schema_tally(const struct hawk_block_graph *graph, struct hawk_words *words,
				     const struct hawk_schema_blocks *blocks,
				     struct hawk_schema_group *group)
{
	struct tally tally = {.group = group};
	struct hawk_schema_walk walk = {
		.graph = graph,
		.words = words,
		.blocks = blocks,
		.group = group,
		.visit = count_word,
		.text = note_text,
		.context = &tally,
	};
	struct hawk_error *err = allocate_words(group);

	if (err)
		return err;
	CLEANUP(free_ptr)
	struct numbers *numbers = calloc((size_t)group->word_count + 1, sizeof(*numbers));
	if (!numbers)
		return &hawk_enomem;
	tally.numbers = numbers;
	err = hawk_schema_walk(&walk);
	for (uint32_t i = 0; i < group->word_count && !err; i++)
		complete_word(&numbers[i], &group->words[i]);
	return err;
}

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
