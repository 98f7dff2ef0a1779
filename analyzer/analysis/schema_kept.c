/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Schemas written into arrays, and read from them.
 */
#include "schema_kept.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_text.h"

enum {
	SITES_SHOWN = 8,          /**< the largest: `analyze --full` shows some of them */
	SITES_MAX = 64,           /**< those included */
	LARGE_BLOCKS = 1 << 20,   /**< what is smaller is looked at in no time */
	LARGE_BYTES = 64 << 20,   /**< likewise */
	VALUES_MAX = 1 << 20,     /**< kept: 24 MiB */
	OUTLIERS_KEPT = 16 << 10, /**< likewise: 6 MiB */
};

/** How far each array was read. */
struct place {
	const struct hawk_kept_schemas *kept;
	uint64_t at[HAWK_KEPT_SORTS];
};

/** The next `count` things; NULL: there are fewer. */
static const void *take(struct place *place, enum hawk_kept_sort sort, uint64_t count)
{
	static const uint64_t nothing;
	const struct hawk_kept_array *array = &place->kept->arrays[sort];
	uint64_t at = place->at[sort];

	if (!count)
		return &nothing;
	if (count > array->count - at)
		return NULL;
	place->at[sort] += count;
	return (const uint8_t *)array->items + at * kept_size(sort);
}

static bool word_fits(uint32_t class, uint64_t key, uint64_t sites)
{
	if (class >= HAWK_WORD_CLASSES)
		return false;
	return class < HAWK_WORD_BLOCK || class > HAWK_WORD_END || key < sites ||
	       key == HAWK_SCHEMA_OTHERS;
}

static bool values_fit(struct place *place, uint32_t count, uint64_t sites)
{
	const uint32_t most =
		sizeof((struct hawk_schema_word){0}.values) / sizeof(struct hawk_schema_value);
	const struct kept_value *values = take(place, HAWK_KEPT_VALUES, count);

	if (!values || count > most)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!word_fits(values[i].class, values[i].key, sites))
			return false;
	return true;
}

static bool outliers_fit(struct place *place, uint32_t count, uint64_t sites, uint64_t blocks)
{
	const struct kept_outlier *outliers = take(place, HAWK_KEPT_OUTLIERS, count);

	if (!outliers || count > HAWK_SCHEMA_OUTLIERS_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (outliers[i].block >= blocks || !outliers[i].misfit_count)
			return false;
		for (unsigned k = 0; k < HAWK_SCHEMA_MISFITS_MAX; k++)
			if (!word_fits(outliers[i].misfits[k].class, outliers[i].misfits[k].key,
				       sites))
				return false;
	}
	return true;
}

static bool group_fits(struct place *place, const struct kept_group *group, uint64_t sites,
		       uint64_t blocks)
{
	const struct kept_word *words = take(place, HAWK_KEPT_WORDS, group->word_count);

	if (!words || group->word_count > HAWK_SCHEMA_WORDS_MAX ||
	    (group->period && group->period != group->word_count) ||
	    group->outlier_count > group->outliers_all)
		return false;
	for (uint32_t i = 0; i < group->word_count; i++)
		if (!values_fit(place, words[i].value_count, sites))
			return false;
	return outliers_fit(place, group->outlier_count, sites, blocks);
}

static bool asked_fit(struct place *place, uint64_t count)
{
	const struct kept_value *asked;

	if (count > HAWK_ASKED_MODULES_MAX)
		return false;
	asked = take(place, HAWK_KEPT_VALUES, count);
	for (uint64_t i = 0; asked && i < count; i++)
		if (asked[i].class != HAWK_WORD_NULL || asked[i].count)
			return false;
	return asked;
}

static bool schema_fits(struct place *place, const struct kept_schema *schema, uint64_t sites,
			uint64_t blocks)
{
	const struct kept_group *groups = take(place, HAWK_KEPT_GROUPS, schema->group_count);

	if (!groups || schema->group_count > HAWK_SCHEMA_GROUPS_MAX || schema->site >= sites ||
	    !asked_fit(place, schema->asked_count))
		return false;
	for (uint32_t i = 0; i < schema->group_count; i++)
		if (!group_fits(place, &groups[i], sites, blocks))
			return false;
	return true;
}

bool kept_schemas_fit(const struct hawk_kept_schemas *kept, uint64_t sites, uint64_t blocks)
{
	struct place place = {.kept = kept};
	uint64_t count = kept->arrays[HAWK_KEPT_SCHEMAS].count;
	const struct kept_schema *schemas = take(&place, HAWK_KEPT_SCHEMAS, count);

	for (uint64_t i = 0; i < count; i++)
		if (!schema_fits(&place, &schemas[i], sites, blocks))
			return false;
	for (unsigned sort = 0; sort < HAWK_KEPT_SORTS; sort++)
		if (place.at[sort] != kept->arrays[sort].count)
			return false;
	return true;
}

static bool read_asked(struct place *place, uint64_t count, struct hawk_asked_modules *asked)
{
	const struct kept_value *values = take(place, HAWK_KEPT_VALUES, count);
	uint64_t *words = calloc((size_t)count + 1, sizeof(*words));

	for (uint64_t i = 0; i < count && words; i++)
		words[i] = values[i].key;
	*asked = (struct hawk_asked_modules){
		.words = words,
		.count = words ? (size_t)count : 0,
		.owned = words,
	};
	return words;
}

/** A schema that is read; false: memory ran out. */
static bool read_words(struct place *place, const struct kept_group *from,
		       struct hawk_schema_group *group)
{
	const struct kept_word *words = take(place, HAWK_KEPT_WORDS, from->word_count);

	group->words = calloc((size_t)from->word_count + 1, sizeof(*group->words));
	for (uint32_t i = 0; i < from->word_count && group->words; i++) {
		const struct kept_value *values =
			take(place, HAWK_KEPT_VALUES, words[i].value_count);
		struct hawk_schema_word *word = &group->words[i];

		word->count = words[i].count;
		memcpy(word->by_class, words[i].by_class, sizeof(word->by_class));
		word->integer_min = words[i].integer_min;
		word->integer_max = words[i].integer_max;
		word->text_min = words[i].text_min;
		word->text_max = words[i].text_max;
		word->value_count = words[i].value_count;
		for (uint32_t k = 0; k < word->value_count; k++)
			word->values[k] = (struct hawk_schema_value){
				{(enum hawk_word_class)values[k].class, values[k].key},
				values[k].count};
	}
	return group->words;
}

static bool read_outliers(struct place *place, const struct kept_group *from,
			  struct hawk_schema_group *group)
{
	const struct kept_outlier *outliers = take(place, HAWK_KEPT_OUTLIERS, from->outlier_count);

	group->outliers = calloc((size_t)from->outlier_count + 1, sizeof(*group->outliers));
	for (uint32_t i = 0; i < from->outlier_count && group->outliers; i++) {
		struct hawk_schema_outlier *outlier = &group->outliers[i];

		outlier->block = outliers[i].block;
		outlier->misfit_count = outliers[i].misfit_count;
		outlier->bits = outliers[i].bits;
		for (unsigned k = 0; k < HAWK_SCHEMA_MISFITS_MAX; k++)
			outlier->misfits[k] = (struct hawk_schema_misfit){
				.offset = outliers[i].misfits[k].offset,
				.value = outliers[i].misfits[k].value,
				.word = {(enum hawk_word_class)outliers[i].misfits[k].class,
					 outliers[i].misfits[k].key},
				.bits = outliers[i].misfits[k].bits,
			};
	}
	return group->outliers;
}

static bool read_schema(struct place *place, const struct kept_schema *from,
			struct hawk_schema *ret)
{
	const struct kept_group *groups = take(place, HAWK_KEPT_GROUPS, from->group_count);

	*ret = (struct hawk_schema){
		.objects = from->objects,
		.bytes = from->bytes,
		.carved = from->carved,
		.sizes = (size_t)from->sizes,
		.rest_objects = from->rest_objects,
	};
	if (!read_asked(place, from->asked_count, &ret->asked))
		return false;
	for (uint32_t i = 0; i < from->group_count; i++) {
		ret->groups[ret->group_count++] = (struct hawk_schema_group){
			.size_min = groups[i].size_min,
			.size_max = groups[i].size_max,
			.objects = groups[i].objects,
			.examined = groups[i].examined,
			.unreadable = groups[i].unreadable,
			.bytes_each = groups[i].bytes_each,
			.period = groups[i].period,
			.word_count = groups[i].word_count,
			.outlier_count = groups[i].outlier_count,
			.outliers_all = groups[i].outliers_all,
		};
		if (!read_words(place, &groups[i], &ret->groups[i]) ||
		    !read_outliers(place, &groups[i], &ret->groups[i]))
			return false;
	}
	return true;
}

/** Moves behind what belongs to a schema. */
static void skip(struct place *place, const struct kept_schema *schema)
{
	const struct kept_group *groups = take(place, HAWK_KEPT_GROUPS, schema->group_count);

	(void)take(place, HAWK_KEPT_VALUES, schema->asked_count);
	for (uint32_t i = 0; i < schema->group_count; i++) {
		const struct kept_word *words = take(place, HAWK_KEPT_WORDS, groups[i].word_count);

		for (uint32_t k = 0; k < groups[i].word_count; k++)
			(void)take(place, HAWK_KEPT_VALUES, words[k].value_count);
		(void)take(place, HAWK_KEPT_OUTLIERS, groups[i].outlier_count);
	}
}

bool hawk_schema_find_kept(const struct hawk_block_graph *graph, uint32_t site,
			   struct hawk_schema *ret, struct hawk_error **err)
{
	struct place place = {.kept = &graph->schemas};
	uint64_t count = graph->schemas.arrays[HAWK_KEPT_SCHEMAS].count;
	const struct kept_schema *schemas = take(&place, HAWK_KEPT_SCHEMAS, count);

	*err = NULL;
	for (uint64_t i = 0; i < count; i++) {
		struct hawk_schema schema;

		if (schemas[i].site != site) {
			skip(&place, &schemas[i]);
			continue;
		}
		if (read_schema(&place, &schemas[i], &schema)) {
			*ret = schema;
			return true;
		}
		hawk_schema_deinit(&schema);
		*err = &hawk_enomem;
		return false;
	}
	return false;
}

static void append_words(const struct hawk_schema_group *group, struct hawk_text *texts)
{
	for (uint32_t i = 0; i < group->word_count; i++) {
		const struct hawk_schema_word *word = &group->words[i];
		struct kept_word kept = {
			.count = word->count,
			.integer_min = word->integer_min,
			.integer_max = word->integer_max,
			.text_min = word->text_min,
			.text_max = word->text_max,
			.value_count = word->value_count,
		};

		memcpy(kept.by_class, word->by_class, sizeof(kept.by_class));
		hawk_text_append(&texts[HAWK_KEPT_WORDS], &kept, sizeof(kept));
		for (uint32_t k = 0; k < word->value_count; k++) {
			const struct hawk_schema_value *value = &word->values[k];
			struct kept_value of = {
				.key = value->word.key,
				.count = value->count,
				.class = value->word.class,
			};

			hawk_text_append(&texts[HAWK_KEPT_VALUES], &of, sizeof(of));
		}
	}
}

static void append_outliers(const struct hawk_schema_group *group, struct hawk_text *texts)
{
	for (uint32_t i = 0; i < group->outlier_count; i++) {
		const struct hawk_schema_outlier *outlier = &group->outliers[i];
		struct kept_outlier kept = {
			.block = outlier->block,
			.misfit_count = outlier->misfit_count,
			.bits = outlier->bits,
		};

		for (uint32_t k = 0; k < HAWK_SCHEMA_MISFITS_MAX && k < outlier->misfit_count;
		     k++) {
			kept.misfits[k].offset = outlier->misfits[k].offset;
			kept.misfits[k].value = outlier->misfits[k].value;
			kept.misfits[k].key = outlier->misfits[k].word.key;
			kept.misfits[k].bits = outlier->misfits[k].bits;
			kept.misfits[k].class = outlier->misfits[k].word.class;
		}
		hawk_text_append(&texts[HAWK_KEPT_OUTLIERS], &kept, sizeof(kept));
	}
}

static void append_schema(const struct hawk_schema *schema, uint32_t site, struct hawk_text *texts)
{
	struct kept_schema kept = {
		.site = site,
		.group_count = (uint32_t)schema->group_count,
		.objects = schema->objects,
		.bytes = schema->bytes,
		.carved = schema->carved,
		.sizes = schema->sizes,
		.rest_objects = schema->rest_objects,
		.asked_count = schema->asked.count,
	};

	hawk_text_append(&texts[HAWK_KEPT_SCHEMAS], &kept, sizeof(kept));
	for (size_t i = 0; i < schema->asked.count; i++) {
		struct kept_value of = {.key = schema->asked.words[i], .class = HAWK_WORD_NULL};

		hawk_text_append(&texts[HAWK_KEPT_VALUES], &of, sizeof(of));
	}
	for (size_t i = 0; i < schema->group_count; i++) {
		const struct hawk_schema_group *group = &schema->groups[i];
		struct kept_group of = {
			.size_min = group->size_min,
			.size_max = group->size_max,
			.objects = group->objects,
			.examined = group->examined,
			.unreadable = group->unreadable,
			.bytes_each = group->bytes_each,
			.period = group->period,
			.word_count = group->word_count,
			.outlier_count = group->outlier_count,
			.outliers_all = group->outliers_all,
		};

		hawk_text_append(&texts[HAWK_KEPT_GROUPS], &of, sizeof(of));
		append_words(group, texts);
		append_outliers(group, texts);
	}
}

static bool has_room(const struct hawk_text *texts)
{
	return texts[HAWK_KEPT_VALUES].size < VALUES_MAX * sizeof(struct kept_value) &&
	       texts[HAWK_KEPT_OUTLIERS].size < OUTLIERS_KEPT * sizeof(struct kept_outlier);
}

static bool is_large(const struct hawk_site *site)
{
	return hawk_site_blocks(site) > LARGE_BLOCKS || hawk_site_block_bytes(site) > LARGE_BYTES;
}

/** The largest sites come first; among smaller ones there may be some of many blocks. */
static struct hawk_error *append_sites(const struct hawk_block_graph *graph,
				       struct hawk_text *texts)
{
	struct hawk_error *err = NULL;
	unsigned kept = 0;

	for (uint32_t i = 0; i < graph->heap->site_count && kept < SITES_MAX && !err; i++) {
		const struct hawk_site *site = &graph->heap->sites[i];
		struct hawk_schema_wish wish = {.site = i};
		struct hawk_schema schema;

		if (!hawk_site_blocks(site) || !has_room(texts) ||
		    (kept >= SITES_SHOWN && !is_large(site)))
			continue;
		err = hawk_schema_make(graph, &wish, &schema);
		if (err)
			break;
		append_schema(&schema, i, texts);
		hawk_schema_deinit(&schema);
		kept++;
	}
	for (unsigned sort = 0; sort < HAWK_KEPT_SORTS && !err; sort++)
		err = texts[sort].failed ? &hawk_enomem : NULL;
	return err;
}

struct hawk_error *hawk_schema_keep(struct hawk_block_graph *graph)
{
	struct hawk_text texts[HAWK_KEPT_SORTS] = {0};
	struct hawk_kept_schemas made = {0};
	struct hawk_error *err;

	if (graph->parts & HAWK_PART_SCHEMAS)
		return NULL;
	err = append_sites(graph, texts);
	for (unsigned sort = 0; sort < HAWK_KEPT_SORTS; sort++)
		made.arrays[sort] = (struct hawk_kept_array){
			.items = texts[sort].bytes,
			.count = texts[sort].size / kept_size((enum hawk_kept_sort)sort),
			.owned = texts[sort].bytes,
		};
	if (err || !kept_schemas_fit(&made, graph->heap->site_count, graph->index.count)) {
		hawk_kept_schemas_deinit(&made);
		return err;
	}
	graph->schemas = made;
	graph->parts |= HAWK_PART_SCHEMAS;
	return NULL;
}

void hawk_kept_schemas_deinit(struct hawk_kept_schemas *kept)
{
	for (unsigned sort = 0; sort < HAWK_KEPT_SORTS; sort++)
		free(kept->arrays[sort].owned);
	*kept = (struct hawk_kept_schemas){0};
}
