/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints what threads do, as text and as JSON.
 */
#ifndef HAWK_ANALYZER_REPORT_THREADS_H
#define HAWK_ANALYZER_REPORT_THREADS_H

#include "hawk/analysis/threads.h"
#include "hawk/report/report.h"

struct hawk_json;
struct hawk_next;

struct hawk_threads_report {
	const struct hawk_target *target;
	const struct hawk_heap *heap;
	struct hawk_symbols *symbols;
	const struct hawk_threads *threads;
	const struct hawk_findings *findings;
	const struct hawk_next *next; /**< for JSON; NULL = none */
	const char *source;           /**< the core's path; NULL for a process */
	size_t top;                   /**< groups to show, in JSON threads; 0 = all */
	size_t depth;                 /**< lines of each stack; 0 = the default */
	uint32_t tid;                 /**< the only thread to show; 0 = all */
	bool partial;
};

/** One line for `analyze`: what the threads do whose stack it does not show; and deadlocks. */
void hawk_threads_report_line(const struct hawk_threads_report *report,
			      const struct hawk_screen *screen);
void hawk_threads_report_text(const struct hawk_threads_report *report,
			      const struct hawk_screen *screen);
void hawk_threads_report_json(const struct hawk_threads_report *report, struct hawk_output *output);

/** "mutex" ...; NULL for HAWK_LOCK_NONE. */
const char *hawk_lock_kind_name(enum hawk_lock_kind kind);

#endif
