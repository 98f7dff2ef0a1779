/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Findings record damaged or incomplete input; the work continues around it.
 *
 * Two sorts: MISSING is data that an answer needed (a truncated segment, a binary not found);
 * DAMAGE is data that is present but wrong. Reports print both. Repeated keys are only counted; the
 * first text is kept.
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
	uint64_t count;  /**< times added */
	bool partial;    /**< makes the answer incomplete: exit code 4 */
	char *text;      /**< first text, one sentence */
};

struct hawk_findings {
	struct hawk_finding *items;
	size_t count;
	size_t capacity;
	bool forgotten; /**< a finding was lost: out of memory */
};

void hawk_findings_init(struct hawk_findings *findings);
void hawk_findings_deinit(struct hawk_findings *findings);

/**
 * Records one finding. A repeated `key` is only counted, unless it ends in '*': then up to 64 texts
 * are kept (the star is not part of the key), for lists such as "module-not-found*". Running out of
 * memory is swallowed but makes the answer incomplete. `findings` may be NULL.
 */
void hawk_findings_add(struct hawk_findings *findings, enum hawk_finding_sort sort, bool partial,
		       const char *key, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/** Adds the findings of `from`, whose keys must outlive `findings`. `findings` may be NULL. */
void hawk_findings_add_all(struct hawk_findings *findings, const struct hawk_findings *from);

/** Sorts the findings from index `from` on by key and text, because threads found them in any
 * order. `findings` may be NULL. */
void hawk_findings_sort(struct hawk_findings *findings, size_t from);

/** Drops findings with one of `keys` (NULL-terminated). Adjusts the index `*mark` to stay at its
 * finding. */
void hawk_findings_drop(struct hawk_findings *findings, const char *const *keys, size_t *mark);

/** Returns true if memory ran out, so that a finding, a name or a word may be left out. */
bool hawk_findings_forgotten(const struct hawk_findings *findings);

/** Returns true if any finding, or one lost to out-of-memory, makes the answer incomplete. */
bool hawk_findings_partial(const struct hawk_findings *findings);

/** The same, ignoring findings with one of `keys` (NULL-terminated). */
bool hawk_findings_partial_but(const struct hawk_findings *findings, const char *const *keys);

#endif
