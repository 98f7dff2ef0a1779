/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The difference of two profiles. The later one is copied; of the earlier one each step is looked
 * for below its parent's: the same frames, else the same functions in the same files, else it is
 * new.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/cleanup.h"
#include "hawk/profile/sources.h"
#include "parts.h"

struct joiner {
	const struct hawk_profile *from;
	struct hawk_profile *to;
	/* Numbers in `to` by those in `from`; 0 = not copied yet. */
	uint32_t *strings, *modules, *locations, *steps;
	uint32_t
		columns[HAWK_PROFILE_COLUMNS_MAX]; /**< of `from`, by those of `to`, or no number */
	bool is_error[HAWK_PROFILE_COLUMNS_MAX];   /**< errors add up, at most */
};

/** Steps of the later profile by what a rebuild leaves of them. */
struct likes {
	const struct joiner *joiner;
	uint32_t count;       /**< steps of the later profile */
	uint64_t *signatures; /**< by location of `to`; 0 = not known yet */
	uint32_t *origins;    /**< location of the earlier profile by that of `to`; 0 = none */
	uint32_t *next;       /**< the next step with the same parent and signature; 0 = none */
	bool *taken;          /**< by step */
	struct hawk_profile_index index; /**< the first such step */
};

/** What is looked for. */
struct like {
	const struct likes *likes;
	uint32_t parent;
	uint64_t signature;
};

static uint32_t copy_string(struct joiner *joiner, uint32_t string)
{
	if (string && !joiner->strings[string])
		joiner->strings[string] =
			hawk_profile_string(joiner->to, joiner->from->strings[string]);
	return joiner->strings[string];
}

/** Where a library was mapped does not matter. */
static uint32_t copy_module(struct joiner *joiner, uint32_t number)
{
	const struct hawk_profile_module *module = &joiner->from->modules[number];
	const struct hawk_symbol_module copy = {.path = joiner->from->strings[module->path],
						.main = module->main};

	if (number && !joiner->modules[number])
		joiner->modules[number] = hawk_profile_module(joiner->to, &copy);
	return joiner->modules[number];
}

static uint32_t copy_location(struct joiner *joiner, uint32_t number)
{
	const struct hawk_profile_location *location = &joiner->from->locations[number];

	if (joiner->locations[number])
		return joiner->locations[number];
	for (uint32_t i = 0; i < location->count; i++) {
		struct hawk_profile_frame frame =
			*hawk_profile_location_frame(joiner->from, number, i);

		frame.function = copy_string(joiner, frame.function);
		frame.symbol = copy_string(joiner, frame.symbol);
		frame.file = copy_string(joiner, frame.file);
		frame.module = copy_module(joiner, frame.module);
		if (!hawk_profile_push_frame(joiner->to, &frame))
			return 0;
	}
	joiner->locations[number] = hawk_profile_add_location(
		joiner->to, 0, copy_module(joiner, location->module), location->count);
	return joiner->locations[number];
}

static bool same_like(const struct hawk_profile *profile, uint32_t number, const void *key)
{
	const struct like *like = key;
	const struct hawk_profile_step *step = &profile->steps[number];

	return step->parent == like->parent &&
	       like->likes->signatures[step->location] == like->signature;
}

static uint64_t hash_of(const struct like *like)
{
	const uint64_t words[] = {like->parent, like->signature};

	return XXH3_64bits(words, sizeof(words));
}

/** Enters the steps of the later profile, backwards, so that lists begin with the lowest. */
static bool fill_likes(struct likes *likes)
{
	struct hawk_profile *to = likes->joiner->to;

	for (uint32_t i = 1; i < to->location_count; i++)
		likes->signatures[i] = hawk_profile_location_signature(to, i, true, 0);
	for (uint32_t i = 1; i < likes->count; i++) {
		const struct like like = {likes, to->steps[i].parent,
					  likes->signatures[to->steps[i].location]};
		uint32_t *slot, first = hawk_profile_index_find(to, &likes->index, hash_of(&like),
								same_like, &like, &slot);

		if (first) {
			likes->next[i] = likes->next[first];
			likes->next[first] = i;
		} else if (slot) {
			*slot = i;
		} else {
			return false;
		}
	}
	return true;
}

/** Whether the earlier profile has the same place below the same parent, to which `step` belongs.
 */
static bool has_own_partner(const struct likes *likes, uint32_t step, uint32_t parent)
{
	uint32_t origin = likes->origins[likes->joiner->to->steps[step].location];

	return origin && hawk_profile_find_step(likes->joiner->from, parent, origin);
}

/** Finds the step of the later profile that step `number` of the earlier one has become; 0 = none.
 */
static uint32_t find_successor(struct likes *likes, uint32_t number, uint32_t parent,
			       uint32_t location)
{
	struct like like = {likes, parent,
			    hawk_profile_location_signature(likes->joiner->to, location, true, 0)};
	uint32_t step = hawk_profile_index_look(likes->joiner->to, &likes->index, hash_of(&like),
						same_like, &like);

	for (; step; step = likes->next[step])
		if (!likes->taken[step] &&
		    !has_own_partner(likes, step, likes->joiner->from->steps[number].parent)) {
			likes->taken[step] = true;
			return step;
		}
	return 0;
}

static void copy_step(struct joiner *joiner, struct likes *likes, uint32_t number)
{
	const struct hawk_profile_step *step = &joiner->from->steps[number];
	uint32_t parent = joiner->steps[step->parent];
	uint32_t location = joiner->locations[step->location], known = 0;

	if (likes && parent < likes->count && !hawk_profile_find_step(joiner->to, parent, location))
		known = find_successor(likes, number, parent, location);
	joiner->steps[number] = known ? known : hawk_profile_add_step(joiner->to, parent, location);
}

static void copy_sample(struct joiner *joiner, size_t number, bool subtract)
{
	const struct hawk_profile *from = joiner->from;
	const struct hawk_profile_sample *sample = &from->samples[number];
	const int64_t *values = &from->values[number * from->column_count];
	const struct hawk_profile_labels labels = {
		.site = copy_string(joiner, sample->labels.site),
		.type = copy_string(joiner, sample->labels.type),
		.scope = copy_string(joiner, sample->labels.scope),
		.kind = copy_string(joiner, sample->labels.kind),
	};
	int64_t moved[HAWK_PROFILE_COLUMNS_MAX];

	for (uint32_t i = 0; i < joiner->to->column_count; i++) {
		int64_t value =
			joiner->columns[i] < from->column_count ? values[joiner->columns[i]] : 0;

		moved[i] = subtract && !joiner->is_error[i] ? -value : value;
	}
	hawk_profile_add(joiner->to, joiner->steps[sample->step], &labels, moved);
}

static void deinit_joiner(struct joiner *joiner)
{
	free(joiner->strings);
	free(joiner->modules);
	free(joiner->locations);
	free(joiner->steps);
}

static struct hawk_error *init_joiner(struct joiner *joiner, const struct hawk_profile *from,
				      struct hawk_profile *to)
{
	*joiner = (struct joiner){
		.from = from,
		.to = to,
		.strings = calloc(from->string_count, sizeof(uint32_t)),
		.modules = calloc(from->module_count, sizeof(uint32_t)),
		.locations = calloc(from->location_count, sizeof(uint32_t)),
		.steps = calloc(from->step_count, sizeof(uint32_t)),
	};
	if (!joiner->strings || !joiner->modules || !joiner->locations || !joiner->steps) {
		deinit_joiner(joiner);
		return &hawk_enomem;
	}
	for (uint32_t i = 0; i < to->column_count; i++) {
		joiner->columns[i] = hawk_profile_column(from, to->columns[i].name);
		joiner->is_error[i] = strstr(to->columns[i].name, "_error");
	}
	for (uint32_t i = 1; i < from->location_count; i++)
		copy_location(joiner, i);
	return NULL;
}

static void copy_rest(struct joiner *joiner, struct likes *likes, bool subtract)
{
	for (uint32_t i = 1; i < joiner->from->step_count; i++)
		copy_step(joiner, likes, i);
	for (size_t i = 0; i < joiner->from->sample_count; i++)
		copy_sample(joiner, i, subtract);
}

static struct hawk_error *copy(const struct hawk_profile *from, struct hawk_profile *to)
{
	struct joiner joiner;
	struct hawk_error *err = init_joiner(&joiner, from, to);

	if (err)
		return err;
	copy_rest(&joiner, NULL, false);
	deinit_joiner(&joiner);
	return hawk_profile_finish(to);
}

static struct hawk_error *take_away(const struct hawk_profile *from, struct hawk_profile *to)
{
	struct likes likes = {.count = to->step_count};
	struct joiner joiner;
	struct hawk_error *err = init_joiner(&joiner, from, to);

	if (err)
		return err;
	likes.joiner = &joiner;
	likes.signatures = calloc(to->location_count, sizeof(*likes.signatures));
	likes.origins = calloc(to->location_count, sizeof(*likes.origins));
	likes.next = calloc(likes.count, sizeof(*likes.next));
	likes.taken = calloc(likes.count, sizeof(*likes.taken));
	for (uint32_t i = 1; likes.origins && i < from->location_count; i++)
		likes.origins[joiner.locations[i]] = i;
	if (likes.signatures && likes.origins && likes.next && likes.taken && fill_likes(&likes))
		copy_rest(&joiner, &likes, true);
	else
		err = &hawk_enomem;
	hawk_profile_index_deinit(&likes.index);
	free(likes.signatures);
	free(likes.origins);
	free(likes.next);
	free(likes.taken);
	deinit_joiner(&joiner);
	return err ? err : hawk_profile_finish(to);
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
	err = copy(after, profile);
	if (!err)
		err = take_away(before, profile);
	if (err)
		hawk_profile_destroy(profile);
	else
		*ret = profile;
	return err;
}
