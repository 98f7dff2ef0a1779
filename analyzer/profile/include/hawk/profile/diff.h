/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Changes between two profiles, site by site. Sites of the same id are the same code; the others
 * are joined by signature, then by functions alone, because a rebuild changes ids.
 */
#ifndef HAWK_ANALYZER_PROFILE_DIFF_H
#define HAWK_ANALYZER_PROFILE_DIFF_H

#include "hawk/profile/profile.h"

/** Key that joined the two sides of a row. */
enum hawk_diff_match {
	HAWK_DIFF_NEW = 0, /**< only in the later profile */
	HAWK_DIFF_GONE,    /**< only in the earlier one */
	HAWK_DIFF_SITE,
	HAWK_DIFF_SIGNATURE,
	HAWK_DIFF_FUNCTIONS,
};

struct hawk_diff_side {
	uint32_t step; /**< of the largest site; 0 = none */
	uint32_t site; /**< its id, a string; 0 = none */
	uint32_t sites;
	int64_t objects, bytes;
	double bytes_error; /**< standard error; 0 = exact */
};

struct hawk_diff_row {
	enum hawk_diff_match match;
	struct hawk_diff_side before, after;
	int64_t objects, bytes; /**< after less before */
	double bytes_error;     /**< of `bytes` */
	bool significant;       /**< `bytes` is more than twice its error */
};

struct hawk_diff {
	const struct hawk_profile *before, *after;
	struct hawk_diff_row *rows; /**< largest change of bytes first */
	size_t count;
	struct hawk_diff_row whole;            /**< all rows in one */
	size_t kinds[HAWK_DIFF_FUNCTIONS + 1]; /**< rows by match */
};

/** Compares the shown columns: bytes, and before them objects. The profiles must outlive `ret`,
 * which is to be deinitialized after success only. */
struct hawk_error *hawk_diff_make(const struct hawk_profile *before,
				  const struct hawk_profile *after, struct hawk_diff *ret);
void hawk_diff_deinit(struct hawk_diff *diff);

/** "new", "gone", "site", "signature", "functions" */
const char *hawk_diff_match_name(enum hawk_diff_match match);

#endif
