/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The report of `hawk-core types`; docs/json.md describes its JSON document.
 */
#ifndef HAWK_ANALYZER_REPORT_TYPES_H
#define HAWK_ANALYZER_REPORT_TYPES_H

#include "hawk/analysis/type_list.h"
#include "hawk/report/pointers.h"

struct hawk_types_report {
	const struct hawk_pointer_report *pointers;
	const struct hawk_types *types;
	const struct hawk_type_list *list;
	bool retained; /**< retained sizes were asked for */
};

void hawk_report_types(const struct hawk_types_report *report, const struct hawk_screen *screen);

/** Writes the members between those of all documents. */
void hawk_report_types_json(const struct hawk_types_report *report, struct hawk_json *json);

/** Adds who holds the first type that has a name. */
void hawk_next_of_types(const struct hawk_types_report *report, struct hawk_next *ret);

#endif
