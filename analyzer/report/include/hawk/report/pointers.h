/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports of the verbs that follow pointers: references, paths, retained sizes, site graphs. Text
 * fits the screen; docs/json.md describes the JSON documents.
 */
#ifndef HAWK_ANALYZER_REPORT_POINTERS_H
#define HAWK_ANALYZER_REPORT_POINTERS_H

#include "hawk/analysis/selection.h"
#include "hawk/analysis/block_filter.h"
#include "hawk/objects/types.h"
#include "hawk/output/json.h"
#include "hawk/analysis/path_targets.h"
#include "hawk/analysis/referrers.h"
#include "hawk/analysis/refs.h"
#include "hawk/analysis/retained.h"
#include "hawk/report/report.h"
#include "hawk/names/root_name.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/analysis/site_graph.h"
#include "hawk/names/site_names.h"
#include "hawk/analysis/site_tree.h"

struct hawk_next;

/** Shared input of these reports. Owns nothing. */
struct hawk_pointer_report {
	const char *source; /**< the core's path; NULL for a process */
	const struct hawk_heap *heap;
	const struct hawk_graph *graph; /**< NULL = not needed, like these: */
	const struct hawk_reach *reach; /**< by all pointers */
	struct hawk_symbols *symbols;
	struct hawk_block_types *types;
	const struct hawk_types *path_types; /**< of a few blocks; NULL = not asked */
	struct hawk_site_names *names;
	struct hawk_root_namer *roots;
	const struct hawk_findings *findings;
	const struct hawk_next *next;           /**< for JSON; NULL = none */
	const struct hawk_block_filter *filter; /**< NULL = all blocks */
	const struct hawk_chosen *chosen;       /**< by site; NULL = all blocks, or not needed */
	const uint64_t *retained;               /**< by site, of these; NULL = not shown */
	size_t top;                             /**< 0 = the default */
	size_t depth; /**< lines of stacks, levels of trees; 0 = default */
};

/** Returns how many of `count` entries a list shows: report->top, all on a full screen, else
 * `usual`. */
size_t hawk_report_limit(const struct hawk_pointer_report *report, size_t usual, size_t count,
			 bool full);

/**
 * Returns the stack lines per list entry: report->depth, all (0) on a full screen, else `usual`.
 */
size_t hawk_report_depth(const struct hawk_pointer_report *report, size_t usual, bool full);

/** Prints the line for an empty list; it says if the filter is the reason. */
void hawk_report_put_none(const struct hawk_pointer_report *report,
			  const struct hawk_screen *screen);

/** Writes "chosen", the block count, unless all are meant. */
void hawk_report_json_chosen(const struct hawk_pointer_report *report, struct hawk_json *json);

/** Prints a block in the usual form: "0x..., 40 B, make_cell cells.c:30". `column` columns are used
 * already. */
void hawk_report_put_block(const struct hawk_pointer_report *report,
			   const struct hawk_screen *screen, uint32_t number, unsigned column);

/** "address", "size", "site", "type" in an object that the caller began. */
void hawk_report_json_block(const struct hawk_pointer_report *report, uint32_t number,
			    struct hawk_json *json);

/** Returns the type of a block; NULL = not known. */
const char *hawk_report_type(const struct hawk_pointer_report *report, uint32_t number,
			     const struct hawk_block *block, bool *is_guess);

/** Appends the member at `offset` of a block (hawk_types_append_member()); false = not known. */
bool hawk_report_append_member(const struct hawk_pointer_report *report, uint32_t holder,
			       uint32_t block, uint64_t offset, struct hawk_text *text);

/** "member" of a block: a string, or null. */
void hawk_report_json_member(const struct hawk_pointer_report *report, uint32_t holder,
			     uint32_t block, uint64_t offset, struct hawk_json *json);

/** Appends a path as an expression of the program: "work: server->cache_[...].second.text". Returns
 * false, with any text appended, if it is not known, or long. */
bool hawk_report_append_expression(const struct hawk_pointer_report *report,
				   const struct hawk_path *path, struct hawk_text *text);

/** "stack" of a site. */
void hawk_report_json_site_stack(const struct hawk_pointer_report *report, uint32_t site,
				 struct hawk_json *json);

/** "retained_bytes"; null for NULL. */
void hawk_report_json_retained(const uint64_t *retained, bool exact, struct hawk_json *json);

/** Returns the site of live blocks that were not sampled and so have no stack; NULL = none. */
const struct hawk_site *hawk_report_not_sampled(const struct hawk_heap *heap);

/** Begins a document: "schema", "version", "source", and "sampled" if stacks were sampled. */
void hawk_report_json_begin(const struct hawk_pointer_report *report, struct hawk_json *json,
			    struct hawk_output *output, const char *schema, unsigned lines);

/** Ends it: "missing", "damage", "partial". */
void hawk_report_json_end(const struct hawk_pointer_report *report, struct hawk_json *json);

/** If stacks were sampled, explains the figures of sites. */
void hawk_report_put_sampling(const struct hawk_pointer_report *report,
			      const struct hawk_screen *screen);

/** Prints who points at each of `count` blocks, as text, as JSON ("addresses"). */
void hawk_report_refs(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
		      size_t count, const struct hawk_screen *screen);
void hawk_report_refs_json(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
			   size_t count, struct hawk_json *json);

/** Prints the shortest path to each target, or that no root leads there; with sums if
 * `report->filter` chose them. As JSON: "chosen", "addresses". */
struct hawk_error *hawk_report_paths(const struct hawk_pointer_report *report,
				     const struct hawk_paths *paths,
				     const struct hawk_path_targets *targets,
				     const struct hawk_screen *screen);
struct hawk_error *hawk_report_paths_json(const struct hawk_pointer_report *report,
					  const struct hawk_paths *paths,
					  const struct hawk_path_targets *targets,
					  struct hawk_json *json);

/** Returns the part of a tree that a document shows, or the text, which is `full` or short. `roots`
 * leaves out sites of a text. */
struct hawk_tree_view hawk_report_tree_view(const struct hawk_pointer_report *report, bool json,
					    bool full, bool roots);

/** Appends the name of a node, at most `width` columns (SIZE_MAX = whole). */
void hawk_report_append_tree_node(const struct hawk_pointer_report *report,
				  const struct hawk_tree_roots *groups,
				  const struct hawk_site_tree_node *node, size_t width,
				  struct hawk_text *text);

/** Prints a tree of sites below roots, as text, as JSON ("tree"). */
void hawk_report_tree(const struct hawk_pointer_report *report,
		      const struct hawk_tree_roots *groups, const struct hawk_tree_rows *rows,
		      const struct hawk_screen *screen);
void hawk_report_tree_json(const struct hawk_pointer_report *report,
			   const struct hawk_tree_roots *groups, const struct hawk_tree_rows *rows,
			   struct hawk_json *json);

/** Prints sites by retained bytes. */
void hawk_report_retained_sites(const struct hawk_pointer_report *report,
				const struct hawk_retained_sites *sites,
				const struct hawk_screen *screen);
void hawk_report_retained_sites_json(const struct hawk_pointer_report *report,
				     const struct hawk_retained_sites *sites,
				     struct hawk_json *json);

/** Prints blocks by retained bytes, largest first. */
void hawk_report_retained_blocks(const struct hawk_pointer_report *report,
				 const struct hawk_retained_blocks *blocks,
				 const struct hawk_screen *screen);
void hawk_report_retained_blocks_json(const struct hawk_pointer_report *report,
				      const struct hawk_retained_blocks *blocks,
				      struct hawk_json *json);

/** Prints the bytes that each root group alone retains: the top of the tree. */
void hawk_report_retained_roots(const struct hawk_pointer_report *report,
				const struct hawk_tree_roots *groups,
				const struct hawk_tree_rows *rows,
				const struct hawk_screen *screen);

/** Prints some rows, the same ones on each call. */
typedef void hawk_rows_function(const void *context, const struct hawk_screen *screen);

/**
 * Prints rows to `screen` after learning from them which names need an id (hawk_site_name_tell()).
 */
void hawk_report_put_rows(const struct hawk_pointer_report *report,
			  const struct hawk_screen *screen, hawk_rows_function *put,
			  const void *context);

/** Sorts the sites of `list`; returns how many are shown: report->top, else `usual`. */
size_t hawk_report_choose_sites(const struct hawk_pointer_report *report,
				struct hawk_site_list *list, size_t usual);

/** Prints the site graph: the holders of each requested site's blocks. */
struct hawk_error *hawk_report_site_graph(const struct hawk_pointer_report *report,
					  const struct hawk_site_graph *graph,
					  struct hawk_site_list *list,
					  const struct hawk_screen *screen);
struct hawk_error *hawk_report_site_graph_json(const struct hawk_pointer_report *report,
					       const struct hawk_site_graph *graph,
					       struct hawk_site_list *list, struct hawk_json *json);

#endif
