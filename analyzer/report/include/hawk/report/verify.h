/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints what is wrong with a heap, as text and as JSON.
 */
#ifndef HAWK_ANALYZER_REPORT_VERIFY_H
#define HAWK_ANALYZER_REPORT_VERIFY_H

#include "hawk/analysis/verify.h"
#include "hawk/report/report.h"

struct hawk_json;
struct hawk_next;

struct hawk_verify_report {
	const struct hawk_heap *heap;
	struct hawk_symbols *symbols;
	const struct hawk_verify *verify;
	const struct hawk_findings *findings;
	const struct hawk_next *next; /**< for JSON; NULL = none */
	const char *source;           /**< the core's path; NULL for a process */
	size_t top;                   /**< damages to show; 0 = the default */
	size_t depth;                 /**< lines of each stack; 0 = the default */
	bool partial;                 /**< not everything could be checked */
};

/** Prints the damages alone, for `analyze`; nothing if there are none. */
void hawk_verify_report_section(const struct hawk_verify_report *report,
				const struct hawk_screen *screen);
void hawk_verify_report_text(const struct hawk_verify_report *report,
			     const struct hawk_screen *screen);

/** "damaged_count", "crash_in", "message", "corruptions" */
void hawk_verify_put_json(const struct hawk_verify_report *report, struct hawk_json *json);
void hawk_verify_report_json(const struct hawk_verify_report *report, struct hawk_output *output);

/** "heap_overflow" ...: the names of enum hawk_corruption_kind. */
const char *hawk_corruption_key(uint8_t kind);

#endif
