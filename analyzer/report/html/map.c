/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The memory map for the page: what each mapping is used for, and how much of it is resident, which
 * leaves out address space that was only reserved.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/heap/touched.h"
#include "hawk/report/html.h"

/** Upper limit on rows: more would be too small to see. */
enum { MAP_ROWS = 400, TRACER = HAWK_HEAP_SOURCES_MAX };

struct hawk_html_use {
	uint64_t resident_bytes;
	/** The largest, if such spans have most of the row's memory; NULL = no allocator's. */
	const struct hawk_heap_span *span;
};

static struct hawk_error *find_use(const struct hawk_target *target,
				   const struct hawk_heap *allocators,
				   const struct hawk_map_row *row, struct hawk_html_use *ret)
{
	const struct hawk_heap_spans *spans = &allocators->spans;
	uint64_t most = 0, claimed = 0;

	for (size_t i = hawk_heap_spans_from(spans, row->start);
	     i < spans->count && spans->items[i].start < row->end; i++) {
		const struct hawk_heap_span *span = &spans->items[i];

		if (span->kind == HAWK_SPAN_UNDUMPED)
			continue;
		claimed += span->end - span->start;
		if (span->end - span->start > most) {
			most = span->end - span->start;
			ret->span = span;
		}
	}
	if (claimed * 2 < row->present_bytes)
		ret->span = NULL; // an arena's head in the C library's data
	return hawk_heap_touched(target, row->start, row->end, &ret->resident_bytes);
}

struct hawk_error *hawk_html_map_make(const struct hawk_target *target,
				      const struct hawk_heap *allocators, struct hawk_html_map *ret)
{
	struct hawk_error *err = hawk_memory_map_make(target, MAP_ROWS, &ret->map);

	if (err)
		return err;
	ret->allocators = allocators;
	ret->resident_known = !hawk_target_snapshot(target);
	ret->uses = calloc(ret->map.count + 1, sizeof(*ret->uses));
	if (!ret->uses)
		return &hawk_enomem;
	for (size_t i = 0; i < ret->map.count && !err; i++)
		err = find_use(target, allocators, &ret->map.rows[i], &ret->uses[i]);
	return err;
}

void hawk_html_map_deinit(struct hawk_html_map *map)
{
	free(map->uses);
	hawk_memory_map_deinit(&map->map);
}

/** Returns true for the tracer's memory: its own source below a traced heap, else what no allocator
 * calls metadata. */
static bool is_tracers(const struct hawk_heap *allocators, const struct hawk_heap_span *span)
{
	struct hawk_allocator allocator;

	if (span->source == TRACER || span->kind != HAWK_SPAN_METADATA)
		return span->source == TRACER;
	return span->source >= allocators->found_count ||
	       !hawk_allocator_describe(&allocators->found[span->source], &allocator);
}

/** Appends "glibc main arena", "jemalloc arena 3", "mimalloc" or "heap". */
static void append_arena(struct hawk_text *text, const struct hawk_heap *allocators,
			 const struct hawk_heap_span *span)
{
	const struct hawk_heap_found *found =
		span->source < allocators->found_count ? &allocators->found[span->source] : NULL;
	struct hawk_allocator allocator;
	struct hawk_allocator_arena arena;

	if (!found || !hawk_allocator_describe(found, &allocator)) {
		hawk_text_puts(text, "heap");
		return;
	}
	hawk_text_puts(text, allocator.name);
	if (!hawk_allocator_arena(found, span->owner, &arena))
		return;
	if (arena.is_main)
		hawk_text_puts(text, " main arena");
	else
		hawk_text_printf(text, " arena %u", span->owner);
}

static void put_use(const struct hawk_html_map *map, size_t i, struct hawk_json *json)
{
	const struct hawk_map_row *row = &map->map.rows[i];
	const struct hawk_heap_span *span = map->uses[i].span;
	CLEANUP(text) struct hawk_text arena = {0};
	const char *use = "other";

	if (span && is_tracers(map->allocators, span)) {
		use = "tracer";
	} else if (span) {
		use = "heap";
		append_arena(&arena, map->allocators, span);
	} else if (row->stack) {
		use = "stack";
	} else if (row->path) {
		use = "file";
	}
	hawk_json_put_string(json, "use", use);
	hawk_json_put_string(json, "arena", arena.bytes);
	hawk_json_put_integer_if(json, "resident_bytes", map->resident_known,
				 map->uses[i].resident_bytes);
}

static void put_row(const struct hawk_html_map *map, size_t i, struct hawk_json *json)
{
	const struct hawk_map_row *row = &map->map.rows[i];
	char rights[] = {row->flags & HAWK_MAPPING_READ ? 'r' : '-',
			 row->flags & HAWK_MAPPING_WRITE ? 'w' : '-',
			 row->flags & HAWK_MAPPING_EXEC ? 'x' : '-', '\0'};

	hawk_json_object(json);
	hawk_json_put_address(json, "start", row->start);
	hawk_json_put_address(json, "end", row->end);
	hawk_json_put_integer(json, "bytes", row->bytes);
	hawk_json_put_integer(json, "present_bytes", row->present_bytes);
	put_use(map, i, json);
	hawk_json_put_string(json, "rights", row->mixed ? NULL : rights);
	hawk_json_put_string(json, "path", row->vdso ? "[vdso]" : row->path);
	hawk_json_put_integer_if(json, "stack_of", row->stack, row->stack ? row->stack->tid : 0);
	hawk_json_object_end(json);
}

void hawk_html_put_map(const struct hawk_html_map *map, struct hawk_json *json)
{
	hawk_json_put_array(json, "mappings");
	for (size_t i = 0; i < map->map.count; i++)
		put_row(map, i, json);
	hawk_json_array_end(json);
	hawk_json_put_integer(json, "mappings_left_out_bytes", map->map.left_out_bytes);
}
