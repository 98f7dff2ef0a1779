/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Schemas that are kept: what would be made, for questions about all blocks of a site and no
 * others; and what an index cache must not get away with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "schema_kept.h"
#include "synthetic_schema.h"

enum { SHOWN = 8 }; /**< of sites that are not large */

/** As a sweep might have counted: two large ones behind many others. */
static void count_sites(struct schema_world *world)
{
	for (uint32_t i = 0; i < SITES; i++)
		world->sites[i] = (struct hawk_site){.inuse_objects = 1, .inuse_bytes = 1};
	world->sites[RECORD_SITE].inuse_objects = (1 << 20) + 1;
	world->sites[ARRAY_SITE].inuse_bytes = (64 << 20) + 1;
}

static void make(const struct schema_world *world, uint32_t site, size_t groups,
		 const struct hawk_choice_wish *blocks, struct hawk_schema *ret)
{
	struct hawk_schema_wish wish = {.site = site, .groups = groups, .blocks = blocks};

	schema_world_check(hawk_schema_make(&world->graph, &wish, ret));
}

static bool find(const struct schema_world *world, uint32_t site, struct hawk_schema *ret)
{
	struct hawk_error *err;
	bool found = hawk_schema_find_kept(&world->graph, site, ret, &err);

	schema_world_check(err);
	return found;
}

static void kept_schemas_are_those_that_are_made(void **state)
{
	static const size_t cuts[] = {SIZE_MAX, 400000, 401000};

	(void)state;
	for (unsigned cut = 0; cut < 3; cut++) {
		struct schema_world *world = schema_world_create(cuts[cut]);
		struct hawk_schema made[SITES], kept;

		count_sites(world);
		for (uint32_t site = 0; site < SITES; site++)
			make(world, site, 0, NULL, &made[site]);
		assert_false(find(world, 0, &kept));
		schema_world_check(hawk_schema_keep(&world->graph));
		assert_true(world->graph.parts & HAWK_PART_SCHEMAS);
		for (uint32_t site = 0; site < SITES; site++) {
			bool found = find(world, site, &kept);

			assert_int_equal(found, site < SHOWN || site >= RECORD_SITE);
			if (found) {
				schemas_are_the_same(&made[site], &kept);
				hawk_schema_deinit(&kept);
			}
			hawk_schema_deinit(&made[site]);
		}
		schema_world_destroy(world);
	}
}

/** All but the one at the address that `context` is. */
static struct hawk_error *want(const void *context, const struct hawk_block *block, bool *ret)
{
	*ret = !context || block->start != *(const uint64_t *)context;
	return NULL;
}

static void what_was_not_counted_so_is_looked_at(void **state)
{
	struct schema_world *world = schema_world_create(SIZE_MAX);
	struct hawk_choice_wish all = {.filter = want};
	struct hawk_schema schema;
	struct kept_schema *kept;

	(void)state;
	count_sites(world);
	schema_world_check(hawk_schema_keep(&world->graph));
	kept = world->graph.schemas.arrays[HAWK_KEPT_SCHEMAS].owned;
	for (uint64_t i = 0; i < world->graph.schemas.arrays[HAWK_KEPT_SCHEMAS].count; i++)
		kept[i].objects++;
	make(world, RECORD_SITE, 0, NULL, &schema);
	assert_int_equal(schema.objects, RECORDS + 1);
	hawk_schema_deinit(&schema);
	make(world, RECORD_SITE, 1, NULL, &schema);
	assert_int_equal(schema.objects, RECORDS);
	hawk_schema_deinit(&schema);
	make(world, RECORD_SITE, 0, &all, &schema);
	assert_int_equal(schema.objects, RECORDS);
	hawk_schema_deinit(&schema);
	/* It was not kept. */
	make(world, SHOWN, 0, NULL, &schema);
	assert_int_equal(schema.objects, 1);
	hawk_schema_deinit(&schema);
	schema_world_destroy(world);
}

static void filters_that_leave_out_no_block_are_answered_from_them(void **state)
{
	struct schema_world *world = schema_world_create(SIZE_MAX);
	struct hawk_choice_wish all = {.filter = want};
	struct hawk_choice_wish others = {.filter = want, .context = &world->records[7]};
	struct hawk_schema schema;
	struct kept_schema *kept;

	(void)state;
	count_sites(world);
	schema_world_check(hawk_schema_keep(&world->graph));
	kept = world->graph.schemas.arrays[HAWK_KEPT_SCHEMAS].owned;
	for (uint64_t i = 0; i < world->graph.schemas.arrays[HAWK_KEPT_SCHEMAS].count; i++)
		kept[i].rest_objects = 77;
	make(world, RECORD_SITE, 0, &all, &schema);
	assert_int_equal(schema.objects, RECORDS);
	assert_int_equal(schema.rest_objects, 77);
	hawk_schema_deinit(&schema);
	make(world, RECORD_SITE, 0, &others, &schema);
	assert_int_equal(schema.objects, RECORDS - 1);
	assert_int_equal(schema.groups[0].words[0].count, RECORDS - 1);
	assert_int_equal(schema.rest_objects, 0);
	hawk_schema_deinit(&schema);
	schema_world_destroy(world);
}

static bool fits(const struct schema_world *world, const struct hawk_kept_schemas *kept)
{
	return kept_schemas_fit(kept, SITES, world->graph.index.count);
}

/** With the 32-bit number at `field` of the last thing of a sort made `value`. */
static bool fits_with(const struct schema_world *world, enum hawk_kept_sort sort, size_t field,
		      uint32_t value)
{
	const struct hawk_kept_array *array = &world->graph.schemas.arrays[sort];
	uint8_t *at = (uint8_t *)array->owned + (array->count - 1) * kept_size(sort) + field;
	uint32_t before;
	bool ret;

	assert_true(array->count);
	memcpy(&before, at, sizeof(before));
	memcpy(at, &value, sizeof(value));
	ret = fits(world, &world->graph.schemas);
	memcpy(at, &before, sizeof(before));
	return ret;
}

static void numbers_of_nothing_are_refused(void **state)
{
	static const struct {
		enum hawk_kept_sort sort;
		size_t field;
		uint32_t value;
	} bad[] = {
		{HAWK_KEPT_SCHEMAS, offsetof(struct kept_schema, site), SITES},
		{HAWK_KEPT_SCHEMAS, offsetof(struct kept_schema, site), UINT32_MAX},
		{HAWK_KEPT_SCHEMAS, offsetof(struct kept_schema, group_count), 0},
		{HAWK_KEPT_SCHEMAS, offsetof(struct kept_schema, group_count), 2},
		{HAWK_KEPT_SCHEMAS, offsetof(struct kept_schema, group_count), UINT32_MAX},
		{HAWK_KEPT_SCHEMAS, offsetof(struct kept_schema, asked_count), 1},
		{HAWK_KEPT_SCHEMAS, offsetof(struct kept_schema, asked_count), UINT32_MAX},
		{HAWK_KEPT_GROUPS, offsetof(struct kept_group, word_count), ELEMENT_WORDS - 1},
		{HAWK_KEPT_GROUPS, offsetof(struct kept_group, word_count), ELEMENT_WORDS + 1},
		{HAWK_KEPT_GROUPS, offsetof(struct kept_group, word_count), UINT32_MAX},
		{HAWK_KEPT_GROUPS, offsetof(struct kept_group, period), ELEMENT_WORDS + 1},
		{HAWK_KEPT_GROUPS, offsetof(struct kept_group, outlier_count), 3},
		{HAWK_KEPT_GROUPS, offsetof(struct kept_group, outlier_count), 5},
		{HAWK_KEPT_GROUPS, offsetof(struct kept_group, outliers_all), 3},
		{HAWK_KEPT_WORDS, offsetof(struct kept_word, value_count), 0},
		{HAWK_KEPT_WORDS, offsetof(struct kept_word, value_count), 1000},
		{HAWK_KEPT_WORDS, offsetof(struct kept_word, value_count), UINT32_MAX},
		{HAWK_KEPT_VALUES, offsetof(struct kept_value, class), HAWK_WORD_CLASSES},
		{HAWK_KEPT_VALUES, offsetof(struct kept_value, class), UINT32_MAX},
		{HAWK_KEPT_OUTLIERS, offsetof(struct kept_outlier, block), UINT32_MAX},
		{HAWK_KEPT_OUTLIERS, offsetof(struct kept_outlier, misfit_count), 0},
		{HAWK_KEPT_OUTLIERS, offsetof(struct kept_outlier, misfits[0].class),
		 HAWK_WORD_CLASSES},
	};
	struct schema_world *world = schema_world_create(SIZE_MAX);

	(void)state;
	count_sites(world);
	schema_world_check(hawk_schema_keep(&world->graph));
	assert_true(fits(world, &world->graph.schemas));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (fits_with(world, bad[i].sort, bad[i].field, bad[i].value))
			fail_msg("change %zu is not noticed", i);
	schema_world_destroy(world);
}

static void sites_of_words_are_there(void **state)
{
	struct schema_world *world = schema_world_create(SIZE_MAX);
	struct hawk_kept_array *values;
	struct kept_value *items;
	unsigned changed = 0;

	(void)state;
	count_sites(world);
	schema_world_check(hawk_schema_keep(&world->graph));
	values = &world->graph.schemas.arrays[HAWK_KEPT_VALUES];
	items = values->owned;
	for (uint64_t i = 0; i < values->count; i++) {
		struct kept_value before = items[i];

		if (before.class < HAWK_WORD_BLOCK || before.class > HAWK_WORD_END)
			continue;
		items[i].key = SITES;
		assert_false(fits(world, &world->graph.schemas));
		items[i].key = HAWK_SCHEMA_OTHERS;
		assert_true(fits(world, &world->graph.schemas));
		items[i] = before;
		changed++;
	}
	assert_true(changed > HAWK_SCHEMA_KEYS_MAX);
	schema_world_destroy(world);
}

static void what_is_missing_or_left_over_is_refused(void **state)
{
	struct schema_world *world = schema_world_create(SIZE_MAX);
	const struct hawk_kept_schemas nothing = {0};

	(void)state;
	count_sites(world);
	schema_world_check(hawk_schema_keep(&world->graph));
	for (unsigned sort = 0; sort < HAWK_KEPT_SORTS; sort++) {
		struct hawk_kept_schemas kept = world->graph.schemas;

		kept.arrays[sort].count--;
		assert_false(fits(world, &kept));
		kept.arrays[sort].count = 0;
		assert_false(fits(world, &kept));
	}
	assert_true(fits(world, &nothing));
	schema_world_destroy(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_schemas_are_those_that_are_made),
		cmocka_unit_test(what_was_not_counted_so_is_looked_at),
		cmocka_unit_test(filters_that_leave_out_no_block_are_answered_from_them),
		cmocka_unit_test(numbers_of_nothing_are_refused),
		cmocka_unit_test(sites_of_words_are_there),
		cmocka_unit_test(what_is_missing_or_left_over_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
