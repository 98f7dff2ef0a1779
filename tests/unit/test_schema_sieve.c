/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sieve: what it lets pass fits, whatever it knows of blocks; and it is in doubt of few.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "schema_sieve.h"
#include "synthetic_schema.h"

enum { RULES = 4, BLOCKS = TARGETS + RECORDS + ARRAYS };

struct doubts {
	const struct schema_world *world;
	struct hawk_schema_sieve *sieve;
	uint8_t seen[BLOCKS];
	uint32_t latest; /**< behind the one that was doubted last */
	unsigned count;
};

/** Reads the block, as who judges it does. */
static struct hawk_error *note(void *context, uint32_t number)
{
	struct doubts *doubts = context;
	const struct hawk_block_index *index = &doubts->world->graph.index;
	uint8_t bytes[RECORD_BYTES];

	assert_true(number >= doubts->latest && number < BLOCKS);
	doubts->latest = number + 1;
	doubts->seen[number] = 1;
	doubts->count++;
	(void)hawk_near_read(&doubts->sieve->near, hawk_block_start(index, number), bytes,
			     sizeof(bytes));
	return NULL;
}

/** Whether all words of a block are there, and of the families that rules are of. */
static bool fits(const struct schema_world *world, struct hawk_words *words,
		 const struct hawk_schema_rules *rules, uint32_t number)
{
	uint64_t start = hawk_block_start(&world->graph.index, number);

	for (uint32_t i = 0; i < rules->count; i++) {
		enum hawk_word_family family;
		struct hawk_word word;
		uint64_t value;

		if (hawk_target_read_some(world->target, start + rules->items[i].at, &value,
					  sizeof(value)) < sizeof(value))
			return false;
		schema_world_check(hawk_words_classify(words, value, &word));
		family = hawk_word_family_of(word.class);
		if (family != rules->items[i].family &&
		    (family != HAWK_FAMILY_NULL || !rules->items[i].null_fits))
			return false;
	}
	return true;
}

/** `small`: 0 = what is below the lowest mapping. */
static struct doubts *sieve(const struct schema_world *world, const struct hawk_schema_group *group,
			    uint32_t site, unsigned parts, const struct hawk_schema_rules *rules,
			    uint64_t small, uint64_t latest)
{
	uint8_t byte;
	struct hawk_schema_wish wish = {.site = site, .parts = parts};
	struct doubts *doubts = calloc(1, sizeof(*doubts));
	struct hawk_schema_blocks blocks;
	struct hawk_schema schema;

	assert_non_null(doubts);
	schema_world_check(hawk_schema_collect(&world->graph, &wish, &schema, &blocks));
	for (unsigned i = 0; i < parts; i++) {
		struct hawk_schema_sieve of = {
			.blocks = &blocks,
			.part = i,
			.group = group,
			.rules = rules,
			.small = small ? small : hawk_words_lowest(blocks.words[i]),
			.doubt = note,
			.context = doubts,
			.near = {.target = world->target},
		};

		for (unsigned k = 0; k < HAWK_SCHEMA_SIEVE_RULES_MAX; k++)
			of.latest[k] = latest;
		/* It knows the mapping from the beginning. */
		(void)hawk_near_read(&of.near, world->targets[0], &byte, 1);
		doubts->world = world;
		doubts->sieve = &of;
		schema_world_check(hawk_schema_sieve(&of));
	}
	hawk_schema_blocks_deinit(&blocks);
	return doubts;
}

/** Returns how many of the group's blocks do not fit. */
static unsigned check_doubts(const struct schema_world *world,
			     const struct hawk_schema_group *group, uint32_t first, uint32_t end,
			     const struct hawk_schema_rules *rules, const struct doubts *doubts)
{
	struct hawk_words *words;
	unsigned misfits = 0;

	schema_world_check(hawk_words_create(&world->graph, &words));
	for (uint32_t i = first; i < end; i++) {
		uint64_t size = hawk_block_size(&world->graph.index, i);
		bool of_group = size >= group->size_min && size <= group->size_max;

		if (!of_group)
			assert_false(doubts->seen[i]);
		else if (!fits(world, words, rules, i)) {
			assert_true(doubts->seen[i]);
			misfits++;
		}
	}
	hawk_words_destroy(words);
	return misfits;
}

static const struct hawk_schema_group records = {
	.size_min = RECORD_BYTES, .size_max = RECORD_BYTES, .objects = RECORDS};

static void what_does_not_fit_is_doubted(void **state)
{
	struct hawk_schema_rule items[] = {
		{.at = KEYS_AT, .family = HAWK_FAMILY_POINTER, .null_fits = true},
		{.at = MANY_AT, .family = HAWK_FAMILY_NUMBER, .null_fits = true},
		{.at = ODD_AT, .family = HAWK_FAMILY_POINTER, .null_fits = true},
		{.at = ODD_AT + 8, .family = HAWK_FAMILY_POINTER, .null_fits = true},
	};
	const struct hawk_schema_rules rules = {.items = items, .count = RULES};
	struct schema_world *world = schema_world_create(SIZE_MAX);

	(void)state;
	for (unsigned parts = 1; parts <= 5; parts += 2) {
		struct doubts *doubts = sieve(world, &records, RECORD_SITE, parts, &rules, 0, 0);

		/* Wrong words in two places. */
		assert_int_equal(
			check_doubts(world, &records, TARGETS, TARGETS + RECORDS, &rules, doubts),
			2 * (RECORDS / ODD_EACH));
		/* Beside pointers into or behind the last granule. */
		assert_in_range(doubts->count, 2 * (RECORDS / ODD_EACH), RECORDS * 2 / 3);
		free(doubts);
	}
	schema_world_destroy(world);
}

static void pointers_to_the_start_of_granules_are_not_doubted(void **state)
{
	struct hawk_schema_rule items[] = {
		{.at = KEYS_AT, .family = HAWK_FAMILY_POINTER, .null_fits = true},
		{.at = FEW_AT, .family = HAWK_FAMILY_NUMBER, .null_fits = true},
	};
	const struct hawk_schema_rules rules = {.items = items, .count = 2};
	struct schema_world *world = schema_world_create(SIZE_MAX);
	struct doubts *doubts = sieve(world, &records, RECORD_SITE, 1, &rules, 0, 0);

	(void)state;
	assert_int_equal(doubts->count, 0);
	free(doubts);
	schema_world_destroy(world);
}

static void a_fixed_word_is_compared(void **state)
{
	struct hawk_schema_rule items[] = {{.at = FEW_AT, .family = HAWK_FAMILY_FIXED}};
	const struct hawk_schema_rules rules = {.items = items, .count = 1};
	struct schema_world *world = schema_world_create(SIZE_MAX);

	(void)state;
	/* FEW_AT has 1 .. 7, a seventh of the records each, one after the other. */
	for (uint64_t latest = 0; latest <= 7; latest++) {
		struct doubts *doubts = sieve(world, &records, RECORD_SITE, 1, &rules, 0, latest);
		unsigned same = 0;

		for (unsigned i = 0; i < RECORDS; i++) {
			bool is_same = 1 + i * 7 / RECORDS == latest;

			assert_int_equal(doubts->seen[TARGETS + i], !is_same);
			same += is_same;
		}
		assert_int_equal(!same, !latest);
		free(doubts);
	}
	schema_world_destroy(world);
}

static void numbers_below_a_limit_are_not_doubted(void **state)
{
	struct hawk_schema_rule items[] = {{.at = MANY_AT, .family = HAWK_FAMILY_NUMBER}};
	const struct hawk_schema_rules rules = {.items = items, .count = 1};
	struct schema_world *world = schema_world_create(SIZE_MAX);

	(void)state;
	/* MANY_AT has 1 .. 12. */
	for (uint64_t small = 1; small <= 13; small++) {
		struct doubts *doubts = sieve(world, &records, RECORD_SITE, 1, &rules, small, 0);

		for (unsigned i = 0; i < RECORDS; i++)
			assert_int_equal(doubts->seen[TARGETS + i], 1 + i * 12 / RECORDS >= small);
		free(doubts);
	}
	schema_world_destroy(world);
}

static void null_is_a_pointer_but_no_fixed_word(void **state)
{
	static const struct hawk_schema_group targets = {
		.size_min = TARGET_BYTES, .size_max = TARGET_BYTES, .objects = TARGETS};
	struct hawk_schema_rule items[] = {{.at = 8, .family = HAWK_FAMILY_POINTER}};
	const struct hawk_schema_rules rules = {.items = items, .count = 1};
	struct schema_world *world = schema_world_create(SIZE_MAX);
	struct doubts *doubts;

	(void)state;
	for (uint32_t i = 0; i < TARGETS; i++) /* which are empty */
		world->site_of_trace[i] = 0;
	doubts = sieve(world, &targets, 0, 1, &rules, 0, 0);
	assert_int_equal(doubts->count, 0);
	free(doubts);
	items[0].family = HAWK_FAMILY_FIXED;
	doubts = sieve(world, &targets, 0, 1, &rules, 0, 0);
	assert_int_equal(doubts->count, TARGETS);
	free(doubts);
	schema_world_destroy(world);
}

static void the_inside_of_a_large_block_is_looked_at_closer(void **state)
{
	struct hawk_schema_rule items[] = {{.at = KEYS_AT, .family = HAWK_FAMILY_POINTER}};
	const struct hawk_schema_rules rules = {.items = items, .count = 1};
	struct schema_world *world = schema_world_create(SIZE_MAX);
	struct doubts *doubts;

	(void)state;
	for (unsigned i = 0; i < TARGETS; i++)
		world->graph.index.directory[world->targets[i] >> HAWK_CHUNK_LOG2] =
			HAWK_CHUNK_INSIDE;
	doubts = sieve(world, &records, RECORD_SITE, 1, &rules, 0, 0);
	assert_int_equal(doubts->count, RECORDS);
	free(doubts);
	schema_world_destroy(world);
}

static void sizes_are_told_apart_and_short_blocks_doubted(void **state)
{
	struct hawk_schema_rule items[] = {
		{.at = 0, .family = HAWK_FAMILY_POINTER, .null_fits = true},
		{.at = 432, .family = HAWK_FAMILY_NUMBER, .null_fits = true},
	};
	const struct hawk_schema_rules rules = {.items = items, .count = 2};
	const struct hawk_schema_group some = {.size_min = 390, .size_max = 600, .objects = ARRAYS};
	struct schema_world *world = schema_world_create(SIZE_MAX);
	struct doubts *doubts = sieve(world, &some, ARRAY_SITE, 2, &rules, UINT64_MAX, 0);
	unsigned of_group = 0, few = 0;

	(void)state;
	for (uint32_t i = TARGETS + RECORDS; i < BLOCKS; i++) {
		uint64_t size = hawk_block_size(&world->graph.index, i);

		of_group += size >= 390 && size <= 600;
		few += size >= 390 && size < 440;
		if (size >= 390 && size < 440)
			assert_true(doubts->seen[i]);
		if (size < 390 || size > 600)
			assert_false(doubts->seen[i]);
	}
	assert_in_range(of_group, few + 1, ARRAYS - 1);
	assert_true(few);
	free(doubts);
	schema_world_destroy(world);
}

static void what_cannot_be_read_is_doubted(void **state)
{
	struct hawk_schema_rule items[] = {
		{.at = KEYS_AT, .family = HAWK_FAMILY_POINTER, .null_fits = true},
		{.at = MANY_AT, .family = HAWK_FAMILY_NUMBER, .null_fits = true},
	};
	const struct hawk_schema_rules rules = {.items = items, .count = 2};
	unsigned cut_through = 0;

	(void)state;
	for (size_t cut = 200000; cut < 200000 + RECORD_BYTES + 16; cut += 8) {
		struct schema_world *world = schema_world_create(cut);
		uint32_t count = world->graph.index.count;
		uint8_t bytes[MANY_AT + 8];
		struct doubts *doubts;

		assert_in_range(count, TARGETS + 5 * 64, TARGETS + RECORDS);
		doubts = sieve(world, &records, RECORD_SITE, 1, &rules, 0, 0);
		if (hawk_target_read_some(world->target,
					  hawk_block_start(&world->graph.index, count - 1), bytes,
					  sizeof(bytes)) < sizeof(bytes)) {
			assert_true(doubts->seen[count - 1]);
			cut_through++;
		}
		assert_false(doubts->seen[count - 2]);
		free(doubts);
		schema_world_destroy(world);
	}
	assert_in_range(cut_through, 2, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_fit_is_doubted),
		cmocka_unit_test(pointers_to_the_start_of_granules_are_not_doubted),
		cmocka_unit_test(a_fixed_word_is_compared),
		cmocka_unit_test(numbers_below_a_limit_are_not_doubted),
		cmocka_unit_test(null_is_a_pointer_but_no_fixed_word),
		cmocka_unit_test(the_inside_of_a_large_block_is_looked_at_closer),
		cmocka_unit_test(sizes_are_told_apart_and_short_blocks_doubted),
		cmocka_unit_test(what_cannot_be_read_is_doubted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
