/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A structure is found in the tree of dominators, folded by site: above a large site, the outermost
 * site that has many blocks and consists of large sites for the most part. So the nodes of a map
 * lead its keys and values, and the one object that holds the map does not.
 *
 * A single large block above them, such as a hash table, belongs to the structure, without leading
 * it. Two such structures are one if one block or variable holds both and one function filled
 * both: a table with an array of keys and one of values, a cache with a map and a list.
 */
#include "suspect_groups.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"

enum {
	MANY = 16,        /**< blocks of a site that can lead */
	PART_SHARE = 100, /**< of the structure's bytes, of a part that is listed */
};

/** Scratch, each by node of the tree. */
struct grouping {
	struct hawk_suspects *suspects;
	const struct hawk_heap *heap;
	struct hawk_site_names *names;
	const uint8_t *startup;
	uint32_t *tops;
	uint64_t *sums;  /**< zeros */
	uint64_t *below; /**< bytes of the suspects' sites in the subtree */
};

static void hawk_cleanup_grouping(struct grouping *grouping)
{
	free(grouping->tops);
	free(grouping->sums);
	free(grouping->below);
}

/** Parents have smaller numbers. */
static void sum_suspects(const struct grouping *grouping)
{
	const struct hawk_suspects *suspects = grouping->suspects;
	const struct hawk_site_tree_node *nodes = suspects->tree.nodes;

	for (uint32_t i = suspects->tree.count; i-- > 1;) {
		for (size_t j = 0; j < suspects->count; j++)
			if (nodes[i].kind == HAWK_TREE_SITE &&
			    nodes[i].key == suspects->items[j].site)
				grouping->below[i] += nodes[i].flat_bytes;
		grouping->below[nodes[i].parent] += grouping->below[i];
	}
}

static bool leads(const struct grouping *grouping, uint32_t number)
{
	const struct hawk_site_tree_node *node = &grouping->suspects->tree.nodes[number];

	return node->flat_objects >= MANY && node->key < grouping->heap->site_count &&
	       !(grouping->startup[node->key] & 1) &&
	       grouping->below[number] >= node->cum_bytes / 2;
}

static uint32_t find_lead(const struct grouping *grouping, uint32_t node)
{
	const struct hawk_site_tree_node *nodes = grouping->suspects->tree.nodes;
	uint32_t ret = node;

	for (uint32_t at = node; nodes[at].kind == HAWK_TREE_SITE; at = nodes[at].parent)
		if (leads(grouping, at))
			ret = at;
	return ret;
}

/** Returns true if `node` is `above` or in its subtree. */
static bool is_below(const struct hawk_site_tree *tree, uint32_t node, uint32_t above)
{
	while (tree->nodes[node].depth > tree->nodes[above].depth)
		node = tree->nodes[node].parent;
	return node == above;
}

static uint64_t site_bytes_below(const struct hawk_site_tree *tree, uint32_t site, uint32_t above)
{
	uint64_t bytes = 0;

	for (uint32_t i = above; i < tree->count; i++)
		if (tree->nodes[i].kind == HAWK_TREE_SITE && tree->nodes[i].key == site &&
		    is_below(tree, i, above))
			bytes += tree->nodes[i].flat_bytes;
	return bytes;
}

/** Finds the lead of a suspect most of whose site one structure has. What is lost has an origin. */
static void find_place(const struct grouping *grouping, struct hawk_suspect *suspect)
{
	uint32_t lead;

	if (!suspect->holder.top || suspect->lost.objects || suspect->facts.sampled)
		return;
	lead = find_lead(grouping, suspect->holder.node);
	if (site_bytes_below(&grouping->suspects->tree, suspect->site, lead) >=
	    suspect->facts.bytes / 2)
		suspect->node = suspect->group = lead;
}

/** Gives a single large block to the structure that has most of what it dominates. */
static void give_block(const struct grouping *grouping, size_t number, bool *gone)
{
	struct hawk_suspects *suspects = grouping->suspects;
	const struct hawk_site_tree_node *nodes = suspects->tree.nodes;
	uint32_t node = suspects->items[number].node;

	if (!node || nodes[node].flat_objects >= MANY)
		return;
	for (size_t i = 0; i < suspects->count; i++) {
		struct hawk_suspect *suspect = &suspects->items[i];

		if (i == number || !suspect->node ||
		    !is_below(&suspects->tree, suspect->node, node) ||
		    nodes[suspect->node].flat_objects < MANY ||
		    nodes[suspect->node].cum_bytes < nodes[node].cum_bytes / 2)
			continue;
		if (is_below(&suspects->tree, suspect->group, node))
			suspect->group = node;
		gone[number] = true;
	}
}

/** Returns the function of the site, or who called a runtime; NULL = not known. */
static const char *maker_of(const struct grouping *grouping, uint32_t site)
{
	const struct hawk_site_name *name = hawk_site_name(grouping->names, site);

	if (!name->runtime && name->function)
		return name->function;
	return name->caller_offset ? NULL : name->caller;
}

/** Returns the innermost node above both; that of no site if no one block holds both. */
static uint32_t common_holder(const struct hawk_site_tree_node *nodes, uint32_t a, uint32_t b)
{
	while (a != b)
		if (nodes[a].depth >= nodes[b].depth)
			a = nodes[a].parent;
		else
			b = nodes[b].parent;
	return a;
}

/** Makes both structures that of their common holder, a block or a variable, if one function filled
 * both. */
static void join_pair(const struct grouping *grouping, struct hawk_suspect *a,
		      struct hawk_suspect *b)
{
	const struct hawk_site_tree_node *nodes = grouping->suspects->tree.nodes;
	const char *makers[] = {maker_of(grouping, a->site), maker_of(grouping, b->site)};
	uint32_t holder = common_holder(nodes, a->group, b->group);

	if (a->group && b->group && makers[0] && makers[1] && !strcmp(makers[0], makers[1]) &&
	    (nodes[holder].kind == HAWK_TREE_SITE || nodes[holder].kind == HAWK_TREE_ROOT) &&
	    grouping->below[holder] >= nodes[holder].cum_bytes / 2)
		a->group = b->group = holder;
}

static void join_tables(const struct grouping *grouping, const bool *gone)
{
	struct hawk_suspects *suspects = grouping->suspects;

	for (size_t i = 0; i < suspects->count; i++)
		for (size_t j = 0; j < i; j++)
			if (!gone[i] && !gone[j])
				join_pair(grouping, &suspects->items[i], &suspects->items[j]);
}

/** Returns the suspect whose structure contains that of suspect `number`; NULL = none. */
static struct hawk_suspect *find_owner(struct hawk_suspects *suspects, size_t number,
				       const bool *gone)
{
	uint32_t group = suspects->items[number].group;

	for (size_t i = 0; group && i < suspects->count; i++) {
		struct hawk_suspect *other = &suspects->items[i];

		if (i != number && !gone[i] && other->group &&
		    is_below(&suspects->tree, group, other->group) &&
		    (gone[number] || group != other->group || i < number))
			return other;
	}
	return NULL;
}

static void join(const struct grouping *grouping)
{
	struct hawk_suspects *suspects = grouping->suspects;
	bool gone[HAWK_SUSPECTS_MAX] = {false};
	size_t kept = 0;

	for (size_t i = 0; i < suspects->count; i++)
		give_block(grouping, i, gone);
	join_tables(grouping, gone);
	for (size_t i = 0; i < suspects->count; i++) {
		struct hawk_suspect *owner = find_owner(suspects, i, gone);

		gone[i] = owner;
		if (owner)
			owner->leaks |= suspects->items[i].leaks;
	}
	for (size_t i = 0; i < suspects->count; i++)
		if (!gone[i])
			suspects->items[kept++] = suspects->items[i];
	suspects->count = kept;
}

static void add_part(struct hawk_suspect *suspect, uint32_t site, struct hawk_chosen blocks)
{
	size_t at = suspect->part_count;

	if (blocks.bytes < suspect->blocks.bytes / PART_SHARE || !blocks.objects)
		return;
	while (at && suspect->parts[at - 1].blocks.bytes < blocks.bytes)
		at--;
	if (at == HAWK_SUSPECT_PARTS_MAX)
		return;
	if (suspect->part_count < HAWK_SUSPECT_PARTS_MAX)
		suspect->part_count++;
	for (size_t i = suspect->part_count - 1; i > at; i--)
		suspect->parts[i] = suspect->parts[i - 1];
	suspect->parts[at] = (struct hawk_suspect_part){site, blocks};
}

/** Sums the structure's blocks by site. `by_site` is of zeros, and left so. */
static void find_parts(const struct grouping *grouping, struct hawk_chosen *by_site,
		       struct hawk_suspect *suspect)
{
	const struct hawk_site_tree *tree = &grouping->suspects->tree;
	const struct hawk_site_tree_node *top = &tree->nodes[suspect->group];
	uint32_t end = (uint32_t)grouping->heap->site_count;

	suspect->blocks =
		(struct hawk_chosen){.objects = top->cum_objects, .bytes = top->cum_bytes};
	for (uint32_t i = suspect->group; i < tree->count; i++)
		if (tree->nodes[i].key < end && is_below(tree, i, suspect->group)) {
			by_site[tree->nodes[i].key].objects += tree->nodes[i].flat_objects;
			by_site[tree->nodes[i].key].bytes += tree->nodes[i].flat_bytes;
		}
	for (uint32_t site = 0; site < end; site++) {
		add_part(suspect, site, by_site[site]);
		by_site[site] = (struct hawk_chosen){0};
	}
}

/** Makes the lead the suspect's site. Other roots may hold more of that site's blocks. */
static void set_lead(const struct grouping *grouping, struct hawk_suspect *suspect)
{
	const struct hawk_site_tree *tree = &grouping->suspects->tree;
	uint32_t top = grouping->tops[suspect->node];

	suspect->site = tree->nodes[suspect->node].key;
	suspect->holder = (struct hawk_site_holder){.top = top, .node = suspect->node};
	for (uint32_t i = 1; i < tree->count; i++)
		if (grouping->tops[i] == top && tree->nodes[i].kind == HAWK_TREE_SITE &&
		    tree->nodes[i].key == suspect->site) {
			suspect->holder.objects += tree->nodes[i].flat_objects;
			suspect->holder.bytes += tree->nodes[i].flat_bytes;
		}
}

/** Makes a structure of the suspect. If one site is all but a hundredth of it, that is the suspect,
 * however many small blocks lead it. */
static void set_structure(const struct grouping *grouping, struct hawk_chosen *by_site,
			  struct hawk_suspect *suspect)
{
	find_parts(grouping, by_site, suspect);
	if (suspect->part_count > 1) {
		set_lead(grouping, suspect);
		return;
	}
	if (suspect->part_count)
		suspect->site = suspect->parts[0].site;
	suspect->part_count = 0;
	suspect->blocks = (struct hawk_chosen){0};
	suspect->holder = hawk_site_holder_find(&grouping->suspects->tree, grouping->tops,
						grouping->sums, suspect->site);
}

static struct hawk_error *make_tree(const struct hawk_graph *graph,
				    const struct hawk_dominators *dominators,
				    struct hawk_root_namer *namer, struct hawk_suspects *suspects)
{
	struct hawk_error *err = hawk_tree_roots_make(namer, &suspects->roots);

	if (!err)
		err = hawk_site_tree_add_retained(graph, dominators, suspects->roots.groups, NULL,
						  &suspects->tree);
	return err ? err : hawk_site_tree_finish(&suspects->tree);
}

static void find_structures(const struct grouping *grouping, struct hawk_chosen *by_site)
{
	struct hawk_suspects *suspects = grouping->suspects;

	for (size_t i = 0; i < suspects->count; i++)
		suspects->items[i].holder = hawk_site_holder_find(
			&suspects->tree, grouping->tops, grouping->sums, suspects->items[i].site);
	sum_suspects(grouping);
	for (size_t i = 0; i < suspects->count; i++)
		find_place(grouping, &suspects->items[i]);
	join(grouping);
	for (size_t i = 0; i < suspects->count; i++)
		if (suspects->items[i].node)
			set_structure(grouping, by_site, &suspects->items[i]);
}

struct hawk_error *hawk_suspects_group(const struct hawk_graph *graph,
				       const struct hawk_dominators *dominators,
				       struct hawk_root_namer *namer, struct hawk_site_names *names,
				       const uint8_t *startup, struct hawk_suspects *suspects)
{
	struct hawk_error *err = make_tree(graph, dominators, namer, suspects);
	size_t nodes = (size_t)suspects->tree.count + 1;

	if (err)
		return err;
	CLEANUP(grouping)
	struct grouping grouping = {
		.suspects = suspects,
		.heap = graph->heap,
		.names = names,
		.startup = startup,
		.tops = hawk_site_tree_tops(&suspects->tree),
		.sums = calloc(nodes, sizeof(uint64_t)),
		.below = calloc(nodes, sizeof(uint64_t)),
	};
	CLEANUP(free_ptr)
	struct hawk_chosen *by_site = calloc(graph->heap->site_count + 1, sizeof(*by_site));

	if (!grouping.tops || !grouping.sums || !grouping.below || !by_site)
		return &hawk_enomem;
	find_structures(&grouping, by_site);
	return NULL;
}
