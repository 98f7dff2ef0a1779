/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The report of hawk-core growth: a verdict for each site, and the numbers that led to it.
 */
#ifndef HAWK_ANALYZER_REPORT_GROWTH_H
#define HAWK_ANALYZER_REPORT_GROWTH_H

#include "hawk/report/pointers.h"
#include "hawk/analysis/site_ages.h"

struct hawk_growth_report {
	const struct hawk_pointer_report *pointers;
	const struct hawk_site_list *list; /**< hawk_site_ages_choose() */
	const struct hawk_site_ages *ages; /**< by site of the heap */
	bool filtered;                     /**< `ages` lacks some blocks of each site */
	const uint64_t *retained;          /**< by site; NULL = not known */
};

void hawk_report_growth(const struct hawk_growth_report *report, const struct hawk_screen *screen);
void hawk_report_growth_json(const struct hawk_growth_report *report, struct hawk_json *json);

/* Verdicts in words, in plain ASCII. */

/** Appends one reason: "blocks survive from every part of its life". */
void hawk_growth_append_reason(struct hawk_text *text, const struct hawk_growth *growth,
			       const struct hawk_growth_facts *facts,
			       enum hawk_growth_reason reason);

/** "leak (high confidence)", "unclear", "only grows" */
void hawk_growth_append_verdict(struct hawk_text *text, const struct hawk_growth *growth);

/** Appends all reasons, joined by "; ". */
void hawk_growth_append_reasons(struct hawk_text *text, const struct hawk_growth *growth,
				const struct hawk_growth_facts *facts);

/** Draws HAWK_AGE_BINS characters and a NUL: oldest births first, higher = more. A life below a
 * second is too short for the resolution of births; the bar says so. */
void hawk_growth_bar(const struct hawk_growth_facts *facts, char bar[HAWK_AGE_BINS + 1]);

/** Members of an object: "verdict", "confidence", "reasons", "bytes_per_hour". */
void hawk_report_json_growth(const struct hawk_growth *growth,
			     const struct hawk_growth_facts *facts, struct hawk_json *json);
/** "reach_bytes" */
void hawk_report_json_reach(const struct hawk_growth_facts *facts, struct hawk_json *json);

#endif
