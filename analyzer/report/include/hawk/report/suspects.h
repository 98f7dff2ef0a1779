/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suspects: the few sites that explain most of the memory, each with what leads to it, what it
 * retains, who holds it, how it grows, and the command to type next. The end of analyze.
 */
#ifndef HAWK_ANALYZER_REPORT_SUSPECTS_H
#define HAWK_ANALYZER_REPORT_SUSPECTS_H

#include "hawk/analysis/leak_leaders.h"
#include "hawk/report/growth.h"
#include "hawk/analysis/site_tree.h"

enum { HAWK_SUSPECTS_MAX = 10 };

/** A large site; or, where most of that was lost through another one, the site that lost it. */
struct hawk_suspect {
	uint32_t site; /**< index into the heap's sites */
	/** Lost through its definitely lost blocks, these included; 0 = nothing but themselves. */
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
	/** What stands behind the verb in commands: the core quoted for a shell, or --pid, with
	 * options that say where files are. */
	const char *target;
	const char *skipped; /**< why there are none: a sentence; NULL = they were looked for */
	struct hawk_suspect *items;
	size_t count;
	uint64_t heap_bytes;         /**< requested bytes of all live blocks */
	struct hawk_site_ages *ages; /**< by site */
	struct hawk_tree_roots roots;
	struct hawk_site_tree tree;
};

/** `full`: more of them, and smaller ones. What `suspects` says of pointers and target is kept.
 * `suspects` is to be deinitialized in any case. */
struct hawk_error *hawk_suspects_find(struct hawk_suspects *suspects, bool full);
/** Accepts zeros. */
void hawk_suspects_deinit(struct hawk_suspects *suspects);

/** The section, with its heading. */
void hawk_report_suspects(const struct hawk_suspects *suspects, const struct hawk_screen *screen);

/** "suspects" and "suspects_skipped" */
void hawk_report_suspects_json(const struct hawk_suspects *suspects, struct hawk_json *json);

/** Appends `word` so that a shell reads exactly it, in printable ASCII. */
void hawk_append_shell_word(struct hawk_text *text, const char *word);

#endif
