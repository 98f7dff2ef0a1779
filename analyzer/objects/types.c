/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of types, found by id.
 */
#include "hawk/objects/types.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "layouts.h"
#include "stages.h"

enum { SLOTS_MIN = 64 };

uint64_t hawk_type_id(const char *name)
{
	return XXH3_64bits(name, strlen(name));
}

const char *hawk_type_origin_name(enum hawk_type_origin origin)
{
	static const char *const names[] = {
		[HAWK_TYPE_ANNOTATION] = "annotation",
		[HAWK_TYPE_GUEST] = "guest",
		[HAWK_TYPE_VTABLE] = "vtable",
		[HAWK_TYPE_COROUTINE] = "coroutine",
		[HAWK_TYPE_DWARF] = "dwarf",
		[HAWK_TYPE_CONTAINER] = "container",
		[HAWK_TYPE_INTERNAL] = "internal",
		[HAWK_TYPE_SHAPE] = "shape",
		[HAWK_TYPE_SIZE] = "size",
		[HAWK_TYPE_NONE] = "none",
	};

	return names[origin];
}

/* Returns the slot of the type, or the free one where it belongs. */
static uint32_t *find_slot(const struct hawk_types *types, uint64_t id, bool is_guess)
{
	size_t at = (size_t)id;

	for (;; at++) {
		uint32_t *slot = &types->slots[at & (types->slot_count - 1)];
		const struct hawk_type *item = &types->items[*slot];

		if (!*slot || (item->id == id && item->is_guess == is_guess))
			return slot;
	}
}

/* Keeps the hash table half empty. */
static bool make_room(struct hawk_types *types)
{
	uint32_t *before = types->slots;

	if (types->slot_count > 2 * types->count)
		return true;
	types->slots = calloc(types->slot_count ? 2 * types->slot_count : SLOTS_MIN,
			      sizeof(*types->slots));
	if (!types->slots) {
		types->slots = before;
		return false;
	}
	types->slot_count = types->slot_count ? 2 * types->slot_count : SLOTS_MIN;
	free(before);
	for (uint32_t i = 1; i < types->count; i++)
		*find_slot(types, types->items[i].id, types->items[i].is_guess) = i;
	return true;
}

struct hawk_error *hawk_types_add(struct hawk_types *types, const struct hawk_type *type,
				  uint32_t *ret)
{
	uint32_t *slot;

	if (!make_room(types) || !hawk_array_reserve(&types->items, types->count, &types->capacity,
						     sizeof(*types->items)))
		return &hawk_enomem;
	slot = find_slot(types, type->id, type->is_guess);
	if (!*slot) {
		*slot = (uint32_t)types->count;
		types->items[types->count++] = *type;
	}
	*ret = *slot;
	return NULL;
}

struct hawk_error *hawk_types_make(const struct hawk_heap *heap, struct hawk_block_types *names,
				   struct hawk_symbols *symbols, const struct hawk_types_wish *wish,
				   struct hawk_types *ret)
{
	struct hawk_types types = {.heap = heap, .flows = wish->flows, .folds = wish->folds};
	struct hawk_error *err = NULL;

	types.of_block = calloc((size_t)heap->index.count + 1, sizeof(*types.of_block));
	if (!types.of_block ||
	    !hawk_array_reserve(&types.items, 0, &types.capacity, sizeof(*types.items)))
		err = &hawk_enomem;
	else
		types.items[types.count++] = (struct hawk_type){.origin = HAWK_TYPE_NONE};
	if (!err)
		err = hawk_types_from_heap(&types, names, symbols, wish);
	if (!err && wish->flows)
		err = hawk_types_from_dwarf(&types, symbols, wish);
	if (err)
		hawk_types_deinit(&types);
	else
		*ret = types;
	return err;
}

/* Returns the name of a type that flowed, with "?" if it is a guess; NULL = another type. */
static const char *flow_name(const struct hawk_type *type, struct hawk_symbols *symbols)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (type->origin != HAWK_TYPE_DWARF && type->origin != HAWK_TYPE_CONTAINER)
		return NULL;
	if (!type->is_guess)
		return type->name;
	hawk_text_printf(&text, "%s?", type->name);
	return hawk_symbols_intern(symbols, hawk_text_string(&text));
}

struct hawk_error *hawk_types_name_blocks(const struct hawk_types *types,
					  struct hawk_symbols *symbols, struct hawk_heap *heap)
{
	CLEANUP(free_ptr) const char **names = calloc(types->count, sizeof(*names));

	if (!names)
		return &hawk_enomem;
	for (uint32_t i = 0; i < types->count; i++)
		names[i] = flow_name(hawk_types_at(types, i), symbols);
	return hawk_heap_name_types(heap, &(struct hawk_type_names){.names = names,
								    .count = (uint32_t)types->count,
								    .of_block = types->of_block});
}

bool hawk_types_append_member(const struct hawk_types *types, uint32_t holder, uint32_t block,
			      uint64_t offset, struct hawk_text *text)
{
	const struct hawk_type *type = hawk_types_at(types, hawk_types_of(types, block));
	const struct hawk_layout *layout;

	if (type->origin == HAWK_TYPE_GUEST)
		return hawk_guests_append_member(types->heap, holder, block, offset, text);
	if (!type->layout)
		return false;
	layout = &types->layouts->items[type->layout];
	if (type->several && !layout->is_node) {
		hawk_text_printf(text, "[%" PRIu64 "]", offset / layout->bytes);
		offset %= layout->bytes;
	}
	if (layout->is_node)
		hawk_text_puts(text, "[...]");
	if (layout->type && offset >= layout->type_at)
		hawk_dwarf_append_path(types->layouts->symbols, layout->type,
				       offset - layout->type_at, text);
	hawk_text_puts(text, type->is_guess ? "?" : "");
	return true;
}

void hawk_types_deinit(struct hawk_types *types)
{
	if (types->layouts)
		hawk_layouts_deinit(types->layouts);
	free(types->layouts);
	free(types->of_block);
	free(types->items);
	free(types->slots);
	*types = (struct hawk_types){0};
}
