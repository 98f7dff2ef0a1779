/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds guests' objects, and gives their types to blocks while these are numbered. An object's
 * block must begin where the guest says; others stay as they are.
 */
#include "guest.h"

#include "hawk/base/quantity.h"
#include "hawk/heap/guest_frames.h"
#include "walker.h"

#include <stdlib.h>
#include <string.h>

enum { OBJECT_BYTES_MIN = 16 };

struct hawk_guest *hawk_guest_named(struct hawk_guests *guests, const char *name)
{
	for (unsigned i = 0; i < guests->count; i++)
		if (!strcmp(guests->items[i].name, name))
			return &guests->items[i];
	if (guests->count == HAWK_GUESTS_MAX)
		return NULL;
	guests->items[guests->count] = (struct hawk_guest){.name = name};
	return &guests->items[guests->count++];
}

static bool add(struct hawk_guest_finder *finder, struct hawk_guest *guest, uint64_t start,
		uint32_t type)
{
	struct hawk_guests *guests = finder->guests;

	if (finder->failed || hawk_guest_is_full(finder)) {
		guest->incomplete = true;
		return false;
	}
	if (!hawk_array_reserve(&guests->objects, guests->object_count, &finder->object_capacity,
				sizeof(*guests->objects))) {
		finder->failed = true;
		return false;
	}
	guests->objects[guests->object_count++] =
		(struct hawk_guest_object){.start = start, .type = type};
	return true;
}

bool hawk_guest_add_object(struct hawk_guest_finder *finder, struct hawk_guest *guest,
			   uint64_t start, uint64_t bytes, uint32_t type)
{
	if (!add(finder, guest, start, type))
		return false;
	guest->objects++;
	guest->bytes += bytes;
	return true;
}

bool hawk_guest_add_block(struct hawk_guest_finder *finder, uint8_t guest, uint64_t start,
			  uint32_t type)
{
	if (!add(finder, &finder->guests->items[guest], start, type))
		return false;
	finder->guests->types[type].guest = guest + 1;
	return true;
}

static int by_start(const void *left, const void *right)
{
	const struct hawk_guest_object *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void report(const struct hawk_guest *guest, struct hawk_findings *findings)
{
	if (guest->is_unknown)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "guest-unknown",
				  "the layout of this %s is not known: its objects have no types",
				  guest->name);
	else if (guest->incomplete)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "guest-incomplete",
				  "a list of %s's objects ends at something else: some may be "
				  "overlooked",
				  guest->name);
	else if (guest->is_counted && guest->bytes != guest->counted_bytes)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "guest-differs",
				  "%s counts %s, but its objects have %s", guest->name,
				  hawk_quantity_bytes(guest->counted_bytes).text,
				  hawk_quantity_bytes(guest->bytes).text);
}

/* Makes a class of each type, behind those of the sources. */
static struct hawk_error *add_classes(struct hawk_heap *heap)
{
	struct hawk_guests *guests = &heap->guests;
	uint32_t first = heap->trace_count, added = guests->type_count - 1;
	struct hawk_heap_origin *origin = &heap->origins[heap->origin_count];
	void *moved;

	if (heap->origin_count == HAWK_HEAP_SOURCES_MAX || added > UINT32_MAX - 1 - first)
		return NULL;
	moved = reallocarray(heap->classes, (size_t)first - heap->class_first + added + 1,
			     sizeof(*heap->classes));
	if (!moved)
		return &hawk_enomem;
	heap->classes = moved;
	for (uint32_t i = 0; i < added; i++)
		heap->classes[first - heap->class_first + i] = (struct hawk_class){
			.kind = HAWK_CLASS_TYPE, .name = guests->types[i + 1].name};
	*origin = (struct hawk_heap_origin){.name = "guest", .knows = UINT32_MAX};
	for (unsigned i = 0; i < heap->origin_count; i++)
		if (!(heap->origins[i].knows & HAWK_HEAP_STACKS))
			origin->knows &= heap->origins[i].knows;
	guests->class_first = first;
	origin->end = heap->trace_count = first + added;
	heap->origin_count++;
	return NULL;
}

struct hawk_error *hawk_guests_find(const struct hawk_heap_wish *wish,
				    struct hawk_findings *findings, struct hawk_heap *heap)
{
	struct hawk_guests *guests = &heap->guests;
	struct hawk_symbols *symbols = wish->vtables ? wish->vtables->symbols : NULL;
	struct hawk_guest_finder finder = {
		.target = heap->target,
		.near.target = heap->target,
		.guests = guests,
		.objects_max = hawk_target_present_bytes(heap->target) / OBJECT_BYTES_MIN,
	};

	if (wish->guests & HAWK_GUEST_LUA)
		hawk_lua_find(&finder, symbols);
	if (wish->guests & HAWK_GUEST_PYTHON)
		hawk_python_find(&finder, symbols, heap);
	if (wish->guests & HAWK_GUEST_JAVA)
		hawk_java_find(&finder, heap);
	free(finder.keys);
	free(finder.names);
	if (finder.failed)
		return &hawk_enomem;
	for (unsigned i = 0; i < guests->count; i++)
		report(&guests->items[i], findings);
	if (!guests->type_count)
		return NULL;
	if (guests->object_count)
		qsort(guests->objects, guests->object_count, sizeof(*guests->objects), by_start);
	return hawk_heap_all_know(heap, HAWK_HEAP_STACKS) ? NULL : add_classes(heap);
}

/* Returns the type of the object in the block, 0 = none. */
static uint32_t next_type(struct hawk_guests_walk *walk, const struct hawk_guests *guests,
			  const struct hawk_block *block)
{
	uint64_t start = block->start;

	if (block->trace - guests->source_first < guests->source_type_count)
		return guests->source_types[block->trace - guests->source_first];
	while (walk->next < guests->object_count && guests->objects[walk->next].start < start)
		walk->next++;
	if (walk->next < guests->object_count && guests->objects[walk->next].start == start)
		return guests->objects[walk->next].type;
	return guests->probe.type_of ? guests->probe.type_of(guests->probe.context, start) : 0;
}

/* Counts an object of a guest that does not count itself. */
static void count_object(struct hawk_guests *guests, uint32_t type, const struct hawk_block *block)
{
	struct hawk_guest *guest;

	if (!guests->types[type].guest)
		return;
	guest = &guests->items[guests->types[type].guest - 1];
	guest->objects++;
	guest->bytes += block->size;
}

static bool make_room(struct hawk_guests_walk *walk, struct hawk_guests *guests, size_t count)
{
	size_t wanted = guests->of_block_count + count;

	if (count > walk->capacity) {
		free(walk->copy);
		walk->copy = calloc(count, sizeof(*walk->copy));
		walk->capacity = walk->copy ? count : 0;
	}
	if (wanted > guests->of_block_capacity) {
		void *moved = reallocarray(guests->of_block, 2 * wanted, sizeof(uint32_t));

		if (!moved)
			return false;
		guests->of_block = moved;
		guests->of_block_capacity = 2 * wanted;
	}
	return walk->copy;
}

struct hawk_error *hawk_guests_take(struct hawk_guests_walk *walk, struct hawk_heap *heap,
				    const struct hawk_block **blocks, size_t count)
{
	struct hawk_guests *guests = &heap->guests;

	if (!guests->type_count || !count)
		return NULL;
	if (!make_room(walk, guests, count))
		return &hawk_enomem;
	memcpy(walk->copy, *blocks, count * sizeof(**blocks));
	for (size_t i = 0; i < count; i++) {
		uint32_t type = next_type(walk, guests, &walk->copy[i]);

		guests->of_block[guests->of_block_count++] = type;
		count_object(guests, type, &walk->copy[i]);
		if (type && guests->class_first && hawk_heap_class(heap, walk->copy[i].trace))
			walk->copy[i].trace = guests->class_first + type - 1;
	}
	*blocks = walk->copy;
	return NULL;
}

static void forget_probe(struct hawk_guests *guests)
{
	if (guests->probe.forget)
		guests->probe.forget(guests->probe.context);
	guests->probe = (struct hawk_guest_probe){0};
}

void hawk_guests_end(struct hawk_guests_walk *walk, struct hawk_guests *guests)
{
	forget_probe(guests);
	free(walk->copy);
	free(guests->objects);
	guests->objects = NULL;
	guests->object_count = 0;
	free(guests->source_types);
	guests->source_types = NULL;
	guests->source_type_count = 0;
}

void hawk_guests_deinit(struct hawk_guests *guests)
{
	forget_probe(guests);
	for (uint32_t i = 1; i < guests->type_count; i++)
		free((char *)guests->types[i].name);
	free(guests->types);
	free(guests->threads);
	free(guests->objects);
	free(guests->source_types);
	free(guests->of_block);
	*guests = (struct hawk_guests){0};
}

bool hawk_guests_append_member(const struct hawk_heap *heap, uint32_t holder, uint32_t block,
			       uint64_t offset, struct hawk_text *text)
{
	return heap->knows & HAWK_HEAP_CONTENTS && hawk_guests_type(&heap->guests, block) &&
	       hawk_python_append_member(heap, holder, block, offset, text);
}

struct hawk_error *hawk_guest_frames_read(const struct hawk_heap *heap,
					  struct hawk_symbols *symbols,
					  const struct hawk_thread *thread,
					  struct hawk_guest_frames *ret)
{
	const struct hawk_guests *guests = &heap->guests;
	uint64_t pointer = hawk_thread_pointer(thread);
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < guests->thread_count && !err && !ret->is_cut; i++)
		if (pointer && guests->threads[i].pointer == pointer)
			err = hawk_python_frames(heap, symbols, &guests->threads[i], ret);
	return err;
}

void hawk_guest_frames_deinit(struct hawk_guest_frames *frames)
{
	free(frames->items);
	*frames = (struct hawk_guest_frames){0};
}
