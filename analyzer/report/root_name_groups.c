/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A set of strings.
 */
#include "root_name_groups.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 256 };

/* The slot of `name`, or an empty one. */
static char **find_slot(const struct hawk_root_groups *groups, const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	size_t at;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	at = (size_t)(hash ^ hash >> 32) & (groups->slot_count - 1);
	while (groups->slots[at] && strcmp(groups->slots[at], name) != 0)
		at = (at + 1) & (groups->slot_count - 1);
	return &groups->slots[at];
}

static struct hawk_error *grow(struct hawk_root_groups *groups)
{
	struct hawk_root_groups more = {
		.slot_count = groups->slot_count ? 2 * groups->slot_count : SLOTS_FIRST,
		.count = groups->count,
	};

	more.slots = calloc(more.slot_count, sizeof(*more.slots));
	if (!more.slots)
		return &hawk_enomem;
	for (size_t i = 0; i < groups->slot_count; i++)
		if (groups->slots[i])
			*find_slot(&more, groups->slots[i]) = groups->slots[i];
	free(groups->slots);
	*groups = more;
	return NULL;
}

struct hawk_error *hawk_root_groups_intern(struct hawk_root_groups *groups, const char *name,
					   const char **ret)
{
	char **slot;

	if (2 * (groups->count + 1) > groups->slot_count) {
		struct hawk_error *err = grow(groups);

		if (err)
			return err;
	}
	slot = find_slot(groups, name);
	if (!*slot) {
		*slot = strdup(name);
		if (!*slot)
			return &hawk_enomem;
		groups->count++;
	}
	*ret = *slot;
	return NULL;
}

void hawk_root_groups_deinit(struct hawk_root_groups *groups)
{
	for (size_t i = 0; i < groups->slot_count; i++)
		free(groups->slots[i]);
	free(groups->slots);
	*groups = (struct hawk_root_groups){0};
}
