/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Schemas of sites: every word counts once, whatever its contents, and pointers are those of the
 * graph.
 */
#include "test.h"
#include "hawk/analysis/schema.h"
#include "synthetic_graph.h"

static const uint64_t REAL_HALF = UINT64_C(0x3fe0000000000000);

/** One site for all traces. */
struct one_site {
	struct hawk_site site;
	uint32_t site_of_trace[GRAPH_TRACES + 1];
	struct hawk_heap heap;
};

static void open_one_site(struct graph_world *world, struct one_site *one)
{
	memset(one, 0, sizeof(*one));
	one->heap = (struct hawk_heap){
		.target = world->target,
		.index = world->found.index,
		.sites = &one->site,
		.site_count = 1,
		.site_of_trace = one->site_of_trace,
		.trace_count = GRAPH_TRACES,
		.lost_site = 0,
	};
}

static uint64_t count_pointers(const struct hawk_schema_group *group)
{
	uint64_t pointers = 0;

	for (uint32_t i = 0; i < group->word_count; i++) {
		const struct hawk_schema_word *word = &group->words[i];
		uint64_t classes = 0, values = 0;

		for (unsigned class = 0; class < HAWK_WORD_CLASSES; class ++)
			classes += word->by_class[class];
		for (uint32_t k = 0; k < word->value_count; k++)
			values += word->values[k].count;
		assert_int_equal(classes, word->count);
		assert_int_equal(values, word->count);
		pointers += word->by_class[HAWK_WORD_BLOCK] + word->by_class[HAWK_WORD_INTERIOR] +
			    word->by_class[HAWK_WORD_END];
	}
	return pointers;
}

TEST(every_word_counts_once_and_pointers_are_edges)
{
	uint64_t seed = 7;
	unsigned compared = 0;

	for (unsigned round = 0; round < 300; round++) {
		struct graph_world *world = graph_world_create();
		struct hawk_schema_query wish = {.groups = HAWK_SCHEMA_GROUPS_MAX};
		bool cut = round % 3 == 2, long_blocks = false;
		struct hawk_schema schema;
		struct one_site one;
		uint64_t pointers = 0, objects = 0;

		graph_world_fill(world, &seed);
		graph_world_open(world, 1,
				 cut ? 20000 + synthetic_random(&seed) % 60000 : SIZE_MAX);
		open_one_site(world, &one);
		assert_null(hawk_schema_make(&one.heap, &wish, NULL, &world->findings, &schema));
		for (size_t i = 0; i < schema.group_count; i++) {
			const struct hawk_schema_group *group = &schema.groups[i];

			pointers += count_pointers(group);
			objects += group->objects;
			long_blocks |= group->size_max > group->bytes_each;
		}
		assert_int_equal(objects + schema.rest_objects + schema.carved, schema.objects);
		assert_int_equal(schema.objects, world->found.index.count);
		if (!long_blocks && !schema.rest_objects && !schema.carved) {
			assert_int_equal(pointers, world->graph.edge_count);
			compared++;
		}
		hawk_schema_deinit(&schema);
		graph_world_destroy(world);
	}
	assert_in_range(compared, 30, 300);
}

static enum hawk_word_class class_of(struct hawk_word_classes *words, uint64_t value)
{
	struct hawk_word word;

	word = hawk_word_classify(words, value);
	return word.class;
}

TEST(words_are_told_apart_by_their_bits)
{
	struct graph_world *world = graph_world_create();
	uint32_t block = graph_world_add(world, 100, 0, 1);
	uint64_t start = world->blocks[block].start;
	struct hawk_word_classes *words;
	struct one_site one;

	graph_world_open(world, 1, SIZE_MAX);
	open_one_site(world, &one);
	assert_null(hawk_word_classes_create(&one.heap, NULL, &words));
	assert_int_equal(class_of(words, 0), HAWK_WORD_NULL);
	assert_int_equal(class_of(words, start), HAWK_WORD_BLOCK);
	assert_int_equal(class_of(words, start + 99), HAWK_WORD_INTERIOR);
	assert_int_equal(class_of(words, start + 100), HAWK_WORD_END);
	assert_int_equal(class_of(words, start + 101), HAWK_WORD_FREE);
	assert_int_equal(class_of(words, GRAPH_STACK + 64), HAWK_WORD_STACK);
	assert_int_equal(class_of(words, GRAPH_GLOBALS), HAWK_WORD_MAPPED);
	assert_int_equal(class_of(words, 1), HAWK_WORD_INTEGER);
	assert_int_equal(class_of(words, UINT64_MAX), HAWK_WORD_INTEGER);
	assert_int_equal(class_of(words, UINT32_MAX), HAWK_WORD_INTEGER);
	assert_int_equal(class_of(words, UINT64_C(0x0000000200000001)), HAWK_WORD_PAIR);
	assert_int_equal(class_of(words, UINT64_C(0x6867666564636261)), HAWK_WORD_TEXT);
	assert_int_equal(class_of(words, 0x64636261), HAWK_WORD_TEXT);
	assert_int_equal(class_of(words, 0x636261), HAWK_WORD_INTEGER);
	assert_int_equal(class_of(words, REAL_HALF), HAWK_WORD_REAL);
	assert_int_equal(class_of(words, UINT64_C(0x4059666666666666)), HAWK_WORD_REAL);
	assert_int_equal(class_of(words, UINT64_C(0xfedcba9876543210)), HAWK_WORD_OTHER);
	hawk_word_classes_destroy(words);
	graph_world_destroy(world);
}

TEST(text_ends_at_a_nul_or_the_end)
{
	assert_int_equal(hawk_text_length((const uint8_t *)"abc\0\xff", 5), 3);
	assert_int_equal(hawk_text_length((const uint8_t *)"abcde", 5), 5);
	assert_int_equal(hawk_text_length((const uint8_t *)"abc\xff", 4), 0);
	assert_int_equal(hawk_text_length((const uint8_t *)"", 0), 0);
}
