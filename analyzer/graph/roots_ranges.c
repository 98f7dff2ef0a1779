/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ranges of roots: first the claims of threads and the tracer, then the rest of mappings.
 */
#include "roots_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/disjoint.h"
#include "hawk/heap/arenas.h"

struct hawk_error *hawk_roots_add_range(struct hawk_root_ranges *ranges,
					struct hawk_root_range range)
{
	range.start = (range.start + HAWK_WORD_BYTES - 1) & -(uint64_t)HAWK_WORD_BYTES;
	range.end &= -(uint64_t)HAWK_WORD_BYTES;
	if (range.start >= range.end)
		return NULL;
	if (!hawk_array_reserve(&ranges->items, ranges->count, &ranges->capacity,
				sizeof(*ranges->items)))
		return &hawk_enomem;
	ranges->items[ranges->count++] = range;
	return NULL;
}

struct hawk_error *hawk_roots_claim_nobodys(const struct hawk_roots_finder *finder, uint64_t start,
					    uint64_t end)
{
	return hawk_roots_add_range(
		finder->ranges,
		(struct hawk_root_range){.start = start, .end = end, .kind = HAWK_ROOT_KINDS});
}

/* Returns true for a module's memory that the loader made read-only after relocation (RELRO). It
 * lies right below what stayed writable. Module headers in the target say so (`data`). */
static bool is_relro(const struct hawk_mapping *mappings, size_t count, size_t i)
{
	const struct hawk_mapping *next = &mappings[i + 1];

	return i + 1 < count && !(mappings[i].flags & HAWK_MAPPING_EXEC) &&
	       next->start == mappings[i].end && next->flags & HAWK_MAPPING_WRITE && next->path &&
	       !strcmp(next->path, mappings[i].path);
}

static bool is_wanted(const struct hawk_mapping *mappings, size_t count, size_t i)
{
	const struct hawk_mapping *mapping = &mappings[i];

	if ((mapping->flags & HAWK_MAPPING_WRITE) || mapping->data || !mapping->path ||
	    !mapping->path[0])
		return true;
	return is_relro(mappings, count, i);
}

/* Returns true if a heap lies in the mapping. */
static bool is_heap(const struct hawk_roots_finder *finder, const struct hawk_mapping *mapping)
{
	const struct hawk_heap_spans *spans = &finder->heap->spans;

	for (size_t i = hawk_heap_spans_from(spans, mapping->start);
	     i < spans->count && spans->items[i].start < mapping->end; i++)
		if (hawk_span_is_heap(spans->items[i].kind))
			return true;
	return false;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_root_range *a = left;
	const struct hawk_root_range *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->owner < b->owner ? -1 : a->owner > b->owner;
}

/* Sorts the ranges; overlapping bytes go to the range that begins last. */
static struct hawk_error *make_disjoint(struct hawk_root_ranges *ranges)
{
	if (ranges->count)
		qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare);
	return hawk_disjoint_make(&ranges->items, &ranges->count, &ranges->capacity,
				  sizeof(*ranges->items))
		       ? NULL
		       : &hawk_enomem;
}

static struct hawk_error *exclude_metadata(const struct hawk_roots_finder *finder,
					   const struct hawk_heap_spans *spans)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < spans->count && !err; i++)
		if (spans->items[i].kind == HAWK_SPAN_METADATA)
			err = hawk_roots_claim_nobodys(finder, spans->items[i].start,
						       spans->items[i].end);
	return err;
}

/* Excludes lists of free chunks below the tracer's blocks. */
static struct hawk_error *exclude_arenas(const struct hawk_roots_finder *finder)
{
	struct hawk_heap_spans arenas = {0};
	struct hawk_error *err = NULL;

	if (finder->heap->table)
		err = hawk_heap_find_arenas(finder->heap->target, &arenas);
	if (!err)
		err = exclude_metadata(finder, &arenas);
	hawk_heap_spans_deinit(&arenas);
	return err;
}

/* Returns the end of an ended thread's descriptor; its thread-local storage is dead. */
static uint64_t end_of_descriptor(const struct hawk_roots_finder *finder,
				  const struct hawk_stack *stack)
{
	const struct hawk_arch *arch = hawk_target_arch(finder->heap->target);
	uint64_t head_end = stack->descriptor + finder->stacks.below + arch->tls_head_bytes;

	return arch->tls_variant == HAWK_TLS_BELOW || head_end > stack->end ? stack->end : head_end;
}

/* Excludes the stacks of ended threads. Their descriptors still hold vectors of thread-local
 * storage and the results for pthread_join(). */
static struct hawk_error *add_ended_stacks(const struct hawk_roots_finder *finder)
{
	const struct hawk_arch *arch = hawk_target_arch(finder->heap->target);
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->heap->target, &count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < finder->stacks.count; i++) {
		const struct hawk_stack *stack = &finder->stacks.items[i];
		const struct hawk_mapping *mapping =
			hawk_target_mapping_at(finder->heap->target, stack->descriptor);
		uint64_t end;

		if (!stack->ended || !mapping)
			continue;
		end = end_of_descriptor(finder, stack);
		err = hawk_roots_claim_nobodys(finder, stack->start, stack->descriptor);
		if (!err && end < stack->end)
			err = hawk_roots_claim_nobodys(finder, end, stack->end);
		if (!err)
			err = hawk_roots_add_range(
				finder->ranges,
				(struct hawk_root_range){
					.start = stack->descriptor,
					.end = end < mapping->end ? end : mapping->end,
					.kind = HAWK_ROOT_OTHER,
					.owner = (uint32_t)(mapping - mappings),
					.vector = hawk_tls_vector_of(
						arch, stack->descriptor + finder->stacks.below),
				});
	}
	return err;
}

static struct hawk_error *add_claims(const struct hawk_roots_finder *finder)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(finder->heap->target, &count);
	struct hawk_error *err;

	for (size_t i = 0; i < count; i++) {
		err = hawk_roots_add_stack(finder, &threads[i], (uint32_t)i);
		if (!err)
			err = hawk_roots_add_tls(finder, &threads[i], (uint32_t)i);
		if (err)
			return err;
	}
	err = exclude_metadata(finder, &finder->heap->spans);
	if (!err)
		err = exclude_arenas(finder);
	if (!err)
		err = add_ended_stacks(finder);
	return err ? err : make_disjoint(finder->ranges);
}

/* Returns the first claim that ends above `address`. Claims are the first `claims` ranges. */
static size_t first_claim(const struct hawk_root_ranges *ranges, size_t claims, uint64_t address)
{
	return hawk_array_first_above(ranges->items, claims, sizeof(*ranges->items),
				      offsetof(struct hawk_root_range, end), address);
}

static bool has_stack(const struct hawk_root_ranges *ranges, size_t claims,
		      const struct hawk_mapping *mapping)
{
	for (size_t i = first_claim(ranges, claims, mapping->start);
	     i < claims && ranges->items[i].start < mapping->end; i++)
		if (ranges->items[i].kind == HAWK_ROOT_STACK && !ranges->items[i].in_block)
			return true;
	return false;
}

/* Adds what the claims leave of [at, end). */
static struct hawk_error *add_rest(const struct hawk_roots_finder *finder, size_t claims,
				   uint64_t at, uint64_t end, uint32_t kind, uint32_t owner)
{
	struct hawk_root_ranges *ranges = finder->ranges;

	for (size_t i = first_claim(ranges, claims, at); i < claims && at < end; i++) {
		struct hawk_root_range claim = ranges->items[i];
		struct hawk_error *err;

		if (claim.start >= end)
			break;
		err = hawk_roots_add_range(ranges, (struct hawk_root_range){
							   .start = at,
							   .end = claim.start,
							   .kind = kind,
							   .owner = owner,
						   });
		if (err)
			return err;
		at = claim.end;
	}
	return hawk_roots_add_range(
		ranges,
		(struct hawk_root_range){.start = at, .end = end, .kind = kind, .owner = owner});
}

/* Adds from a mapping with heaps: memory that may hold blocks not found, and memory outside heaps.
 */
static struct hawk_error *add_around_heaps(const struct hawk_roots_finder *finder, size_t claims,
					   uint64_t at, uint64_t end, uint32_t owner)
{
	const struct hawk_heap_spans *spans = &finder->heap->spans;
	struct hawk_error *err = NULL;

	for (size_t i = hawk_heap_spans_from(spans, at);
	     !err && i < spans->count && spans->items[i].start < end; i++) {
		const struct hawk_heap_span *span = &spans->items[i];

		if (!hawk_span_is_heap(span->kind))
			continue;
		err = add_rest(finder, claims, at, span->start, HAWK_ROOT_OTHER, owner);
		at = span->start > at ? span->start : at;
		if (!err && span->kind == HAWK_SPAN_UNSOUND)
			err = add_rest(finder, claims, at, span->end < end ? span->end : end,
				       HAWK_ROOT_UNOWNED, owner);
		at = span->end;
	}
	return err ? err : add_rest(finder, claims, at, end, HAWK_ROOT_OTHER, owner);
}

static struct hawk_error *add_mapping(const struct hawk_roots_finder *finder, size_t claims,
				      const struct hawk_mapping *mapping, uint32_t owner)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(finder->heap->target, &count);
	const struct hawk_module *module =
		hawk_target_module_at(finder->heap->target, mapping->start);
	uint64_t at = mapping->start;
	bool heap;

	if (module) {
		hawk_roots_count_missing(finder, mapping, module, false, HAWK_ROOT_MODULE);
		return add_rest(finder, claims, at, mapping->end, HAWK_ROOT_MODULE,
				(uint32_t)(module - modules));
	}
	heap = is_heap(finder, mapping);
	hawk_roots_count_missing(finder, mapping, NULL, heap,
				 has_stack(finder->ranges, claims, mapping) ? HAWK_ROOT_STACK
									    : HAWK_ROOT_OTHER);
	if (heap)
		return add_around_heaps(finder, claims, at, mapping->end, owner);
	return add_rest(finder, claims, at, mapping->end, HAWK_ROOT_OTHER, owner);
}

static struct hawk_error *add_mappings(const struct hawk_roots_finder *finder)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->heap->target, &count);
	size_t claims = finder->ranges->count;
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		if (is_wanted(mappings, count, i))
			err = add_mapping(finder, claims, &mappings[i], (uint32_t)i);
	hawk_roots_count_undumped(finder);
	return err;
}

struct hawk_error *hawk_root_ranges_find(const struct hawk_heap *heap, struct hawk_root_ranges *ret)
{
	struct hawk_roots_finder finder = {
		.heap = heap,
		.ranges = ret,
		.unwritten_known = hawk_roots_knows_unwritten(heap),
	};
	struct hawk_error *err = hawk_stacks_find(heap->target, &finder.stacks);

	ret->stacks_incomplete = finder.stacks.incomplete;
	finder.tls_bytes = hawk_tls_static_bytes(heap->target);
	if (!err)
		err = add_claims(&finder);
	if (!err)
		err = add_mappings(&finder);
	hawk_stacks_deinit(&finder.stacks);
	return err ? err : make_disjoint(ret);
}
