/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Asks sources for heaps, and numbers what their blocks have: traces first, then classes.
 */
#include "hawk/base/quantity.h"
#include "hawk/symbols/imports.h"
#include "guest.h"
#include "heaps.h"
#include "load_blocks.h"
#include "snapshot.h"
#include "native.h"
#include "unknown.h"
#include "unread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Blocks with stacks come first. */
static const struct hawk_heap_source *const traced_sources[] = {&hawk_heap_sealed};
/* glibc's comes after those that use sbrk(): a walk of its chunks could go astray in their memory.
 */
static const struct hawk_heap_source *const untraced_sources[] = {
	&hawk_heap_java,     &hawk_heap_musl,  &hawk_heap_mimalloc, &hawk_heap_jemalloc,
	&hawk_heap_tcmalloc, &hawk_heap_glibc, &hawk_heap_pymalloc,
};
static const struct hawk_heap_source *const snapshot_sources[] = {&hawk_heap_snapshot};

static void report_discarded(const struct hawk_table_header *header, struct hawk_findings *findings)
{
	static const char outcome[] = "blocks that lay there still count as live and look lost, so "
				      "nothing is called lost";
	unsigned long long times = header->discarded_heaps;

	if (times == 1)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "heaps-discarded",
				  "an arena of the allocator was reset or destroyed: until its "
				  "memory is used again, %s",
				  outcome);
	else if (times)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "heaps-discarded",
				  "arenas of the allocator were reset or destroyed %llu times: "
				  "until their memory is used again, %s",
				  times, outcome);
}

/* Takes over the values that only the tracer's table has. */
static void use_table(struct hawk_heap *heap, struct hawk_table *table,
		      struct hawk_findings *findings)
{
	const struct hawk_table_header *header = hawk_table_header(table);

	heap->table = table;
	heap->totals = hawk_table_totals(table);
	heap->dropped_objects = header->dropped_objects;
	heap->dropped_bytes = header->dropped_bytes;
	heap->discarded_heaps = header->discarded_heaps;
	heap->sample_mean = hawk_table_sample_mean(table);
	heap->life = hawk_life_find(header, &hawk_target_process(heap->target)->end);
	report_discarded(header, findings);
}

/* Asks for the classes from number `first` on, which are no traces. */
static struct hawk_error *make_classes(const struct hawk_heap_found *found, uint32_t first,
				       struct hawk_heap *heap)
{
	size_t count = heap->trace_count - heap->class_first;
	void *moved = reallocarray(heap->classes, count + 1, sizeof(*heap->classes));

	if (!moved)
		return &hawk_enomem;
	heap->classes = moved;
	for (uint32_t i = first; i < heap->trace_count; i++) {
		struct hawk_class class = {0};

		if (i < heap->class_first)
			continue;
		if (i > first && found->source->class)
			found->source->class(found, i - first, &class);
		heap->classes[i - heap->class_first] = class;
	}
	return NULL;
}

/* Gives the classes found their own numbers; a snapshot's keep those of the saved heap. */
static struct hawk_error *add_origins(struct hawk_heap_found *found, struct hawk_heap *heap)
{
	uint32_t first = heap->trace_count;
	struct hawk_heap_origin own = {.name = found->source->name,
				       .knows = found->knows,
				       .rounds_to_16 = found->rounds_to_16};
	const struct hawk_heap_origin *origins = found->origin_count ? found->origins : &own;
	unsigned count = found->origin_count ? found->origin_count : 1;

	if (!found->class_count) /* number 0 always exists */
		found->class_count = 1;
	if (found->class_count > UINT32_MAX - 1 - first)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "there are too many classes");
	own.end = heap->trace_count = first + found->class_count;
	for (unsigned i = 0; i < count; i++)
		heap->origins[heap->origin_count++] = origins[i];
	if (origins[0].knows & HAWK_HEAP_STACKS) {
		assert(!first);
		heap->class_first = origins[0].end;
	}
	return make_classes(found, first, heap);
}

static struct hawk_error *add_found(struct hawk_findings *findings, struct hawk_heap *heap)
{
	struct hawk_heap_found *found = &heap->found[heap->found_count++];
	struct hawk_error *err = NULL;

	if (found->table)
		use_table(heap, found->table, findings);
	heap->knows |= found->knows;
	heap->undumped_known |= found->undumped_known;
	for (size_t i = 0; i < found->spans.count && !err; i++) {
		if (!found->origin_count)
			found->spans.items[i].source = (uint8_t)(heap->found_count - 1);
		err = hawk_heap_spans_add(&heap->spans, found->spans.items[i]);
	}
	hawk_heap_spans_deinit(&found->spans);
	if (!err)
		err = hawk_heap_spans_sort(&heap->spans);
	return err ? err : add_origins(found, heap);
}

static void forget(struct hawk_heap_found *found)
{
	if (found->source->forget)
		found->source->forget(found);
	hawk_heap_spans_deinit(&found->spans);
}

/* Looks for the source's heap, and takes over what is known before any block. */
static struct hawk_error *find(const struct hawk_heap_source *source,
			       const struct hawk_heap_wish *wish, struct hawk_findings *findings,
			       struct hawk_heap *heap)
{
	struct hawk_heap_found *found = &heap->found[heap->found_count];
	const struct hawk_heap_search search = {
		.target = heap->target,
		.findings = findings,
		.damages = &heap->damages,
		.claimed = &heap->spans,
		.vtables = wish->vtables,
		.wants_java = wish->guests & HAWK_GUEST_JAVA,
	};
	bool is_there = false;
	struct hawk_error *err;

	*found = (struct hawk_heap_found){.source = source, .target = heap->target};
	err = source->find(&search, found, &is_there);
	if (!err && is_there)
		return add_found(findings, heap);
	hawk_table_close(found->table);
	forget(found);
	return err;
}

/* Returns true if guests' blocks, which the tracer does not see, are wanted beside traced ones.
 * Samples estimate only what the tracer saw. */
static bool wants_guests(const struct hawk_heap_wish *wish, const struct hawk_heap *heap)
{
	const unsigned knows = HAWK_HEAP_HEADERS | HAWK_HEAP_CONTENTS;

	return !wish->traced_only && (heap->knows & knows) == knows && !heap->sample_mean;
}

static struct hawk_error *load_from(const struct hawk_heap_source *const *sources, size_t count,
				    const struct hawk_heap_wish *wish, struct hawk_target *target,
				    struct hawk_findings *findings, struct hawk_heap *ret)
{
	struct hawk_heap heap = {.target = target, .blocks_max = wish->blocks_max};
	struct hawk_error *err = NULL;

	assert(count <= HAWK_HEAP_SOURCES_MAX);
	for (size_t i = 0; i < count && !err; i++)
		err = find(sources[i], wish, findings, &heap);
	if (!err && wants_guests(wish, &heap))
		err = find(&hawk_heap_pymalloc, wish, findings, &heap);
	if (!err && wants_guests(wish, &heap))
		err = find(&hawk_heap_java, wish, findings, &heap);
	if (!err && heap.knows & HAWK_HEAP_CONTENTS)
		err = hawk_guests_find(wish, findings, &heap);
	else if (!err && hawk_target_snapshot(target))
		err = hawk_heap_allocators_read(findings, &heap);
	if (!err)
		err = hawk_heap_load_found(findings, &heap);
	if (err)
		hawk_heap_deinit(&heap);
	else
		*ret = heap;
	return err;
}

struct hawk_error *hawk_heap_load_from(const struct hawk_heap_source *const *sources, size_t count,
				       struct hawk_target *target, struct hawk_findings *findings,
				       struct hawk_heap *ret)
{
	const struct hawk_heap_wish all = {.guests = HAWK_GUESTS_ALL,
					   .blocks_max = HAWK_BLOCKS_MAX};

	return load_from(sources, count, &all, target, findings, ret);
}

/* Returns true if the process was traced. Its blocks are those that the tracer knows, even if its
 * table is missing: pointers lead behind the tracer's headers in the allocator's chunks. */
static bool was_traced(const struct hawk_heap *heap)
{
	return heap->knows || heap->unknown == HAWK_HEAP_TABLE_UNREADABLE ||
	       hawk_heap_has_tracer(heap->target);
}

/* Returns true if a core lacks memory that was never written, or that is kept out of cores. */
static bool lacks_memory(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < count; i++)
		if (!(mappings[i].path && mappings[i].path[0]) &&
		    mappings[i].flags & HAWK_MAPPING_WRITE && !mappings[i].dumped_bytes &&
		    !mappings[i].present_bytes)
			return true;
	return false;
}

/* A program that cannot call madvise() keeps no memory out of cores. */
static bool keeps_none_out(const struct hawk_heap_wish *wish, const struct hawk_target *target)
{
	return wish->vtables && wish->vtables->symbols && lacks_memory(target) &&
	       hawk_symbols_never_import(wish->vtables->symbols, "madvise");
}

struct hawk_error *hawk_heap_load_as(const struct hawk_heap_wish *wish, struct hawk_target *target,
				     struct hawk_findings *findings, struct hawk_heap *ret)
{
	bool saved = hawk_target_snapshot(target);
	struct hawk_heap_wish untraced = *wish;
	struct hawk_error *err = load_from(saved ? snapshot_sources : traced_sources, 1, wish,
					   target, findings, ret);

	if (err || saved || wish->traced_only || was_traced(ret))
		return err;
	hawk_heap_deinit(ret);
	if (wish->typed_blocks_max > wish->blocks_max && hawk_heap_types_flow(wish->vtables))
		untraced.blocks_max = wish->typed_blocks_max;
	err = load_from(untraced_sources, sizeof(untraced_sources) / sizeof(untraced_sources[0]),
			&untraced, target, findings, ret);
	if (err)
		return err;
	ret->undumped_known = keeps_none_out(wish, target);
	err = hawk_heap_report_unread(ret, findings);
	if (err)
		hawk_heap_deinit(ret);
	return err;
}

struct hawk_error *hawk_heap_load(struct hawk_target *target, struct hawk_vtables *vtables,
				  struct hawk_findings *findings, struct hawk_heap *ret)
{
	const struct hawk_heap_wish all = {
		.vtables = vtables, .guests = HAWK_GUESTS_ALL, .blocks_max = HAWK_BLOCKS_MAX};

	return hawk_heap_load_as(&all, target, findings, ret);
}

struct hawk_error *hawk_heap_find_allocators(const struct hawk_heap *heap, struct hawk_heap *ret)
{
	const struct hawk_heap_wish no_types = {0};
	struct hawk_heap beside = {.target = heap->target};
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < heap->spans.count && !err; i++) {
		struct hawk_heap_span span = heap->spans.items[i];
		bool is_tracers = heap->origins[span.source].knows & HAWK_HEAP_STACKS;

		span.source = HAWK_HEAP_SOURCES_MAX;
		if (span.kind == HAWK_SPAN_METADATA && is_tracers)
			err = hawk_heap_spans_add(&beside.spans, span);
	}
	for (size_t i = 0; i < sizeof(untraced_sources) / sizeof(untraced_sources[0]) && !err; i++)
		err = find(untraced_sources[i], &no_types, NULL, &beside);
	if (err)
		hawk_heap_deinit(&beside);
	else
		*ret = beside;
	return err;
}

static struct hawk_error *keep_found(const struct hawk_heap *heap, hawk_keep_function *take,
				     void *context)
{
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < heap->found_count && !err; i++)
		if (heap->found[i].source->keep)
			err = heap->found[i].source->keep(heap, &heap->found[i], take, context);
	return err;
}

static struct hawk_error *keep_allocators(const struct hawk_heap *heap, hawk_keep_function *take,
					  void *context)
{
	struct hawk_heap allocators;
	struct hawk_error *err = hawk_heap_find_allocators(heap, &allocators);

	if (err)
		return err;
	err = keep_found(&allocators, take, context);
	hawk_heap_deinit(&allocators);
	return err;
}

struct hawk_error *hawk_heap_keep(const struct hawk_heap *heap, hawk_keep_function *take,
				  void *context)
{
	struct hawk_error *err = keep_found(heap, take, context);

	if (!err && heap->knows & HAWK_HEAP_HEADERS)
		err = keep_allocators(heap, take, context);
	return err ? err : hawk_heap_keep_heaps(heap, take, context);
}

void hawk_heap_deinit(struct hawk_heap *heap)
{
	for (unsigned i = 0; i < heap->found_count; i++)
		forget(&heap->found[i]);
	hawk_table_close(heap->table);
	hawk_heap_spans_deinit(&heap->spans);
	hawk_damages_deinit(&heap->damages);
	free(heap->classes);
	free(heap->saved_names);
	hawk_guests_deinit(&heap->guests);
	free(heap->sites);
	free(heap->site_of_trace);
	free(heap->type_names);
	free(heap->refusal);
	hawk_block_index_deinit(&heap->index);
	memset(heap, 0, sizeof(*heap));
}

double hawk_heap_age_seconds(const struct hawk_heap *heap, uint64_t birth_units)
{
	uint64_t now = heap->life.end_units;

	if (birth_units >= now)
		return 0;
	return (double)(now - birth_units) * ((double)HAWK_BIRTH_UNIT_NS / 1e9);
}
