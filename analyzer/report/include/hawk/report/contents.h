/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The reports of `hawk-core strings` and `hawk-core duplicates`; docs/json.md describes their JSON.
 * They read the contents that they show.
 */
#ifndef HAWK_ANALYZER_REPORT_CONTENTS_H
#define HAWK_ANALYZER_REPORT_CONTENTS_H

#include "hawk/analysis/contents.h"
#include "hawk/report/pointers.h"

enum { HAWK_STRING_SHOWN_MAX = 4096 /**< bytes of a string; longer ones are cut */ };

struct hawk_contents_report {
	const struct hawk_pointer_report *pointers;
	const struct hawk_contents *contents;
	const struct hawk_wasting_sites *sites;   /**< of duplicates */
	const struct hawk_wasting_sites *holders; /**< likewise; NULL = not asked for */
	bool only_repeated;                       /**< strings */
};

void hawk_report_strings(const struct hawk_contents_report *report,
			 const struct hawk_screen *screen);
void hawk_report_duplicates(const struct hawk_contents_report *report,
			    const struct hawk_screen *screen);

/** Write the members between those of all documents. */
void hawk_report_strings_json(const struct hawk_contents_report *report, struct hawk_json *json);
void hawk_report_duplicates_json(const struct hawk_contents_report *report, struct hawk_json *json);

#endif
