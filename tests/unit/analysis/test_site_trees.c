/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Trees of sites folded from paths and dominators: thousands of small random heaps against trying
 * everything.
 */
#include <stdio.h>

#include "test.h"
#include "hawk/analysis/site_tree.h"
#include "site_tree_nodes.h"
#include "synthetic_site_world.h"

enum {
	HEAPS = 300,
	CHAIN_MAX = 1024,
	CHAINS_MAX = GRAPH_BLOCKS_MAX,
};

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

/** Adds the chains of the tree below `node`; sums that do not add up fail. */
static void collect_tree(const struct hawk_site_tree *tree, uint32_t number, const char *before,
			 struct chains *chains)
{
	static const char *const names[] = {"", "root", "several", "shared", "lost", ""};
	const struct hawk_site_tree_node *node = &tree->nodes[number];
	uint64_t objects = node->flat_objects, bytes = node->flat_bytes;
	uint64_t previous = UINT64_MAX;
	char text[CHAIN_MAX];

	if (node->kind == HAWK_TREE_SITE)
		snprintf(text, sizeof(text), "%.900s;%u", before, node->key);
	else if (node->kind == HAWK_TREE_ROOT)
		snprintf(text, sizeof(text), "root%u", node->key);
	else
		snprintf(text, sizeof(text), "%s", names[node->kind]);
	if (node->flat_objects)
		add_chain(chains, text, node->flat_objects, node->flat_bytes);
	for (uint32_t child = node->first_child; child; child = tree->nodes[child].next_sibling) {
		assert_int_equal(tree->nodes[child].parent, number);
		assert_true(tree->nodes[child].cum_bytes <= previous);
		previous = tree->nodes[child].cum_bytes;
		objects += tree->nodes[child].cum_objects;
		bytes += tree->nodes[child].cum_bytes;
		collect_tree(tree, child, text, chains);
	}
	assert_int_equal(objects, node->cum_objects);
	assert_int_equal(bytes, node->cum_bytes);
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

enum { RANKS = 3 };

static unsigned rank_of(const struct hawk_root *root)
{
	return root->kind == HAWK_ROOT_REGISTER ? 2 : root->kind == HAWK_ROOT_STACK;
}

/** Returns true if a block that roots of the group and the rank point to leads to `block`. */
static bool leads(const struct paths_world *paths, uint32_t group, unsigned rank, uint32_t block)
{
	const uint64_t *next = paths->oracle.all;
	const struct hawk_roots *roots = &paths->world->graph.roots;
	uint64_t reached = 0, before;

	for (size_t i = 0; i < roots->count; i++)
		if (paths->groups[i] == group && rank_of(&roots->items[i]) == rank)
			reached |= UINT64_C(1) << (roots->items[i].edge >> 1);
	do {
		before = reached;
		for (uint32_t i = 0; i < paths->world->count; i++)
			if (reached >> i & 1)
				reached |= next[i];
	} while (reached != before);
	return reached >> block & 1;
}

/** Names the parent of the topmost dominator `block`, by definition. */
static void top_of(const struct paths_world *paths, uint32_t block, char *text)
{
	const struct hawk_roots *roots = &paths->world->graph.roots;
	uint8_t kind = paths->oracle.kinds[block];
	bool direct = false;
	unsigned groups = 0;

	for (unsigned rank = 0; rank < RANKS && !groups; rank++)
		for (size_t i = 0; i < roots->count; i++) {
			if (!leads(paths, paths->groups[i], rank, block))
				continue;
			groups |= 1u << paths->groups[i];
			direct |= roots->items[i].edge >> 1 == block &&
				  rank_of(&roots->items[i]) == rank;
		}
	if (kind == HAWK_REACH_DEFINITELY_LOST || kind == HAWK_REACH_INDIRECTLY_LOST)
		strcpy(text, "lost");
	else if (!(groups & (groups - 1)))
		snprintf(text, CHAIN_MAX, "root%d", __builtin_ctz(groups));
	else
		strcpy(text, direct ? "several" : "shared");
}

/** Dominators of a block are nested: the one that dominates most is on top. */
static void add_dominator_chain(const struct paths_world *paths, uint32_t block,
				struct chains *chains)
{
	const uint64_t *dominated = paths->oracle.dominated;
	uint32_t last = UINT32_MAX;
	char text[CHAIN_MAX] = "";

	for (int size = GRAPH_BLOCKS_MAX; size > 0; size--)
		for (uint32_t i = 0; i < paths->world->count; i++) {
			if (!(dominated[i] >> block & 1) ||
			    __builtin_popcountll(dominated[i]) != size)
				continue;
			if (!*text)
				top_of(paths, i, text);
			append_site(text, &last, paths->world->blocks[i].trace);
		}
	add_chain(chains, text, 1, paths->world->blocks[block].size);
}

/** Checks the tree of blocks that would be freed with `chosen`. */
static void expect_dominator_tree(const struct paths_world *paths,
				  const struct hawk_site_tree *tree, uint64_t chosen)
{
	struct chains want = {0}, got = {0};
	uint64_t gone = 0;

	for (uint32_t block = 0; block < paths->world->count; block++)
		if (chosen >> block & 1)
			gone |= paths->oracle.dominated[block];
	for (uint32_t block = 0; block < paths->world->count; block++)
		if (gone >> block & 1)
			add_dominator_chain(paths, block, &want);
	collect_tree(tree, 0, "", &got);
	expect_same_chains(&got, &want);
}

static void make_tree(const struct paths_world *paths, const uint64_t *chosen,
		      struct hawk_site_tree *tree)
{
	*tree = (struct hawk_site_tree){0};
	check(hawk_site_tree_add_retained(paths->graph, &paths->dominators, paths->groups, chosen,
					  tree));
	check(hawk_site_tree_finish(tree));
}

/** Chooses all blocks, few or many of them, or none. */
static uint64_t choose(uint64_t *seed, unsigned round)
{
	uint64_t chosen = synthetic_random(seed);

	for (unsigned i = round % 7; i > 2; i--)
		chosen &= synthetic_random(seed);
	return round % 7 > 1 ? chosen : round % 7 ? UINT64_MAX : 0;
}

TEST(the_retained_tree_is_the_dominator_tree_of_what_is_freed_with_blocks_folded_by_site)
{
	uint64_t seed = 10;

	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = paths_world_random(&seed);
		uint64_t chosen = choose(&seed, i);
		struct hawk_site_tree tree;

		make_tree(paths, chosen == UINT64_MAX ? NULL : &chosen, &tree);
		expect_dominator_tree(paths, &tree, chosen);
		for (uint32_t j = 1; j < tree.count; j++) {
			assert_true(tree.nodes[j].parent < j);
			assert_true(tree.nodes[j].cum_objects);
		}
		hawk_site_tree_deinit(&tree);
		paths_world_close(paths);
	}
}

/** Checks that every row counts once in its parent, besides the parent's own blocks. */
static void expect_rows(const struct hawk_tree_rows *rows, const struct hawk_tree_view *view)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct hawk_tree_row *row = &rows->items[i];
		const struct hawk_site_tree_node *node = &rows->tree->nodes[row->node];
		uint64_t bytes = node->flat_bytes;

		assert_true(node->depth <= view->depth && row->children <= view->top + 1);
		for (uint32_t j = 0; j < row->children; j++) {
			const struct hawk_tree_row *child = &rows->items[row->first_child + j];

			assert_int_equal(child->parent, i);
			assert_true(!child->summed || (child->summed > 1 && view->sums));
			bytes += child->cum_bytes;
		}
		if (view->sums && row->children)
			assert_int_equal(bytes, row->cum_bytes);
	}
}

TEST(sites_that_alternate_for_ever_stay_apart_at_the_deepest_step)
{
	struct hawk_site_tree tree = {0};
	uint32_t node = 0;

	assert_null(hawk_site_tree_begin(&tree));
	for (uint32_t i = 0; i < 3 * HAWK_SITE_TREE_DEPTH; i++) {
		assert_null(hawk_site_tree_step_site(&tree, node, i % 3, &node));
		assert_int_equal(tree.nodes[node].key, i % 3);
	}
	assert_int_equal(tree.count, HAWK_SITE_TREE_DEPTH + 1);
	hawk_site_tree_deinit(&tree);
}

TEST(what_is_shown_of_a_tree_sums_what_is_not)
{
	uint64_t seed = 33;

	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = paths_world_random(&seed);
		struct hawk_tree_view view = {1 + i % 3, 1 + i % 4, i % 5 * 3, i % 2};
		struct hawk_site_tree tree;
		struct hawk_tree_rows rows;

		make_tree(paths, NULL, &tree);
		check(hawk_site_tree_show(&tree, &view, &rows));
		expect_rows(&rows, &view);
		hawk_tree_rows_deinit(&rows);
		hawk_site_tree_deinit(&tree);
		paths_world_close(paths);
	}
}

static void add_path_chain(const struct paths_world *paths, const struct hawk_paths *found,
			   uint32_t block, struct chains *chains)
{
	uint32_t last = UINT32_MAX;
	char text[CHAIN_MAX] = "lost";
	struct hawk_path path;

	check(hawk_path_to(found, block, &path));
	if (path.count)
		snprintf(text, sizeof(text), "root%u", paths->groups[path.root]);
	for (uint32_t i = 0; i < path.count; i++)
		append_site(text, &last, paths->world->blocks[path.blocks[i]].trace);
	if (!path.count)
		append_site(text, &last, paths->world->blocks[block].trace);
	add_chain(chains, text, 1, paths->world->blocks[block].size);
	hawk_path_deinit(&path);
}

TEST(merged_paths_are_those_of_all_blocks_of_a_site)
{
	uint64_t seed = 21;

	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = paths_world_random(&seed);
		struct hawk_paths found;

		check(hawk_paths_find(paths->graph, &found));
		for (uint32_t site = 0; site < GRAPH_TRACES; site++) {
			struct chains want = {0}, got = {0};
			struct hawk_site_tree tree;
			uint64_t wanted = 0;

			for (uint32_t block = 0; block < paths->world->count; block++)
				wanted |= (uint64_t)(paths->world->blocks[block].trace == site)
					  << block;
			check(hawk_site_tree_paths(paths->graph, &found, paths->groups, &wanted,
						   &tree));
			for (uint32_t block = 0; block < paths->world->count; block++)
				if (paths->world->blocks[block].trace == site)
					add_path_chain(paths, &found, block, &want);
			collect_tree(&tree, 0, "", &got);
			expect_same_chains(&got, &want);
			hawk_site_tree_deinit(&tree);
		}
		hawk_paths_deinit(&found);
		paths_world_close(paths);
	}
}
