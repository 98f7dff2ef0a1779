/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads pymalloc, CPython's allocator of blocks up to 512 bytes. Larger ones are malloc()'s.
 */
#include "pymalloc.h"

enum {
	ARENA_BYTES = 48, /* of its description */
	ARENAS_MAX = 1 << 20,
	ARENAS_FIRST = 16, /* the array begins with as many */
	POOLS_MAX = 64,
	SIZE_STEP = 16,
	SIZES = 32,
	POOL_SMALL = 4096, /* up to 3.9 */
	POOL_LARGE = 16384,
};

/** The description of an arena. */
struct arena {
	uint64_t address; /* 0 = not in use */
	uint64_t fresh;   /* the first pool that was never used */
	uint32_t free_pools, pools;
	uint64_t free_list, next, previous;
};
static_assert(sizeof(struct arena) == ARENA_BYTES, "read as it is");

/** The header of a pool. */
struct pool {
	uint32_t used, reserved;
	uint64_t free_block, next, previous;
	uint32_t arena, size_class, fresh, fresh_max; /* offsets of blocks never used */
};
static_assert(sizeof(struct pool) == PYMALLOC_POOL_HEADER, "read as it is");

struct reader {
	struct hawk_pymalloc *pymalloc;
	struct hawk_near arenas, pools;
	uint64_t differing; /**< pools whose count differs from their list */
	bool in_flux;       /**< the last of them by one block */
};

static uint64_t block_bytes(const struct pool *pool)
{
	return SIZE_STEP * ((uint64_t)pool->size_class + 1);
}

/* Returns true if the words may describe an arena. */
static bool is_arena(const struct arena *arena)
{
	return arena->address && arena->address % POOL_SMALL == 0 && arena->pools &&
	       arena->pools <= POOLS_MAX && arena->free_pools <= arena->pools &&
	       arena->fresh > arena->address &&
	       arena->fresh - arena->address <= (POOLS_MAX + 1) * POOL_LARGE;
}

/* Returns true if the words at `at` may describe an arena that is not in use. */
static bool is_unused(const struct arena *arena, uint64_t at)
{
	return !arena->address && (!arena->next || (arena->next - at) % ARENA_BYTES == 0 ||
				   (at - arena->next) % ARENA_BYTES == 0);
}

static bool read_arena(struct reader *reader, uint64_t at, struct arena *ret)
{
	return hawk_near_read(&reader->arenas, at, ret, sizeof(*ret)) == sizeof(*ret);
}

static bool read_pool(struct reader *reader, uint64_t at, struct pool *ret)
{
	return hawk_near_read(&reader->pools, at, ret, sizeof(*ret)) == sizeof(*ret);
}

/* Finds the size of an arena's pools and the arena's number, which its first pool holds. */
static bool read_first_pool(struct reader *reader, const struct arena *arena, uint64_t *pool_bytes,
			    uint32_t *number)
{
	static const uint64_t sizes[] = {POOL_LARGE, POOL_SMALL};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct pool pool;

		*pool_bytes = sizes[i];
		if (!read_pool(reader, (arena->address + sizes[i] - 1) & -sizes[i], &pool) ||
		    pool.size_class >= SIZES || pool.fresh_max + block_bytes(&pool) != sizes[i] ||
		    pool.arena >= ARENAS_MAX)
			continue;
		*number = pool.arena;
		return true;
	}
	return false;
}

static struct hawk_error *add_pools(struct reader *reader, const struct arena *arena,
				    uint64_t pool_bytes)
{
	struct hawk_slab_heap *heap = &reader->pymalloc->heap;
	uint64_t first = (arena->address + pool_bytes - 1) & -pool_bytes;
	uint64_t end = arena->address + pool_bytes * (arena->pools + (first != arena->address));
	struct hawk_error *err = hawk_claims_add(&heap->memory, arena->address, end);
	uint64_t at;

	for (at = first; at < arena->fresh && end - at >= pool_bytes && !err; at += pool_bytes) {
		uint64_t blocks = at + PYMALLOC_POOL_HEADER;
		struct pool pool = {0};

		err = hawk_claims_add(&heap->metadata, at, blocks);
		if (err || !read_pool(reader, at, &pool) ||
		    (pool.used && pool.size_class >= SIZES)) {
			heap->incomplete |= pool.used != 1; /* 1: it is being set up */
			continue;
		}
		if (!pool.used)
			err = hawk_claims_add(&heap->free, blocks, at + pool_bytes);
		else
			err = hawk_slabs_add(
				&heap->slabs,
				(struct hawk_slab){.start = blocks,
						   .object_bytes = block_bytes(&pool),
						   .count = (pool_bytes - PYMALLOC_POOL_HEADER) /
							    block_bytes(&pool)});
	}
	return err ? err : hawk_claims_add(&heap->free, at, end);
}

/* Finds the array's start: one of the first arenas from `at` on tells its number. */
static bool find_start(struct reader *reader, uint64_t at, uint64_t *ret)
{
	for (unsigned i = 0; i < ARENAS_FIRST; i++) {
		uint64_t address = at + i * ARENA_BYTES, pool_bytes;
		struct arena arena;
		uint32_t number;

		if (!read_arena(reader, address, &arena))
			return false;
		if (is_arena(&arena) && read_first_pool(reader, &arena, &pool_bytes, &number)) {
			*ret = address - (uint64_t)number * ARENA_BYTES;
			return true;
		}
		if (!is_unused(&arena, address))
			return false;
	}
	return false;
}

static bool is_known(const struct hawk_claims *arrays, uint64_t address)
{
	for (size_t i = 0; i < arrays->count; i++)
		if (address >= arrays->items[i].start && address < arrays->items[i].end)
			return true;
	return false;
}

/* Reads the array of arenas that `pointer` leads into, if it does. */
static struct hawk_error *read_array(struct reader *reader, uint64_t pointer)
{
	struct hawk_pymalloc *pymalloc = reader->pymalloc;
	uint64_t start, at, end;
	struct hawk_error *err = NULL;
	struct arena arena;

	if (pointer % 8 || is_known(&pymalloc->arrays, pointer) ||
	    !find_start(reader, pointer, &start) || is_known(&pymalloc->arrays, start))
		return NULL;
	at = end = start;
	for (uint32_t i = 0; i < ARENAS_MAX && !err; i++, at += ARENA_BYTES) {
		uint64_t pool_bytes;
		uint32_t number;

		if (!read_arena(reader, at, &arena) ||
		    (!is_arena(&arena) && !is_unused(&arena, at)))
			break;
		if (!arena.address)
			continue;
		end = at + ARENA_BYTES;
		if (read_first_pool(reader, &arena, &pool_bytes, &number) && number == i)
			err = add_pools(reader, &arena, pool_bytes);
		else
			pymalloc->heap.incomplete = true;
	}
	return err ? err : hawk_claims_add(&pymalloc->arrays, start, end);
}

static struct hawk_error *read_arrays(struct reader *reader)
{
	struct hawk_data_words words = {.module = reader->pymalloc->home.module};
	const struct hawk_target *target = reader->pymalloc->heap.target;
	struct hawk_near near = {.target = target};
	struct hawk_error *err = NULL;
	uint64_t pointer;

	while (!err && hawk_data_words_next(&words, &near, &pointer)) {
		const struct hawk_mapping *to = hawk_target_mapping_at(target, pointer);

		if (to && hawk_is_anonymous(target, to))
			err = read_array(reader, pointer);
	}
	return err;
}

/* Marks the blocks of a pool that were freed, or never used. */
static void mark_pool(struct reader *reader, const struct hawk_slab *slab)
{
	struct hawk_slab_heap *heap = &reader->pymalloc->heap;
	uint64_t count = slab->count, freed;
	struct pool pool;

	if (!read_pool(reader, slab->start - PYMALLOC_POOL_HEADER, &pool))
		return;
	while (count && PYMALLOC_POOL_HEADER + (count - 1) * slab->object_bytes >= pool.fresh)
		hawk_slabs_set(&heap->slabs, slab->first + --count, HAWK_OBJECT_FREE);
	freed = hawk_slabs_mark_list(&heap->slabs, &reader->arenas,
				     &(struct hawk_slab_list){.first = pool.free_block,
							      .object_bytes = slab->object_bytes,
							      .state = HAWK_OBJECT_FREE});
	if (count - freed == pool.used)
		return;
	reader->differing++;
	reader->in_flux = count - freed + 1 == pool.used || count - freed == pool.used + 1;
}

static struct hawk_error *find(const struct hawk_target *target, const struct hawk_claims *claims,
			       void *state, bool *is_there)
{
	struct hawk_pymalloc *pymalloc = state;
	struct reader reader = {
		.pymalloc = pymalloc, .arenas.target = target, .pools.target = target};
	struct hawk_error *err;

	(void)claims;
	pymalloc->heap.target = target;
	if (!hawk_python_find_home(target, &pymalloc->home))
		return NULL;
	err = read_arrays(&reader);
	if (!err)
		err = hawk_slabs_finish(&pymalloc->heap.slabs, target);
	if (err)
		return err;
	for (size_t i = 0; i < pymalloc->heap.slabs.count; i++)
		mark_pool(&reader, &pymalloc->heap.slabs.items[i]);
	/* A process may die in the middle of a call, which one thread can be in at a time. */
	pymalloc->heap.differing = reader.differing == 1 && reader.in_flux ? 0 : reader.differing;
	hawk_claims_sort(&pymalloc->heap.metadata);
	hawk_claims_sort(&pymalloc->heap.memory);
	*is_there = pymalloc->heap.slabs.count;
	return NULL;
}

static struct hawk_error *keep(const void *state, hawk_keep_function *take, void *context)
{
	const struct hawk_pymalloc *pymalloc = state;
	uint64_t type = pymalloc->home.type;
	struct hawk_error *err = take(context, type, type + PYTHON_TYPE_BYTES);

	for (size_t i = 0; i < pymalloc->arrays.count && !err; i++)
		err = take(context, pymalloc->arrays.items[i].start, pymalloc->arrays.items[i].end);
	return err;
}

static void forget(void *state)
{
	struct hawk_pymalloc *pymalloc = state;

	hawk_claims_deinit(&pymalloc->arrays);
	hawk_slab_heap_deinit(&pymalloc->heap);
}

const struct hawk_walker hawk_walker_pymalloc = {
	.name = "pymalloc",
	.rounds_to_16 = true,
	.state_bytes = sizeof(struct hawk_pymalloc),
	.find = find,
	.spans = hawk_slab_heap_spans,
	.begin = hawk_slab_heap_begin,
	.next = hawk_slab_heap_next,
	.verify = hawk_slab_heap_verify,
	.free_bytes = hawk_slab_heap_free_bytes,
	.describe = hawk_slab_heap_describe,
	.keep = keep,
	.forget = forget,
};
