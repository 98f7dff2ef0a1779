/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Flattens types: members of members become links of the whole. Unions and void * end it. A foreign
 * type may contain itself: depth and number of steps are bounded.
 */
#include "layouts.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"

enum {
	DEPTH_MAX = 32,
	LINKS_MAX = 20000, /**< of a layout */
	NAME_MAX_BYTES = 4096,
};

void hawk_layouts_deinit(struct hawk_layouts *layouts)
{
	for (size_t i = 0; i < layouts->count; i++)
		free(layouts->items[i].links);
	free(layouts->items);
	free(layouts->of_type);
	free(layouts->containers);
	*layouts = (struct hawk_layouts){0};
}

uint32_t hawk_layouts_add(struct hawk_layouts *layouts, const struct hawk_layout *layout)
{
	if (!hawk_array_reserve(&layouts->items, layouts->count, &layouts->capacity,
				sizeof(*layouts->items))) {
		layouts->failed = true;
		return 0;
	}
	if (!layouts->count)
		layouts->items[layouts->count++] = (struct hawk_layout){.has_links = true};
	layouts->items[layouts->count] = *layout;
	return (uint32_t)layouts->count++;
}

void hawk_layouts_add_link(struct hawk_layouts *layouts, uint32_t number,
			   const struct hawk_link *link)
{
	struct hawk_layout *layout = &layouts->items[number];

	if (layout->link_count >= LINKS_MAX)
		return;
	if (!hawk_array_reserve(&layout->links, layout->link_count, &layout->link_capacity,
				sizeof(*layout->links)))
		layouts->failed = true;
	else
		layout->links[layout->link_count++] = *link;
}

struct hawk_layout_numbers *hawk_layouts_numbers(struct hawk_layouts *layouts,
						 const struct hawk_dwarf_type *type)
{
	while (type->number >= layouts->type_capacity) {
		size_t before = layouts->type_capacity;

		if (!hawk_array_reserve(&layouts->of_type, before, &layouts->type_capacity,
					sizeof(*layouts->of_type))) {
			layouts->failed = true;
			return NULL;
		}
		memset(layouts->of_type + before, 0,
		       (layouts->type_capacity - before) * sizeof(*layouts->of_type));
	}
	return &layouts->of_type[type->number];
}

const char *hawk_layouts_name(struct hawk_layouts *layouts, const struct hawk_text *name)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (name->failed || !name->bytes || name->size > NAME_MAX_BYTES)
		return NULL;
	hawk_type_name_append(&text, name->bytes);
	return text.failed || !text.bytes ? NULL
					  : hawk_symbols_intern(layouts->symbols, text.bytes);
}

static const char *name_of(struct hawk_layouts *layouts, const struct hawk_dwarf_type *type)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_dwarf_append_name(layouts->symbols, type, &text);
	return hawk_layouts_name(layouts, &text);
}

/* Returns true if all members are pointers to the type itself, or to one that it derives from: the
 * links that other types begin with. */
static bool is_bare(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type)
{
	size_t count;
	const struct hawk_dwarf_member *members;

	if (type->kind != HAWK_DWARF_STRUCT)
		return true;
	members = hawk_dwarf_members(symbols, type, &count);
	for (size_t i = 0; i < count; i++)
		if (members[i].type->kind != HAWK_DWARF_POINTER ||
		    hawk_dwarf_target(symbols, members[i].type) != type)
			return false;
	return true;
}

uint32_t hawk_layouts_of(struct hawk_layouts *layouts, const struct hawk_dwarf_type *type)
{
	struct hawk_layout layout = {.type = type};
	struct hawk_layout_numbers *numbers = NULL;

	if (type && type->bytes)
		numbers = hawk_layouts_numbers(layouts, type);
	if (!numbers || numbers->layout)
		return numbers ? numbers->layout : 0;
	layout.name = name_of(layouts, type);
	layout.bytes = type->bytes;
	layout.is_bare = is_bare(layouts->symbols, type);
	numbers = hawk_layouts_numbers(layouts, type);
	if (layout.name && numbers)
		numbers->layout = hawk_layouts_add(layouts, &layout);
	return numbers ? numbers->layout : 0;
}

uint32_t hawk_layouts_container(struct hawk_layouts *layouts, const struct hawk_dwarf_type *type)
{
	struct hawk_layout_numbers *numbers = hawk_layouts_numbers(layouts, type);
	struct hawk_container container = {0};

	if (!numbers || numbers->container)
		return numbers ? numbers->container : 0;
	container.name = name_of(layouts, type);
	if (!container.name)
		return 0;
	if (!hawk_array_reserve(&layouts->containers, layouts->container_count + 1,
				&layouts->container_capacity, sizeof(*layouts->containers))) {
		layouts->failed = true;
		return 0;
	}
	if (!layouts->container_count)
		layouts->containers[layouts->container_count++] = (struct hawk_container){0};
	layouts->containers[layouts->container_count] = container;
	numbers->container = (uint32_t)layouts->container_count++;
	return numbers->container;
}

static bool is_byte(const struct hawk_dwarf_type *type)
{
	return type->kind == HAWK_DWARF_SCALAR && type->bytes == 1;
}

static void add_pointer(struct hawk_layouts *layouts, uint32_t layout,
			const struct hawk_dwarf_type *type, uint64_t offset)
{
	const struct hawk_dwarf_type *target = hawk_dwarf_target(layouts->symbols, type);
	struct hawk_link link = {.kind = HAWK_LINK_POINTER, .at = {offset}};

	if (!target || target->kind == HAWK_DWARF_OTHER)
		return;
	link.target = hawk_layouts_of(layouts, target);
	link.is_guess = is_byte(target);
	if (link.target)
		hawk_layouts_add_link(layouts, layout, &link);
}

static void add_array(struct hawk_layouts *layouts, uint32_t layout,
		      const struct hawk_dwarf_type *type, uint64_t offset)
{
	const struct hawk_dwarf_type *element = hawk_dwarf_target(layouts->symbols, type);
	struct hawk_link link = {.kind = HAWK_LINK_INLINE, .at = {offset}, .count = type->count};

	if (!element || element->kind == HAWK_DWARF_SCALAR)
		return;
	link.target = hawk_layouts_of(layouts, element);
	if (link.target && link.target != layout)
		hawk_layouts_add_link(layouts, layout, &link);
}

static void add_object(struct hawk_layouts *layouts, uint32_t layout,
		       const struct hawk_dwarf_type *type, uint64_t offset, int depth, int *steps)
{
	const struct hawk_dwarf_member *members;
	size_t count;

	if (depth > DEPTH_MAX || ++*steps > LINKS_MAX)
		return;
	switch (type->kind) {
	case HAWK_DWARF_POINTER:
		add_pointer(layouts, layout, type, offset);
		break;
	case HAWK_DWARF_ARRAY:
		add_array(layouts, layout, type, offset);
		break;
	case HAWK_DWARF_STRUCT:
		if (hawk_containers_add(layouts, layout, type, offset))
			break;
		members = hawk_dwarf_members(layouts->symbols, type, &count);
		for (size_t i = 0; i < count; i++)
			add_object(layouts, layout, members[i].type, offset + members[i].offset,
				   depth + 1, steps);
		break;
	default:
		break;
	}
}

void hawk_layouts_add_object(struct hawk_layouts *layouts, uint32_t layout,
			     const struct hawk_dwarf_type *type, uint64_t offset)
{
	int steps = 0;

	add_object(layouts, layout, type, offset, 0, &steps);
}

const struct hawk_layout *hawk_layouts_linked(struct hawk_layouts *layouts, uint32_t number)
{
	if (!layouts->items[number].has_links) {
		layouts->items[number].has_links = true;
		if (layouts->items[number].type)
			hawk_layouts_add_object(layouts, number, layouts->items[number].type,
						layouts->items[number].type_at);
	}
	return &layouts->items[number];
}
