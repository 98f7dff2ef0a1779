/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Roles of a profile's columns in formats with fixed columns: present memory (live, lost), and
 * memory ever allocated.
 */
#ifndef HAWK_ANALYZER_EXPORT_ROLES_H
#define HAWK_ANALYZER_EXPORT_ROLES_H

#include "hawk/profile/profile.h"

enum hawk_export_role {
	HAWK_EXPORT_BYTES,
	HAWK_EXPORT_OBJECTS,
	HAWK_EXPORT_ALLOC_BYTES,
	HAWK_EXPORT_ALLOC_OBJECTS,
	HAWK_EXPORT_ROLES,
};

/** Columns by role; UINT32_MAX = none. */
struct hawk_export_roles {
	uint32_t columns[HAWK_EXPORT_ROLES];
};

struct hawk_export_roles hawk_export_roles_of(const struct hawk_profile *profile);

/** Returns the roles for a row of a leak's `kind`: possibly lost blocks have their own columns. */
struct hawk_export_roles hawk_export_roles_of_kind(const struct hawk_profile *profile,
						   const char *kind);

static inline bool hawk_export_has_role(const struct hawk_export_roles *roles,
					enum hawk_export_role role)
{
	return roles->columns[role] != UINT32_MAX;
}

/** Returns the value of sample `number`; 0 if there is no such column. */
int64_t hawk_export_role_value(const struct hawk_profile *profile,
			       const struct hawk_export_roles *roles, size_t number,
			       enum hawk_export_role role);

/** Values of one role by step (hawk_profile_sums()); zeros if there is no such column. The caller
 * frees them. */
struct hawk_error *hawk_export_role_sums(const struct hawk_profile *profile,
					 const struct hawk_export_roles *roles,
					 enum hawk_export_role role, int64_t **ret);

#endif
