/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A cycle of lost blocks in a loss record. Private to report/text/.
 */
#ifndef HAWK_ANALYZER_REPORT_TEXT_LEAK_CYCLES_H
#define HAWK_ANALYZER_REPORT_TEXT_LEAK_CYCLES_H

#include "hawk/report/leaks.h"

/** Prints the shortest way round the cycle that most blocks of record `number` lead, and the
 * pointer to cut; or the earlier record with that cycle. Prints nothing if they lead none. */
void hawk_leak_cycle_put(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
			 size_t number, unsigned indent);

/** Appends "Session +88 -> Deadline +24 -> Session". */
void hawk_leak_cycle_append_way(const struct hawk_leaks_report *report,
				const struct hawk_screen *screen,
				const struct hawk_leak_cycle *cycle, struct hawk_text *text);

/** Appends "; without the pointer in Deadline +24 all would be freed"; nothing if no such pointer
 * is known. */
void hawk_leak_cycle_append_cut(const struct hawk_leaks_report *report,
				const struct hawk_screen *screen,
				const struct hawk_leak_cycle *cycle, struct hawk_text *text);

/** Returns the name of an example's type, or NULL: not known, or the site's own name. */
const char *hawk_leak_type(const struct hawk_leaks_report *report, uint32_t block,
			   const struct hawk_type_words *words);

#endif
