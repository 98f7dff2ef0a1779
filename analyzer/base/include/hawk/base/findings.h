/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * "The input is damaged or incomplete": findings are recorded and the work goes on around them.
 *
 * Two sorts: MISSING is something an answer would have needed (a truncated segment, a binary that
 * could not be found); DAMAGE is something that is there and wrong. Reports print both. A flood is
 * bounded: equal keys are counted and only the first text is kept.
 */
#ifndef HAWK_ANALYZER_BASE_FINDINGS_H
#define HAWK_ANALYZER_BASE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hawk_finding_sort {
	HAWK_FINDING_MISSING = 1,
	HAWK_FINDING_DAMAGE = 2,
};

struct hawk_finding {
	enum hawk_finding_sort sort;
	const char *key; /**< static string, kebab-case: "core-truncated", "module-not-found",
			    "block-overlap" */
	uint64_t count;  /**< how often it was added */
	bool partial;    /**< the answer is incomplete because of it: exit code 4 */
	char *text;      /**< the first one, in full: one sentence */
};

struct hawk_findings {
	struct hawk_finding *items;
	size_t count;
	size_t capacity;
	bool forgotten; /**< there was no memory for one: what it said is not known */
};

void hawk_findings_init(struct hawk_findings *findings);
void hawk_findings_deinit(struct hawk_findings *findings);

/**
 * Records one finding; a further one with the same `key` only counts, except when `key` ends in
 * '*': those are all kept up to 64 (the star is not part of the key), for lists such as
 * "module-not-found*". Out of memory is swallowed: a finding is never worth failing for, but
 * the answer is incomplete then. `findings` may be NULL.
 */
void hawk_findings_add(struct hawk_findings *findings, enum hawk_finding_sort sort, bool partial,
		       const char *key, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/** Brings those from `from` on into the order of keys and texts: they were found in no order.
 * `findings` may be NULL. */
void hawk_findings_sort(struct hawk_findings *findings, size_t from);

/** Drops those with one of `keys` (NULL ends them). `*mark`, an index, stays at the finding that it
 * was at. */
void hawk_findings_drop(struct hawk_findings *findings, const char *const *keys, size_t *mark);

/** True if any finding says that the answer is incomplete, or might have said so. */
bool hawk_findings_partial(const struct hawk_findings *findings);

/** The same, those with one of `keys` (NULL ends them) left out. */
bool hawk_findings_partial_but(const struct hawk_findings *findings, const char *const *keys);

#endif
