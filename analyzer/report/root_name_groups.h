/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Strings kept once each, so that groups of roots can be told apart by pointer. Internal to
 * report/.
 */
#ifndef HAWK_ROOT_NAME_GROUPS_H
#define HAWK_ROOT_NAME_GROUPS_H

#include <stddef.h>

#include "hawk_error.h"

struct hawk_root_groups {
	char **slots;      /**< open addressing; NULL = empty */
	size_t slot_count; /**< a power of two, or 0 */
	size_t count;
};

/** `*ret` belongs to `groups`. */
struct hawk_error *hawk_root_groups_intern(struct hawk_root_groups *groups, const char *name,
					   const char **ret);

/** Accepts groups of zeros. */
void hawk_root_groups_deinit(struct hawk_root_groups *groups);

#endif
