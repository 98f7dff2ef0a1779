/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suspects: the few sites that explain most of the memory, each with its reachability, retained
 * size, holder, growth and the next command to run. The last part of analyze.
 */
#ifndef HAWK_ANALYZER_REPORT_SUSPECTS_H
#define HAWK_ANALYZER_REPORT_SUSPECTS_H

#include "hawk/analysis/leak_leaders.h"
#include "hawk/report/growth.h"
#include "hawk/analysis/site_tree.h"

enum { HAWK_SUSPECTS_MAX = 10 };

/** A large site; or, if most of it was lost through another site, that site. */
struct hawk_suspect {
	uint32_t site; /**< index into the heap's sites */
	/** Lost through its definitely lost blocks, included here; 0 = only themselves. */
	struct hawk_chosen lost;
	uint32_t followers[HAWK_SUSPECTS_MAX]; /**< large sites whose blocks it lost, not itself */
	size_t follower_count;
	struct hawk_growth_facts facts;
	struct hawk_growth growth;
	struct hawk_site_holder holder;
	struct hawk_site_retained retained; /**< exact */
};

struct hawk_suspects {
	const struct hawk_pointer_report *pointers;
	/** What follows the verb in suggested commands: the shell-quoted core or --pid, and file
	 * options. */
	const char *target;
	const char *skipped; /**< a sentence saying why suspects were skipped; NULL = not skipped */
	struct hawk_suspect *items;
	size_t count;
	uint64_t heap_bytes;         /**< requested bytes of all live blocks */
	struct hawk_site_ages *ages; /**< by site */
	struct hawk_tree_roots roots;
	struct hawk_site_tree tree;
};

/** Finds suspects; `full` = more and smaller ones. Keeps the pointers and target of `suspects`.
 * Deinitialize even after an error. */
struct hawk_error *hawk_suspects_find(struct hawk_suspects *suspects, bool full);
/** Accepts zeros. */
void hawk_suspects_deinit(struct hawk_suspects *suspects);

/** The section, with its heading. */
void hawk_report_suspects(const struct hawk_suspects *suspects, const struct hawk_screen *screen);

/** "suspects" and "suspects_skipped" */
void hawk_report_suspects_json(const struct hawk_suspects *suspects, struct hawk_json *json);

/** Appends `word` quoted for a shell, in printable ASCII. */
void hawk_append_shell_word(struct hawk_text *text, const char *word);

#endif
