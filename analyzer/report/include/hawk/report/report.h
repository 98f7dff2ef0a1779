/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The reports of `hawk-core analyze`: one screen of text, or one JSON document. They print other
 * layers' results and compute only sums.
 */
#ifndef HAWK_ANALYZER_REPORT_REPORT_H
#define HAWK_ANALYZER_REPORT_REPORT_H

#include "hawk/report/screen.h"
#include "hawk/analysis/site_list.h"
#include "hawk/profile/groups.h"

struct hawk_next;

struct hawk_leaks_report;
struct hawk_threads;
struct hawk_verify_report;

/** The results of a whole run. Owns nothing. */
struct hawk_report {
	struct hawk_target *target;
	struct hawk_symbols *symbols;
	const struct hawk_heap *heap; /**< heap->knows is 0 if it is unknown */
	const struct hawk_findings *findings;
	const struct hawk_next *next; /**< for JSON; NULL = none */
	const struct hawk_leaks_report
		*leaks; /**< a section of the text, sums of JSON; NULL = none */
	const struct hawk_fragmentation *fragmentation; /**< of much free memory; NULL = little */
	const struct hawk_threads *threads; /**< what they wait for; NULL = there is only one */
	const struct hawk_verify_report
		*verify; /**< of a crash in the allocator; NULL = another end */
	const struct hawk_suspects_report *suspects; /**< for the JSON document; NULL = none */
	const char *source;          /**< the core file's path as given; NULL for a live process */
	struct hawk_site_list *list; /**< chosen sites; NULL without a table */
	bool filtered;               /**< a filter was given: the list lacks some sites */
	size_t top;                  /**< sites to show at most; 0 = the default */
	size_t depth;                /**< lines of each stack; 0 = the default */
	bool sorted;                 /**< `sort` was given: one list in that order instead of two */
	enum hawk_site_sort sort;
	const struct hawk_profile_groups *groups; /**< to show instead of sites; NULL = none */
	const struct hawk_profile *profile;       /**< the profile of `groups` */
	bool by_scope;                            /**< show scopes instead of sites */
};

/** Prints the part of `analyze` before the suspects; everything with `screen->full`. Findings are
 * printed last, since suspects may add some. */
struct hawk_error *hawk_report_text(const struct hawk_report *report,
				    const struct hawk_screen *screen);

/** The document described in docs/json.md. */
struct hawk_error *hawk_report_json(const struct hawk_report *report, struct hawk_output *output);

/** The same in at most 8 KiB: "hawk-core/brief". */
struct hawk_error *hawk_report_brief(const struct hawk_report *report, struct hawk_output *output);

/** Prints, in place of a section about an unknown heap, "Leaks: unknown, the process was not
 * traced", and then how to reach `goal` ("find leaks") next time. */
void hawk_report_put_unknown(const struct hawk_heap *heap, const struct hawk_screen *screen,
			     const char *section, const char *goal);

/* The sections of the text, also of use to other verbs. */
void hawk_report_process(const struct hawk_report *report, const struct hawk_screen *screen);
void hawk_report_threads(const struct hawk_report *report, const struct hawk_screen *screen);
void hawk_report_heap(const struct hawk_report *report, const struct hawk_screen *screen);
struct hawk_error *hawk_report_sites(const struct hawk_report *report,
				     const struct hawk_screen *screen);
void hawk_report_groups(const struct hawk_report *report, const struct hawk_screen *screen);
struct hawk_error *hawk_report_scopes(const struct hawk_report *report,
				      const struct hawk_screen *screen);
void hawk_report_memory_map(const struct hawk_target *target, const struct hawk_screen *screen);
void hawk_report_modules(const struct hawk_report *report, const struct hawk_screen *screen);
/** Prints the findings, at the end of an answer. `partial`: the answer is incomplete. */
void hawk_report_findings(const struct hawk_findings *findings, bool partial,
			  const struct hawk_screen *screen);

/** Returns what showed that this is a module: "link_map" ... */
const char *hawk_report_origin_name(const struct hawk_module *module);

struct hawk_json;
/** "modules" */
void hawk_report_json_modules(const struct hawk_report *report, struct hawk_json *json);
/** "by" and "groups" */
void hawk_report_json_groups(const struct hawk_report *report, struct hawk_json *json);
/** "scopes" */
struct hawk_error *hawk_report_json_scopes(const struct hawk_report *report,
					   struct hawk_json *json);

/** "malloc", "new[]" ...: the names of enum hawk_block_kind. */
const char *hawk_report_kind_name(uint8_t kind);

/** Returns the word for `count` groups of blocks: "sites", or "classes" if no block has a stack. */
const char *hawk_report_group_word(const struct hawk_heap *heap, size_t count);

/** "thread 4711 worker" */
void hawk_report_put_thread(const struct hawk_thread *thread, const struct hawk_screen *screen);

#endif
