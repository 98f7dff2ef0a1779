/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The difference of two profiles: both are copied into a third, the earlier one with its signs
 * turned. Frames of a rebuilt module are identified by function alone, since its lines moved and
 * other functions may be inlined.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/profile/sources.h"
#include "parts.h"

struct copier {
	const struct hawk_profile *from;
	struct hawk_profile *to;
	/* Numbers in `to` by those in `from`; 0 = not copied yet. */
	uint32_t *strings, *modules, *locations, *steps;
	bool *rebuilt;                              /**< by module of `from` */
	uint32_t columns[HAWK_PROFILE_COLUMNS_MAX]; /**< numbers in `from` by those in `to`; or no
						       number */
	bool is_error[HAWK_PROFILE_COLUMNS_MAX];    /**< errors add up, at most */
	bool subtract;
};

static const char *base_of(const struct hawk_profile *profile, uint32_t module)
{
	return hawk_path_base(profile->strings[profile->modules[module].path]);
}

/** Returns true if `other` has a module of that name from another, or perhaps another, build. */
static bool is_rebuilt(const struct hawk_profile *profile, uint32_t module,
		       const struct hawk_profile *other)
{
	const char *build_id = profile->strings[profile->modules[module].build_id];

	for (uint32_t i = 1; i < other->module_count; i++)
		if (!strcmp(base_of(profile, module), base_of(other, i)))
			return !build_id[0] ||
			       strcmp(build_id, other->strings[other->modules[i].build_id]) != 0;
	return false;
}

static uint32_t copy_string(struct copier *copier, uint32_t string)
{
	if (string && !copier->strings[string])
		copier->strings[string] =
			hawk_profile_string(copier->to, copier->from->strings[string]);
	return copier->strings[string];
}

/** Copies a module without its address and folder. */
static uint32_t copy_module(struct copier *copier, uint32_t number)
{
	const struct hawk_symbol_module copy = {.path = base_of(copier->from, number),
						.main = copier->from->modules[number].main};

	if (number && !copier->modules[number])
		copier->modules[number] = hawk_profile_module(copier->to, &copy);
	return copier->modules[number];
}

static struct hawk_profile_frame copy_frame(struct copier *copier,
					    const struct hawk_profile_frame *frame)
{
	return (struct hawk_profile_frame){
		.kind = frame->kind,
		.function = copy_string(copier, frame->function),
		.symbol = copy_string(copier, frame->symbol),
		.file = copy_string(copier, frame->file),
		.line = frame->line,
		.module = copy_module(copier, frame->module),
		.offset = frame->offset,
	};
}

/** Copies the function without the suffix of compiler clones, and the file without its folder. */
static struct hawk_profile_frame copy_function(struct copier *copier,
					       const struct hawk_profile_frame *frame)
{
	const char *function = copier->from->strings[frame->function];
	CLEANUP(text) struct hawk_text name = {0};

	hawk_text_append(&name, function, hawk_profile_function_length(function));
	copier->to->failed |= name.failed;
	return (struct hawk_profile_frame){
		.kind = frame->kind,
		.function = hawk_profile_string(copier->to, hawk_text_string(&name)),
		.file = hawk_profile_string(copier->to,
					    hawk_path_base(copier->from->strings[frame->file])),
		.module = copy_module(copier, frame->module),
	};
}

static uint32_t copy_location(struct copier *copier, uint32_t number)
{
	const struct hawk_profile_location *location = &copier->from->locations[number];

	if (copier->locations[number])
		return copier->locations[number];
	for (uint32_t i = 0; i < location->count; i++) {
		struct hawk_profile_frame frame =
			copy_frame(copier, hawk_profile_location_frame(copier->from, number, i));

		if (!hawk_profile_push_frame(copier->to, &frame))
			return 0;
	}
	copier->locations[number] = hawk_profile_add_location(
		copier->to, 0, copy_module(copier, location->module), location->count);
	return copier->locations[number];
}

static void copy_step(struct copier *copier, uint32_t number)
{
	const struct hawk_profile_step *step = &copier->from->steps[number];
	const struct hawk_profile_location *location = &copier->from->locations[step->location];
	uint32_t parent = copier->steps[step->parent];

	if (!copier->rebuilt[location->module]) {
		copier->steps[number] = hawk_profile_add_step(
			copier->to, parent, copy_location(copier, step->location));
		return;
	}
	for (uint32_t i = location->count; i-- > 0;) {
		struct hawk_profile_frame frame = copy_function(
			copier, hawk_profile_location_frame(copier->from, step->location, i));

		parent = hawk_profile_frame_step(copier->to, parent, &frame);
	}
	copier->steps[number] = parent;
}

static void copy_sample(struct copier *copier, size_t number)
{
	const struct hawk_profile *from = copier->from;
	const struct hawk_profile_sample *sample = &from->samples[number];
	const int64_t *values = &from->values[number * from->column_count];
	const struct hawk_profile_labels labels = {
		.site = copy_string(copier, sample->labels.site),
		.type = copy_string(copier, sample->labels.type),
		.scope = copy_string(copier, sample->labels.scope),
		.kind = copy_string(copier, sample->labels.kind),
	};
	int64_t moved[HAWK_PROFILE_COLUMNS_MAX];

	for (uint32_t i = 0; i < copier->to->column_count; i++) {
		int64_t value =
			copier->columns[i] < from->column_count ? values[copier->columns[i]] : 0;

		moved[i] = copier->subtract && !copier->is_error[i] ? -value : value;
	}
	hawk_profile_add(copier->to, copier->steps[sample->step], &labels, moved);
}

static void deinit(struct copier *copier)
{
	free(copier->strings);
	free(copier->modules);
	free(copier->locations);
	free(copier->steps);
	free(copier->rebuilt);
}

/** Adds `from` to `to`, or subtracts it. `other` is the profile that it is compared with. */
static struct hawk_error *copy(const struct hawk_profile *from, const struct hawk_profile *other,
			       bool subtract, struct hawk_profile *to)
{
	struct copier copier = {
		.from = from,
		.to = to,
		.strings = calloc(from->string_count, sizeof(uint32_t)),
		.modules = calloc(from->module_count, sizeof(uint32_t)),
		.locations = calloc(from->location_count, sizeof(uint32_t)),
		.steps = calloc(from->step_count, sizeof(uint32_t)),
		.rebuilt = calloc(from->module_count, sizeof(bool)),
		.subtract = subtract,
	};

	if (!copier.strings || !copier.modules || !copier.locations || !copier.steps ||
	    !copier.rebuilt) {
		deinit(&copier);
		return &hawk_enomem;
	}
	for (uint32_t i = 0; i < to->column_count; i++) {
		copier.columns[i] = hawk_profile_column(from, to->columns[i].name);
		copier.is_error[i] = strstr(to->columns[i].name, "_error");
	}
	for (uint32_t i = 1; i < from->module_count; i++)
		copier.rebuilt[i] = is_rebuilt(from, i, other);
	for (uint32_t i = 1; i < from->step_count; i++)
		copy_step(&copier, i);
	for (size_t i = 0; i < from->sample_count; i++)
		copy_sample(&copier, i);
	deinit(&copier);
	return hawk_profile_finish(to);
}

struct hawk_error *hawk_profile_difference(const struct hawk_profile *after,
					   const struct hawk_profile *before,
					   struct hawk_profile **ret)
{
	struct hawk_profile *profile;
	struct hawk_error *err = hawk_profile_create(after->columns, after->column_count, &profile);

	if (err)
		return err;
	profile->shown_column = after->shown_column;
	profile->what = after->what;
	profile->difference = true;
	profile->estimated = after->estimated || before->estimated;
	profile->sample_mean = after->estimated ? after->sample_mean : before->sample_mean;
	err = copy(after, before, false, profile);
	if (!err)
		err = copy(before, after, true, profile);
	if (err)
		hawk_profile_destroy(profile);
	else
		*ret = profile;
	return err;
}
