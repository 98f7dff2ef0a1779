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
	uint32_t name; /**< string: function, path of the file or module; 0 = not known */
	int64_t flat_objects, flat_bytes;
	int64_t cum_objects, cum_bytes;
};

struct hawk_profile_groups {
	struct hawk_profile_group *items; /**< largest flat_bytes first, whatever its sign */
	size_t count;
};

/** Sums the shown column and the one before it. `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_profile_groups_make(const struct hawk_profile *profile,
					    enum hawk_profile_by by,
					    struct hawk_profile_groups *ret);
void hawk_profile_groups_deinit(struct hawk_profile_groups *groups);

#endif
