/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints the list of a machine's cores, as text and as JSON.
 */
#ifndef HAWK_ANALYZER_REPORT_CORES_H
#define HAWK_ANALYZER_REPORT_CORES_H

#include "hawk/analysis/core_list.h"
#include "hawk/report/report.h"

struct hawk_cores_report {
	const struct hawk_core_list *list;
	const struct hawk_findings *findings;
	size_t top; /**< cores to show; 0 = all */
};

void hawk_report_cores(const struct hawk_cores_report *report, const struct hawk_screen *screen);
void hawk_report_cores_json(const struct hawk_cores_report *report, struct hawk_output *output);

#endif
