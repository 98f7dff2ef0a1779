/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A set of strings, each with a number.
 */
#include "root_name_groups.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 256 };

/* The slot of `name`, or an empty one. */
static uint32_t *find_slot(const struct hawk_root_groups *groups, const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	size_t at;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	at = (size_t)(hash ^ hash >> 32) & (groups->slot_count - 1);
	while (groups->slots[at] && strcmp(groups->names[groups->slots[at] - 1], name) != 0)
		at = (at + 1) & (groups->slot_count - 1);
	return &groups->slots[at];
}

static struct hawk_error *grow(struct hawk_root_groups *groups)
{
	size_t slot_count = groups->slot_count ? 2 * groups->slot_count : SLOTS_FIRST;
	uint32_t *slots = calloc(slot_count, sizeof(*slots));
	char **names = reallocarray(groups->names, slot_count / 2, sizeof(*names));

	if (names)
		groups->names = names;
	if (!slots || !names) {
		free(slots);
		return &hawk_enomem;
	}
	free(groups->slots);
	groups->slots = slots;
	groups->slot_count = slot_count;
	for (uint32_t i = 0; i < groups->count; i++)
		*find_slot(groups, names[i]) = i + 1;
	return NULL;
}

struct hawk_error *hawk_root_groups_intern(struct hawk_root_groups *groups, const char *name,
					   uint32_t *ret)
{
	uint32_t *slot;

	if (2 * ((size_t)groups->count + 1) > groups->slot_count) {
		struct hawk_error *err = grow(groups);

		if (err)
			return err;
	}
	slot = find_slot(groups, name);
	if (!*slot) {
		groups->names[groups->count] = strdup(name);
		if (!groups->names[groups->count])
			return &hawk_enomem;
		*slot = ++groups->count;
	}
	*ret = *slot - 1;
	return NULL;
}

void hawk_root_groups_deinit(struct hawk_root_groups *groups)
{
	for (uint32_t i = 0; i < groups->count; i++)
		free(groups->names[i]);
	free(groups->names);
	free(groups->slots);
	*groups = (struct hawk_root_groups){0};
}
