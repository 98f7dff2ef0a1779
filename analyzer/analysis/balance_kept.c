/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The balance and fragmentation in a snapshot, which has no structures of allocators to walk.
 */
#include "hawk/analysis/balance.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/snapshot/reader.h"
#include "hawk/snapshot/writer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Numbers in file order. */
static const size_t arena_numbers[] = {
	offsetof(struct hawk_arena_balance, arena.address),
	offsetof(struct hawk_arena_balance, arena.system_bytes),
	offsetof(struct hawk_arena_balance, live.objects),
	offsetof(struct hawk_arena_balance, live.bytes),
	offsetof(struct hawk_arena_balance, free.objects),
	offsetof(struct hawk_arena_balance, free.bytes),
	offsetof(struct hawk_arena_balance, cached.objects),
	offsetof(struct hawk_arena_balance, cached.bytes),
	offsetof(struct hawk_arena_balance, top.objects),
	offsetof(struct hawk_arena_balance, top.bytes),
	offsetof(struct hawk_arena_balance, threads),
};
static const size_t size_numbers[] = {
	offsetof(struct hawk_size_balance, live.objects),
	offsetof(struct hawk_size_balance, live.bytes),
	offsetof(struct hawk_size_balance, free.objects),
	offsetof(struct hawk_size_balance, free.bytes),
};
static const size_t fragmentation_numbers[] = {
	offsetof(struct hawk_fragmentation, live_bytes),
	offsetof(struct hawk_fragmentation, free_bytes),
	offsetof(struct hawk_fragmentation, whole_bytes),
	offsetof(struct hawk_fragmentation, given_back_bytes),
	offsetof(struct hawk_fragmentation, cached_bytes),
	offsetof(struct hawk_fragmentation, pinned_bytes),
	offsetof(struct hawk_fragmentation, scattered_bytes),
	offsetof(struct hawk_fragmentation, pinned_units),
	offsetof(struct hawk_fragmentation, arena_bytes),
	offsetof(struct hawk_fragmentation, arenas),
};
static const size_t pin_numbers[] = {
	offsetof(struct hawk_pin, objects),      offsetof(struct hawk_pin, bytes),
	offsetof(struct hawk_pin, units),        offsetof(struct hawk_pin, returns_bytes),
	offsetof(struct hawk_pin, shared_bytes), offsetof(struct hawk_pin, example),
	offsetof(struct hawk_pin, birth_units),
};

/* Reads a number below `end`, or HAWK_NOT_KNOWN. */
static uint32_t get_number(struct hawk_cursor *from, uint64_t end)
{
	uint64_t number = hawk_column_get_below(from, HAWK_NOT_KNOWN);

	from->failed |= number >= end && number != HAWK_NOT_KNOWN;
	return (uint32_t)number;
}

static void put_arena(const struct hawk_arena_balance *arena, struct hawk_column *to)
{
	hawk_column_put(to, arena->arena.is_main);
	hawk_column_put(to, arena->arena.has_lock);
	hawk_column_put(to, arena->arena.is_locked);
	hawk_column_put_numbers(to, arena, arena_numbers, COUNT(arena_numbers));
}

static void get_arena(struct hawk_cursor *from, struct hawk_arena_balance *ret)
{
	ret->arena.is_main = hawk_column_get_below(from, 1);
	ret->arena.has_lock = hawk_column_get_below(from, 1);
	ret->arena.is_locked = hawk_column_get_below(from, 1);
	hawk_column_get_numbers(from, ret, arena_numbers, COUNT(arena_numbers));
}

static void put_allocator(const struct hawk_allocator_balance *of, size_t threads,
			  struct hawk_column *to)
{
	hawk_allocator_put(&of->allocator, to);
	hawk_column_put(to, of->bytes);
	hawk_column_put(to, of->has_chunks);
	put_arena(&of->mapped, to);
	hawk_column_put(to, of->arena_count);
	for (size_t i = 0; i < of->arena_count; i++)
		put_arena(&of->arenas[i], to);
	hawk_column_put(to, of->thread_arenas != NULL);
	for (size_t i = 0; of->thread_arenas && i < threads; i++)
		hawk_column_put(to, of->thread_arenas[i]);
}

static struct hawk_error *get_allocator(struct hawk_cursor *from, char **names, size_t threads,
					struct hawk_allocator_balance *ret)
{
	size_t count;

	hawk_allocator_get(from, names, &ret->allocator);
	ret->bytes = hawk_column_get(from);
	ret->has_chunks = hawk_column_get_below(from, 1);
	get_arena(from, &ret->mapped);
	count = hawk_column_get_count(from);
	ret->arenas = calloc(count + 1, sizeof(*ret->arenas));
	if (!ret->arenas)
		return &hawk_enomem;
	ret->arena_count = count;
	for (size_t i = 0; i < count && !from->failed; i++)
		get_arena(from, &ret->arenas[i]);
	if (!hawk_column_get_below(from, 1))
		return NULL;
	ret->thread_arenas = calloc(threads + 1, sizeof(*ret->thread_arenas));
	if (!ret->thread_arenas)
		return &hawk_enomem;
	for (size_t i = 0; i < threads && !from->failed; i++)
		ret->thread_arenas[i] = get_number(from, count);
	return NULL;
}

/* Puts sizes with blocks or free pieces, behind their numbers plus 1. */
static void put_sizes(const struct hawk_balance *balance, struct hawk_column *to)
{
	for (unsigned i = 0; i < HAWK_BALANCE_SIZES; i++)
		if (balance->sizes[i].live.objects || balance->sizes[i].free.objects) {
			hawk_column_put(to, i + 1);
			hawk_column_put_numbers(to, &balance->sizes[i], size_numbers,
						COUNT(size_numbers));
		}
	hawk_column_put(to, 0);
}

static void get_sizes(struct hawk_cursor *from, struct hawk_balance *balance)
{
	uint64_t number;

	hawk_balance_name_sizes(balance);
	while ((number = hawk_column_get_below(from, HAWK_BALANCE_SIZES)) && !from->failed)
		hawk_column_get_numbers(from, &balance->sizes[number - 1], size_numbers,
					COUNT(size_numbers));
}

static void put_balance(const struct hawk_balance *balance, struct hawk_column *to)
{
	hawk_column_put(to, balance->bytes);
	hawk_column_put(to, balance->excess);
	hawk_column_put(to, balance->caches_known);
	hawk_column_put(to, HAWK_USES);
	for (unsigned i = 0; i < HAWK_USES; i++) {
		hawk_column_put(to, balance->uses[i]);
		hawk_column_put(to, balance->objects[i]);
	}
	hawk_column_put(to, balance->allocator_count);
	for (size_t i = 0; i < balance->allocator_count; i++)
		put_allocator(&balance->allocators[i], balance->thread_count, to);
	for (size_t i = 0; i < balance->thread_count; i++) {
		hawk_column_put(to, balance->threads[i].cached.objects);
		hawk_column_put(to, balance->threads[i].cached.bytes);
	}
	put_sizes(balance, to);
}

static struct hawk_error *get_allocators(struct hawk_cursor *from, struct hawk_balance *balance)
{
	char *names = balance->names = malloc(hawk_cursor_left(from) + 1);
	size_t count = (size_t)hawk_column_get_below(from, HAWK_BALANCE_ALLOCATORS);
	struct hawk_error *err = NULL;

	balance->allocators = calloc(count + 1, sizeof(*balance->allocators));
	if (!names || !balance->allocators)
		return &hawk_enomem;
	for (; balance->allocator_count < count && !err && !from->failed;
	     balance->allocator_count++)
		err = get_allocator(from, &names, balance->thread_count,
				    &balance->allocators[balance->allocator_count]);
	return err;
}

static struct hawk_error *get_balance(struct hawk_cursor *from, const struct hawk_target *target,
				      struct hawk_balance *balance)
{
	size_t uses;
	struct hawk_error *err;

	balance->bytes = hawk_column_get(from);
	balance->excess = hawk_column_get(from);
	balance->caches_known = hawk_column_get_below(from, 1);
	uses = hawk_column_get_count(from);
	for (size_t i = 0; i < uses && !from->failed; i++) {
		uint64_t bytes = hawk_column_get(from), objects = hawk_column_get(from);
		size_t use = i < HAWK_USES ? i : HAWK_USE_OTHER; /* a later writer's */

		balance->uses[use] += bytes;
		balance->objects[use] += objects;
	}
	hawk_target_threads(target, &balance->thread_count);
	err = get_allocators(from, balance);
	if (err)
		return err;
	balance->threads = calloc(balance->thread_count + 1, sizeof(*balance->threads));
	if (!balance->threads)
		return &hawk_enomem;
	for (size_t i = 0; i < balance->thread_count && !from->failed; i++) {
		balance->threads[i].cached.objects = hawk_column_get(from);
		balance->threads[i].cached.bytes = hawk_column_get(from);
	}
	get_sizes(from, balance);
	return NULL;
}

static void put_fragmentation(const struct hawk_fragmentation *fragmentation,
			      struct hawk_column *to)
{
	hawk_column_put(to, fragmentation->verdict);
	hawk_column_put_string(to, fragmentation->allocator);
	hawk_column_put_numbers(to, fragmentation, fragmentation_numbers,
				COUNT(fragmentation_numbers));
	hawk_column_put(to, fragmentation->pin_count);
	for (size_t i = 0; i < fragmentation->pin_count; i++) {
		const struct hawk_pin *pin = &fragmentation->pins[i];

		hawk_column_put(to, pin->site);
		hawk_column_put(to, pin->block);
		hawk_column_put(to, pin->is_cached);
		hawk_column_put(to, pin->has_birth);
		hawk_column_put_numbers(to, pin, pin_numbers, COUNT(pin_numbers));
	}
}

static struct hawk_error *get_fragmentation(struct hawk_cursor *from, const struct hawk_heap *heap,
					    struct hawk_fragmentation *ret)
{
	/* Blocks that were only counted have no numbers. */
	uint64_t blocks = heap->index.count ? heap->index.count : HAWK_NOT_KNOWN;
	const char *name;
	size_t length, count;

	ret->verdict = (enum hawk_fragmentation_verdict)hawk_column_get_below(
		from, HAWK_FRAGMENTATION_VERDICTS - 1);
	name = hawk_column_get_string(from, &length);
	if (name && length) {
		ret->allocator = ret->saved_name = strndup(name, length);
		if (!ret->saved_name)
			return &hawk_enomem;
	}
	hawk_column_get_numbers(from, ret, fragmentation_numbers, COUNT(fragmentation_numbers));
	count = hawk_column_get_count(from);
	ret->pins = calloc(count + 1, sizeof(*ret->pins));
	if (!ret->pins)
		return &hawk_enomem;
	for (; ret->pin_count < count && !from->failed; ret->pin_count++) {
		struct hawk_pin *pin = &ret->pins[ret->pin_count];

		pin->site = get_number(from, heap->site_count);
		pin->block = get_number(from, blocks);
		if (!heap->index.count)
			pin->block = HAWK_NOT_KNOWN;
		pin->is_cached = hawk_column_get_below(from, 1);
		pin->has_birth = hawk_column_get_below(from, 1);
		hawk_column_get_numbers(from, pin, pin_numbers, COUNT(pin_numbers));
	}
	return NULL;
}

struct hawk_error *hawk_balance_save(const struct hawk_balance *balance,
				     const struct hawk_fragmentation *fragmentation,
				     struct hawk_snapshot_writer *writer)
{
	struct hawk_snapshot_piece piece = {.items = 1};
	struct hawk_error *err;

	put_balance(balance, &piece.column);
	put_fragmentation(fragmentation, &piece.column);
	err = hawk_snapshot_put(writer, HAWK_SNAPSHOT_BALANCE, &piece);
	hawk_column_deinit(&piece.column);
	return err;
}

struct hawk_error *hawk_balance_read(const struct hawk_heap *heap, struct hawk_balance *ret,
				     struct hawk_fragmentation *fragmentation, bool *is_there)
{
	const struct hawk_snapshot *snapshot = hawk_target_snapshot(heap->target);
	CLEANUP(contents) struct hawk_snapshot_contents contents = {0};
	struct hawk_error *err;

	*ret = (struct hawk_balance){0};
	*fragmentation = (struct hawk_fragmentation){0};
	/* Older writers have none; a damaged one is a finding already. */
	*is_there = snapshot && hawk_snapshot_frame_count(snapshot, HAWK_SNAPSHOT_BALANCE) &&
		    !hawk_error_swallow(
			    hawk_snapshot_read(snapshot, HAWK_SNAPSHOT_BALANCE, 0, &contents));
	if (!*is_there)
		return NULL;
	err = get_balance(&contents.cursor, heap->target, ret);
	if (!err)
		err = get_fragmentation(&contents.cursor, heap, fragmentation);
	return err || !contents.cursor.failed ? err : hawk_snapshot_nonsense(HAWK_SNAPSHOT_BALANCE);
}
