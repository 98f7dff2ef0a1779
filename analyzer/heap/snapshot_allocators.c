/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Saves and reads in a snapshot what allocators and guests said of themselves: sums, guests' types
 * and their objects, and the findings. The latter's keys are kept as numbers.
 */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/findings.h"

enum { FRAME_BLOCKS = 1 << 16 };

/** Findings of allocators and guests, in file order. */
static const char *const finding_keys[] = {"heap-differs", "heap-incomplete", "heap-unread",
					   "guest-differs", "guest-incomplete"};

enum { FINDING_KEYS = sizeof(finding_keys) / sizeof(finding_keys[0]) };

/* Numbers in file order. */
static const size_t allocator_numbers[] = {
	offsetof(struct hawk_allocator, arenas),
	offsetof(struct hawk_allocator, samples),
	offsetof(struct hawk_allocator, differing),
};
static const size_t guest_numbers[] = {
	offsetof(struct hawk_guest, states),
	offsetof(struct hawk_guest, objects),
	offsetof(struct hawk_guest, bytes),
	offsetof(struct hawk_guest, counted_bytes),
};

enum {
	ALLOCATOR_NUMBERS = sizeof(allocator_numbers) / sizeof(allocator_numbers[0]),
	GUEST_NUMBERS = sizeof(guest_numbers) / sizeof(guest_numbers[0]),
};

void hawk_allocator_put(const struct hawk_allocator *allocator, struct hawk_column *to)
{
	hawk_column_put_string(to, allocator->name);
	hawk_column_put_string(to, allocator->version);
	hawk_column_put(to, allocator->incomplete);
	hawk_column_put_numbers(to, allocator, allocator_numbers, ALLOCATOR_NUMBERS);
	hawk_column_put(to, HAWK_PIECE_STATES);
	for (unsigned i = 0; i < HAWK_PIECE_STATES; i++) {
		hawk_column_put(to, allocator->objects[i]);
		hawk_column_put(to, allocator->bytes[i]);
	}
	hawk_column_put(to, allocator->setting_count);
	for (unsigned i = 0; i < allocator->setting_count; i++) {
		hawk_column_put_string(to, allocator->settings[i].name);
		hawk_column_put(to, allocator->settings[i].value);
	}
}

void hawk_allocator_get(struct hawk_cursor *from, char **names, struct hawk_allocator *ret)
{
	const char *name = hawk_column_get_name(from, names);
	size_t count;

	*ret = (struct hawk_allocator){.name = name ? name : "unknown"};
	ret->version = hawk_column_get_name(from, names);
	ret->incomplete = hawk_column_get_below(from, 1);
	hawk_column_get_numbers(from, ret, allocator_numbers, ALLOCATOR_NUMBERS);
	count = hawk_column_get_count(from);
	for (size_t i = 0; i < count && !from->failed; i++) {
		uint64_t objects = hawk_column_get(from), bytes = hawk_column_get(from);

		if (i < HAWK_PIECE_STATES) { /* a later writer may know more states */
			ret->objects[i] = objects;
			ret->bytes[i] = bytes;
		}
	}
	ret->setting_count = (unsigned)hawk_column_get_below(from, HAWK_ALLOCATOR_SETTINGS);
	for (unsigned i = 0; i < ret->setting_count && !from->failed; i++) {
		name = hawk_column_get_name(from, names);
		ret->settings[i].name = name ? name : "unknown";
		ret->settings[i].value = hawk_column_get(from);
	}
}

static void put_findings(const struct hawk_findings *findings, struct hawk_column *to)
{
	for (size_t i = 0; i < findings->count; i++)
		for (unsigned key = 0; key < FINDING_KEYS; key++) {
			const struct hawk_finding *finding = &findings->items[i];

			if (strcmp(finding->key, finding_keys[key]) != 0)
				continue;
			hawk_column_put(to, key + 1);
			hawk_column_put(to, finding->partial);
			hawk_column_put(to, finding->count);
			hawk_column_put_string(to, finding->text);
		}
	hawk_column_put(to, 0);
}

static void get_findings(struct hawk_cursor *from, struct hawk_findings *findings)
{
	uint64_t key = hawk_column_get_below(from, FINDING_KEYS);

	for (; key && !from->failed; key = hawk_column_get_below(from, FINDING_KEYS)) {
		bool partial = hawk_column_get_below(from, 1);
		uint64_t count = hawk_column_get_below(from, HAWK_HEAP_SOURCES_MAX);
		size_t length;
		const char *text = hawk_column_get_string(from, &length);

		for (uint64_t i = 0; text && i < count; i++)
			hawk_findings_add(findings, HAWK_FINDING_MISSING, partial,
					  finding_keys[key - 1], "%.*s", (int)length, text);
	}
}

static void put_guests(const struct hawk_guests *guests, struct hawk_column *to)
{
	hawk_column_put(to, guests->count);
	for (unsigned i = 0; i < guests->count; i++) {
		hawk_column_put_string(to, guests->items[i].name);
		hawk_column_put(to, guests->items[i].is_counted);
		hawk_column_put(to, guests->items[i].incomplete);
		hawk_column_put_numbers(to, &guests->items[i], guest_numbers, GUEST_NUMBERS);
	}
	hawk_column_put(to, guests->type_count);
	for (uint32_t i = 1; i < guests->type_count; i++) {
		hawk_column_put_string(to, guests->types[i].name);
		hawk_column_put(to, guests->types[i].layout.front);
	}
}

static struct hawk_error *get_guests(struct hawk_cursor *from, char **names,
				     struct hawk_guests *guests)
{
	size_t types;

	guests->count = (unsigned)hawk_column_get_below(from, HAWK_GUESTS_MAX);
	for (unsigned i = 0; i < guests->count && !from->failed; i++) {
		const char *name = hawk_column_get_name(from, names);

		guests->items[i].name = name ? name : "unknown";
		guests->items[i].is_counted = hawk_column_get_below(from, 1);
		guests->items[i].incomplete = hawk_column_get_below(from, 1);
		hawk_column_get_numbers(from, &guests->items[i], guest_numbers, GUEST_NUMBERS);
	}
	types = (size_t)hawk_column_get_below(from, hawk_cursor_left(from) + 1);
	guests->types = calloc(types + 1, sizeof(*guests->types));
	if (!guests->types)
		return &hawk_enomem;
	for (size_t i = 1; i < types && !from->failed; i++) {
		const char *name = hawk_column_get_name(from, names);

		guests->types[i].layout.front = (uint8_t)hawk_column_get_below(from, UINT8_MAX);
		guests->types[i].name = strdup(name ? name : "unknown");
		if (!guests->types[i].name)
			return &hawk_enomem;
		guests->type_count = (uint32_t)i + 1;
	}
	return NULL;
}

/* Puts the types of the guests' objects in a share of the blocks. */
static struct hawk_error *fill_objects(void *context, size_t number,
				       struct hawk_snapshot_piece *piece)
{
	const struct hawk_heap *heap = context;
	uint32_t first = (uint32_t)(number * FRAME_BLOCKS);
	uint32_t end =
		heap->index.count - first > FRAME_BLOCKS ? first + FRAME_BLOCKS : heap->index.count;
	uint64_t latest = 0;

	piece->first = first;
	piece->items = end - first;
	for (uint32_t i = first; i < end; i++) {
		uint64_t word = hawk_block_start(&heap->index, i) / sizeof(uint64_t);

		if (!heap->guests.of_block[i])
			continue;
		hawk_column_put(&piece->column, word - latest);
		hawk_column_put(&piece->column, heap->guests.of_block[i]);
		latest = word;
	}
	return NULL;
}

static struct hawk_error *get_objects(struct hawk_cursor *from, size_t *capacity,
				      struct hawk_guests *guests)
{
	uint64_t word = 0;

	while (hawk_cursor_left(from) && !from->failed) {
		struct hawk_guest_object object;

		word += hawk_column_get(from);
		object.start = word * sizeof(uint64_t);
		object.type = (uint32_t)hawk_column_get_below(from, UINT32_MAX);
		if (!object.type || object.type >= guests->type_count ||
		    (guests->object_count &&
		     object.start <= guests->objects[guests->object_count - 1].start))
			from->failed = true;
		if (!hawk_array_reserve(&guests->objects, guests->object_count, capacity,
					sizeof(object)))
			return &hawk_enomem;
		guests->objects[guests->object_count++] = object;
	}
	return from->failed ? hawk_snapshot_nonsense(HAWK_SNAPSHOT_GUESTS) : NULL;
}

struct hawk_error *hawk_heap_allocators_save(const struct hawk_heap *heap,
					     const struct hawk_findings *findings,
					     struct hawk_snapshot_writer *writer)
{
	bool has_objects = heap->guests.of_block && !(writer->flags & HAWK_SNAPSHOT_SITES_ONLY);
	struct hawk_snapshot_piece piece = {.items = 1};
	struct hawk_error *err;

	hawk_column_put(&piece.column, heap->allocator_count);
	for (unsigned i = 0; i < heap->allocator_count; i++)
		hawk_allocator_put(&heap->allocators[i], &piece.column);
	put_findings(findings, &piece.column);
	hawk_column_put(&piece.column, heap->unread);
	put_guests(&heap->guests, &piece.column);
	err = hawk_snapshot_put(writer, HAWK_SNAPSHOT_ALLOCATORS, &piece);
	hawk_column_deinit(&piece.column);
	return err || !has_objects
		       ? err
		       : hawk_snapshot_put_all(writer, HAWK_SNAPSHOT_GUESTS,
					       ((size_t)heap->index.count + FRAME_BLOCKS - 1) /
						       FRAME_BLOCKS,
					       fill_objects, (void *)heap);
}

static struct hawk_error *read_record(struct hawk_cursor *from, struct hawk_findings *findings,
				      struct hawk_heap *heap)
{
	char *names = heap->saved_names = malloc(hawk_cursor_left(from) + 1);
	struct hawk_error *err;

	if (!names)
		return &hawk_enomem;
	heap->allocator_count = (unsigned)hawk_column_get_below(from, HAWK_HEAP_SOURCES_MAX);
	for (unsigned i = 0; i < heap->allocator_count && !from->failed; i++)
		hawk_allocator_get(from, &names, &heap->allocators[i]);
	get_findings(from, findings);
	heap->unread = hawk_column_get_below(from, 1);
	err = get_guests(from, &names, &heap->guests);
	return err || !from->failed ? err : hawk_snapshot_nonsense(HAWK_SNAPSHOT_ALLOCATORS);
}

struct hawk_error *hawk_heap_allocators_read(struct hawk_findings *findings, struct hawk_heap *heap)
{
	const struct hawk_snapshot *snapshot = hawk_target_snapshot(heap->target);
	CLEANUP(contents) struct hawk_snapshot_contents record = {0};
	struct hawk_error *err;
	size_t capacity = 0;

	/* Older writers have none; a damaged one is a finding already. */
	if (!hawk_snapshot_frame_count(snapshot, HAWK_SNAPSHOT_ALLOCATORS) ||
	    hawk_error_swallow(hawk_snapshot_read(snapshot, HAWK_SNAPSHOT_ALLOCATORS, 0, &record)))
		return NULL;
	err = read_record(&record.cursor, findings, heap);
	for (size_t i = 0; !err && i < hawk_snapshot_frame_count(snapshot, HAWK_SNAPSHOT_GUESTS);
	     i++) {
		CLEANUP(contents) struct hawk_snapshot_contents contents = {0};

		if (!hawk_error_swallow(
			    hawk_snapshot_read(snapshot, HAWK_SNAPSHOT_GUESTS, i, &contents)))
			err = get_objects(&contents.cursor, &capacity, &heap->guests);
	}
	return err;
}
