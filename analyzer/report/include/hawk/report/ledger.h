/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A ledger of many processes, as text and JSON.
 */
#ifndef HAWK_ANALYZER_REPORT_LEDGER_H
#define HAWK_ANALYZER_REPORT_LEDGER_H

#include "hawk/base/findings.h"
#include "hawk/output/output.h"
#include "hawk/profile/ledger.h"
#include "hawk/report/screen.h"

struct hawk_ledger_report {
	const struct hawk_ledger *ledger; /**< finished */
	const struct hawk_findings *findings;
	size_t top;   /**< rows; 0 = the default */
	size_t depth; /**< lines of each stack; 0 = one */
};

void hawk_report_ledger(const struct hawk_ledger_report *report, const struct hawk_screen *screen);
void hawk_report_ledger_json(const struct hawk_ledger_report *report, struct hawk_output *output);

#endif
