/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Why free memory is not given back, in words and figures.
 */
#ifndef HAWK_ANALYZER_REPORT_FRAGMENTATION_H
#define HAWK_ANALYZER_REPORT_FRAGMENTATION_H

#include "hawk/analysis/fragmentation.h"
#include "hawk/report/pointers.h"

/** Appends the verdict's sentence: what holds the memory, and what would give it back. */
void hawk_fragmentation_append_advice(struct hawk_text *text,
				      const struct hawk_fragmentation *fragmentation);

/** Prints the parts of free memory, the verdict, and the sites whose blocks pin it. */
void hawk_report_fragmentation(const struct hawk_pointer_report *report,
			       const struct hawk_fragmentation *fragmentation,
			       const struct hawk_screen *screen);

/** "fragmentation"; null for NULL. */
void hawk_report_json_fragmentation(const struct hawk_heap *heap,
				    const struct hawk_fragmentation *fragmentation, size_t end,
				    struct hawk_json *json);

#endif
