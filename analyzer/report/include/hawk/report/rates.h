/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The answer of `hawk-core watch`: one look at a running process, as text and as a line of JSON.
 */
#ifndef HAWK_ANALYZER_REPORT_RATES_H
#define HAWK_ANALYZER_REPORT_RATES_H

#include "hawk/analysis/rates.h"
#include "hawk/names/site_names.h"
#include "hawk/report/screen.h"

struct hawk_rates_report {
	const struct hawk_rates *rates;
	const struct hawk_heap *heap; /**< of the last look */
	struct hawk_site_names *names;
	uint64_t time_ns; /**< of CLOCK_REALTIME */
	size_t top;       /**< sites shown at most */
};

struct hawk_error *hawk_report_rates(const struct hawk_rates_report *report,
				     const struct hawk_screen *screen);

/** Writes a line with all sites that changed since the look before. */
void hawk_report_rates_json(const struct hawk_rates_report *report, struct hawk_output *output);

#endif
