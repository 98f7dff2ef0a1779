/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Referrers, shortest paths, and the trees of sites folded from paths and dominators: thousands of
 * small random heaps against their bytes and against trying everything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "hawk_referrers.h"
#include "hawk_site_tree.h"
#include "synthetic_graph.h"

enum {
	HEAPS = 1000,
	ROOT_GROUPS = 3,
	CHAIN_MAX = 1024,
	CHAINS_MAX = GRAPH_BLOCKS_MAX,
};

/** A world, seen as the graph object that verbs use. Every trace is a site. */
struct paths_world {
	struct graph_world *world;
	struct graph_oracle oracle;
	struct hawk_heap heap;
	uint32_t site_of_trace[GRAPH_TRACES];
	struct hawk_block_graph graph;
	bool cached; /**< dominators lie outside of the graph's workspace */
	uint32_t *groups;
};

static void expect_no_error(struct hawk_error *err)
{
	if (err)
		fail_msg("%s", hawk_error_message(err));
}

static struct paths_world *open_world(struct graph_world *world)
{
	struct paths_world *paths = calloc(1, sizeof(*paths));

	graph_world_open(world, 1, SIZE_MAX);
	graph_oracle_make(world, &paths->oracle);
	paths->world = world;
	paths->heap.site_of_trace = paths->site_of_trace;
	paths->heap.trace_count = GRAPH_TRACES;
	for (uint32_t i = 0; i < GRAPH_TRACES; i++)
		paths->site_of_trace[i] = i;
	hawk_block_graph_init(&paths->graph, world->target, &paths->heap, &world->findings);
	paths->graph.index = world->index;
	paths->graph.edges = world->graph;
	paths->graph.roots = world->roots;
	expect_no_error(hawk_reach_make(&world->index, &world->graph, &world->roots, HAWK_EDGES_ALL,
					&world->workspace, &paths->graph.reach));
	expect_no_error(hawk_dominators_make(&world->index, &world->graph, &world->roots,
					     &paths->graph.reach, NULL, &world->workspace,
					     &paths->graph.dominators));
	hawk_dominators_number_blocks(&paths->graph.dominators);
	/* In some there is none, as with dominators from a cache. */
	paths->cached = world->count % 2 == 0;
	if (paths->cached)
		paths->graph.dominators.workspace = NULL;
	else
		paths->graph.workspace = world->workspace;
	paths->graph.parts = HAWK_PART_INDEX | HAWK_PART_EDGES | HAWK_PART_ROOTS | HAWK_PART_REACH |
			     HAWK_PART_RETAINED;
	paths->groups = calloc(world->roots.count + 1, sizeof(*paths->groups));
	for (size_t i = 0; i < world->roots.count; i++)
		paths->groups[i] = (uint32_t)(i % ROOT_GROUPS);
	return paths;
}

static void close_world(struct paths_world *paths)
{
	hawk_reach_deinit(&paths->graph.reach);
	hawk_tree_folds_deinit(&paths->graph.folds);
	graph_world_destroy(paths->world);
	free(paths->groups);
	free(paths);
}

static struct paths_world *random_world(uint64_t *seed)
{
	struct graph_world *world = graph_world_create();

	graph_world_fill(world, seed);
	return open_world(world);
}

/** Compares the pointers of one source with `items`; how many there are. */
static size_t expect_source(const struct graph_world *world, uint32_t source, uint32_t block,
			    const struct hawk_referrer *items, size_t left)
{
	const struct hawk_block *bytes = &world->blocks[source];
	size_t count = 0;

	for (uint64_t offset = 0; offset + 8 <= bytes->size; offset += 8) {
		uint64_t value;
		uint32_t edge;

		memcpy(&value, world->heap->bytes + (bytes->start - SYNTHETIC_HEAP) + offset, 8);
		edge = graph_oracle_edge(world->blocks, world->count, value);
		if (edge >> 1 != block)
			continue;
		assert_true(count < left);
		assert_false(items[count].root);
		assert_int_equal(items[count].source, source);
		assert_int_equal(items[count].offset, offset);
		assert_int_equal(items[count].inside, value - world->blocks[block].start);
		assert_int_equal(items[count].interior, edge & 1);
		count++;
	}
	return count;
}

static void expect_referrers(const struct paths_world *paths, uint32_t block)
{
	const struct graph_world *world = paths->world;
	struct hawk_referrers list;
	size_t at = 0;

	expect_no_error(hawk_referrers_find(&paths->graph, block, &list));
	for (size_t i = 0; i < world->roots.count; i++) {
		if (world->roots.items[i].edge >> 1 != block)
			continue;
		assert_true(at < list.count && list.items[at].root);
		assert_int_equal(list.items[at].source, i);
		assert_int_equal(list.items[at].interior, world->roots.items[i].edge & 1);
		at++;
	}
	for (uint32_t source = 0; source < world->count; source++)
		at += expect_source(world, source, block, list.items ? list.items + at : NULL,
				    list.count - at);
	assert_int_equal(at, list.count);
	hawk_referrers_deinit(&list);
}

static void referrers_are_the_words_that_point_to_a_block(void **state)
{
	uint64_t seed = 99;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = random_world(&seed);

		for (uint32_t block = 0; block < paths->world->count; block++)
			expect_referrers(paths, block);
		close_world(paths);
	}
}

static void a_start_pointer_is_preferred_between_two_blocks(void **state)
{
	struct graph_world *world = graph_world_create();
	struct hawk_referrer pointer;
	struct paths_world *paths;

	(void)state;
	graph_world_add(world, 64, 0, 0);
	graph_world_add(world, 64, 0, 0);
	graph_world_point(world, 0, 8, 1, 24);
	graph_world_point(world, 0, 40, 1, 0);
	graph_world_point(world, 1, 16, 0, 5);
	paths = open_world(world);
	assert_true(hawk_referrer_between(&paths->graph, 0, 1, &pointer));
	assert_int_equal(pointer.offset, 40);
	assert_false(pointer.interior);
	assert_true(hawk_referrer_between(&paths->graph, 1, 0, &pointer));
	assert_int_equal(pointer.offset, 16);
	assert_int_equal(pointer.inside, 5);
	assert_true(pointer.interior);
	assert_false(hawk_referrer_between(&paths->graph, 1, 1, &pointer));
	close_world(paths);
}

/** Blocks on the shortest path to `block`, itself included; 0 = there is none. */
static uint32_t oracle_distance(const struct paths_world *paths, uint32_t block)
{
	uint64_t reached = paths->oracle.all_roots;

	for (uint32_t distance = 1; distance <= paths->world->count; distance++) {
		uint64_t next = reached;

		if (reached >> block & 1)
			return distance;
		for (uint32_t i = 0; i < paths->world->count; i++)
			if (reached >> i & 1)
				next |= paths->oracle.all[i];
		reached = next;
	}
	return 0;
}

static void expect_path(const struct paths_world *paths, const struct hawk_paths *found,
			uint32_t block)
{
	struct hawk_path path;

	expect_no_error(hawk_path_to(found, block, &path));
	assert_int_equal(path.count, oracle_distance(paths, block));
	if (path.count) {
		assert_int_equal(paths->world->roots.items[path.root].edge >> 1, path.blocks[0]);
		assert_int_equal(path.blocks[path.count - 1], block);
	}
	for (uint32_t i = 0; i + 1 < path.count; i++)
		assert_true(paths->oracle.all[path.blocks[i]] >> path.blocks[i + 1] & 1);
	hawk_path_deinit(&path);
}

/* Some blocks at once, then others too, then many; those that nobody has prepared for are found as
 * well. */
static void expect_prepared_paths(const struct paths_world *paths, struct hawk_paths *found,
				  uint64_t *seed)
{
	static const size_t counts[] = {1, 5, 5000};
	uint32_t blocks[5000];

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (size_t j = 0; j < counts[i]; j++)
			blocks[j] = (uint32_t)(synthetic_random(seed) % paths->world->count);
		expect_no_error(hawk_paths_prepare(found, blocks, counts[i]));
		for (size_t j = 0; j < counts[i]; j++)
			if (hawk_paths_lead_to(found, blocks[j]))
				assert_int_equal(found->order[found->places[blocks[j]]], blocks[j]);
		for (uint32_t block = 0; block < paths->world->count; block++)
			expect_path(paths, found, block);
	}
}

static void paths_are_the_shortest_ones(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = random_world(&seed);
		struct hawk_paths all, one;
		uint32_t last = paths->world->count - 1;

		expect_no_error(hawk_paths_find(&paths->graph, HAWK_BLOCK_NOWHERE, &all));
		for (uint32_t block = 0; block < paths->world->count; block++)
			expect_path(paths, &all, block);
		if (i % 8 == 0)
			expect_prepared_paths(paths, &all, &seed);
		expect_no_error(hawk_paths_find(&paths->graph, last, &one));
		expect_path(paths, &one, last);
		hawk_paths_deinit(&one);
		hawk_paths_deinit(&all);
		close_world(paths);
	}
}

static void a_global_explains_more_than_a_register(void **state)
{
	struct graph_world *world = graph_world_create();
	struct paths_world *paths;
	struct hawk_paths found;
	struct hawk_path path;

	(void)state;
	graph_world_add(world, 32, 0, 0);
	world->registers[HAWK_RBX] = world->blocks[0].start;
	world->globals[3] = world->blocks[0].start;
	paths = open_world(world);
	expect_no_error(hawk_paths_find(&paths->graph, 0, &found));
	expect_no_error(hawk_path_to(&found, 0, &path));
	assert_int_equal(path.count, 1);
	assert_int_not_equal(world->roots.items[path.root].kind, HAWK_ROOT_REGISTER);
	assert_int_equal(world->roots.items[path.root].address, GRAPH_GLOBALS + 24);
	hawk_path_deinit(&path);
	hawk_paths_deinit(&found);
	close_world(paths);
}

/** Chains "root;site;site" with their sums. */
struct chains {
	struct chain {
		char text[CHAIN_MAX];
		uint64_t objects;
		uint64_t bytes;
	} items[CHAINS_MAX];
	size_t count;
};

static void add_chain(struct chains *chains, const char *text, uint64_t objects, uint64_t bytes)
{
	size_t at = 0;

	while (at < chains->count && strcmp(chains->items[at].text, text))
		at++;
	if (at == chains->count) {
		assert_true(chains->count < CHAINS_MAX);
		snprintf(chains->items[chains->count++].text, CHAIN_MAX, "%s", text);
	}
	chains->items[at].objects += objects;
	chains->items[at].bytes += bytes;
}

static void append_site(char *text, uint32_t *last, uint32_t site)
{
	size_t used = strlen(text);

	if (*last != site)
		snprintf(text + used, CHAIN_MAX - used, ";%u", site);
	*last = site;
}

static struct hawk_site_tree_sums sums_of(const struct hawk_site_tree *tree, uint32_t number,
					  enum hawk_edges edges)
{
	const struct hawk_site_tree_node *node = &tree->nodes[number];

	if (edges == HAWK_EDGES_START_ONLY)
		return tree->start[number];
	return (struct hawk_site_tree_sums){node->flat_objects, node->flat_bytes, node->cum_objects,
					    node->cum_bytes};
}

/** Adds the chains of the tree below `node`; sums that do not add up fail. */
static void collect_tree(const struct hawk_site_tree *tree, enum hawk_edges edges, uint32_t number,
			 const char *before, struct chains *chains)
{
	static const char *const names[] = {"", "root", "several", "shared", "lost", ""};
	const struct hawk_site_tree_node *node = &tree->nodes[number];
	const struct hawk_site_tree_sums sums = sums_of(tree, number, edges);
	uint64_t objects = sums.flat_objects, bytes = sums.flat_bytes;
	uint64_t previous = UINT64_MAX;
	char text[CHAIN_MAX];

	if (node->kind == HAWK_TREE_SITE)
		snprintf(text, sizeof(text), "%.900s;%u", before, node->key);
	else if (node->kind == HAWK_TREE_ROOT)
		snprintf(text, sizeof(text), "root%u", node->key);
	else
		snprintf(text, sizeof(text), "%s", names[node->kind]);
	if (sums.flat_objects)
		add_chain(chains, text, sums.flat_objects, sums.flat_bytes);
	for (uint32_t child = node->first_child; child; child = tree->nodes[child].next_sibling) {
		assert_int_equal(tree->nodes[child].parent, number);
		assert_true(tree->nodes[child].cum_bytes <= previous);
		previous = tree->nodes[child].cum_bytes;
		objects += sums_of(tree, child, edges).cum_objects;
		bytes += sums_of(tree, child, edges).cum_bytes;
		collect_tree(tree, edges, child, text, chains);
	}
	assert_int_equal(objects, sums.cum_objects);
	assert_int_equal(bytes, sums.cum_bytes);
}

static void expect_same_chains(const struct chains *got, const struct chains *want)
{
	assert_int_equal(got->count, want->count);
	for (size_t i = 0; i < want->count; i++) {
		size_t at = 0;

		while (at < got->count && strcmp(got->items[at].text, want->items[i].text))
			at++;
		if (at == got->count)
			fail_msg("there is no chain %s", want->items[i].text);
		assert_int_equal(got->items[at].objects, want->items[i].objects);
		assert_int_equal(got->items[at].bytes, want->items[i].bytes);
	}
}

static bool is_of_thread(const struct hawk_root *root)
{
	return root->kind == HAWK_ROOT_REGISTER || root->kind == HAWK_ROOT_STACK;
}

static bool counts(const struct hawk_root *root, enum hawk_edges edges)
{
	return edges == HAWK_EDGES_ALL || !(root->edge & HAWK_ROOT_INTERIOR);
}

/** Whether anything that `group` points to, from threads or not, leads to `block`. */
static bool leads(const struct paths_world *paths, enum hawk_edges edges, uint32_t group,
		  bool of_threads, uint32_t block)
{
	const uint64_t *next = edges == HAWK_EDGES_ALL ? paths->oracle.all : paths->oracle.start;
	const struct hawk_roots *roots = &paths->world->roots;
	uint64_t reached = 0, before;

	for (size_t i = 0; i < roots->count; i++)
		if (paths->groups[i] == group && counts(&roots->items[i], edges) &&
		    is_of_thread(&roots->items[i]) == of_threads)
			reached |= UINT64_C(1) << (roots->items[i].edge >> 1);
	do {
		before = reached;
		for (uint32_t i = 0; i < paths->world->count; i++)
			if (reached >> i & 1)
				reached |= next[i];
	} while (reached != before);
	return reached >> block & 1;
}

/** What stands above the topmost dominator `block`, by definition. */
static void top_of(const struct paths_world *paths, enum hawk_edges edges, uint32_t block,
		   char *text)
{
	const struct hawk_roots *roots = &paths->world->roots;
	uint8_t kind = paths->oracle.kinds[edges][block];
	bool direct = false;
	unsigned groups = 0, passing = 0;

	for (size_t i = 0; i < roots->count; i++) {
		if (leads(paths, edges, paths->groups[i], false, block))
			groups |= 1u << paths->groups[i];
		if (leads(paths, edges, paths->groups[i], true, block))
			passing |= 1u << paths->groups[i];
	}
	for (size_t i = 0; i < roots->count; i++)
		direct |= roots->items[i].edge >> 1 == block && counts(&roots->items[i], edges) &&
			  !(groups && is_of_thread(&roots->items[i]));
	groups = groups ? groups : passing;
	if (kind == HAWK_REACH_DEFINITELY_LOST || kind == HAWK_REACH_INDIRECTLY_LOST)
		strcpy(text, "lost");
	else if (!(groups & (groups - 1)))
		snprintf(text, CHAIN_MAX, "root%d", __builtin_ctz(groups));
	else
		strcpy(text, direct ? "several" : "shared");
}

/** Dominators of a block are nested: the one that dominates most is on top. */
static void add_dominator_chain(const struct paths_world *paths, enum hawk_edges edges,
				uint32_t block, struct chains *chains)
{
	const uint64_t *dominated = paths->oracle.dominated[edges];
	uint32_t last = UINT32_MAX;
	char text[CHAIN_MAX] = "";

	for (int size = GRAPH_BLOCKS_MAX; size > 0; size--)
		for (uint32_t i = 0; i < paths->world->count; i++) {
			if (!(dominated[i] >> block & 1) ||
			    __builtin_popcountll(dominated[i]) != size)
				continue;
			if (!*text)
				top_of(paths, edges, i, text);
			append_site(text, &last, paths->world->blocks[i].trace);
		}
	add_chain(chains, text, 1, paths->world->blocks[block].size);
}

/** Of what would be freed with `chosen`. */
static void expect_dominator_tree(const struct paths_world *paths,
				  const struct hawk_site_tree *tree, enum hawk_edges edges,
				  uint64_t chosen)
{
	struct chains want = {0}, got = {0};
	uint64_t gone = 0;

	for (uint32_t block = 0; block < paths->world->count; block++)
		if (chosen >> block & 1)
			gone |= paths->oracle.dominated[edges][block];
	for (uint32_t block = 0; block < paths->world->count; block++)
		if (gone >> block & 1)
			add_dominator_chain(paths, edges, block, &want);
	collect_tree(tree, edges, 0, "", &got);
	expect_same_chains(&got, &want);
}

static void the_retained_tree_is_the_dominator_tree_folded_by_site(void **state)
{
	uint64_t seed = 8;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = random_world(&seed);
		struct hawk_site_tree tree;

		expect_no_error(hawk_site_tree_retained(&paths->graph, paths->groups, NULL, &tree));
		assert_null(tree.start);
		expect_dominator_tree(paths, &tree, HAWK_EDGES_ALL, UINT64_MAX);
		hawk_site_tree_deinit(&tree);
		close_world(paths);
	}
}

static void the_retained_tree_says_how_sure_it_is(void **state)
{
	unsigned differ = 0;
	uint64_t seed = 9;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = random_world(&seed);
		struct hawk_site_tree tree;

		expect_no_error(
			hawk_site_tree_retained_both(&paths->graph, paths->groups, NULL, &tree));
		expect_dominator_tree(paths, &tree, HAWK_EDGES_ALL, UINT64_MAX);
		expect_dominator_tree(paths, &tree, HAWK_EDGES_START_ONLY, UINT64_MAX);
		/* What lay in the workspace is gone, what lay elsewhere is as it was. */
		assert_int_equal(!(paths->graph.parts & HAWK_PART_RETAINED), !paths->cached);
		assert_int_equal(!paths->graph.workspace.area.bytes, paths->cached);
		for (uint32_t j = 0; j < tree.count; j++)
			differ += tree.nodes[j].cum_bytes != tree.start[j].cum_bytes;
		hawk_site_tree_deinit(&tree);
		close_world(paths);
	}
	assert_true(differ > HEAPS);
}

/** Few or many of the blocks, or none. */
static uint64_t choose(uint64_t *seed, unsigned round)
{
	uint64_t chosen = synthetic_random(seed);

	for (unsigned i = round % 6; i > 1; i--)
		chosen &= synthetic_random(seed);
	return round % 6 ? chosen : 0;
}

static void the_retained_tree_of_chosen_blocks_is_what_would_be_freed_with_them(void **state)
{
	unsigned differ = 0;
	uint64_t seed = 10;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = random_world(&seed);
		uint64_t chosen = choose(&seed, i);
		struct hawk_site_tree tree;

		expect_no_error(
			hawk_site_tree_retained(&paths->graph, paths->groups, &chosen, &tree));
		expect_dominator_tree(paths, &tree, HAWK_EDGES_ALL, chosen);
		for (uint32_t j = 1; j < tree.count; j++)
			assert_true(tree.nodes[j].cum_objects);
		hawk_site_tree_deinit(&tree);
		expect_no_error(
			hawk_site_tree_retained_both(&paths->graph, paths->groups, &chosen, &tree));
		expect_dominator_tree(paths, &tree, HAWK_EDGES_ALL, chosen);
		expect_dominator_tree(paths, &tree, HAWK_EDGES_START_ONLY, chosen);
		for (uint32_t j = 1; j < tree.count; j++) {
			assert_true(tree.nodes[j].parent < j);
			assert_true(tree.nodes[j].cum_objects || tree.start[j].cum_objects);
			differ += tree.nodes[j].cum_bytes != tree.start[j].cum_bytes;
		}
		hawk_site_tree_deinit(&tree);
		close_world(paths);
	}
	assert_true(differ > HEAPS);
}

static void add_path_chain(const struct paths_world *paths, const struct hawk_paths *found,
			   uint32_t block, struct chains *chains)
{
	uint32_t last = UINT32_MAX;
	char text[CHAIN_MAX] = "lost";
	struct hawk_path path;

	expect_no_error(hawk_path_to(found, block, &path));
	if (path.count)
		snprintf(text, sizeof(text), "root%u", paths->groups[path.root]);
	for (uint32_t i = 0; i < path.count; i++)
		append_site(text, &last, paths->world->blocks[path.blocks[i]].trace);
	if (!path.count)
		append_site(text, &last, paths->world->blocks[block].trace);
	add_chain(chains, text, 1, paths->world->blocks[block].size);
	hawk_path_deinit(&path);
}

static void merged_paths_are_those_of_all_blocks_of_a_site(void **state)
{
	uint64_t seed = 21;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = random_world(&seed);
		struct hawk_paths *found = &paths->graph.paths;

		expect_no_error(hawk_block_graph_need(&paths->graph, HAWK_PART_PATHS));
		for (uint32_t site = 0; site < GRAPH_TRACES; site++) {
			struct chains want = {0}, got = {0};
			struct hawk_site_tree tree;
			uint64_t wanted = 0;

			for (uint32_t block = 0; block < paths->world->count; block++)
				wanted |= (uint64_t)(paths->world->blocks[block].trace == site)
					  << block;
			expect_no_error(
				hawk_site_tree_paths(&paths->graph, paths->groups, &wanted, &tree));
			for (uint32_t block = 0; block < paths->world->count; block++)
				if (paths->world->blocks[block].trace == site)
					add_path_chain(paths, found, block, &want);
			collect_tree(&tree, HAWK_EDGES_ALL, 0, "", &got);
			expect_same_chains(&got, &want);
			hawk_site_tree_deinit(&tree);
		}
		hawk_paths_deinit(found);
		close_world(paths);
	}
}

/* Bytes of address space that this process has. */
static uint64_t mapped_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu", &pages), 1);
	fclose(file);
	return pages * 4096;
}

/* What is refused once may be granted to the next question. */
static void places_that_memory_has_no_room_for_are_not_there(void **state)
{
	const struct hawk_block_index index = {.count = UINT32_C(1) << 30};
	const uint32_t many[5000] = {0};
	struct hawk_paths paths = {.index = &index};
	struct rlimit before, tight;
	struct hawk_error *err;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	tight = before;
	tight.rlim_cur = mapped_bytes() + (UINT64_C(1) << 30);
	assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
	err = hawk_paths_prepare(&paths, many, 5000);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_ptr_equal(err, &hawk_enomem);
	assert_null(paths.places);
	expect_no_error(hawk_paths_prepare(&paths, many, 5000));
	assert_true(paths.places_area.size >= ((uint64_t)index.count + 1) * sizeof(uint32_t));
	hawk_paths_deinit(&paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(referrers_are_the_words_that_point_to_a_block),
		cmocka_unit_test(a_start_pointer_is_preferred_between_two_blocks),
		cmocka_unit_test(paths_are_the_shortest_ones),
		cmocka_unit_test(a_global_explains_more_than_a_register),
		cmocka_unit_test(the_retained_tree_is_the_dominator_tree_folded_by_site),
		cmocka_unit_test(the_retained_tree_says_how_sure_it_is),
		cmocka_unit_test(
			the_retained_tree_of_chosen_blocks_is_what_would_be_freed_with_them),
		cmocka_unit_test(merged_paths_are_those_of_all_blocks_of_a_site),
		cmocka_unit_test(places_that_memory_has_no_room_for_are_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
