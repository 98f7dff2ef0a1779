/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The report of hawk-core schema: a site's blocks as a struct without names.
 */
#ifndef HAWK_ANALYZER_REPORT_SCHEMA_H
#define HAWK_ANALYZER_REPORT_SCHEMA_H

#include "hawk/report/pointers.h"
#include "hawk/analysis/schema.h"

struct hawk_schema_report {
	const struct hawk_pointer_report *pointers;
	const struct hawk_schema *schema;
	uint32_t site;    /**< index into the heap's sites, or HAWK_SCHEMA_ANY_SITE */
	const char *type; /**< the type filter that chose blocks of all sites */
};

void hawk_report_schema(const struct hawk_schema_report *report, const struct hawk_screen *screen);
void hawk_report_schema_json(const struct hawk_schema_report *report, struct hawk_json *json);

/**
 * Appends a value in words, safe for a terminal: "-> make_cell cells.c:30", "vtable of T", "integer
 * 0 .. 2,999", "text of 3 to 61 characters". `of` (may be NULL) is the tallied word that has its
 * range. Sites take at most `width` columns.
 */
void hawk_schema_append_value(const struct hawk_pointer_report *report,
			      const struct hawk_schema_word *of, struct hawk_word word,
			      size_t width, struct hawk_text *text);

#endif
