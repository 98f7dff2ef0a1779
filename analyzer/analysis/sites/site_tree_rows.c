/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which nodes of a site tree are shown: rows are added parent by parent, as nodes are ordered.
 */
#include <stdlib.h>

#include "hawk/analysis/site_tree.h"
#include "hawk/base/array.h"

static struct hawk_error *add_row(struct hawk_tree_rows *rows, uint32_t parent, uint32_t node)
{
	const struct hawk_site_tree_node *sums = &rows->tree->nodes[node];

	if (!hawk_array_reserve(&rows->items, rows->count, &rows->capacity, sizeof(*rows->items)))
		return &hawk_enomem;
	rows->items[rows->count++] = (struct hawk_tree_row){
		.node = node,
		.parent = parent,
		.cum_objects = sums->cum_objects,
		.cum_bytes = sums->cum_bytes,
		.start_cum_bytes = sums->start.cum_bytes,
	};
	return NULL;
}

/** Adds `node` and the siblings behind it as one row. */
static struct hawk_error *add_sum(struct hawk_tree_rows *rows, uint32_t parent, uint32_t node)
{
	const struct hawk_site_tree_node *nodes = rows->tree->nodes;
	struct hawk_error *err = add_row(rows, parent, node);
	struct hawk_tree_row *row = &rows->items[rows->count - 1];

	if (err)
		return err;
	row->summed = 1;
	for (node = nodes[node].next_sibling; node; node = nodes[node].next_sibling) {
		row->summed++;
		row->cum_objects += nodes[node].cum_objects;
		row->cum_bytes += nodes[node].cum_bytes;
		row->start_cum_bytes += nodes[node].start.cum_bytes;
	}
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

		/* One line says as much as a line about one that is not shown. */
		if ((shown == view->top || (nodes[child].cum_bytes < least && shown)) &&
		    (nodes[child].next_sibling || !view->sums))
			break;
		err = add_row(rows, parent, child);
	}
	if (!err && child && view->sums)
		err = add_sum(rows, parent, child);
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
	err = add_row(ret, 0, 0);
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
