/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Schemas of blocks that are looked at in parts: what comes out is what one part would have seen,
 * also where keys and numbers are too many to tell apart, and where outliers are equally rare.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core_file.h"
#include "hawk_schema.h"
#include "schema_walk.h"
#include "synthetic_heap.h"

enum {
	TARGETS = 100, /**< blocks of a site each, 0 .. TARGETS - 1 */
	RECORDS = 3000,
	ARRAYS = 300,
	RECORD_SITE = TARGETS,
	ARRAY_SITE,
	SITES,
	TARGET_BYTES = 24,
	RECORD_BYTES = 64,
	ELEMENT_WORDS = 3,
	HEAP_BYTES = 1 << 20,
	ODD_EACH = 125, /**< one record of so many has a wrong word at an offset */
	ODD_OFFSETS = 4,
	PARTS_MAX = 7,
};

/** Three offsets have too many of something, four have wrong words. */
enum { KEYS_AT = 0, FEW_AT = 8, MANY_AT = 16, ODD_AT = 24, TEXT_AT = 56 };

static const uint64_t TEXT = UINT64_C(0x4141414141414141);

struct world {
	struct synthetic_heap *heap;
	uint64_t targets[TARGETS];
	uint64_t records[RECORDS];
	unsigned keys[RECORDS]; /**< the target that record i points to */
	uint64_t next;
	uint64_t seed;

	uint8_t *core_bytes;
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_site sites[SITES];
	uint32_t site_of_trace[SITES];
	struct hawk_heap of_sites;
	struct hawk_block_graph graph;
};

static void check(struct hawk_error *err)
{
	if (err)
		fail_msg("%s", hawk_error_message(err));
}

static uint64_t add_block(struct world *world, uint64_t size, uint32_t site)
{
	uint64_t start = world->next + 16;

	assert_true(start + size <= SYNTHETIC_HEAP + HEAP_BYTES);
	synthetic_heap_add_block(
		world->heap, (struct synthetic_block){.start = start, .size = size, .trace = site});
	world->next = (start + size + 15) & ~UINT64_C(15);
	return start;
}

static void put(struct world *world, uint64_t address, uint64_t value)
{
	memcpy(world->heap->bytes + (address - SYNTHETIC_HEAP), &value, sizeof(value));
}

/** Targets come into use one after the other, so that later parts meet others first. */
static unsigned choose_target(struct world *world, unsigned number, unsigned count)
{
	return (unsigned)(synthetic_random(&world->seed) % (1 + number * TARGETS / count));
}

/** Text, or a pointer that is close to a block, in the granule of its end. */
static uint64_t wrong_word(const struct world *world, unsigned k)
{
	return k % 2 ? TEXT : world->targets[k] + TARGET_BYTES + 1 + k;
}

/** Into a record, or just behind it. */
static uint64_t right_word(const struct world *world, unsigned i, unsigned k)
{
	return world->records[(i * 31 + k) % RECORDS] + i * k % (RECORD_BYTES + 1);
}

static void fill_record(struct world *world, unsigned i)
{
	uint64_t start = world->records[i];

	world->keys[i] = choose_target(world, i, RECORDS);
	put(world, start + KEYS_AT, world->targets[world->keys[i]]);
	put(world, start + FEW_AT, 1 + i * 7 / RECORDS);
	put(world, start + MANY_AT, 1 + i * 12 / RECORDS);
	for (unsigned k = 0; k < ODD_OFFSETS; k++)
		put(world, start + ODD_AT + 8 * (uint64_t)k,
		    i % ODD_EACH == 20 * k ? wrong_word(world, k) : right_word(world, i, k));
	memset(world->heap->bytes + (start + TEXT_AT - SYNTHETIC_HEAP), 'x', 4 + i % 5);
}

static void add_array(struct world *world, unsigned number)
{
	unsigned elements = 16 + (unsigned)(synthetic_random(&world->seed) % 20);
	uint64_t start = add_block(world, elements * ELEMENT_WORDS * UINT64_C(8), ARRAY_SITE);

	for (unsigned i = 0; i < elements; i++) {
		uint64_t at = start + i * ELEMENT_WORDS * UINT64_C(8);

		bool odd = synthetic_random(&world->seed) % 4 == 0;

		put(world, at, world->targets[odd ? choose_target(world, number, ARRAYS) : 0]);
		put(world, at + 8, number % 97 == 5 && i == 3 ? TEXT : 1 + number * i);
		put(world, at + 16, UINT64_C(0x3fe0000000000000) + number);
	}
}

static void open_world(struct world *world, size_t cut_bytes)
{
	struct synthetic_core *core = synthetic_heap_core(world->heap);
	struct hawk_sweep_plan plan = {
		.key = world->heap->table->header.key,
		.trace_count = SITES,
		.birth_max = 255,
	};
	struct hawk_sweep_result result;
	struct hawk_core_file *file;
	size_t size;

	world->core_bytes = synthetic_core_build(core, &size);
	synthetic_core_destroy(core);
	hawk_findings_init(&world->findings);
	check(hawk_core_file_over(world->core_bytes, size < cut_bytes ? size : cut_bytes, &file));
	check(hawk_core_open_file(file, NULL, &world->findings, &world->target));
	for (uint32_t i = 0; i < SITES; i++)
		world->site_of_trace[i] = i;
	world->of_sites = (struct hawk_heap){
		.sites = world->sites,
		.site_count = SITES,
		.site_of_trace = world->site_of_trace,
		.trace_count = SITES,
	};
	world->graph = (struct hawk_block_graph){
		.target = world->target,
		.heap = &world->of_sites,
		.findings = &world->findings,
		.threads = 1,
		.parts = HAWK_PART_INDEX,
	};
	check(hawk_block_index_sweep(&world->graph.index, world->target, &plan, 1, &world->findings,
				     &result));
}

static struct world *create_world(size_t cut_bytes)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->seed = 11;
	world->next = SYNTHETIC_HEAP;
	world->heap = synthetic_heap_create(HEAP_BYTES);
	for (uint32_t i = 0; i < TARGETS; i++)
		world->targets[i] = add_block(world, TARGET_BYTES, i);
	for (unsigned i = 0; i < RECORDS; i++)
		world->records[i] = add_block(world, RECORD_BYTES, RECORD_SITE);
	for (unsigned i = 0; i < RECORDS; i++)
		fill_record(world, i);
	for (unsigned i = 0; i < ARRAYS; i++)
		add_array(world, i);
	open_world(world, cut_bytes);
	return world;
}

static void destroy_world(struct world *world)
{
	hawk_block_index_deinit(&world->graph.index);
	hawk_target_close(world->target);
	hawk_findings_deinit(&world->findings);
	synthetic_heap_destroy(world->heap);
	free(world->core_bytes);
	free(world);
}

static void make(const struct world *world, uint32_t site, unsigned parts, struct hawk_schema *ret)
{
	struct hawk_schema_wish wish = {.site = site, .parts = parts};

	check(hawk_schema_make(&world->graph, &wish, ret));
}

static void words_are_the_same(const struct hawk_schema_word *a, const struct hawk_schema_word *b)
{
	assert_int_equal(a->count, b->count);
	assert_memory_equal(a->by_class, b->by_class, sizeof(a->by_class));
	assert_int_equal(a->value_count, b->value_count);
	for (uint32_t i = 0; i < a->value_count; i++) {
		assert_int_equal(a->values[i].word.class, b->values[i].word.class);
		assert_int_equal(a->values[i].word.key, b->values[i].word.key);
		assert_int_equal(a->values[i].count, b->values[i].count);
	}
	assert_true(a->integer_min == b->integer_min && a->integer_max == b->integer_max);
	assert_int_equal(a->text_min, b->text_min);
	assert_int_equal(a->text_max, b->text_max);
}

static void outliers_are_the_same(const struct hawk_schema_outlier *a,
				  const struct hawk_schema_outlier *b)
{
	assert_int_equal(a->block, b->block);
	assert_int_equal(a->misfit_count, b->misfit_count);
	assert_true(a->bits >= b->bits && a->bits <= b->bits);
	for (uint32_t i = 0; i < a->misfit_count && i < HAWK_SCHEMA_MISFITS_MAX; i++) {
		assert_int_equal(a->misfits[i].offset, b->misfits[i].offset);
		assert_int_equal(a->misfits[i].value, b->misfits[i].value);
		assert_int_equal(a->misfits[i].word.class, b->misfits[i].word.class);
	}
}

static void groups_are_the_same(const struct hawk_schema_group *a,
				const struct hawk_schema_group *b)
{
	assert_int_equal(a->size_min, b->size_min);
	assert_int_equal(a->size_max, b->size_max);
	assert_int_equal(a->objects, b->objects);
	assert_int_equal(a->examined, b->examined);
	assert_int_equal(a->unreadable, b->unreadable);
	assert_int_equal(a->bytes_each, b->bytes_each);
	assert_int_equal(a->period, b->period);
	assert_int_equal(a->word_count, b->word_count);
	for (uint32_t i = 0; i < a->word_count; i++)
		words_are_the_same(&a->words[i], &b->words[i]);
	assert_int_equal(a->outliers_all, b->outliers_all);
	assert_int_equal(a->outlier_count, b->outlier_count);
	for (uint32_t i = 0; i < a->outlier_count; i++)
		outliers_are_the_same(&a->outliers[i], &b->outliers[i]);
}

static void schemas_are_the_same(const struct hawk_schema *a, const struct hawk_schema *b)
{
	assert_int_equal(a->objects, b->objects);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->carved, b->carved);
	assert_int_equal(a->sizes, b->sizes);
	assert_int_equal(a->rest_objects, b->rest_objects);
	assert_int_equal(a->group_count, b->group_count);
	for (size_t i = 0; i < a->group_count; i++)
		groups_are_the_same(&a->groups[i], &b->groups[i]);
}

static void any_number_of_parts_sees_the_same(void **state)
{
	static const size_t cuts[] = {SIZE_MAX, 400000, 401000};
	bool unreadable = false;

	(void)state;
	for (unsigned cut = 0; cut < 3; cut++) {
		struct world *world = create_world(cuts[cut]);

		for (uint32_t site = RECORD_SITE; site <= ARRAY_SITE; site++) {
			struct hawk_schema one, more;

			make(world, site, 1, &one);
			for (unsigned parts = 2; parts <= PARTS_MAX; parts++) {
				make(world, site, parts, &more);
				schemas_are_the_same(&one, &more);
				hawk_schema_deinit(&more);
			}
			unreadable |= one.group_count && one.groups[0].unreadable;
			hawk_schema_deinit(&one);
		}
		destroy_world(world);
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

static void the_first_keys_are_told_apart_and_counted_in_full(void **state)
{
	struct world *world = create_world(SIZE_MAX);
	uint64_t counts[TARGETS] = {0}, others = RECORDS;
	unsigned order[TARGETS], met = 0;

	(void)state;
	for (unsigned i = 0; i < RECORDS; i++)
		if (!counts[world->keys[i]]++)
			order[met++] = world->keys[i];
	assert_in_range(met, HAWK_SCHEMA_KEYS_MAX + 20, TARGETS);
	for (unsigned i = 0; i < HAWK_SCHEMA_KEYS_MAX; i++)
		others -= counts[order[i]];
	for (unsigned parts = 1; parts <= 3; parts++) {
		const struct hawk_schema_word *word;
		struct hawk_schema schema;

		make(world, RECORD_SITE, parts, &schema);
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
	}
	destroy_world(world);
}

static void of_equal_outliers_the_first_are_listed(void **state)
{
	struct world *world = create_world(SIZE_MAX);

	(void)state;
	for (unsigned parts = 1; parts <= 3; parts++) {
		const struct hawk_schema_group *group;
		struct hawk_schema schema;
		unsigned record = 0;

		make(world, RECORD_SITE, parts, &schema);
		group = &schema.groups[0];
		assert_int_equal(group->outliers_all, RECORDS / ODD_EACH * ODD_OFFSETS);
		assert_int_equal(group->outlier_count, HAWK_SCHEMA_OUTLIERS_MAX);
		for (uint32_t i = 0; i < group->outlier_count; i++) {
			const struct hawk_schema_outlier *outlier = &group->outliers[i];

			while (record % ODD_EACH % 20 || record % ODD_EACH / 20 >= ODD_OFFSETS)
				record++;
			assert_int_equal(hawk_block_start(&world->graph.index, outlier->block),
					 world->records[record]);
			assert_int_equal(outlier->misfit_count, 1);
			assert_int_equal(outlier->misfits[0].offset,
					 ODD_AT + 8 * (record % ODD_EACH / 20));
			assert_int_equal(outlier->misfits[0].value,
					 wrong_word(world, record % ODD_EACH / 20));
			record++;
		}
		hawk_schema_deinit(&schema);
	}
	destroy_world(world);
}

static void arrays_are_tallied_by_element(void **state)
{
	struct world *world = create_world(SIZE_MAX);
	struct hawk_schema schema;

	(void)state;
	make(world, ARRAY_SITE, 3, &schema);
	assert_int_equal(schema.group_count, 1);
	assert_int_equal(schema.groups[0].period, ELEMENT_WORDS);
	assert_int_equal(schema.groups[0].words[0].by_class[HAWK_WORD_BLOCK],
			 schema.groups[0].words[0].count);
	assert_int_equal(schema.groups[0].outliers_all, 4);
	assert_int_equal(schema.groups[0].outliers[0].misfits[0].offset,
			 8 * (3 * ELEMENT_WORDS + 1));
	hawk_schema_deinit(&schema);
	destroy_world(world);
}

struct seen {
	uint8_t blocks[TARGETS + RECORDS + ARRAYS];
};

static struct hawk_error *see(void *context, const struct hawk_schema_batch *now,
			      const struct hawk_schema_batch *next)
{
	struct seen *seen = context;

	(void)next;
	for (unsigned i = 0; i < now->count; i++)
		seen->blocks[now->pieces[i].block]++;
	return NULL;
}

/** Those that a share of the records is. */
static void walk(const struct world *world, unsigned parts, uint64_t share, struct seen *seen)
{
	struct hawk_schema_wish wish = {.site = RECORD_SITE, .parts = parts};
	struct hawk_schema_group group = {.size_min = RECORD_BYTES,
					  .size_max = RECORD_BYTES,
					  .objects = RECORDS,
					  .bytes_each = RECORD_BYTES};
	struct hawk_schema_blocks blocks;
	struct hawk_schema schema;
	uint64_t examined = 0, count = 0;

	memset(seen, 0, sizeof(*seen));
	check(hawk_schema_collect(&world->graph, &wish, &schema, &blocks));
	assert_int_equal(blocks.parts, parts);
	for (unsigned i = 0; i < parts; i++) {
		struct hawk_schema_walk walk = {.blocks = &blocks,
						.part = i,
						.group = &group,
						.share = share,
						.visit = see,
						.context = seen};

		check(hawk_schema_walk(&walk));
		examined += walk.examined;
	}
	for (unsigned i = 0; i < sizeof(seen->blocks); i++)
		count += seen->blocks[i];
	assert_int_equal(examined, count);
	hawk_schema_blocks_deinit(&blocks);
}

/** How many of every `step`-th one were seen, in per mille. */
static uint64_t share_of(const struct seen *seen, unsigned first, unsigned step)
{
	uint64_t count = 0, all = 0;

	for (unsigned i = TARGETS + first; i < TARGETS + RECORDS; i += step) {
		count += seen->blocks[i];
		all++;
	}
	return 1000 * count / all;
}

static void a_share_of_blocks_is_spread_evenly(void **state)
{
	struct world *world = create_world(SIZE_MAX);
	struct seen all, some, again;

	(void)state;
	walk(world, 1, HAWK_SCHEMA_ALL, &all);
	assert_int_equal(share_of(&all, 0, 1), 1000);
	walk(world, 1, HAWK_SCHEMA_ALL / 10, &some);
	assert_in_range(share_of(&some, 0, 1), 98, 102);
	for (unsigned step = 2; step <= 16; step++)
		for (unsigned first = 0; first < step; first++)
			assert_in_range(share_of(&some, first, step), 70, 130);
	for (unsigned parts = 2; parts <= PARTS_MAX; parts++) {
		walk(world, parts, HAWK_SCHEMA_ALL / 10, &again);
		assert_memory_equal(&some, &again, sizeof(some));
	}
	destroy_world(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_parts_sees_the_same),
		cmocka_unit_test(the_first_keys_are_told_apart_and_counted_in_full),
		cmocka_unit_test(of_equal_outliers_the_first_are_listed),
		cmocka_unit_test(arrays_are_tallied_by_element),
		cmocka_unit_test(a_share_of_blocks_is_spread_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
