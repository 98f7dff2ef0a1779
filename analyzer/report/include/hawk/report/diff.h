/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports changes between two cores, as text and JSON.
 */
#ifndef HAWK_ANALYZER_REPORT_DIFF_H
#define HAWK_ANALYZER_REPORT_DIFF_H

#include "hawk/base/findings.h"
#include "hawk/output/output.h"
#include "hawk/profile/diff.h"
#include "hawk/profile/groups.h"
#include "hawk/report/screen.h"

struct hawk_next;

struct hawk_diff_report {
	const struct hawk_diff *diff;
	const struct hawk_profile *difference;    /**< of the same profiles */
	const struct hawk_profile_groups *groups; /**< of that; NULL = by site */
	const struct hawk_findings *findings;
	const struct hawk_next *next; /**< for JSON; NULL = none */
	const char *before, *after;   /**< paths of cores, or "process 4711" */
	const char *what;             /**< "live" */
	/** Between the two ends of life, in hours; 0 = not known, or too short for a rate. */
	double hours;
	size_t top;         /**< rows; 0 = the default */
	size_t depth;       /**< lines of each stack; 0 = one */
	const char *growth; /**< of --fail-if-grown: the limit exceeded; NULL = none */
	bool other_program; /**< the two are not the same program, by name */
	const char *before_unknown, *after_unknown; /**< the reason; NULL = the heap is known */
};

/** Returns true if a heap is unknown: then no difference is valid, and none is shown. */
static inline bool hawk_diff_report_is_unknown(const struct hawk_diff_report *report)
{
	return report->before_unknown || report->after_unknown;
}

void hawk_report_diff(const struct hawk_diff_report *report, const struct hawk_screen *screen);
void hawk_report_diff_json(const struct hawk_diff_report *report, struct hawk_output *output);

#endif
