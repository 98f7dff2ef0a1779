/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The report of hawk-core heap: all memory by use, allocators, arenas, caches and sizes.
 */
#ifndef HAWK_ANALYZER_REPORT_BALANCE_H
#define HAWK_ANALYZER_REPORT_BALANCE_H

#include "hawk/analysis/balance.h"
#include "hawk/report/fragmentation.h"

struct hawk_balance_report {
	const struct hawk_pointer_report *pointers;
	const struct hawk_balance *balance;
	const struct hawk_fragmentation *fragmentation;
};

void hawk_report_balance(const struct hawk_balance_report *report,
			 const struct hawk_screen *screen);
void hawk_report_balance_json(const struct hawk_balance_report *report, struct hawk_json *json);

/** Prints: "Lua 5.4 has 127,420 objects with 8.0 MiB in 1 interpreter. Its own count agrees." */
void hawk_report_guests(const struct hawk_heap *heap, const struct hawk_screen *screen);

/** "guests": the interpreters in the process. */
void hawk_report_json_guests(const struct hawk_heap *heap, struct hawk_json *json);

#endif
