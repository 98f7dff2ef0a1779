/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Matching stacks. No recursion: a star, and an ellipsis of frames, go back to the last one only,
 * which is enough because what was matched before it stays matched.
 */
#include "hawk_suppressions.h"

#include <stdlib.h>
#include <string.h>

#include "suppressions_state.h"

/* What a name is that is not known, as Valgrind has it. */
static const char unknown[] = "???";

/* Valgrind's own library, where the allocation function is in the stacks that it prints. */
static const char preload[] = "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so";

enum glob_rules {
	GLOB_ANY_CHARACTER = 1, /* '?' */
	GLOB_OPEN_START = 2,    /* any text may come before the pattern */
	GLOB_OPEN_END = 4,      /* and behind it */
};

/* `pattern` up to `end` against `text`. */
static bool glob(const char *pattern, const char *end, const char *text, unsigned rules)
{
	const char *star = rules & GLOB_OPEN_START ? pattern : NULL;
	const char *resume = text;

	for (;;) {
		if (pattern == end && (!*text || rules & GLOB_OPEN_END))
			return true;
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resume = text;
		} else if (*text && pattern < end &&
			   (*pattern == *text || (rules & GLOB_ANY_CHARACTER && *pattern == '?'))) {
			pattern++;
			text++;
		} else if (star && *resume) {
			pattern = star;
			text = ++resume;
		} else {
			return false;
		}
	}
}

static bool glob_whole(const char *pattern, const char *text)
{
	return glob(pattern, pattern + strlen(pattern), text ? text : unknown, GLOB_ANY_CHARACTER);
}

/* LeakSanitizer's way. */
static bool contains(const char *pattern, const char *text)
{
	const char *end = pattern + strlen(pattern);
	unsigned rules = GLOB_OPEN_START | GLOB_OPEN_END;

	if (!text || !*text)
		return false;
	if (*pattern == '^') {
		rules &= ~(unsigned)GLOB_OPEN_START;
		pattern++;
	}
	if (end > pattern && end[-1] == '$') {
		rules &= ~(unsigned)GLOB_OPEN_END;
		end--;
	}
	return glob(pattern, end, text, rules);
}

static bool frame_contains(const struct hawk_suppression_frame *frame, const char *pattern)
{
	return contains(pattern, frame->function) || contains(pattern, frame->file) ||
	       contains(pattern, frame->module);
}

static bool matches_function(const char *pattern, const struct hawk_suppression_frame *frame)
{
	if (glob_whole(pattern, frame->symbol) || glob_whole(pattern, frame->function) ||
	    (frame->plain && glob_whole(pattern, frame->plain)))
		return true;
	for (size_t i = 0; frame->aliases && frame->aliases[i]; i++)
		if (glob_whole(pattern, frame->aliases[i]))
			return true;
	return false;
}

/* The first `allocators` frames are allocation functions: posix_memalign() calls memalign(). */
static bool matches_frame(const struct hawk_suppression_pattern *pattern,
			  const struct hawk_suppression_stack *stack, size_t i, size_t allocators)
{
	const struct hawk_suppression_frame *frame;

	if (i < allocators) {
		if (pattern->part == HAWK_SUPPRESSION_OBJECT)
			return glob_whole(pattern->text, preload);
		for (size_t j = 0; stack->allocators[j]; j++)
			if (pattern->part == HAWK_SUPPRESSION_FUNCTION &&
			    glob_whole(pattern->text, stack->allocators[j]))
				return true;
		return false;
	}
	frame = &stack->frames[i - allocators];
	switch (pattern->part) {
	case HAWK_SUPPRESSION_FUNCTION:
		return matches_function(pattern->text, frame);
	case HAWK_SUPPRESSION_OBJECT:
		return glob_whole(pattern->text, frame->module) ||
		       (frame->mapped && glob_whole(pattern->text, frame->mapped));
	case HAWK_SUPPRESSION_SOURCE:
		return frame->file && glob_whole(pattern->text, frame->file) &&
		       (!pattern->line || pattern->line == frame->line);
	default:
		return false;
	}
}

/* Patterns against frames from the first on; frames may be left over. */
static bool matches_stack(const struct hawk_suppression_pattern *patterns, size_t count,
			  const struct hawk_suppression_stack *stack, size_t allocators)
{
	size_t frames = stack->count + allocators;
	size_t after = SIZE_MAX; /* the pattern behind the last ellipsis */
	size_t resume = 0;
	size_t at = 0;

	for (size_t i = 0; i < count;) {
		if (patterns[i].part == HAWK_SUPPRESSION_ELLIPSIS) {
			after = ++i;
			resume = at;
		} else if (at < frames && matches_frame(&patterns[i], stack, at, allocators)) {
			i++;
			at++;
		} else if (after != SIZE_MAX && resume < frames) {
			i = after;
			at = ++resume;
		} else {
			return false;
		}
	}
	return true;
}

static bool matches(const struct hawk_suppressions *suppressions,
		    const struct hawk_suppression_entry *entry,
		    const struct hawk_suppression_stack *stack)
{
	const struct hawk_suppression_pattern *patterns = suppressions->patterns + entry->first;

	if (patterns->part != HAWK_SUPPRESSION_ANYWHERE)
		return matches_stack(patterns, entry->count, stack, 0) ||
		       matches_stack(patterns, entry->count, stack, 1) ||
		       matches_stack(patterns, entry->count, stack, 2);
	for (size_t i = 0; i < stack->count; i++)
		if (frame_contains(&stack->frames[i], patterns->text))
			return true;
	return false;
}

struct hawk_suppression *hawk_suppressions_match(struct hawk_suppressions *suppressions,
						 enum hawk_reach_kind kind,
						 const struct hawk_suppression_stack *stack)
{
	for (size_t i = 0; i < suppressions->count; i++) {
		struct hawk_suppression_entry *entry = &suppressions->entries[i];

		if (entry->kinds >> kind & 1 && matches(suppressions, entry, stack))
			return &entry->told;
	}
	return NULL;
}

size_t hawk_suppressions_count(const struct hawk_suppressions *suppressions)
{
	return suppressions->count;
}

struct hawk_suppression *hawk_suppressions_at(struct hawk_suppressions *suppressions, size_t i)
{
	return &suppressions->entries[i].told;
}

struct hawk_error *hawk_suppressions_create(struct hawk_suppressions **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &hawk_enomem;
}

void hawk_suppressions_destroy(struct hawk_suppressions *suppressions)
{
	if (!suppressions)
		return;
	for (size_t i = 0; i < suppressions->text_count; i++)
		free(suppressions->texts[i]);
	free(suppressions->texts);
	free(suppressions->entries);
	free(suppressions->patterns);
	free(suppressions);
}
