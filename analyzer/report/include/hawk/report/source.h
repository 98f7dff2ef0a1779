/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The report of hawk-core source: the lines of a function, with what they allocate.
 */
#ifndef HAWK_ANALYZER_REPORT_SOURCE_H
#define HAWK_ANALYZER_REPORT_SOURCE_H

#include "hawk/output/json.h"
#include "hawk/profile/source_lines.h"
#include "hawk/report/screen.h"

/** One function. Owns nothing. */
struct hawk_source_report {
	const struct hawk_profile *profile; /**< of sites */
	const struct hawk_source_lines *lines;
	const struct hawk_source_unit *unit;
	struct hawk_source_text *text;
	uint32_t context; /**< lines shown before and behind each line with values */
};

void hawk_report_source(const struct hawk_source_report *report, const struct hawk_screen *screen);

/** An object of the array "functions". */
void hawk_report_source_json(const struct hawk_source_report *report, struct hawk_json *json);

#endif
