/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Words counted by offset and class, side by side in parts; what comes out is what one part would
 * have counted. Keys are told apart as they come, up to a limit, and those of the first part come
 * first. Who had no room for one of them has not counted it: then all is counted once more, with
 * the keys that are known by now.
 */
#include "schema_tally.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_progress.h"
#include "schema_walk.h"

enum { WORD_BYTES = sizeof(uint64_t) };

/** What is told apart at one offset. */
struct distinct {
	struct {
		uint64_t value, count;
	} numbers[HAWK_SCHEMA_NUMBERS_MAX]; /**< small integers, as long as they are few */
	uint32_t number_count;
	bool many_numbers;
	bool many_keys;  /**< there was no room for some */
	uint32_t latest; /**< of the values: the one that was met last */
};

/** Of one part. */
struct tally {
	const struct hawk_schema_group *group;
	struct hawk_words *classes;
	struct hawk_schema_word *words; /**< of the group; owned */
	struct distinct *distinct;      /**< likewise */
	bool in_text;
	struct hawk_schema_walk walk;
	struct hawk_error *err;
};

static bool has_key(enum hawk_word_class class)
{
	return class >= HAWK_WORD_BLOCK && class <= HAWK_WORD_TEXT_POINTER;
}

static bool is_value(const struct hawk_schema_value *value, struct hawk_word word)
{
	return value->word.class == word.class && value->word.key == word.key;
}

/** Index of the value; value_count: it is none of them. */
static uint32_t find_value(const struct hawk_schema_word *in, struct hawk_word word)
{
	uint32_t i = 0;

	while (i < in->value_count && !is_value(&in->values[i], word))
		i++;
	return i;
}

static void count_key(struct hawk_schema_word *to, struct distinct *distinct, struct hawk_word word,
		      uint64_t count)
{
	uint32_t at = distinct->latest;

	if (at >= to->value_count || !is_value(&to->values[at], word))
		at = find_value(to, word);
	if (at == HAWK_SCHEMA_KEYS_MAX) {
		distinct->many_keys = true;
		return;
	}
	if (at == to->value_count)
		to->values[to->value_count++] = (struct hawk_schema_value){.word = word};
	to->values[at].count += count;
	distinct->latest = at;
}

static void count_number(struct distinct *distinct, uint64_t value, uint64_t count)
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
	if (at == distinct->number_count) {
		distinct->numbers[at].value = value;
		distinct->numbers[at].count = 0;
		distinct->number_count++;
	}
	distinct->numbers[at].count += count;
}

static void widen(struct hawk_schema_word *to, int64_t least, int64_t most)
{
	if (least < to->integer_min)
		to->integer_min = least;
	if (most > to->integer_max)
		to->integer_max = most;
}

static void note_text(struct hawk_schema_word *to, uint64_t least, uint64_t most)
{
	if (!most)
		return;
	if (!to->text_max || least < to->text_min)
		to->text_min = least;
	if (most > to->text_max)
		to->text_max = most;
}

static struct hawk_error *count_piece(struct tally *tally, const struct hawk_schema_piece *piece)
{
	uint32_t index = hawk_schema_index(tally->group, piece->offset);

	if (!piece->offset)
		tally->in_text = false;
	for (size_t at = 0; at + WORD_BYTES <= piece->size; at += WORD_BYTES) {
		struct hawk_schema_word *to = &tally->words[index];
		struct hawk_error *err;
		struct hawk_word word;
		uint64_t value;

		if (index == tally->group->word_count)
			break;
		memcpy(&value, piece->bytes + at, sizeof(value));
		err = hawk_words_classify(tally->classes, value, &word);
		if (err)
			return err;
		to->count++;
		to->by_class[word.class]++;
		if (has_key(word.class)) {
			count_key(to, &tally->distinct[index], word, 1);
		} else if (word.class == HAWK_WORD_INTEGER) {
			widen(to, (int64_t)value, (int64_t)value);
			count_number(&tally->distinct[index], value, 1);
		} else if (word.class == HAWK_WORD_TEXT && !tally->in_text) {
			uint64_t length = hawk_text_length(piece->bytes + at, piece->size - at);

			note_text(to, length, length);
		}
		tally->in_text = word.class == HAWK_WORD_TEXT;
		if (++index == tally->group->period)
			index = 0;
	}
	return NULL;
}

static struct hawk_error *count_batch(void *context, const struct hawk_schema_batch *now,
				      const struct hawk_schema_batch *next)
{
	struct tally *tally = context;
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < next->count; i++)
		hawk_words_prefetch_blocks(tally->classes, next->pieces[i].bytes,
					   next->pieces[i].size);
	for (unsigned i = 0; i < now->count; i++)
		hawk_words_prefetch_sites(tally->classes, now->pieces[i].bytes,
					  now->pieces[i].size);
	for (unsigned i = 0; i < now->count && !err; i++)
		err = count_piece(tally, &now->pieces[i]);
	return err;
}

static void count_part(void *context, unsigned part)
{
	struct tally *tally = (struct tally *)context + part;

	tally->err = hawk_schema_walk(&tally->walk);
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

/** Adds the word of a later part. */
static void add_word(const struct tally *part, uint32_t index, struct tally *to)
{
	const struct hawk_schema_word *from = &part->words[index];
	const struct distinct *distinct = &part->distinct[index];
	struct hawk_schema_word *word = &to->words[index];

	word->count += from->count;
	for (unsigned class = 0; class < HAWK_WORD_CLASSES; class ++)
		word->by_class[class] += from->by_class[class];
	widen(word, from->integer_min, from->integer_max);
	note_text(word, from->text_min, from->text_max);
	for (uint32_t i = 0; i < from->value_count; i++)
		count_key(word, &to->distinct[index], from->values[i].word, from->values[i].count);
	for (uint32_t i = 0; i < distinct->number_count; i++)
		count_number(&to->distinct[index], distinct->numbers[i].value,
			     distinct->numbers[i].count);
	to->distinct[index].many_numbers |= distinct->many_numbers;
}

/** Whether a later part has counted all that `first` tells apart. */
static bool has_counted(const struct tally *part, const struct tally *first)
{
	for (uint32_t index = 0; index < first->group->word_count; index++) {
		const struct hawk_schema_word *from = &part->words[index];
		const struct hawk_schema_word *word = &first->words[index];

		if (!part->distinct[index].many_keys)
			continue;
		for (uint32_t i = 0; i < word->value_count; i++)
			if (find_value(from, word->values[i].word) == from->value_count)
				return false;
	}
	return true;
}

/** The first part gets the sums of all. False: some were not counted. */
static bool add_up(struct tally *parts, unsigned count)
{
	bool complete = true;

	for (unsigned i = 1; i < count; i++) {
		for (uint32_t index = 0; index < parts->group->word_count; index++)
			add_word(&parts[i], index, &parts[0]);
		parts[0].walk.examined += parts[i].walk.examined;
		parts[0].walk.unreadable += parts[i].walk.unreadable;
	}
	for (unsigned i = 1; i < count && complete; i++)
		complete = has_counted(&parts[i], &parts[0]);
	return complete;
}

/** Nothing is counted; keys that the first part knows are known to all. */
static void start(struct tally *parts, unsigned count)
{
	for (uint32_t index = 0; index < parts->group->word_count; index++) {
		struct hawk_schema_word *word = &parts->words[index];

		word->count = word->text_min = word->text_max = 0;
		word->integer_min = INT64_MAX;
		word->integer_max = INT64_MIN;
		memset(word->by_class, 0, sizeof(word->by_class));
		for (uint32_t i = 0; i < word->value_count; i++)
			word->values[i].count = 0;
		for (unsigned i = 0; i < count; i++) {
			parts[i].words[index] = *word;
			parts[i].distinct[index] = (struct distinct){0};
		}
	}
}

static struct hawk_error *count_parts(struct tally *parts, unsigned count)
{
	struct hawk_progress progress;
	struct hawk_error *err = NULL;

	start(parts, count);
	hawk_progress_begin(&progress, "counting words", hawk_schema_steps(parts->walk.blocks));
	hawk_schema_run(parts->walk.blocks, count_part, parts);
	hawk_progress_end(&progress);
	for (unsigned i = 0; i < count; i++) {
		if (!err)
			err = parts[i].err;
		else
			hawk_error_destroy(parts[i].err);
	}
	return err;
}

static struct hawk_error *prepare(const struct hawk_schema_blocks *blocks,
				  struct hawk_schema_group *group, struct tally *parts)
{
	for (unsigned i = 0; i < blocks->parts; i++) {
		struct tally *part = &parts[i];

		part->group = group;
		part->classes = blocks->words[i];
		part->walk = (struct hawk_schema_walk){
			.blocks = blocks,
			.part = i,
			.group = group,
			.share =
				group->objects <= HAWK_SCHEMA_BLOCKS_MAX
					? HAWK_SCHEMA_ALL
					: HAWK_SCHEMA_ALL * HAWK_SCHEMA_BLOCKS_MAX / group->objects,
			.visit = count_batch,
			.context = part,
		};
		part->words = calloc((size_t)group->word_count + 1, sizeof(*part->words));
		part->distinct = calloc((size_t)group->word_count + 1, sizeof(*part->distinct));
		if (!part->words || !part->distinct)
			return &hawk_enomem;
	}
	return NULL;
}

/** The group gets what the first part has. */
static void finish(struct tally *first, struct hawk_schema_group *group)
{
	for (uint32_t i = 0; i < group->word_count; i++)
		complete_word(&first->distinct[i], &first->words[i]);
	group->examined = first->walk.examined;
	group->unreadable = first->walk.unreadable;
	free(group->words);
	group->words = first->words;
	first->words = NULL;
}

struct hawk_error *hawk_schema_tally(const struct hawk_schema_blocks *blocks,
				     struct hawk_schema_group *group)
{
	uint64_t most = group->size_max / WORD_BYTES;
	struct tally parts[HAWK_SCHEMA_PARTS_MAX] = {0};
	struct hawk_error *err;

	group->word_count = group->period                  ? group->period
			    : most < HAWK_SCHEMA_WORDS_MAX ? (uint32_t)most
							   : HAWK_SCHEMA_WORDS_MAX;
	err = prepare(blocks, group, parts);
	if (!err)
		err = count_parts(parts, blocks->parts);
	if (!err && !add_up(parts, blocks->parts)) {
		err = count_parts(parts, blocks->parts);
		if (!err)
			add_up(parts, blocks->parts);
	}
	if (!err)
		finish(&parts[0], group);
	for (unsigned i = 0; i < blocks->parts; i++) {
		free(parts[i].words);
		free(parts[i].distinct);
	}
	return err;
}
