/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Moves blocks without a stack from classes of sizes to classes of types, after a heap was loaded.
 * Each source's blocks get classes of their own, which share what is known of its blocks; sites of
 * equal types are one.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/heap/heap.h"
#include "hawk/heap/vtables.h"
#include "hawk/symbols/dwarf_types.h"
#include "hawk/symbols/imports.h"
#include "site_id.h"
#include "site_map.h"

/** Types of the blocks of one source. */
struct move {
	struct hawk_heap *heap;
	const struct hawk_type_names *types;
	const char **names; /**< copies, which the heap owns */
	uint32_t *classes;  /**< number of the class by type; 0 = none */
	uint32_t *sites;    /**< place of the site by type; UINT32_MAX = not asked */
};

bool hawk_heap_has_libstdcxx(struct hawk_symbols *symbols, const struct hawk_target *target)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);

	for (size_t i = 0; i < count; i++)
		if (strstr(modules[i].path, "/libstdc++.so"))
			return !hawk_symbols_never_import(symbols, "_Znwm");
	return false;
}

bool hawk_heap_types_flow(const struct hawk_vtables *vtables)
{
	return hawk_heap_has_libstdcxx(vtables->symbols, vtables->target) ||
	       hawk_dwarf_is_there(vtables->symbols);
}

/* Returns false if the class of a block tells more than its type. */
static bool is_movable(const struct hawk_heap *heap, uint32_t trace)
{
	const struct hawk_class *class = hawk_heap_class(heap, trace);

	return class && (class->kind == HAWK_CLASS_SIZE || class->kind == HAWK_CLASS_RANGE);
}

static struct hawk_error *copy_names(struct move *move)
{
	const struct hawk_type_names *types = move->types;
	size_t bytes = 1;
	char *at;

	for (uint32_t i = 0; i < types->count; i++)
		bytes += types->names[i] ? strlen(types->names[i]) + 1 : 0;
	move->heap->type_names = at = malloc(bytes);
	if (!at)
		return &hawk_enomem;
	for (uint32_t i = 0; i < types->count; i++)
		if (types->names[i]) {
			move->names[i] = at;
			at = stpcpy(at, types->names[i]) + 1;
		}
	return NULL;
}

/* Finds or adds the site of a class. */
static struct hawk_error *add_site(struct hawk_heap *heap, uint32_t trace, uint32_t *ret)
{
	uint64_t id = hawk_site_class_id(heap->target, &heap->classes[trace - heap->class_first]);
	struct hawk_site *moved;

	for (*ret = 0; *ret < heap->site_count; ++*ret)
		if (heap->sites[*ret].id == id)
			return NULL;
	moved = reallocarray(heap->sites, heap->site_count + 1, sizeof(*moved));
	if (!moved)
		return &hawk_enomem;
	heap->sites = moved;
	heap->sites[heap->site_count++] =
		(struct hawk_site){.id = id, .trace = trace, .oldest_units = UINT64_MAX};
	return NULL;
}

static struct hawk_error *add_class(struct move *move, uint32_t type)
{
	struct hawk_heap *heap = move->heap;
	uint32_t trace = heap->trace_count;
	struct hawk_class *classes = reallocarray(
		heap->classes, (size_t)trace - heap->class_first + 1, sizeof(*classes));
	uint32_t *site_of_trace;
	struct hawk_error *err;

	if (!classes)
		return &hawk_enomem;
	heap->classes = classes;
	site_of_trace =
		reallocarray(heap->site_of_trace, (size_t)trace + 1, sizeof(*site_of_trace));
	if (!site_of_trace)
		return &hawk_enomem;
	heap->site_of_trace = site_of_trace;
	classes[trace - heap->class_first] =
		(struct hawk_class){.kind = HAWK_CLASS_FLOW, .name = move->names[type]};
	if (move->sites[type] == UINT32_MAX) {
		err = add_site(heap, trace, &move->sites[type]);
		if (err)
			return err;
	}
	site_of_trace[trace] = move->sites[type];
	move->classes[type] = heap->trace_count++;
	return NULL;
}

static struct hawk_error *move_block(struct move *move, uint32_t block, uint32_t type)
{
	struct hawk_heap *heap = move->heap;
	struct hawk_site *from = &heap->sites[heap->site_of_trace[heap->index.traces[block]]], *to;
	uint64_t bytes = hawk_block_size(&heap->index, block);
	size_t place = (size_t)(from - heap->sites);
	struct hawk_error *err = NULL;

	if (!move->classes[type])
		err = add_class(move, type);
	if (err)
		return err;
	from = &heap->sites[place];
	to = &heap->sites[move->sites[type]];
	from->inuse_objects--;
	from->inuse_bytes -= bytes;
	to->inuse_objects++;
	to->inuse_bytes += bytes;
	heap->index.traces[block] = move->classes[type];
	return NULL;
}

/* Moves the blocks with numbers of classes from `first` on, below `end`. */
static struct hawk_error *move_source(struct move *move, uint32_t first, uint32_t end)
{
	struct hawk_heap *heap = move->heap;
	struct hawk_error *err = NULL;

	memset(move->classes, 0, move->types->count * sizeof(*move->classes));
	for (uint32_t i = 0; !err && i < heap->index.count; i++) {
		uint32_t trace = heap->index.traces[i], type = move->types->of_block[i];

		if (move->names[type] && trace >= first && trace < end && is_movable(heap, trace))
			err = move_block(move, i, type);
	}
	return err;
}

static struct hawk_error *move_all(struct move *move)
{
	struct hawk_heap *heap = move->heap;
	unsigned count = heap->origin_count;
	uint32_t first = 0;
	struct hawk_error *err = NULL;

	for (unsigned i = 0; !err && i < count; i++) {
		struct hawk_heap_origin origin = heap->origins[i];
		uint32_t before = heap->trace_count;

		if (heap->origin_count == HAWK_HEAP_SOURCES_MAX)
			break;
		err = move_source(move, first, origin.end);
		first = origin.end;
		origin.end = heap->trace_count;
		if (origin.end > before)
			heap->origins[heap->origin_count++] = origin;
	}
	return err;
}

struct hawk_error *hawk_heap_name_types(struct hawk_heap *heap, const struct hawk_type_names *types)
{
	size_t count = (size_t)types->count + 1;
	struct hawk_error *err;

	CLEANUP(free_ptr) const char **names = calloc(count, sizeof(*names));
	CLEANUP(free_ptr) uint32_t *classes = calloc(count, sizeof(*classes));
	CLEANUP(free_ptr) uint32_t *sites = malloc(count * sizeof(*sites));
	struct move move = {
		.heap = heap, .types = types, .names = names, .classes = classes, .sites = sites};

	if (!names || !classes || !sites)
		return &hawk_enomem;
	memset(sites, 0xff, count * sizeof(*sites));
	err = copy_names(&move);
	if (!err)
		err = move_all(&move);
	return err ? err : hawk_site_map_finish(heap);
}
