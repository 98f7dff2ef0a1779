/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The reports of `hawk-core leaks`: sums by kind, then loss records with stacks and evidence.
 */
#ifndef HAWK_ANALYZER_REPORT_LEAKS_H
#define HAWK_ANALYZER_REPORT_LEAKS_H

#include "hawk/analysis/leak_selection.h"
#include "hawk/analysis/leak_cycles.h"
#include "hawk/analysis/leak_leaders.h"
#include "hawk/names/block_type.h"
#include "hawk/names/root_name.h"
#include "hawk/names/site_names.h"
#include "hawk/output/json.h"
#include "hawk/report/screen.h"

struct hawk_next;

/** The input of the reports. Owns nothing. */
struct hawk_leaks_report {
	const struct hawk_heap *heap;
	const struct hawk_graph *graph;
	struct hawk_symbols *symbols;
	struct hawk_root_namer *namer;
	struct hawk_block_types *types;
	struct hawk_site_names *names;
	const struct hawk_leaks *leaks;
	const struct hawk_leak_cycles *cycles;
	const struct hawk_leak_selection *selection;
	struct hawk_suppressions *suppressions; /**< NULL = none */
	const struct hawk_findings *findings;
	const struct hawk_next *next; /**< for JSON; NULL = none */
	bool partial;                 /**< the answer is incomplete */
	const char *source;           /**< the core's path as given; NULL for a live process */
	bool filtered;                /**< the sums are not those of all blocks */
	/** The leaders that lost the requested site's indirectly lost blocks; NULL = no site was
	 * requested, or it has no such blocks. */
	const struct hawk_leak_leader *leaders;
	size_t leader_count;
	size_t top;   /**< records to show at most; 0 = the default */
	size_t depth; /**< lines of each stack; 0 = the default */
};

/** Prints the whole answer of `leaks`. */
void hawk_leaks_report_text(const struct hawk_leaks_report *report,
			    const struct hawk_screen *screen);

/** Prints the headline and the kinds with blocks, without records: a section of another report. */
void hawk_leaks_report_sums(const struct hawk_leaks_report *report,
			    const struct hawk_screen *screen);

/** Prints sums and the first records only: a section of another report. `which` ends its heading.
 */
void hawk_leaks_report_section(const struct hawk_leaks_report *report, const char *which,
			       const struct hawk_screen *screen);

/** Writes members of an object: lost blocks, and their kinds; all null if `report` is NULL. */
void hawk_leaks_report_json_sums(const struct hawk_leaks_report *report, struct hawk_json *json);

/** Writes the members of an entry of "cycles". */
void hawk_leaks_report_json_cycle(const struct hawk_leaks_report *report,
				  const struct hawk_leak_cycle *cycle, struct hawk_json *json);

/** Writes the document described in docs/json.md. */
void hawk_leaks_report_json(const struct hawk_leaks_report *report, struct hawk_output *output);

#endif
