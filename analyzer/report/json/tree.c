/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Trees "root; site; site ...".
 */
#include "hawk/base/cleanup.h"
#include "hawk/report/pointers.h"
#include "objects.h"

static void put_sums(struct hawk_json *json, uint64_t flat_objects, uint64_t flat_bytes,
		     uint64_t cum_objects, uint64_t cum_bytes)
{
	hawk_json_put_integer(json, "flat_objects", flat_objects);
	hawk_json_put_integer(json, "flat_bytes", flat_bytes);
	hawk_json_put_integer(json, "cum_objects", cum_objects);
	hawk_json_put_integer(json, "cum_bytes", cum_bytes);
}

static void put_node(const struct hawk_pointer_report *report, const struct hawk_tree_roots *groups,
		     const struct hawk_site_tree *tree, const struct hawk_tree_row *row,
		     struct hawk_json *json)
{
	static const char *const kinds[] = {"all", "root", "several", "shared", "lost", "site"};
	const struct hawk_site_tree_node *node = &tree->nodes[row->node];
	CLEANUP(text) struct hawk_text name = {0};

	hawk_report_append_tree_node(report, groups, node, SIZE_MAX, &name);
	hawk_json_object(json);
	hawk_json_put_string(json, "kind", kinds[node->kind]);
	hawk_json_put_string(json, "name", name.bytes);
	hawk_json_put_site(json, "site", report->heap,
			   node->kind == HAWK_TREE_SITE ? node->key : UINT32_MAX);
	put_sums(json, node->flat_objects, node->flat_bytes, node->cum_objects, node->cum_bytes);
	hawk_json_put_integer(json, "parent", row->parent);
	hawk_json_object_end(json);
}

/* Writes a flat list, parents before children, because many JSON readers reject a nesting of 60. */
void hawk_report_tree_json(const struct hawk_pointer_report *report,
			   const struct hawk_tree_roots *groups, const struct hawk_tree_rows *rows,
			   struct hawk_json *json)
{
	if (!report->heap->knows) {
		hawk_json_put_no_list(json, "tree");
		return;
	}
	hawk_json_put_cut_list(json, "tree", rows->count, rows->tree->count);
	for (size_t i = 0; i < rows->count; i++)
		put_node(report, groups, rows->tree, &rows->items[i], json);
	hawk_json_array_end(json);
}
