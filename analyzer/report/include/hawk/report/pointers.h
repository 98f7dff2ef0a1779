/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports of the verbs that follow pointers: who points at a block, why it is alive, who retains
 * what, which sites hold which. Text fits the screen; JSON documents are described in docs/json.md.
 */
#ifndef HAWK_ANALYZER_REPORT_POINTERS_H
#define HAWK_ANALYZER_REPORT_POINTERS_H

#include "hawk/analysis/block_choice.h"
#include "hawk/names/block_filter.h"
#include "hawk/report/json.h"
#include "hawk/analysis/paths.h"
#include "hawk/base/ranking.h"
#include "hawk/analysis/referrers.h"
#include "hawk/report/report.h"
#include "hawk/names/root_name.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/analysis/site_graph.h"
#include "hawk/names/site_names.h"
#include "hawk/analysis/site_tree.h"

/** What all of them need. Nothing here is owned. */
struct hawk_pointer_report {
	const char *source; /**< the core's path; NULL for a process */
	const struct hawk_heap *heap;
	const struct hawk_graph *graph;           /**< NULL = not needed; so are these: */
	const struct hawk_reach *reach;           /**< by all pointers */
	const struct hawk_dominators *dominators; /**< by all pointers */
	struct hawk_symbols *symbols;
	struct hawk_block_types *types;
	struct hawk_site_names *names;
	struct hawk_root_namer *roots;
	const struct hawk_findings *findings;
	const struct hawk_block_filter *filter; /**< NULL = all blocks */
	const struct hawk_chosen *chosen; /**< by site; NULL = all blocks, or it does not matter */
	const struct hawk_site_retained *retained; /**< by site, of these; NULL = not shown */
	const uint64_t *exact; /**< a bit by site: `retained` is no lower bound; NULL = none is */
	size_t top;            /**< 0 = the default */
	size_t depth;          /**< lines of stacks, levels of trees; 0 = default */
};

/** The blocks of a site that were chosen: no estimates, which may be 0 where there is a block. */
struct hawk_chosen hawk_report_blocks_of(const struct hawk_pointer_report *report, uint32_t site);

/** How many entries of `count` a list shows: report->top, all on a full screen, else `usual`. */
size_t hawk_report_limit(const struct hawk_pointer_report *report, size_t usual, size_t count,
			 bool full);

/** Lines of stacks in a list: report->depth, all (0) on a full screen, else `usual`. */
size_t hawk_report_depth(const struct hawk_pointer_report *report, size_t usual, bool full);

/** The sums of `report->chosen`; 0 where all blocks are meant. */
struct hawk_chosen hawk_report_chosen(const struct hawk_pointer_report *report);

/** The line that stands where there is nothing to show, and whether that is the filter's doing. */
void hawk_report_put_none(const struct hawk_pointer_report *report,
			  const struct hawk_screen *screen);

/** "chosen": how many blocks, where not all are meant. */
void hawk_report_json_chosen(const struct hawk_pointer_report *report, struct hawk_json *json);

/** A block as it is said everywhere: "0x..., 40 B, make_cell cells.c:30". `column` columns are
 * taken already. */
void hawk_report_put_block(const struct hawk_pointer_report *report,
			   const struct hawk_screen *screen, uint32_t block, unsigned column);

/** "address", "size", "site", "type" of an object that the caller has begun. */
void hawk_report_json_block(const struct hawk_pointer_report *report, uint32_t block,
			    struct hawk_json *json);

/** "frames" of a site. */
void hawk_report_json_site_frames(const struct hawk_pointer_report *report, uint32_t site,
				  struct hawk_json *json);

/** "retained_bytes"; null for NULL. */
void hawk_report_json_retained(const struct hawk_site_retained *retained, bool exact,
			       struct hawk_json *json);

/** What the column "start only" is, on a line above it. */
void hawk_report_put_start_only(const struct hawk_screen *screen);

/** The block at `address`, the whole one if it is carved; an error that says why there is none. */
struct hawk_error *hawk_report_find_block(const struct hawk_pointer_report *report,
					  uint64_t address, uint32_t *ret);

/** Begins a document: "schema", "version", "source"; where stacks were sampled, "sampled". */
void hawk_report_json_begin(const struct hawk_pointer_report *report, struct hawk_json *json,
			    struct hawk_output *output, const char *schema, unsigned lines);

/** Ends it: "missing", "damage", "partial". */
void hawk_report_json_end(const struct hawk_pointer_report *report, struct hawk_json *json);

/** Where stacks were sampled: what figures of sites mean then. */
void hawk_report_put_sampling(const struct hawk_pointer_report *report,
			      const struct hawk_screen *screen);

/** Who points at `address`; an error if no block is there. */
struct hawk_error *hawk_report_refs(const struct hawk_pointer_report *report, uint64_t address,
				    const struct hawk_screen *screen);
struct hawk_error *hawk_report_refs_json(const struct hawk_pointer_report *report, uint64_t address,
					 struct hawk_json *json);

/** The shortest path to `address`; where no root leads there, without what is missing. An error if
 * no block is there. */
struct hawk_error *hawk_report_path(const struct hawk_pointer_report *report,
				    const struct hawk_paths *paths, uint64_t address,
				    const struct hawk_screen *screen);
struct hawk_error *hawk_report_path_json(const struct hawk_pointer_report *report,
					 const struct hawk_paths *paths, uint64_t address,
					 struct hawk_json *json);

/** The blocks that the filter chooses, for their paths. */
struct hawk_path_targets {
	struct hawk_ranking shown; /**< struct hawk_numbered_block, in hawk_block_order() */
	struct hawk_chosen all;
	struct hawk_chosen unreached; /**< of them: no root leads there */
};

/** report->top of them are shown, a few if that is 0, all if `full` says so then. `paths` are to
 * all blocks, and there is a filter. `*ret` is to be deinitialized whether that succeeds or not. */
struct hawk_error *hawk_path_targets_choose(const struct hawk_pointer_report *report,
					    const struct hawk_paths *paths, bool full,
					    struct hawk_path_targets *ret);
void hawk_path_targets_deinit(struct hawk_path_targets *targets);

struct hawk_error *hawk_report_paths(const struct hawk_pointer_report *report,
				     const struct hawk_paths *paths,
				     const struct hawk_path_targets *targets,
				     const struct hawk_screen *screen);
/** "chosen", "addresses". */
struct hawk_error *hawk_report_paths_json(const struct hawk_pointer_report *report,
					  const struct hawk_paths *paths,
					  const struct hawk_path_targets *targets,
					  struct hawk_json *json);

/** A tree of sites below roots, as text, as folded stacks, as JSON ("tree"). With tree->both each
 * node has its sums by start pointers, too, but in folded stacks. */
void hawk_report_tree(const struct hawk_pointer_report *report,
		      const struct hawk_tree_roots *groups, const struct hawk_site_tree *tree,
		      const struct hawk_screen *screen);
void hawk_report_tree_folded(const struct hawk_pointer_report *report,
			     const struct hawk_tree_roots *groups,
			     const struct hawk_site_tree *tree, struct hawk_output *output);
struct hawk_error *hawk_report_tree_json(const struct hawk_pointer_report *report,
					 const struct hawk_tree_roots *groups,
					 const struct hawk_site_tree *tree, struct hawk_json *json);

/** Sorts by retained bytes, most first, and drops sites without a live block. */
void hawk_report_retained_sort(const struct hawk_pointer_report *report,
			       struct hawk_site_list *list);

/** Sites by what they retain. `list` = those that were asked for, sorted. */
void hawk_report_retained_sites(const struct hawk_pointer_report *report,
				const struct hawk_site_list *list,
				const struct hawk_screen *screen);
void hawk_report_retained_sites_json(const struct hawk_pointer_report *report,
				     const struct hawk_site_list *list, struct hawk_json *json);

/** Blocks by what they retain, most first. */
struct hawk_retained_block {
	uint32_t block;
	uint64_t bytes; /**< by all pointers */
};
struct hawk_retained_blocks {
	struct hawk_ranking shown; /**< struct hawk_retained_block */
	uint64_t count;            /**< of all that were asked for */
};

/** Those that are to be shown, all if `full` and no number was given.
 * `*ret` is to be deinitialized whether that succeeds or not. */
struct hawk_error *hawk_retained_blocks_choose(const struct hawk_pointer_report *report, bool full,
					       struct hawk_retained_blocks *ret);
void hawk_retained_blocks_deinit(struct hawk_retained_blocks *blocks);

/** `start`: dominators by start pointers. */
void hawk_report_retained_blocks(const struct hawk_pointer_report *report,
				 const struct hawk_retained_blocks *blocks,
				 const struct hawk_dominators *start,
				 const struct hawk_screen *screen);
void hawk_report_retained_blocks_json(const struct hawk_pointer_report *report,
				      const struct hawk_retained_blocks *blocks,
				      const struct hawk_dominators *start, struct hawk_json *json);

/** What is retained by each group of roots alone: the top of the tree. */
void hawk_report_retained_roots(const struct hawk_pointer_report *report,
				const struct hawk_tree_roots *groups,
				const struct hawk_site_tree *tree,
				const struct hawk_screen *screen);

/** Puts some rows, the same ones each time, to a screen. */
typedef void hawk_rows_function(const void *context, const struct hawk_screen *screen);

/** Has rows put to `screen` after hawk_site_name_tell() has learned from them which names need an
 * id. */
void hawk_report_put_rows(const struct hawk_pointer_report *report,
			  const struct hawk_screen *screen, hawk_rows_function *put,
			  const void *context);

/** The site graph: for each site that was asked for, who holds its blocks. */
struct hawk_error *hawk_report_site_graph(const struct hawk_pointer_report *report,
					  const struct hawk_site_graph *graph,
					  struct hawk_site_list *list,
					  const struct hawk_screen *screen);
struct hawk_error *hawk_report_site_graph_json(const struct hawk_pointer_report *report,
					       const struct hawk_site_graph *graph,
					       struct hawk_site_list *list, struct hawk_json *json);
struct hawk_error *hawk_report_site_graph_dot(const struct hawk_pointer_report *report,
					      const struct hawk_site_graph *graph,
					      struct hawk_site_list *list,
					      struct hawk_output *output);

#endif
