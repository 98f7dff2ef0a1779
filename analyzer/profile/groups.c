/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Groups of a profile: one walk up each sample's stack.
 */
#include "hawk/profile/groups.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

struct adder {
	const struct hawk_profile *profile;
	enum hawk_profile_by by;
	struct hawk_profile_group *groups; /**< by string */
	size_t *seen;                      /**< likewise: the last sample that counted, from 1 on */
};

static uint32_t name_of(const struct adder *adder, const struct hawk_profile_frame *frame)
{
	bool code = frame->kind == HAWK_PROFILE_FUNCTION || frame->kind == HAWK_PROFILE_SITE;

	if (!code || adder->by == HAWK_PROFILE_BY_FUNCTION)
		return frame->function;
	return adder->by == HAWK_PROFILE_BY_FILE ? frame->file
						 : adder->profile->modules[frame->module].path;
}

static void add_frame(struct adder *adder, const struct hawk_profile_frame *frame, size_t sample,
		      int64_t objects, int64_t bytes, bool innermost)
{
	uint32_t name = name_of(adder, frame);
	struct hawk_profile_group *group = &adder->groups[name];

	group->name = name;
	if (innermost) {
		group->flat_objects = hawk_profile_plus(group->flat_objects, objects);
		group->flat_bytes = hawk_profile_plus(group->flat_bytes, bytes);
	}
	if (adder->seen[name] == sample + 1)
		return;
	adder->seen[name] = sample + 1;
	group->cum_objects = hawk_profile_plus(group->cum_objects, objects);
	group->cum_bytes = hawk_profile_plus(group->cum_bytes, bytes);
}

/** Scopes say where code was, and are none. */
static void add_sample(struct adder *adder, size_t number)
{
	const struct hawk_profile *profile = adder->profile;
	const int64_t *values = &profile->values[number * profile->column_count];
	int64_t bytes = values[profile->shown_column];
	int64_t objects = profile->shown_column ? values[profile->shown_column - 1] : 0;
	bool innermost = true;

	for (uint32_t step = profile->samples[number].step; step;
	     step = profile->steps[step].parent) {
		uint32_t location = profile->steps[step].location;

		for (uint32_t i = 0; i < profile->locations[location].count; i++) {
			const struct hawk_profile_frame *frame =
				hawk_profile_location_frame(profile, location, i);

			if (frame->kind == HAWK_PROFILE_SCOPE)
				continue;
			add_frame(adder, frame, number, objects, bytes, innermost);
			innermost = false;
		}
	}
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_profile_group *a = left, *b = right;

	if (magnitude(a->flat_bytes) != magnitude(b->flat_bytes))
		return magnitude(a->flat_bytes) > magnitude(b->flat_bytes) ? -1 : 1;
	if (magnitude(a->cum_bytes) != magnitude(b->cum_bytes))
		return magnitude(a->cum_bytes) > magnitude(b->cum_bytes) ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

struct hawk_error *hawk_profile_groups_make(const struct hawk_profile *profile,
					    enum hawk_profile_by by,
					    struct hawk_profile_groups *ret)
{
	struct hawk_profile_groups groups = {
		.items = calloc(profile->string_count, sizeof(*groups.items)),
	};
	CLEANUP(free_ptr) size_t *seen = calloc(profile->string_count, sizeof(*seen));
	struct adder adder = {.profile = profile, .by = by, .groups = groups.items, .seen = seen};

	if (!groups.items || !seen) {
		free(groups.items);
		return &hawk_enomem;
	}
	for (size_t i = 0; i < profile->sample_count; i++)
		add_sample(&adder, i);
	for (uint32_t i = 0; i < profile->string_count; i++)
		if (seen[i])
			groups.items[groups.count++] = groups.items[i];
	qsort(groups.items, groups.count, sizeof(*groups.items), compare);
	*ret = groups;
	return NULL;
}

void hawk_profile_groups_deinit(struct hawk_profile_groups *groups)
{
	free(groups->items);
	*groups = (struct hawk_profile_groups){0};
}
