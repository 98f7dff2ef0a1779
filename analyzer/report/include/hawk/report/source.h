/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The report of hawk-core source: a function's lines with their allocations.
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

/** The values of a line. `has_alloc` is false if the heap has no counters. */
struct hawk_source_sums {
	uint64_t flat_bytes, flat_objects, cum_bytes, cum_objects;
	uint64_t flat_alloc_bytes, flat_alloc_objects, cum_alloc_bytes, cum_alloc_objects;
	bool has_alloc;
};

struct hawk_source_sums hawk_source_sums_of(const struct hawk_profile *profile,
					    const struct hawk_source_values *values);

void hawk_report_source(const struct hawk_source_report *report, const struct hawk_screen *screen);

/** An object of the array "functions". */
void hawk_report_source_json(const struct hawk_source_report *report, struct hawk_json *json);

#endif
