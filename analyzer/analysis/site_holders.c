/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Holders of sites: two walks over the nodes of a tree for each site that is asked for.
 */
#include "hawk_site_holders.h"

#include <stdlib.h>

uint32_t *hawk_site_tree_tops(const struct hawk_site_tree *tree)
{
	uint32_t *tops = calloc((size_t)tree->count + 1, sizeof(*tops));

	for (uint32_t i = 1; tops && i < tree->count; i++)
		tops[i] = tree->nodes[i].parent ? tops[tree->nodes[i].parent] : i;
	return tops;
}

static bool is_site(const struct hawk_site_tree_node *node, uint32_t site)
{
	return node->kind == HAWK_TREE_SITE && node->key == site;
}

struct hawk_site_holder hawk_site_holder_find(const struct hawk_site_tree *tree,
					      const uint32_t *tops, uint64_t *sums, uint32_t site)
{
	struct hawk_site_holder holder = {0};

	for (uint32_t i = 1; i < tree->count; i++)
		if (is_site(&tree->nodes[i], site))
			sums[tops[i]] += tree->nodes[i].flat_bytes;
	for (uint32_t i = 1; i < tree->count; i++)
		if (is_site(&tree->nodes[i], site) &&
		    (!holder.top || sums[tops[i]] > sums[holder.top]))
			holder.top = tops[i];
	holder.bytes = sums[holder.top];
	for (uint32_t i = 1; i < tree->count; i++) {
		if (!is_site(&tree->nodes[i], site))
			continue;
		sums[tops[i]] = 0;
		if (tops[i] != holder.top)
			continue;
		holder.objects += tree->nodes[i].flat_objects;
		if (!holder.node || tree->nodes[i].flat_bytes > tree->nodes[holder.node].flat_bytes)
			holder.node = i;
	}
	return holder;
}
