/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writer of the site graph for Graphviz.
 */
#ifndef HAWK_ANALYZER_EXPORT_DOT_H
#define HAWK_ANALYZER_EXPORT_DOT_H

#include "hawk/analysis/site_graph.h"
#include "hawk/analysis/site_list.h"
#include "hawk/names/site_names.h"
#include "hawk/output/output.h"

struct hawk_dot {
	const struct hawk_heap *heap;
	struct hawk_site_names *names;
	const struct hawk_site_graph *graph;
	const struct hawk_chosen *chosen; /**< by site; NULL = all blocks */
	size_t top;                       /**< sites; 0 = the default */
};

/** Sorts `list`, and draws its first sites with what holds them. */
struct hawk_error *hawk_export_dot(const struct hawk_dot *dot, struct hawk_site_list *list,
				   struct hawk_output *output);

#endif
