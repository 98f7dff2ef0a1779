/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Strings kept once each, numbered in the order in which they came. Internal to report/.
 */
#ifndef HAWK_ROOT_NAME_GROUPS_H
#define HAWK_ROOT_NAME_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "hawk_error.h"

struct hawk_root_groups {
	char **names;      /**< by number */
	uint32_t *slots;   /**< open addressing, by hash: a number + 1; 0 = empty */
	size_t slot_count; /**< a power of two, or 0; twice as many as there is room for names */
	uint32_t count;
};

struct hawk_error *hawk_root_groups_intern(struct hawk_root_groups *groups, const char *name,
					   uint32_t *ret);

/** Accepts groups of zeros. */
void hawk_root_groups_deinit(struct hawk_root_groups *groups);

#endif
