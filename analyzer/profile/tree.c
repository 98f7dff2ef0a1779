/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Profiles of trees of sites: a root, then sites, each as its telling function.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/profile/sources.h"
#include "parts.h"

enum { ID_BYTES = 17, COLUMNS = 2 };

/** The frame that stands for a site, made when it is first met. */
struct site {
	bool known;
	struct hawk_profile_frame frame;
	uint32_t id; /**< string */
};

struct maker {
	const struct hawk_graph *graph;
	struct hawk_symbols *symbols;
	const struct hawk_tree_roots *groups;
	const struct hawk_site_tree *tree;
	struct hawk_profile *profile;
	struct hawk_stack stack;
	struct site *sites; /**< by index in the heap */
	uint32_t *steps;    /**< by node */
};

static struct hawk_profile_frame frame_of_line(struct hawk_profile *profile,
					       const struct hawk_stack_line *line)
{
	return (struct hawk_profile_frame){
		.kind = HAWK_PROFILE_SITE,
		.function = hawk_profile_string(profile, line->name.function),
		.symbol = hawk_profile_string(profile, line->name.symbol),
		.file = hawk_profile_string(profile, line->name.file),
		.line = line->name.line,
		.module = line->has_module ? hawk_profile_module(profile, &line->module) : 0,
		.offset = line->name.function
				  ? 0
				  : line->pc - (line->has_module ? line->module.bias : 0),
	};
}

static const struct site *find_site(struct maker *maker, uint32_t number)
{
	const struct hawk_heap *heap = maker->graph->heap;
	struct site *site = &maker->sites[number];
	char id[ID_BYTES];

	if (site->known)
		return site;
	site->known = true;
	snprintf(id, sizeof(id), "%016" PRIx64, heap->sites[number].id);
	site->id = hawk_profile_string(maker->profile, id);
	hawk_stack_of_blocks(maker->symbols, heap, heap->sites[number].trace, &maker->stack);
	if (maker->stack.count)
		site->frame =
			frame_of_line(maker->profile,
				      &maker->stack.lines[hawk_stack_telling_line(&maker->stack)]);
	else
		site->frame = (struct hawk_profile_frame){
			.kind = HAWK_PROFILE_NOTE,
			.function = hawk_profile_string(maker->profile,
							hawk_site_no_stack(heap, number)),
		};
	return site;
}

static uint32_t root_step(struct maker *maker, const struct hawk_site_tree_node *node,
			  uint32_t parent)
{
	const char *name =
		node->kind == HAWK_TREE_ROOT || node->kind == HAWK_TREE_SEVERAL
			? maker->groups->names[node->key]
			: hawk_site_tree_special_name(node->kind, hawk_leaks_doubt(maker->graph));
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_puts(&text, name);
	hawk_text_puts(&text, node->kind == HAWK_TREE_SEVERAL ? ", and others" : "");
	maker->profile->failed |= text.failed;
	return hawk_profile_note(maker->profile, parent, HAWK_PROFILE_ROOT,
				 hawk_text_string(&text));
}

static void add_node(struct maker *maker, uint32_t number)
{
	const struct hawk_site_tree_node *node = &maker->tree->nodes[number];
	const int64_t values[COLUMNS] = {
		hawk_profile_value(node->flat_objects),
		hawk_profile_value(node->flat_bytes),
	};
	struct hawk_profile_labels labels = {0};
	uint32_t parent = maker->steps[node->parent];

	if (node->kind == HAWK_TREE_SITE && node->key < maker->graph->heap->site_count) {
		const struct site *site = find_site(maker, node->key);

		maker->steps[number] =
			hawk_profile_frame_step(maker->profile, parent, &site->frame);
		labels.site = site->id;
	} else if (node->kind == HAWK_TREE_SITE) {
		maker->steps[number] =
			hawk_profile_note(maker->profile, parent, HAWK_PROFILE_NOTE,
					  hawk_site_no_stack(maker->graph->heap, node->key));
	} else {
		maker->steps[number] = root_step(maker, node, parent);
	}
	if (values[0] || values[1])
		hawk_profile_add(maker->profile, maker->steps[number], &labels, values);
}

struct hawk_error *hawk_profile_of_tree(const struct hawk_graph *graph,
					struct hawk_symbols *symbols,
					const struct hawk_tree_roots *groups,
					const struct hawk_site_tree *tree,
					const char *const columns[2], struct hawk_profile **ret)
{
	const struct hawk_profile_column both[COLUMNS] = {
		{columns[0], "count"},
		{columns[1], "bytes"},
	};
	CLEANUP(free_ptr) struct site *sites = calloc(graph->heap->site_count + 1, sizeof(*sites));
	CLEANUP(free_ptr) uint32_t *steps = calloc((size_t)tree->count + 1, sizeof(*steps));
	struct maker maker = {.graph = graph,
			      .symbols = symbols,
			      .groups = groups,
			      .tree = tree,
			      .sites = sites,
			      .steps = steps};
	struct hawk_error *err =
		sites && steps ? hawk_profile_create(both, COLUMNS, &maker.profile) : &hawk_enomem;

	if (err)
		return err;
	maker.profile->shown_column = COLUMNS - 1;
	hawk_profile_add_program(maker.profile, graph->heap->target);
	for (uint32_t i = 1; i < tree->count; i++)
		add_node(&maker, i);
	hawk_stack_deinit(&maker.stack);
	err = hawk_profile_finish(maker.profile);
	if (err)
		hawk_profile_destroy(maker.profile);
	else
		*ret = maker.profile;
	return err;
}
