/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Folding of stacks.
 */
#include "stack_fold.h"

#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"

enum {
	TIMES_MIN = 3,
	SPARED_MIN = 16, /**< frames that a repetition leaves out, or it is not worth a line */
};

/** matches[p] ends the frames, from the one at hand, that equal the one p further out. */
struct folding {
	const struct hawk_stack_frame *frames;
	size_t count;
	size_t matches[HAWK_FOLD_PERIOD_MAX + 1];
	struct hawk_fold_entry *entries;
	size_t entry_count;
	size_t capacity;
};

static bool append(struct folding *folding, struct hawk_fold_entry entry)
{
	if (!hawk_array_reserve(&folding->entries, folding->entry_count, &folding->capacity,
				sizeof(entry)))
		return false;
	folding->entries[folding->entry_count++] = entry;
	return true;
}

/** Moves matches[period] on to frame `at`. It never moves back: all calls together are linear. */
static void follow(struct folding *folding, size_t at, size_t period)
{
	size_t i = folding->matches[period] > at ? folding->matches[period] : at;

	while (i + period < folding->count &&
	       folding->frames[i].pc == folding->frames[i + period].pc &&
	       folding->frames[i].exact == folding->frames[i + period].exact)
		i++;
	folding->matches[period] = i;
}

/** The period of the longest repetition that begins at frame `at`, the shortest such; 0 = none. */
static size_t find_period(struct folding *folding, size_t at, size_t *covered)
{
	size_t best = 0;

	*covered = 0;
	for (size_t period = 1; period <= HAWK_FOLD_PERIOD_MAX; period++) {
		size_t frames;

		follow(folding, at, period);
		frames = folding->matches[period] - at + period;
		frames -= frames % period;
		if (frames <= *covered || frames / period < TIMES_MIN ||
		    frames - period < SPARED_MIN)
			continue;
		*covered = frames;
		best = period;
	}
	return best;
}

static bool list_frames(struct folding *folding, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++)
		if (!append(folding, (struct hawk_fold_entry){.frame = i}))
			return false;
	return true;
}

static bool fold_repetitions(struct folding *folding)
{
	for (size_t at = 0; at < folding->count;) {
		size_t covered;
		size_t period = find_period(folding, at, &covered);

		if (!list_frames(folding, at, at + (period ? period : 1)))
			return false;
		if (period && !append(folding, (struct hawk_fold_entry){.kind = HAWK_FOLD_REPEAT,
									.period = (uint32_t)period,
									.frame = at + period,
									.frames = covered - period,
									.times = covered / period}))
			return false;
		at += period ? covered : 1;
	}
	return true;
}

/** Where to begin behind the cut: not between a cycle and what says how often it is there. */
static size_t end_of_cut(const struct folding *folding, size_t start)
{
	size_t end = start + HAWK_FOLD_PERIOD_MAX + 1;

	for (size_t i = start; i < end && i < folding->entry_count; i++)
		if (folding->entries[i].kind == HAWK_FOLD_REPEAT &&
		    i - start < folding->entries[i].period)
			return i + 1;
	return start;
}

static void cut_middle(struct folding *folding)
{
	struct hawk_fold_entry *entries = folding->entries;
	size_t start = HAWK_FOLD_ENTRIES_MAX / 2;
	size_t end = end_of_cut(folding, folding->entry_count - (start - 1));
	struct hawk_fold_entry cut = {.kind = HAWK_FOLD_CUT, .frame = entries[start].frame};

	cut.frames = (end < folding->entry_count ? entries[end].frame : folding->count) - cut.frame;
	entries[start++] = cut;
	while (end < folding->entry_count)
		entries[start++] = entries[end++];
	folding->entry_count = start;
}

struct hawk_error *hawk_stack_fold(const struct hawk_stack_frame *frames, size_t count,
				   struct hawk_fold_entry **ret, size_t *entry_count)
{
	struct folding folding = {.frames = frames, .count = count};
	bool good = count <= HAWK_FOLD_ENTRIES_MAX ? list_frames(&folding, 0, count)
						   : fold_repetitions(&folding);

	if (!good) {
		free(folding.entries);
		return &hawk_enomem;
	}
	if (folding.entry_count > HAWK_FOLD_ENTRIES_MAX)
		cut_middle(&folding);
	*ret = folding.entries;
	*entry_count = folding.entry_count;
	return NULL;
}
