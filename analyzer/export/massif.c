/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Massif's text: one snapshot, whose tree begins at the functions that allocate and leads to their
 * callers. This is the profile's tree inverted: stacks are grouped by their innermost steps, then
 * each group by the steps next to those.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/utf8.h"
#include "hawk/export/export.h"
#include "hawk/heap/heap.h"
#include "valgrind_frame.h"

enum { NS_PER_MS = 1000000 };

/** The part of a stack not written yet. */
struct rest {
	uint32_t location; /**< of `step`: the order within a group; 0 = the stack has ended */
	uint32_t step;     /**< the next to write; 0 = the stack has ended */
	int64_t bytes;
};

/** Stacks side by side whose next location is the same. */
struct group {
	struct rest *first;
	size_t count;
	int64_t bytes;
};

struct writer {
	const struct hawk_profile *profile;
	struct hawk_output *output;
	struct hawk_text text; /**< of the line being made */
};

static int compare_rests(const void *left, const void *right)
{
	const struct rest *a = left, *b = right;

	if (a->location != b->location)
		return a->location < b->location ? -1 : 1;
	return a->step < b->step ? -1 : a->step > b->step;
}

/** Orders groups largest first, as Massif does. */
static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static size_t count_groups(const struct rest *rests, size_t count)
{
	size_t groups = 0;

	for (size_t i = 0; i < count; i++)
		if (rests[i].step && (!i || rests[i].location != rests[i - 1].location))
			groups++;
	return groups;
}

/** Groups the stacks that have not ended by their next location; `*ret` is the caller's. */
static struct hawk_error *make_groups(struct rest *rests, size_t count, struct group **ret,
				      size_t *group_count)
{
	size_t last = SIZE_MAX;

	qsort(rests, count, sizeof(*rests), compare_rests);
	*group_count = count_groups(rests, count);
	*ret = calloc(*group_count + 1, sizeof(**ret));
	if (!*ret)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++) {
		struct group *group;

		if (!rests[i].step)
			continue;
		if (!i || rests[i].location != rests[i - 1].location)
			(*ret)[++last].first = &rests[i];
		group = &(*ret)[last];
		group->count++;
		group->bytes = hawk_profile_plus(group->bytes, rests[i].bytes);
	}
	qsort(*ret, *group_count, sizeof(**ret), compare_groups);
	return NULL;
}

static bool put_line(struct writer *writer, size_t depth, size_t children, int64_t bytes,
		     uint32_t location, uint32_t frame)
{
	hawk_text_clear(&writer->text);
	hawk_export_append_valgrind_frame(writer->profile, location, frame, &writer->text);
	hawk_output_fill(writer->output, ' ', depth);
	hawk_output_printf(writer->output, "n%zu: %" PRId64 " ", children, bytes);
	hawk_output_append(writer->output, writer->text.bytes, writer->text.size);
	hawk_output_puts(writer->output, "\n");
	return !writer->text.failed;
}

/** Writes the functions at one location, each below the one inlined into it; the last has
 * `children`. Adds their number to `*depth`. */
static bool put_location(struct writer *writer, size_t *depth, size_t children, int64_t bytes,
			 uint32_t location)
{
	uint32_t count = writer->profile->locations[location].count;

	for (uint32_t i = 0; i < count; i++, ++*depth)
		if (!put_line(writer, *depth, i + 1 < count ? 1 : children, bytes, location, i))
			return false;
	return true;
}

/** Writes a group. Recurses as deep as stacks are: HAWK_TRACE_DEPTH_MAX, and scopes. */
static struct hawk_error *put_group(struct writer *writer, size_t depth, const struct group *group)
{
	uint32_t location = group->first->location;
	CLEANUP(free_ptr) struct group *groups = NULL;
	struct hawk_error *err;
	size_t count;

	for (size_t i = 0; i < group->count; i++) {
		struct rest *rest = &group->first[i];

		rest->step = writer->profile->steps[rest->step].parent;
		rest->location = writer->profile->steps[rest->step].location;
	}
	err = make_groups(group->first, group->count, &groups, &count);
	if (!err && !put_location(writer, &depth, count, group->bytes, location))
		err = &hawk_enomem;
	for (size_t i = 0; i < count && !err; i++)
		err = put_group(writer, depth, &groups[i]);
	return err;
}

/** Returns the bytes of headers and allocator overhead, if all live memory is written. */
static uint64_t extra_bytes(const struct hawk_export *export)
{
	const struct hawk_accounting *accounting = &export->heap->accounting;

	if (export->filtered ||
	    export->column != hawk_profile_column(export->profile, "inuse_space"))
		return 0;
	return accounting->header_bytes + accounting->overhead_bytes;
}

static void put_head(const struct writer *writer, const struct hawk_export *export, int64_t bytes)
{
	CLEANUP(text) struct hawk_text command = {0};

	hawk_utf8_append_safe(&command, export->process->program);
	hawk_output_printf(writer->output,
			   "desc: hawk-core: %s memory\n"
			   "cmd: %s\n"
			   "time_unit: ms\n"
			   "#-----------\n"
			   "snapshot=0\n"
			   "#-----------\n"
			   "time=%" PRIu64 "\n"
			   "mem_heap_B=%" PRId64 "\n"
			   "mem_heap_extra_B=%" PRIu64 "\n"
			   "mem_stacks_B=0\n"
			   "heap_tree=peak\n",
			   export->profile->what, hawk_text_string(&command),
			   export->life_ns / NS_PER_MS, bytes, extra_bytes(export));
}

static struct hawk_error *put_tree(struct writer *writer, const struct hawk_export *export,
				   struct rest *rests, size_t count)
{
	CLEANUP(free_ptr) struct group *groups = NULL;
	size_t group_count;
	struct hawk_error *err = make_groups(rests, count, &groups, &group_count);
	int64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes = hawk_profile_plus(bytes, rests[i].bytes);
	put_head(writer, export, bytes);
	hawk_output_printf(writer->output,
			   "n%zu: %" PRId64 " (heap allocation functions) malloc/new/new[], "
			   "--alloc-fns, etc.\n",
			   err ? 0 : group_count, bytes);
	for (size_t i = 0; !err && i < group_count; i++)
		err = put_group(writer, 1, &groups[i]);
	return err;
}

struct hawk_error *hawk_export_massif(const struct hawk_export *export, struct hawk_output *output)
{
	const struct hawk_profile *profile = export->profile;
	struct writer writer = {.profile = profile, .output = output};
	CLEANUP(free_ptr) struct rest *rests = calloc(profile->step_count, sizeof(*rests));
	CLEANUP(free_ptr) int64_t *flat = NULL;
	struct hawk_error *err = hawk_profile_sums(profile, export->column, &flat, NULL);
	size_t count = 0;

	if (err || !rests)
		return &hawk_enomem;
	for (uint32_t step = 1; step < profile->step_count; step++)
		if (flat[step] > 0)
			rests[count++] =
				(struct rest){profile->steps[step].location, step, flat[step]};
	err = put_tree(&writer, export, rests, count);
	hawk_text_deinit(&writer.text);
	return err;
}
