/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports what lies at an address, as text and as JSON.
 */
#ifndef HAWK_ANALYZER_REPORT_WHATIS_H
#define HAWK_ANALYZER_REPORT_WHATIS_H

#include "hawk/analysis/whatis.h"
#include "hawk/report/report.h"

void hawk_report_whatis_text(const struct hawk_report *report, const struct hawk_whatis *whatis,
			     size_t count, const struct hawk_screen *screen);
void hawk_report_whatis_json(const struct hawk_report *report, const struct hawk_whatis *whatis,
			     size_t count, struct hawk_output *output);

#endif
