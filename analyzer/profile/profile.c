/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Making a profile: every part is looked up before it is added, so that each is there once.
 */
#include "hawk/profile/profile.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/array.h"
#include "parts.h"

/** Makes room for one more item of an array with a 32-bit count. */
#define RESERVE(profile, items, count, capacity)                                                   \
	((count) < UINT32_MAX - 1 &&                                                               \
	 hawk_array_reserve(&(profile)->items, (count), &(profile)->capacity,                      \
			    sizeof(*(profile)->items)))

static void fail(struct hawk_profile *profile)
{
	profile->failed = true;
}

/** Entry 0 of every array stands for none. */
static bool add_zeros(struct hawk_profile *profile)
{
	if (!RESERVE(profile, strings, 0, string_capacity) ||
	    !RESERVE(profile, frames, 0, frame_capacity) ||
	    !RESERVE(profile, locations, 0, location_capacity) ||
	    !RESERVE(profile, steps, 0, step_capacity) ||
	    !RESERVE(profile, modules, 0, module_capacity) ||
	    !RESERVE(profile, samples, 0, sample_capacity) ||
	    !RESERVE(profile, values, HAWK_PROFILE_COLUMNS_MAX, value_capacity))
		return false;
	profile->strings[0] = strdup("");
	if (!profile->strings[0])
		return false;
	profile->frames[0] = (struct hawk_profile_frame){0};
	profile->locations[0] = (struct hawk_profile_location){0};
	profile->steps[0] = (struct hawk_profile_step){0};
	profile->modules[0] = (struct hawk_profile_module){0};
	profile->string_count = profile->frame_count = profile->location_count = 1;
	profile->step_count = profile->module_count = 1;
	return true;
}

struct hawk_error *hawk_profile_create(const struct hawk_profile_column *columns, uint32_t count,
				       struct hawk_profile **ret)
{
	struct hawk_profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return &hawk_enomem;
	memcpy(profile->columns, columns, count * sizeof(*columns));
	profile->column_count = count;
	profile->what = "";
	if (!add_zeros(profile)) {
		hawk_profile_destroy(profile);
		return &hawk_enomem;
	}
	*ret = profile;
	return NULL;
}

void hawk_profile_destroy(struct hawk_profile *profile)
{
	if (!profile)
		return;
	for (uint32_t i = 0; i < profile->string_count; i++)
		free(profile->strings[i]);
	free(profile->strings);
	free(profile->frames);
	free(profile->locations);
	free(profile->frame_numbers);
	free(profile->steps);
	free(profile->modules);
	free(profile->samples);
	free(profile->values);
	free(profile->codes);
	hawk_profile_index_deinit(&profile->string_index);
	hawk_profile_index_deinit(&profile->frame_index);
	hawk_profile_index_deinit(&profile->location_index);
	hawk_profile_index_deinit(&profile->code_index);
	hawk_profile_index_deinit(&profile->step_index);
	hawk_profile_index_deinit(&profile->sample_index);
	free(profile);
}

static bool same_string(const struct hawk_profile *profile, uint32_t number, const void *key)
{
	return !strcmp(profile->strings[number], key);
}

uint32_t hawk_profile_string(struct hawk_profile *profile, const char *text)
{
	uint32_t *slot, found;

	if (!text || !text[0])
		return 0;
	found = hawk_profile_index_find(profile, &profile->string_index,
					XXH3_64bits(text, strlen(text)), same_string, text, &slot);
	if (found)
		return found;
	if (!slot || !RESERVE(profile, strings, profile->string_count, string_capacity) ||
	    !(profile->strings[profile->string_count] = strdup(text))) {
		fail(profile);
		return 0;
	}
	return *slot = profile->string_count++;
}

static bool same_frame(const struct hawk_profile *profile, uint32_t number, const void *key)
{
	return !memcmp(&profile->frames[number], key, sizeof(struct hawk_profile_frame));
}

/** `frame` has no padding: its bytes are its contents. */
static uint32_t add_frame(struct hawk_profile *profile, const struct hawk_profile_frame *frame)
{
	uint32_t *slot, found;

	found = hawk_profile_index_find(profile, &profile->frame_index,
					XXH3_64bits(frame, sizeof(*frame)), same_frame, frame,
					&slot);
	if (found)
		return found;
	if (!slot || !RESERVE(profile, frames, profile->frame_count, frame_capacity)) {
		fail(profile);
		return 0;
	}
	profile->frames[profile->frame_count] = *frame;
	return *slot = profile->frame_count++;
}

static bool same_location(const struct hawk_profile *profile, uint32_t number, const void *key)
{
	const struct hawk_profile_location *known = &profile->locations[number], *location = key;
	const uint32_t *numbers = profile->frame_numbers;

	return known->address == location->address && known->module == location->module &&
	       known->count == location->count &&
	       !memcmp(&numbers[known->first], &numbers[location->first],
		       known->count * sizeof(*numbers));
}

bool hawk_profile_push_frame(struct hawk_profile *profile, const struct hawk_profile_frame *frame)
{
	uint32_t number = add_frame(profile, frame);

	if (!number ||
	    !RESERVE(profile, frame_numbers, profile->frame_number_count, frame_number_capacity)) {
		fail(profile);
		return false;
	}
	profile->frame_numbers[profile->frame_number_count++] = number;
	return true;
}

uint32_t hawk_profile_add_location(struct hawk_profile *profile, uint64_t address, uint32_t module,
				   uint32_t count)
{
	const struct hawk_profile_location location = {
		.address = address,
		.module = module,
		.first = profile->frame_number_count - count,
		.count = count,
	};
	uint64_t hash =
		XXH3_64bits_withSeed(&profile->frame_numbers[location.first],
				     count * sizeof(*profile->frame_numbers), address ^ module);
	uint32_t *slot, found;

	found = hawk_profile_index_find(profile, &profile->location_index, hash, same_location,
					&location, &slot);
	if (found) {
		profile->frame_number_count = location.first;
		return found;
	}
	if (!slot || !RESERVE(profile, locations, profile->location_count, location_capacity)) {
		fail(profile);
		return 0;
	}
	profile->locations[profile->location_count] = location;
	return *slot = profile->location_count++;
}

static bool same_step(const struct hawk_profile *profile, uint32_t number, const void *key)
{
	return !memcmp(&profile->steps[number], key, sizeof(struct hawk_profile_step));
}

uint32_t hawk_profile_add_step(struct hawk_profile *profile, uint32_t parent, uint32_t location)
{
	const struct hawk_profile_step step = {parent, location};
	uint32_t *slot, found;

	if (!location)
		return parent;
	found = hawk_profile_index_find(profile, &profile->step_index,
					XXH3_64bits(&step, sizeof(step)), same_step, &step, &slot);
	if (found)
		return found;
	if (!slot || !RESERVE(profile, steps, profile->step_count, step_capacity)) {
		fail(profile);
		return parent;
	}
	profile->steps[profile->step_count] = step;
	return *slot = profile->step_count++;
}

uint32_t hawk_profile_frame_step(struct hawk_profile *profile, uint32_t parent,
				 const struct hawk_profile_frame *frame)
{
	if (!hawk_profile_push_frame(profile, frame))
		return parent;
	return hawk_profile_add_step(profile, parent,
				     hawk_profile_add_location(profile, 0, frame->module, 1));
}

uint32_t hawk_profile_note(struct hawk_profile *profile, uint32_t parent,
			   enum hawk_profile_frame_kind kind, const char *text)
{
	const struct hawk_profile_frame frame = {
		.kind = kind,
		.function = hawk_profile_string(profile, text),
	};

	return hawk_profile_frame_step(profile, parent, &frame);
}

static bool same_sample(const struct hawk_profile *profile, uint32_t number, const void *key)
{
	return !memcmp(&profile->samples[number - 1], key, sizeof(struct hawk_profile_sample));
}

/** Returns the number of the sample, counted from 1; 0 = no memory. */
static uint32_t add_sample(struct hawk_profile *profile, const struct hawk_profile_sample *sample)
{
	size_t at = (size_t)profile->sample_count * profile->column_count;
	uint32_t *slot, found;

	found = hawk_profile_index_find(profile, &profile->sample_index,
					XXH3_64bits(sample, sizeof(*sample)), same_sample, sample,
					&slot);
	if (found)
		return found;
	if (!slot || !RESERVE(profile, samples, profile->sample_count, sample_capacity) ||
	    !hawk_array_reserve(&profile->values, at + profile->column_count,
				&profile->value_capacity, sizeof(*profile->values)))
		return 0;
	profile->samples[profile->sample_count] = *sample;
	memset(&profile->values[at], 0, profile->column_count * sizeof(*profile->values));
	return *slot = ++profile->sample_count;
}

void hawk_profile_add(struct hawk_profile *profile, uint32_t step,
		      const struct hawk_profile_labels *labels, const int64_t *values)
{
	const struct hawk_profile_sample sample = {
		.step = step,
		.labels = labels ? *labels : (struct hawk_profile_labels){0},
	};
	uint32_t number = add_sample(profile, &sample);
	int64_t *to;

	if (!number) {
		fail(profile);
		return;
	}
	to = &profile->values[(size_t)(number - 1) * profile->column_count];
	for (uint32_t i = 0; i < profile->column_count; i++)
		to[i] = hawk_profile_plus(to[i], values[i]);
}

struct hawk_error *hawk_profile_finish(struct hawk_profile *profile)
{
	return profile->failed ? &hawk_enomem : NULL;
}

int64_t hawk_profile_total(const struct hawk_profile *profile, uint32_t column)
{
	int64_t total = 0;

	for (size_t i = 0; i < profile->sample_count; i++)
		total = hawk_profile_plus(total,
					  profile->values[i * profile->column_count + column]);
	return total;
}

struct hawk_error *hawk_profile_sums(const struct hawk_profile *profile, uint32_t column,
				     int64_t **flat, int64_t **cum)
{
	int64_t *sums = calloc(profile->step_count, sizeof(*sums));
	int64_t *all = cum ? calloc(profile->step_count, sizeof(*all)) : NULL;

	if (!sums || (cum && !all)) {
		free(sums);
		free(all);
		return &hawk_enomem;
	}
	for (size_t i = 0; i < profile->sample_count; i++) {
		int64_t *sum = &sums[profile->samples[i].step];

		*sum = hawk_profile_plus(*sum, profile->values[i * profile->column_count + column]);
	}
	*flat = sums;
	if (!cum)
		return NULL;
	memcpy(all, sums, profile->step_count * sizeof(*all));
	for (uint32_t i = profile->step_count - 1; i; i--) {
		int64_t *parent = &all[profile->steps[i].parent];

		*parent = hawk_profile_plus(*parent, all[i]);
	}
	*cum = all;
	return NULL;
}

uint32_t hawk_profile_column(const struct hawk_profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->column_count; i++)
		if (!strcmp(profile->columns[i].name, name))
			return i;
	return UINT32_MAX;
}

bool hawk_profile_path_of(const struct hawk_profile *profile, uint32_t step,
			  struct hawk_profile_path *path)
{
	for (path->count = 0; step; step = profile->steps[step].parent) {
		if (!hawk_array_reserve(&path->locations, path->count, &path->capacity,
					sizeof(*path->locations)))
			return false;
		path->locations[path->count++] = profile->steps[step].location;
	}
	return true;
}

void hawk_profile_path_deinit(struct hawk_profile_path *path)
{
	free(path->locations);
	*path = (struct hawk_profile_path){0};
}
