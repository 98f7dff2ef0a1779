/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Groups of blocks against blocks one by one: on random heaps with carved blocks and spoiled
 * headers, headers in memory or kept, blocks of no site, on one thread and several.
 */
#include "sql_group_fold.h"
#include "synthetic_sweep_core.h"

enum { HEAPS = 40, TRACES = 8, SITES = 4 };

static void expect_no_error(struct hawk_error *err)
{
	if (err)
		fail_msg("%s", hawk_error_message(err));
}

struct group_world {
	struct sweep_core core;
	struct hawk_findings findings;
	struct hawk_heap heap;
	struct hawk_site sites[SITES];
	uint32_t site_of_trace[TRACES];
	struct hawk_block_graph graph;
};

static void open_world(struct group_world *world, uint64_t seed, unsigned threads)
{
	struct hawk_sweep_result result;
	struct hawk_block_index *index = &world->graph.index;
	const struct hawk_sweep_taker taker = {.context = index, .take = hawk_block_index_add};
	uint64_t bytes = 256 << 10;

	*world = (struct group_world){0};
	sweep_core_open_spoiled(&world->core, bytes, 4096, seed);
	world->graph = (struct hawk_block_graph){
		.target = world->core.target,
		.heap = &world->heap,
		.findings = &world->findings,
		.threads = threads,
		.parts = HAWK_PART_INDEX,
	};
	expect_no_error(hawk_block_index_init(index, 2 * bytes));
	if (seed % 2)
		expect_no_error(hawk_block_index_keep_heads(index, 2 * bytes));
	expect_no_error(hawk_sweep_beside(world->core.target, &world->core.plan, 1, &taker, NULL,
					  NULL, NULL, &result));
	expect_no_error(hawk_block_index_finish(index));
	for (unsigned i = 0; i < TRACES; i++)
		world->site_of_trace[i] = i % 3 ? i % SITES : UINT32_MAX;
	world->heap = (struct hawk_heap){
		.sites = world->sites,
		.site_count = SITES,
		.site_of_trace = world->site_of_trace,
		.trace_count = TRACES,
		.lost_site = seed % 3 ? SITES - 1 : UINT32_MAX,
	};
}

static void close_world(struct group_world *world)
{
	hawk_block_index_deinit(&world->graph.index);
	hawk_findings_deinit(&world->findings);
	sweep_core_close(&world->core);
}

static bool is_of(const struct group_world *world, unsigned parts, uint32_t number,
		  const struct sql_group *group)
{
	struct hawk_block block;
	bool known = hawk_block_graph_block(&world->graph, number, &block);
	unsigned heads = SQL_GROUP_BY_KIND | SQL_GROUP_BY_BIRTH;

	return (!(parts & SQL_GROUP_BY_SITE) ||
		group->site == hawk_block_graph_site(&world->graph, number)) &&
	       (!(parts & SQL_GROUP_BY_SIZE) ||
		group->size == hawk_block_index_left_bytes(&world->graph.index, number)) &&
	       (!(parts & SQL_GROUP_BY_KIND) || group->kind == block.kind) &&
	       (!(parts & SQL_GROUP_BY_BIRTH) || group->birth == block.birth) &&
	       (!(parts & heads) || group->is_known == known);
}

/* Every block is of exactly one group, which has what its blocks have. */
static void check_groups(const struct group_world *world, unsigned parts,
			 const struct sql_group_list *groups)
{
	const struct hawk_block_index *index = &world->graph.index;
	uint64_t rows = 0;

	for (size_t i = 0; i < groups->count; i++) {
		const struct sql_group *group = &groups->items[i];
		uint64_t count = 0, sum = 0, low = UINT64_MAX, high = 0;
		uint32_t first = 0, last = 0;

		for (uint32_t block = 0; block < index->count; block++) {
			uint64_t bytes = hawk_block_index_left_bytes(index, block);

			if (!hawk_block_index_counts(index, block) ||
			    !is_of(world, parts, block, group))
				continue;
			first = count++ ? first : block;
			last = block;
			sum += bytes;
			low = bytes < low ? bytes : low;
			high = bytes > high ? bytes : high;
		}
		assert_int_equal(group->count, count);
		assert_int_equal(group->first, first);
		assert_int_equal(group->last, last);
		assert_true(!i || groups->items[i - 1].first < first);
		rows += count;
		if (!(parts & SQL_GROUP_SIZES))
			continue;
		assert_int_equal(group->sizes.sum, sum);
		assert_int_equal(group->sizes.low, low);
		assert_int_equal(group->sizes.high, high);
	}
	assert_int_equal(rows, hawk_block_index_block_count(index));
}

static void groups_are_what_their_blocks_add_up_to(void **state)
{
	static const unsigned parts[] = {
		0,
		SQL_GROUP_SIZES,
		SQL_GROUP_BY_SITE | SQL_GROUP_SIZES,
		SQL_GROUP_BY_KIND,
		SQL_GROUP_BY_BIRTH | SQL_GROUP_BY_SITE,
		SQL_GROUP_BY_SITE | SQL_GROUP_BY_SIZE | SQL_GROUP_BY_KIND | SQL_GROUP_SIZES,
	};

	(void)state;
	for (uint64_t seed = 1; seed <= HEAPS; seed++) {
		struct group_world world;

		open_world(&world, seed, 1 + (unsigned)seed % 4);
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			struct sql_group_list groups;

			expect_no_error(hawk_sql_fold_groups(&world.graph, parts[i], &groups));
			assert_false(groups.is_too_much);
			check_groups(&world, parts[i], &groups);
			free(groups.items);
		}
		close_world(&world);
	}
}

static void more_groups_than_are_kept_are_refused(void **state)
{
	enum { BLOCKS = 2 * SQL_GROUPS_MAX };
	struct hawk_heap heap = {0};
	struct hawk_block_graph graph = {.heap = &heap, .threads = 2};
	struct sql_group_list groups;
	uint32_t *sizes = calloc(BLOCKS, sizeof(*sizes));
	uint32_t *traces = calloc(BLOCKS, sizeof(*traces));

	(void)state;
	assert_non_null(sizes);
	assert_non_null(traces);
	for (uint32_t i = 0; i < BLOCKS; i++)
		sizes[i] = i / 2;
	graph.index = (struct hawk_block_index){.count = BLOCKS, .sizes = sizes, .traces = traces};
	expect_no_error(hawk_sql_fold_groups(&graph, SQL_GROUP_BY_SIZE, &groups));
	assert_int_equal(groups.count, SQL_GROUPS_MAX);
	free(groups.items);
	sizes[1] = UINT32_MAX - 1;
	expect_no_error(hawk_sql_fold_groups(&graph, SQL_GROUP_BY_SIZE, &groups));
	assert_true(groups.is_too_much);
	assert_null(groups.items);
	free(sizes);
	free(traces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_what_their_blocks_add_up_to),
		cmocka_unit_test(more_groups_than_are_kept_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
