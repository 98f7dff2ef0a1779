/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks with words of a family that is rare at their offset: overwritten, or stale. All blocks are
 * looked at, and nearly all of them fit.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_progress.h"
#include "schema_rules.h"
#include "schema_tally.h"
#include "schema_walk.h"

enum {
	OUTLIERS_SHARE = 10,
	GRANULE_BITS = 64,
	WORD_BYTES = sizeof(uint64_t),
};

/** Of one part. */
struct search {
	const struct hawk_block_index *index;
	const struct hawk_schema_rules *rules;
	struct hawk_words *classes;
	uint64_t small; /**< numbers below are numbers */

	struct hawk_schema_outlier current;
	struct hawk_schema_outlier *outliers; /**< owned; the least probable first */
	uint32_t outlier_count;
	uint64_t outliers_all;
	struct hawk_schema_walk walk;
	struct hawk_error *err;
};

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/** Whether a block surely has the byte that a word points to. It may have it if not: in its last
 * granule, where its size must be known. */
static bool is_covered(const struct hawk_index_record *record, unsigned bit, bool inside_granule)
{
	uint64_t covers = record->covers >> bit;

	return covers & 1 && (!inside_granule || (covers & ~(record->starts >> bit) & 2));
}

static bool is_block(const struct hawk_block_index *index, uint64_t word)
{
	uint32_t chunk = hawk_block_index_chunk(index, word);

	if (!chunk)
		return false;
	if (chunk != HAWK_CHUNK_INSIDE &&
	    is_covered(hawk_block_index_record(index, chunk, word),
		       word / HAWK_GRANULE_BYTES % GRANULE_BITS, word % HAWK_GRANULE_BYTES))
		return true;
	return hawk_block_index_resolve(index, chunk, word) != HAWK_BLOCK_NOWHERE;
}

/** Small numbers are numbers, whatever they read as. */
static bool plainly_fits(const struct search *search, const struct hawk_schema_rule *rule,
			 uint64_t word)
{
	if (rule->family == HAWK_FAMILY_POINTER)
		return !word || is_block(search->index, word);
	return rule->family == HAWK_FAMILY_NUMBER && word < search->small;
}

static struct hawk_error *judge_word(struct search *search, const struct hawk_schema_rule *rule,
				     uint64_t offset, uint64_t value)
{
	struct hawk_schema_outlier *current = &search->current;
	enum hawk_word_family family;
	struct hawk_word word;
	struct hawk_error *err = hawk_words_classify(search->classes, value, &word);
	double bits;

	if (err)
		return err;
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
static void keep(struct search *search, const struct hawk_schema_outlier *outlier)
{
	uint32_t at = search->outlier_count;

	while (at && search->outliers[at - 1].bits < outlier->bits)
		at--;
	if (at < HAWK_SCHEMA_OUTLIERS_MAX) {
		uint32_t moved = search->outlier_count - at;

		if (search->outlier_count == HAWK_SCHEMA_OUTLIERS_MAX)
			moved--;
		else
			search->outlier_count++;
		memmove(&search->outliers[at + 1], &search->outliers[at],
			moved * sizeof(*search->outliers));
		search->outliers[at] = *outlier;
	}
}

static void end_block(struct search *search, uint32_t block)
{
	if (!search->current.misfit_count)
		return;
	search->current.block = block;
	search->outliers_all++;
	keep(search, &search->current);
	search->current = (struct hawk_schema_outlier){0};
}

static struct hawk_error *judge_piece(struct search *search, const struct hawk_schema_piece *piece)
{
	const struct hawk_schema_rules *rules = search->rules;
	struct hawk_error *err = NULL;

	for (size_t base = 0; base < piece->size && !err; base += rules->element_bytes)
		for (uint32_t i = 0; i < rules->count && !err; i++) {
			const struct hawk_schema_rule *rule = &rules->items[i];
			size_t at = base + rule->at;
			uint64_t word;

			if (at + WORD_BYTES > piece->size)
				break;
			word = word_at(piece->bytes + at);
			if (!plainly_fits(search, rule, word))
				err = judge_word(search, rule, piece->offset + at, word);
		}
	if (!err && piece->is_last)
		end_block(search, piece->block);
	return err;
}

/** Asks for what pointers will be looked up in. */
static void fetch_piece(const struct search *search, const struct hawk_schema_piece *piece)
{
	const struct hawk_schema_rules *rules = search->rules;

	for (size_t base = 0; base < piece->size; base += rules->element_bytes)
		for (uint32_t i = 0; i < rules->count; i++) {
			size_t at = base + rules->items[i].at;
			uint32_t chunk;
			uint64_t word;

			if (at + WORD_BYTES > piece->size)
				break;
			if (rules->items[i].family != HAWK_FAMILY_POINTER)
				continue;
			word = word_at(piece->bytes + at);
			chunk = hawk_block_index_chunk(search->index, word);
			if (chunk && chunk != HAWK_CHUNK_INSIDE)
				hawk_prefetch(&hawk_block_index_record(search->index, chunk, word)
						       ->covers);
		}
}

/* In turns, so that the processor is never without something to fetch. */
static struct hawk_error *judge_batch(void *context, const struct hawk_schema_batch *now,
				      const struct hawk_schema_batch *next)
{
	struct search *search = context;
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < HAWK_SCHEMA_BATCH_PIECES && !err; i++) {
		if (i < next->count)
			fetch_piece(search, &next->pieces[i]);
		if (i < now->count)
			err = judge_piece(search, &now->pieces[i]);
	}
	return err;
}

static void search_part(void *context, unsigned part)
{
	struct search *search = (struct search *)context + part;

	search->err = hawk_schema_walk(&search->walk);
}

static struct hawk_error *prepare(const struct hawk_schema_blocks *blocks,
				  const struct hawk_schema_group *group,
				  const struct hawk_schema_rules *rules, struct search *parts)
{
	uint64_t lowest = hawk_words_lowest(blocks->words[0]);

	for (unsigned i = 0; i < blocks->parts; i++) {
		parts[i].index = &blocks->heap->index;
		parts[i].rules = rules;
		parts[i].classes = blocks->words[i];
		parts[i].small = lowest <= UINT32_MAX ? lowest : UINT32_MAX + UINT64_C(1);
		parts[i].walk = (struct hawk_schema_walk){
			.blocks = blocks,
			.part = i,
			.group = group,
			.share = HAWK_SCHEMA_ALL,
			.visit = judge_batch,
			.context = &parts[i],
		};
		parts[i].outliers = calloc(HAWK_SCHEMA_OUTLIERS_MAX, sizeof(*parts[i].outliers));
		if (!parts[i].outliers)
			return &hawk_enomem;
	}
	return NULL;
}

/** The first part gets those of all. */
static struct hawk_error *search_parts(struct search *parts, unsigned count)
{
	struct hawk_progress progress;
	struct hawk_error *err = NULL;

	hawk_progress_begin(&progress, "comparing blocks", hawk_schema_steps(parts->walk.blocks));
	hawk_schema_run(parts->walk.blocks, search_part, parts);
	hawk_progress_end(&progress);
	for (unsigned i = 0; i < count; i++) {
		if (!err)
			err = parts[i].err;
		else
			hawk_error_destroy(parts[i].err);
	}
	for (unsigned i = 1; i < count && !err; i++) {
		parts[0].outliers_all += parts[i].outliers_all;
		for (uint32_t k = 0; k < parts[i].outlier_count; k++)
			keep(&parts[0], &parts[i].outliers[k]);
	}
	return err;
}

/** The group gets what the first part has. */
static void finish(struct search *first, struct hawk_schema_group *group)
{
	/* Many rules with few exceptions each (long arrays, say) are no rule for blocks. */
	if (first->outliers_all > 1 && first->outliers_all * OUTLIERS_SHARE > group->objects)
		first->outliers_all = first->outlier_count = 0;
	group->outliers = first->outliers;
	group->outlier_count = first->outlier_count;
	group->outliers_all = first->outliers_all;
	first->outliers = NULL;
}

struct hawk_error *hawk_schema_find_outliers(const struct hawk_schema_blocks *blocks,
					     struct hawk_schema_group *group)
{
	CLEANUP(free_ptr) struct search *parts = calloc(blocks->parts, sizeof(*parts));
	struct hawk_schema_rules rules;
	struct hawk_error *err;

	if (!parts)
		return &hawk_enomem;
	err = hawk_schema_rules_make(group, &rules);
	if (err)
		return err;
	err = prepare(blocks, group, &rules, parts);
	if (!err && rules.count)
		err = search_parts(parts, blocks->parts);
	if (!err)
		finish(&parts[0], group);
	for (unsigned i = 0; i < blocks->parts; i++)
		free(parts[i].outliers);
	hawk_schema_rules_deinit(&rules);
	return err;
}
