/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Selects the nodes of a site tree to show. Rows are added parent by parent, in node order.
 */
#include <stdlib.h>

#include "hawk/analysis/site_tree.h"
#include "hawk/base/array.h"

/** Adds `node`; with `sum`, all siblings behind it, too, as one row. */
static struct hawk_error *add_row(struct hawk_tree_rows *rows, uint32_t parent, uint32_t node,
				  bool sum)
{
	struct hawk_tree_row row = {.node = node, .parent = parent};

	if (!hawk_array_reserve(&rows->items, rows->count, &rows->capacity, sizeof(row)))
		return &hawk_enomem;
	do {
		const struct hawk_site_tree_node *sums = &rows->tree->nodes[node];

		row.summed += sum;
		row.cum_objects += sums->cum_objects;
		row.cum_bytes += sums->cum_bytes;
		node = sums->next_sibling;
	} while (sum && node);
	rows->items[rows->count++] = row;
	return NULL;
}

static struct hawk_error *add_children(struct hawk_tree_rows *rows,
				       const struct hawk_tree_view *view, uint32_t parent)
{
	const struct hawk_site_tree_node *nodes = rows->tree->nodes;
	uint64_t least = view->share ? nodes[0].cum_bytes / view->share : 0;
	uint32_t child = nodes[rows->items[parent].node].first_child;
	size_t first = rows->count;
	struct hawk_error *err = NULL;

	for (; child && !err; child = nodes[child].next_sibling) {
		size_t shown = rows->count - first;

		/* Show a single node instead of a sum of one: both take one line. */
		if ((shown == view->top || (nodes[child].cum_bytes < least && shown)) &&
		    (nodes[child].next_sibling || !view->sums))
			break;
		err = add_row(rows, parent, child, false);
	}
	if (!err && child && view->sums)
		err = add_row(rows, parent, child, true);
	rows->items[parent].first_child = (uint32_t)first;
	rows->items[parent].children = (uint32_t)(rows->count - first);
	return err;
}

struct hawk_error *hawk_site_tree_show(const struct hawk_site_tree *tree,
				       const struct hawk_tree_view *view,
				       struct hawk_tree_rows *ret)
{
	struct hawk_error *err;

	*ret = (struct hawk_tree_rows){.tree = tree};
	err = add_row(ret, 0, 0, false);
	for (size_t i = 0; i < ret->count && !err; i++)
		if (!ret->items[i].summed && tree->nodes[ret->items[i].node].depth < view->depth)
			err = add_children(ret, view, (uint32_t)i);
	return err;
}

void hawk_tree_rows_deinit(struct hawk_tree_rows *rows)
{
	free(rows->items);
	*rows = (struct hawk_tree_rows){0};
}
