/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Groups of a profile: frames are sorted into groups, then one walk up each sample's stack.
 */
#include "hawk/profile/groups.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"

/** Group key of a frame. */
struct key {
	uint32_t name, module;
	uint32_t frame;
};

struct adder {
	const struct hawk_profile *profile;
	struct hawk_profile_group *groups;
	uint32_t *group_of; /**< by frame */
	size_t *seen;       /**< by group: the last sample that counted, from 1 on */
};

static struct key key_of(const struct hawk_profile *profile, enum hawk_profile_by by,
			 uint32_t number)
{
	const struct hawk_profile_frame *frame = &profile->frames[number];
	bool code = frame->kind == HAWK_PROFILE_FUNCTION || frame->kind == HAWK_PROFILE_SITE;
	uint32_t path = profile->modules[frame->module].path;
	uint32_t module = profile->difference ? 0 : path;

	if (!code)
		return (struct key){frame->function, 0, number};
	if (by == HAWK_PROFILE_BY_FUNCTION)
		return (struct key){frame->function, module, number};
	if (by == HAWK_PROFILE_BY_FILE)
		return (struct key){frame->file, frame->file ? 0 : module, number};
	return (struct key){path, 0, number};
}

static int compare_keys(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->module < b->module ? -1 : a->module > b->module;
}

static struct hawk_error *find_groups(struct adder *adder, enum hawk_profile_by by, size_t *count)
{
	const struct hawk_profile *profile = adder->profile;
	CLEANUP(free_ptr) struct key *keys = calloc(profile->frame_count, sizeof(*keys));

	if (!keys)
		return &hawk_enomem;
	for (uint32_t i = 0; i < profile->frame_count; i++)
		keys[i] = key_of(profile, by, i);
	qsort(keys, profile->frame_count, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		if (!i || compare_keys(&keys[i - 1], &keys[i])) {
			adder->groups[*count].name = keys[i].name;
			adder->groups[(*count)++].module = keys[i].module;
		}
		adder->group_of[keys[i].frame] = (uint32_t)*count - 1;
	}
	return NULL;
}

static void add_values(const struct hawk_profile *profile, size_t sample, int64_t *to)
{
	for (uint32_t i = 0; i < profile->column_count; i++)
		to[i] = hawk_profile_plus(to[i],
					  profile->values[sample * profile->column_count + i]);
}

static void add_frame(struct adder *adder, uint32_t frame, size_t sample, bool innermost)
{
	uint32_t number = adder->group_of[frame];
	struct hawk_profile_group *group = &adder->groups[number];

	if (innermost) {
		group->flat_samples++;
		add_values(adder->profile, sample, group->flat);
	}
	if (adder->seen[number] == sample + 1)
		return;
	adder->seen[number] = sample + 1;
	group->cum_samples++;
	add_values(adder->profile, sample, group->cum);
}

/** Adds a sample. Scopes are not code and do not count; a note counts only without other frames. */
static void add_sample(struct adder *adder, size_t number)
{
	const struct hawk_profile *profile = adder->profile;
	bool innermost = true;

	for (uint32_t step = profile->samples[number].step; step;
	     step = profile->steps[step].parent) {
		const struct hawk_profile_location *location =
			&profile->locations[profile->steps[step].location];
		bool alone = innermost && !profile->steps[step].parent;

		for (uint32_t i = 0; i < location->count; i++) {
			uint32_t frame = profile->frame_numbers[location->first + i];
			uint32_t kind = profile->frames[frame].kind;

			if (kind == HAWK_PROFILE_SCOPE || (kind == HAWK_PROFILE_NOTE && !alone))
				continue;
			add_frame(adder, frame, number, innermost);
			innermost = false;
		}
	}
}

static int compare_magnitudes(int64_t a, int64_t b)
{
	uint64_t left = a < 0 ? -(uint64_t)a : (uint64_t)a;
	uint64_t right = b < 0 ? -(uint64_t)b : (uint64_t)b;

	return left > right ? -1 : left < right;
}

struct order {
	const struct hawk_profile *profile;
	const struct hawk_profile_groups *groups;
};

static int compare_groups(const void *left, const void *right, void *context)
{
	const struct hawk_profile_group *a = left, *b = right;
	const struct order *order = context;
	uint32_t column = order->groups->column;
	bool exists = column < order->profile->column_count;
	int by_flat = exists ? compare_magnitudes(a->flat[column], b->flat[column]) : 0;
	int by_cum = exists ? compare_magnitudes(a->cum[column], b->cum[column]) : 0;
	int first = order->groups->by_cum ? by_cum : by_flat;
	int second = order->groups->by_cum ? by_flat : by_cum;

	if (first || second)
		return first ? first : second;
	first = strcmp(hawk_profile_text(order->profile, a->name),
		       hawk_profile_text(order->profile, b->name));
	return first ? first
		     : strcmp(hawk_profile_text(order->profile, a->module),
			      hawk_profile_text(order->profile, b->module));
}

/** Keeps groups that are not empty, and sorts them. */
static void finish(const struct hawk_profile *profile, struct hawk_profile_groups *groups)
{
	struct order order = {profile, groups};
	size_t count = 0;

	for (size_t i = 0; i < groups->count; i++)
		if (groups->items[i].cum_samples)
			groups->items[count++] = groups->items[i];
	groups->count = count;
	qsort_r(groups->items, count, sizeof(*groups->items), compare_groups, &order);
}

struct hawk_error *hawk_profile_groups_make(const struct hawk_profile *profile,
					    enum hawk_profile_by by, uint32_t column, bool by_cum,
					    struct hawk_profile_groups *ret)
{
	struct hawk_profile_groups groups = {.by = by, .column = column, .by_cum = by_cum};
	CLEANUP(free_ptr) uint32_t *group_of = calloc(profile->frame_count, sizeof(*group_of));
	CLEANUP(free_ptr) size_t *seen = calloc(profile->frame_count, sizeof(*seen));
	struct adder adder = {.profile = profile, .group_of = group_of, .seen = seen};
	struct hawk_error *err;

	groups.items = adder.groups = calloc(profile->frame_count, sizeof(*groups.items));
	err = groups.items && group_of && seen ? find_groups(&adder, by, &groups.count)
					       : &hawk_enomem;
	if (err) {
		free(groups.items);
		return err;
	}
	for (size_t i = 0; i < profile->sample_count; i++)
		add_sample(&adder, i);
	finish(profile, &groups);
	*ret = groups;
	return NULL;
}

void hawk_profile_groups_deinit(struct hawk_profile_groups *groups)
{
	free(groups->items);
	*groups = (struct hawk_profile_groups){0};
}

const char *hawk_profile_by_name(enum hawk_profile_by by)
{
	return by == HAWK_PROFILE_BY_FUNCTION ? "function"
	       : by == HAWK_PROFILE_BY_FILE   ? "file"
					      : "module";
}
