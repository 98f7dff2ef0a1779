/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Schemas of blocks with too many different keys and numbers, with equally rare outliers, of which
 * only a share is read, or that are cut off.
 */
#include "test.h"
#include "analysis/schema/schema_blocks.h"
#include "synthetic_schema.h"

static void make(const struct schema_world *world, uint32_t site, struct hawk_schema *ret)
{
	struct hawk_schema_query wish = {.site = site};

	check(hawk_schema_make(&world->of_sites, &wish, NULL, NULL, ret));
}

TEST(blocks_that_are_cut_off_are_unreadable)
{
	static const size_t cuts[] = {400000, 401000};
	uint64_t unreadable = 0;

	for (unsigned cut = 0; cut < 2; cut++) {
		struct schema_world *world = schema_world_create(cuts[cut]);

		for (uint32_t site = RECORD_SITE; site <= ARRAY_SITE; site++) {
			struct hawk_schema schema;

			make(world, site, &schema);
			for (size_t i = 0; i < schema.group_count; i++)
				unreadable += schema.groups[i].unreadable;
			hawk_schema_deinit(&schema);
		}
		schema_world_destroy(world);
	}
	assert_true(unreadable);
}

static uint64_t count_of(const struct hawk_schema_word *word, enum hawk_word_class class,
			 uint64_t key)
{
	for (uint32_t i = 0; i < word->value_count; i++)
		if (word->values[i].word.class == class && word->values[i].word.key == key)
			return word->values[i].count;
	return 0;
}

TEST(the_first_keys_are_told_apart_and_counted_in_full)
{
	struct schema_world *world = schema_world_create(SIZE_MAX);
	uint64_t counts[TARGETS] = {0}, others = RECORDS;
	unsigned order[TARGETS], met = 0;
	const struct hawk_schema_word *word;
	struct hawk_schema schema;

	for (unsigned i = 0; i < RECORDS; i++)
		if (!counts[world->keys[i]]++)
			order[met++] = world->keys[i];
	assert_in_range(met, HAWK_SCHEMA_KEYS_MAX + 20, TARGETS);
	for (unsigned i = 0; i < HAWK_SCHEMA_KEYS_MAX; i++)
		others -= counts[order[i]];
	make(world, RECORD_SITE, &schema);
	word = &schema.groups[0].words[KEYS_AT / 8];
	for (unsigned i = 0; i < met; i++)
		assert_int_equal(count_of(word, HAWK_WORD_BLOCK, order[i]),
				 i < HAWK_SCHEMA_KEYS_MAX ? counts[order[i]] : 0);
	assert_int_equal(count_of(word, HAWK_WORD_BLOCK, HAWK_SCHEMA_OTHERS), others);
	word = &schema.groups[0].words[FEW_AT / 8];
	assert_int_equal(word->value_count, 7);
	assert_int_equal(count_of(word, HAWK_WORD_INTEGER, 7), RECORDS / 7);
	word = &schema.groups[0].words[MANY_AT / 8];
	assert_int_equal(word->value_count, 1);
	assert_int_equal(count_of(word, HAWK_WORD_INTEGER, HAWK_SCHEMA_OTHERS), RECORDS);
	assert_true(word->integer_min == 1 && word->integer_max == 12);
	word = &schema.groups[0].words[TEXT_AT / 8];
	assert_int_equal(word->text_min, 4);
	assert_int_equal(word->text_max, 8);
	hawk_schema_deinit(&schema);
	schema_world_destroy(world);
}

TEST(of_equal_outliers_the_first_are_listed)
{
	struct schema_world *world = schema_world_create(SIZE_MAX);
	const struct hawk_schema_group *group;
	struct hawk_schema schema;
	unsigned record = 0;

	make(world, RECORD_SITE, &schema);
	group = &schema.groups[0];
	assert_int_equal(group->outliers_all, RECORDS / ODD_EACH * ODD_OFFSETS);
	assert_int_equal(group->outlier_count, HAWK_SCHEMA_OUTLIERS_MAX);
	for (uint32_t i = 0; i < group->outlier_count; i++) {
		const struct hawk_schema_outlier *outlier = &group->outliers[i];

		while (record % ODD_EACH % 20 || record % ODD_EACH / 20 >= ODD_OFFSETS)
			record++;
		assert_int_equal(hawk_block_start(&world->of_sites.index, outlier->block),
				 world->records[record]);
		assert_int_equal(outlier->misfit_count, 1);
		assert_int_equal(outlier->misfits[0].offset, ODD_AT + 8 * (record % ODD_EACH / 20));
		assert_int_equal(outlier->misfits[0].value,
				 schema_world_wrong_word(world, record % ODD_EACH / 20));
		record++;
	}
	hawk_schema_deinit(&schema);
	schema_world_destroy(world);
}

TEST(arrays_are_tallied_by_element)
{
	struct schema_world *world = schema_world_create(SIZE_MAX);
	struct hawk_schema schema;

	make(world, ARRAY_SITE, &schema);
	assert_int_equal(schema.group_count, 1);
	assert_int_equal(schema.groups[0].period, ELEMENT_WORDS);
	assert_int_equal(schema.groups[0].words[0].by_class[HAWK_WORD_BLOCK],
			 schema.groups[0].words[0].count);
	assert_int_equal(schema.groups[0].outliers_all, 4);
	assert_int_equal(schema.groups[0].outliers[0].misfits[0].offset,
			 8 * (3 * ELEMENT_WORDS + 1));
	hawk_schema_deinit(&schema);
	schema_world_destroy(world);
}

struct seen {
	uint8_t blocks[TARGETS + RECORDS + ARRAYS];
};

static struct hawk_error *see(void *context, const struct hawk_schema_piece *piece)
{
	struct seen *seen = context;

	seen->blocks[piece->block]++;
	return NULL;
}

/** Walks the chosen share of the records. */
static void walk(const struct schema_world *world, uint64_t share, struct seen *seen)
{
	struct hawk_schema_query wish = {.site = RECORD_SITE};
	struct hawk_schema_group group = {.size_min = RECORD_BYTES,
					  .size_max = RECORD_BYTES,
					  .objects = RECORDS,
					  .bytes_each = RECORD_BYTES};
	struct hawk_schema schema = {0};
	struct hawk_schema_blocks blocks;
	struct hawk_schema_walk walk = {
		.blocks = &blocks, .group = &group, .share = share, .visit = see, .context = seen};
	uint64_t count = 0;

	memset(seen, 0, sizeof(*seen));
	check(hawk_schema_collect(&world->of_sites, &wish, NULL, &schema, &blocks));
	check(hawk_schema_walk(&walk, "seeing"));
	for (unsigned i = 0; i < sizeof(seen->blocks); i++)
		count += seen->blocks[i];
	assert_int_equal(walk.examined, count);
	hawk_schema_blocks_deinit(&blocks);
}

/** Returns the share of every `step`-th record that was seen, in per mille. */
static uint64_t share_of(const struct seen *seen, unsigned first, unsigned step)
{
	uint64_t count = 0, all = 0;

	for (unsigned i = TARGETS + first; i < TARGETS + RECORDS; i += step) {
		count += seen->blocks[i];
		all++;
	}
	return 1000 * count / all;
}

TEST(a_share_of_blocks_is_spread_evenly)
{
	struct schema_world *world = schema_world_create(SIZE_MAX);
	struct seen all, some;

	walk(world, HAWK_SCHEMA_ALL, &all);
	assert_int_equal(share_of(&all, 0, 1), 1000);
	walk(world, HAWK_SCHEMA_ALL / 10, &some);
	assert_in_range(share_of(&some, 0, 1), 98, 102);
	for (unsigned step = 2; step <= 16; step++)
		for (unsigned first = 0; first < step; first++)
			assert_in_range(share_of(&some, first, step), 70, 130);
	schema_world_destroy(world);
}
