/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Profiles of sites: live, allocated and lost memory, by stack.
 */
#include "hawk/profile/sources.h"

#include <inttypes.h>
#include <stdio.h>

#include "parts.h"

enum { ID_BYTES = 17 };

/** Columns of sites, in Go's order; a heap without counters has no allocations, and only one whose
 * stacks were sampled has errors. */
static const struct hawk_profile_column site_columns[] = {
	{"alloc_objects", "count"},       {"alloc_space", "bytes"},
	{"inuse_objects", "count"},       {"inuse_space", "bytes"},
	{"inuse_objects_error", "count"}, {"inuse_space_error", "bytes"},
};
enum { ALLOC_COLUMNS = 2, SITE_COLUMNS = 4, ERROR_COLUMNS = 2 };

/** Possibly lost memory has its own columns, so that the shown column equals the sum that every
 * verb calls lost.
 */
static const struct hawk_profile_column lost_columns[] = {
	{"lost_objects", "count"},
	{"lost_space", "bytes"},
	{"possibly_lost_objects", "count"},
	{"possibly_lost_space", "bytes"},
};
enum { LOST_SHOWN = 1, POSSIBLY_COLUMN = 2, LOST_COLUMNS = 4 };

struct maker {
	const struct hawk_heap *heap;
	struct hawk_symbols *symbols;
	const struct hawk_profile_style *style;
	struct hawk_profile *profile;
	struct hawk_stack stack;
};

static const char *innermost_scope(const struct hawk_heap *heap, uint32_t trace)
{
	uint32_t label = hawk_heap_scope(heap, trace);

	return label ? hawk_table_label(heap->table, label)->name : NULL;
}

/** Returns the step of the site's stack, and fills the site's labels. */
static uint32_t step_of(struct maker *maker, uint32_t number, struct hawk_profile_labels *labels)
{
	const struct hawk_site *site = &maker->heap->sites[number];
	struct hawk_profile *profile = maker->profile;
	char id[ID_BYTES];

	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	hawk_stack_of_blocks(maker->symbols, maker->heap, site->trace, &maker->stack);
	*labels = (struct hawk_profile_labels){
		.site = hawk_profile_string(profile, id),
		.type = hawk_profile_string(profile, maker->stack.type),
		.scope = hawk_profile_string(profile, innermost_scope(maker->heap, site->trace)),
	};
	if (!maker->stack.count)
		return hawk_profile_note(profile, 0, HAWK_PROFILE_NOTE,
					 hawk_site_no_stack(maker->heap, number));
	return hawk_profile_stack(profile, 0, &maker->stack,
				  maker->style->plumbing ? 0
							 : hawk_stack_telling_line(&maker->stack));
}

static void add_site(struct maker *maker, uint32_t number, unsigned skipped)
{
	const struct hawk_site *site = &maker->heap->sites[number];
	const int64_t values[SITE_COLUMNS + ERROR_COLUMNS] = {
		hawk_profile_value(site->alloc_objects),
		hawk_profile_value(site->alloc_bytes),
		hawk_profile_value(site->inuse_objects),
		hawk_profile_value(site->inuse_bytes),
		hawk_profile_value(site->sample.inuse_objects_error),
		hawk_profile_value(site->sample.inuse_bytes_error),
	};
	struct hawk_profile_labels labels;
	uint32_t step = step_of(maker, number, &labels);

	hawk_profile_add(maker->profile, step, &labels, values + skipped);
}

static int64_t lacking(uint64_t whole, int64_t have)
{
	int64_t value = hawk_profile_value(whole);

	return value > have ? value - have : 0;
}

/** Adds the difference of the exact totals to the estimates. If these are too high, adds
 * nothing. */
static void add_rest(struct maker *maker, unsigned skipped)
{
	const struct hawk_heap *heap = maker->heap;
	const uint64_t whole[SITE_COLUMNS] = {
		heap->totals.alloc_objects,
		heap->totals.alloc_bytes,
		heap->sums.blocks,
		heap->sums.bytes,
	};
	int64_t values[SITE_COLUMNS + ERROR_COLUMNS] = {0}, any = 0;

	for (uint32_t i = 0; i < SITE_COLUMNS - skipped; i++) {
		values[i] = lacking(whole[i + skipped], hawk_profile_total(maker->profile, i));
		any |= values[i];
	}
	if (any)
		hawk_profile_add(
			maker->profile,
			hawk_profile_note(maker->profile, 0, HAWK_PROFILE_NOTE, "(not sampled)"),
			NULL, values);
}

static struct hawk_error *finish(struct maker *maker, struct hawk_profile **ret)
{
	struct hawk_error *err = hawk_profile_finish(maker->profile);

	hawk_stack_deinit(&maker->stack);
	if (err)
		hawk_profile_destroy(maker->profile);
	else
		*ret = maker->profile;
	return err;
}

struct hawk_error *hawk_profile_of_sites(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					 const struct hawk_site_list *list, bool filtered,
					 const struct hawk_profile_style *style,
					 struct hawk_profile **ret)
{
	struct maker maker = {.heap = heap, .symbols = symbols, .style = style};
	unsigned skipped = heap->knows & HAWK_HEAP_COUNTERS ? 0 : ALLOC_COLUMNS;
	struct hawk_error *err =
		hawk_profile_create(site_columns + skipped, SITE_COLUMNS - skipped, &maker.profile);

	if (err)
		return err;
	maker.profile->what = "live";
	maker.profile->shown_column = SITE_COLUMNS - 1 - skipped;
	maker.profile->has_classes = !(heap->knows & HAWK_HEAP_STACKS);
	maker.profile->estimated = heap->sample_mean != 0;
	maker.profile->sample_mean = heap->sample_mean;
	hawk_profile_add_program(maker.profile, heap->target);
	for (size_t i = 0; i < list->count; i++)
		add_site(&maker, list->sites[i], skipped);
	if (heap->sample_mean && !filtered)
		add_rest(&maker, skipped);
	return finish(&maker, ret);
}

static const char *const kind_names[HAWK_REACH_KINDS] = {
	[HAWK_REACH_REACHABLE] = "still_reachable",
	[HAWK_REACH_POSSIBLY] = "possibly_lost",
	[HAWK_REACH_DEFINITELY_LOST] = "definitely_lost",
	[HAWK_REACH_INDIRECTLY_LOST] = "indirectly_lost",
};

static void add_record(struct maker *maker, const struct hawk_leak_record *record)
{
	unsigned column = record->kind == HAWK_REACH_POSSIBLY ? POSSIBLY_COLUMN : 0;
	int64_t values[LOST_COLUMNS] = {0};
	struct hawk_profile_labels labels = {0};
	uint32_t step = record->site < maker->heap->site_count
				? step_of(maker, record->site, &labels)
				: hawk_profile_note(maker->profile, 0, HAWK_PROFILE_NOTE,
						    hawk_site_no_stack(maker->heap, record->site));

	values[column] = hawk_profile_value(record->objects);
	values[column + 1] = hawk_profile_value(record->bytes);
	labels.kind = hawk_profile_string(maker->profile, kind_names[record->kind]);
	hawk_profile_add(maker->profile, step, &labels, values);
}

struct hawk_error *hawk_profile_of_leaks(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					 const struct hawk_leaks *leaks, const bool *chosen,
					 const struct hawk_profile_style *style,
					 struct hawk_profile **ret)
{
	struct maker maker = {.heap = heap, .symbols = symbols, .style = style};
	struct hawk_error *err = hawk_profile_create(lost_columns, LOST_COLUMNS, &maker.profile);

	if (err)
		return err;
	maker.profile->what = "lost";
	maker.profile->shown_column = LOST_SHOWN;
	hawk_profile_add_program(maker.profile, heap->target);
	for (size_t i = 0; i < leaks->count; i++)
		if (leaks->records[i].kind != HAWK_REACH_REACHABLE &&
		    (!chosen ||
		     (leaks->records[i].site < heap->site_count && chosen[leaks->records[i].site])))
			add_record(&maker, &leaks->records[i]);
	return finish(&maker, ret);
}
