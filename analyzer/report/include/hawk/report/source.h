/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The report of hawk-core source: functions' lines with their allocations.
 */
#ifndef HAWK_ANALYZER_REPORT_SOURCE_H
#define HAWK_ANALYZER_REPORT_SOURCE_H

#include "hawk/profile/source_lines.h"
#include "hawk/report/pointers.h"

/** Functions. Owns nothing. Their texts are read one at a time while they are printed. */
struct hawk_source_report {
	const struct hawk_pointer_report *pointers;
	struct hawk_source_listing listing; /**< of a profile of sites */
	uint32_t context; /**< lines of text shown before and behind each line with values */
};

/** The values of a line. `has_alloc` is false if the heap has no counters. */
struct hawk_source_sums {
	uint64_t flat_bytes, flat_objects, cum_bytes, cum_objects;
	uint64_t flat_alloc_bytes, flat_alloc_objects, cum_alloc_bytes, cum_alloc_objects;
	bool has_alloc;
};

struct hawk_source_sums hawk_source_sums_of(const struct hawk_profile *profile,
					    const struct hawk_source_values *values);

struct hawk_error *hawk_report_source(const struct hawk_source_report *report,
				      const struct hawk_screen *screen);
struct hawk_error *hawk_report_source_json(const struct hawk_source_report *report,
					   struct hawk_output *output);

#endif
