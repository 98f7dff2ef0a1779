/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds columns by role. Present memory is the column that viewers show first, with its count:
 * "inuse_space" and "inuse_objects", "lost_space" and "lost_objects".
 */
#include "roles.h"

#include <stdlib.h>
#include <string.h>

static uint32_t column_beside(const struct hawk_profile *profile, uint32_t shown)
{
	const char *name = profile->columns[shown].name;
	const char *end = strrchr(name, '_');
	size_t size = end ? (size_t)(end - name) : strlen(name);

	for (uint32_t i = 0; i < profile->column_count; i++)
		if (!strncmp(profile->columns[i].name, name, size) &&
		    !strcmp(profile->columns[i].name + size, "_objects"))
			return i;
	return UINT32_MAX;
}

static struct hawk_export_roles roles_of_column(const struct hawk_profile *profile, uint32_t shown)
{
	return (struct hawk_export_roles){{
		[HAWK_EXPORT_BYTES] = shown,
		[HAWK_EXPORT_OBJECTS] = column_beside(profile, shown),
		[HAWK_EXPORT_ALLOC_BYTES] = hawk_profile_column(profile, "alloc_space"),
		[HAWK_EXPORT_ALLOC_OBJECTS] = hawk_profile_column(profile, "alloc_objects"),
	}};
}

struct hawk_export_roles hawk_export_roles_of(const struct hawk_profile *profile)
{
	return roles_of_column(profile, profile->shown_column);
}

struct hawk_export_roles hawk_export_roles_of_kind(const struct hawk_profile *profile,
						   const char *kind)
{
	uint32_t possibly = strcmp(kind, "possibly_lost")
				    ? UINT32_MAX
				    : hawk_profile_column(profile, "possibly_lost_space");

	return roles_of_column(profile, possibly == UINT32_MAX ? profile->shown_column : possibly);
}

int64_t hawk_export_role_value(const struct hawk_profile *profile,
			       const struct hawk_export_roles *roles, size_t number,
			       enum hawk_export_role role)
{
	return hawk_export_has_role(roles, role)
		       ? profile->values[number * profile->column_count + roles->columns[role]]
		       : 0;
}

struct hawk_error *hawk_export_role_sums(const struct hawk_profile *profile,
					 const struct hawk_export_roles *roles,
					 enum hawk_export_role role, int64_t **ret)
{
	if (hawk_export_has_role(roles, role))
		return hawk_profile_sums(profile, roles->columns[role], ret, NULL);
	*ret = calloc(profile->step_count, sizeof(**ret));
	return *ret ? NULL : &hawk_enomem;
}
