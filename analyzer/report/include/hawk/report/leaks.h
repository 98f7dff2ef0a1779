/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The reports of `hawk-core leaks`: sums by kind, then loss records with stacks and evidence.
 * Suppressions are applied here, where stacks have names.
 */
#ifndef HAWK_ANALYZER_REPORT_LEAKS_H
#define HAWK_ANALYZER_REPORT_LEAKS_H

#include "hawk/report/json.h"
#include "hawk/analysis/leak_leaders.h"
#include "hawk/names/root_name.h"
#include "hawk/report/screen.h"
#include "hawk/analysis/suppressions.h"

enum {
	HAWK_LEAKS_KINDS_LOST = 1u << HAWK_REACH_DEFINITELY_LOST | 1u << HAWK_REACH_POSSIBLY,
	HAWK_LEAKS_KINDS_ALL = HAWK_LEAKS_KINDS_LOST | 1u << HAWK_REACH_INDIRECTLY_LOST |
			       1u << HAWK_REACH_REACHABLE,
};

/** What to report. Owns only what hawk_leaks_report_prepare() makes. */
struct hawk_leaks_report {
	const struct hawk_heap *heap;
	const struct hawk_graph *graph;
	struct hawk_symbols *symbols;
	const struct hawk_leaks *leaks;         /**< with records of all `kinds` */
	struct hawk_suppressions *suppressions; /**< NULL = none */
	const struct hawk_findings *findings;
	bool partial;       /**< the answer is incomplete */
	const char *source; /**< the core's path as given; NULL for a live process */
	unsigned kinds;     /**< bits 1u << enum hawk_reach_kind: which records are shown */
	bool filtered;      /**< the sums do not cover all blocks */
	/** Who lost the indirectly lost blocks of the one requested site; NULL = not one site, or
	 * none are. */
	const struct hawk_leak_leader *leaders;
	size_t leader_count;
	size_t top;   /**< records to show at most; 0 = the default */
	size_t depth; /**< lines of each stack; 0 = the default */

	/* Made by the function below. */
	struct hawk_root_namer *namer;
	const struct hawk_leak_record **shown; /**< in order, without suppressed ones */
	size_t shown_count;
	struct hawk_reach_sum sums[HAWK_REACH_KINDS]; /**< without suppressed blocks */
	struct hawk_reach_sum suppressed;
};

/** Applies the suppressions and counts their matches. */
struct hawk_error *hawk_leaks_report_prepare(struct hawk_leaks_report *report);
void hawk_leaks_report_deinit(struct hawk_leaks_report *report);

/** "definitely lost" ... */
const char *hawk_leaks_kind_name(enum hawk_reach_kind kind);

/** "definite,possible": bits 1u << enum hawk_reach_kind; HAWK_ERROR_USAGE for other words. */
struct hawk_error *hawk_leaks_parse_kinds(const char *text, unsigned *ret);

/** "all", "none", "stdstring,newarray": bits of enum hawk_heuristic; likewise. */
struct hawk_error *hawk_leaks_parse_heuristics(const char *text, unsigned *ret);

/** Everything that `leaks` prints. */
void hawk_leaks_report_text(const struct hawk_leaks_report *report,
			    const struct hawk_screen *screen);

/** Sums and the first records only: a section of another report. `which` ends its heading. */
void hawk_leaks_report_section(const struct hawk_leaks_report *report, const char *which,
			       const struct hawk_screen *screen);

/** The document described in docs/json.md. */
void hawk_leaks_report_json(const struct hawk_leaks_report *report, struct hawk_output *output);

#endif
