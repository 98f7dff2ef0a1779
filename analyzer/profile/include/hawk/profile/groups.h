/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A profile by function, file or module. flat: samples whose innermost frame lies in the group;
 * cum: samples with any frame in it, each counted once, however often it recurs.
 */
#ifndef HAWK_ANALYZER_PROFILE_GROUPS_H
#define HAWK_ANALYZER_PROFILE_GROUPS_H

#include "hawk/profile/profile.h"

enum hawk_profile_by {
	HAWK_PROFILE_BY_FUNCTION = 1,
	HAWK_PROFILE_BY_FILE,
	HAWK_PROFILE_BY_MODULE,
};

struct hawk_profile_group {
	uint32_t name;   /**< string: function, path of the file or module; 0 = not known */
	uint32_t module; /**< string: path, of a function or of code without a name; 0 = none. Not
			    of differences, as another build may lie elsewhere */
	uint32_t flat_samples, cum_samples;
	int64_t flat[HAWK_PROFILE_COLUMNS_MAX]; /**< by column of the profile */
	int64_t cum[HAWK_PROFILE_COLUMNS_MAX];
};

struct hawk_profile_groups {
	enum hawk_profile_by by;
	uint32_t column; /**< sort column, largest absolute value first */
	bool by_cum;     /**< in the order of cum; else of flat */
	struct hawk_profile_group *items;
	size_t count;
};

/** `column` may be one that the profile lacks: then its values are 0. `ret` is to be deinitialized
 * after success only. */
struct hawk_error *hawk_profile_groups_make(const struct hawk_profile *profile,
					    enum hawk_profile_by by, uint32_t column, bool by_cum,
					    struct hawk_profile_groups *ret);
void hawk_profile_groups_deinit(struct hawk_profile_groups *groups);

/** "function", "file", "module" */
const char *hawk_profile_by_name(enum hawk_profile_by by);

#endif
