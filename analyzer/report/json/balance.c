/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All memory by use, allocators with their arenas, threads' caches, sizes.
 */
#include "hawk/report/balance.h"

#include "objects.h"

static const char *const use_keys[HAWK_USES] = {
	[HAWK_USE_LIVE] = "live",
	[HAWK_USE_HEADERS] = "headers",
	[HAWK_USE_ROUNDING] = "rounding",
	[HAWK_USE_UNTRACED] = "untraced",
	[HAWK_USE_FREE] = "free",
	[HAWK_USE_FAST] = "fast_bins",
	[HAWK_USE_CACHED] = "thread_caches",
	[HAWK_USE_SPANS] = "free_pages",
	[HAWK_USE_UNUSED] = "unused",
	[HAWK_USE_TOP] = "top",
	[HAWK_USE_METADATA] = "metadata",
	[HAWK_USE_UNDIVIDED] = "undivided",
	[HAWK_USE_TRACER] = "tracer",
	[HAWK_USE_STACKS] = "stacks",
	[HAWK_USE_MODULES] = "modules",
	[HAWK_USE_FILES] = "files",
	[HAWK_USE_OTHER] = "other",
};

static void put_uses(const struct hawk_balance *balance, struct hawk_json *json)
{
	hawk_json_put_array(json, "uses");
	for (unsigned i = 0; i < HAWK_USES; i++) {
		hawk_json_object(json);
		hawk_json_put_string(json, "use", use_keys[i]);
		hawk_json_put_integer(json, "bytes", balance->uses[i]);
		hawk_json_put_integer_if(json, "objects", balance->objects[i] || !balance->uses[i],
					 balance->objects[i]);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_pieces(const struct hawk_arena_balance *arena, struct hawk_json *json)
{
	hawk_json_put_sum(json, "live", arena->live.objects, arena->live.bytes);
	hawk_json_put_sum(json, "free", arena->free.objects, arena->free.bytes);
	hawk_json_put_sum(json, "cached", arena->cached.objects, arena->cached.bytes);
	hawk_json_put_integer(json, "top_bytes", arena->top.bytes);
}

/* Puts the threads that use the arena; null = no thread's is known. */
static void put_tids(const struct hawk_balance_report *report,
		     const struct hawk_allocator_balance *of, size_t arena, struct hawk_json *json)
{
	size_t count;
	const struct hawk_thread *threads =
		hawk_target_threads(report->pointers->heap->target, &count);

	if (!of->thread_arenas) {
		hawk_json_put_null(json, "tids");
		return;
	}
	hawk_json_put_array(json, "tids");
	for (size_t i = 0; i < count; i++)
		if (of->thread_arenas[i] == arena)
			hawk_json_integer(json, threads[i].tid);
	hawk_json_array_end(json);
}

static void put_arenas(const struct hawk_balance_report *report,
		       const struct hawk_allocator_balance *of, struct hawk_json *json)
{
	size_t end;

	if (!of->arena_count) {
		hawk_json_put_no_list(json, "arenas");
		return;
	}
	end = hawk_json_put_list(json, "arenas", of->arena_count);
	for (size_t i = 0; i < end; i++) {
		const struct hawk_arena_balance *arena = &of->arenas[i];

		hawk_json_object(json);
		hawk_json_put_address_if(json, "address", arena->arena.address,
					 arena->arena.address);
		hawk_json_put_boolean(json, "main", arena->arena.is_main);
		if (arena->arena.has_lock)
			hawk_json_put_boolean(json, "locked", arena->arena.is_locked);
		else
			hawk_json_put_null(json, "locked");
		hawk_json_put_integer_if(json, "threads", of->thread_arenas, arena->threads);
		put_tids(report, of, i, json);
		hawk_json_put_integer_if(json, "system_bytes", arena->arena.system_bytes,
					 arena->arena.system_bytes);
		put_pieces(arena, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_allocator(const struct hawk_balance_report *report,
			  const struct hawk_allocator_balance *of, struct hawk_json *json)
{
	const struct hawk_allocator *allocator = &of->allocator;

	hawk_json_object(json);
	hawk_json_put_string(json, "name", allocator->name);
	hawk_json_put_string(json, "version", allocator->version);
	hawk_json_put_string(json, "found_by", "structures");
	hawk_json_put_string(json, "checksum", allocator->differing ? "differs" : "agrees");
	hawk_json_put_string(json, "confidence",
			     allocator->incomplete || allocator->differing ? "partial" : "proven");
	hawk_json_put_integer(json, "bytes", of->bytes);
	hawk_json_put_object(json, "settings");
	for (unsigned i = 0; i < allocator->setting_count; i++)
		hawk_json_put_signed_if(json, allocator->settings[i].name, true,
					(int64_t)allocator->settings[i].value);
	hawk_json_object_end(json);
	put_arenas(report, of, json);
	hawk_json_put_object(json, "outside_arenas");
	put_pieces(&of->mapped, json);
	hawk_json_object_end(json);
	hawk_json_object_end(json);
}

/* Returns the arena of the first allocator that knows the thread's, or HAWK_NOT_KNOWN. */
static uint32_t arena_of(const struct hawk_balance *balance, size_t thread)
{
	uint32_t arena = HAWK_NOT_KNOWN;

	for (size_t i = 0; arena == HAWK_NOT_KNOWN && i < balance->allocator_count; i++)
		if (balance->allocators[i].thread_arenas)
			arena = balance->allocators[i].thread_arenas[thread];
	return arena;
}

static void put_threads(const struct hawk_balance_report *report, struct hawk_json *json)
{
	const struct hawk_balance *balance = report->balance;
	size_t count, end;
	const struct hawk_thread *threads =
		hawk_target_threads(report->pointers->heap->target, &count);

	end = hawk_json_put_list(json, "threads", balance->thread_count);
	for (size_t i = 0; i < end; i++) {
		const struct hawk_thread_balance *thread = &balance->threads[i];
		uint32_t arena = arena_of(balance, i);

		hawk_json_object(json);
		hawk_json_put_integer(json, "tid", threads[i].tid);
		hawk_json_put_string(json, "name", threads[i].name[0] ? threads[i].name : NULL);
		hawk_json_put_integer_if(json, "arena", arena != HAWK_NOT_KNOWN, arena);
		if (balance->caches_known)
			hawk_json_put_sum(json, "cached", thread->cached.objects,
					  thread->cached.bytes);
		else
			hawk_json_put_null(json, "cached");
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static bool is_used(const struct hawk_size_balance *size)
{
	return size->live.objects || size->free.objects;
}

static void put_sizes(const struct hawk_balance *balance, struct hawk_json *json)
{
	size_t used = 0, left;

	for (unsigned i = 0; i < HAWK_BALANCE_SIZES; i++)
		used += is_used(&balance->sizes[i]);
	left = hawk_json_put_list(json, "sizes", used);
	for (unsigned i = 0; i < HAWK_BALANCE_SIZES && left; i++) {
		const struct hawk_size_balance *size = &balance->sizes[i];

		if (!is_used(size))
			continue;
		left--;
		hawk_json_object(json);
		hawk_json_put_integer(json, "size", size->bytes);
		hawk_json_put_sum(json, "live", size->live.objects, size->live.bytes);
		hawk_json_put_sum(json, "free", size->free.objects, size->free.bytes);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

void hawk_report_balance_json(const struct hawk_balance_report *report, struct hawk_json *json)
{
	const struct hawk_balance *balance = report->balance;
	const struct hawk_heap *heap = report->pointers->heap;
	static const char *const keys[] = {"bytes", "uses", "fragmentation", "allocators",
					   "guests"};

	if (!heap->knows) {
		for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			hawk_json_put_null(json, keys[i]);
		hawk_json_put_no_list(json, "threads");
		hawk_json_put_no_list(json, "sizes");
		return;
	}
	hawk_json_put_integer(json, "bytes", balance->bytes);
	put_uses(balance, json);
	hawk_report_json_fragmentation(heap, report->fragmentation, SIZE_MAX, json);
	hawk_json_put_array(json, "allocators");
	for (size_t i = 0; i < balance->allocator_count; i++)
		put_allocator(report, &balance->allocators[i], json);
	hawk_json_array_end(json);
	hawk_report_json_guests(heap, json);
	put_threads(report, json);
	put_sizes(balance, json);
}
