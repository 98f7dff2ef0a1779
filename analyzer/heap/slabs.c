/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows of objects of equal size, the state of each object, and heaps made of them.
 */
#include "slabs.h"

enum {
	OBJECTS_A_BYTE = 4,
	STATE_BITS = 2,
	STATE_MASK = 3,
	OBJECT_BYTES_MIN = 8,
	OBJECTS_MISSING_MAX = 1 << 24, /* in memory that the core lacks */
};

struct hawk_error *hawk_slabs_add(struct hawk_slabs *slabs, struct hawk_slab slab)
{
	uint64_t bytes;

	if (!slab.object_bytes || !slab.count ||
	    __builtin_mul_overflow(slab.object_bytes, slab.count, &bytes) ||
	    slab.start + bytes < slab.start)
		return NULL;
	if (!hawk_array_reserve(&slabs->items, slabs->count, &slabs->capacity,
				sizeof(*slabs->items)))
		return &hawk_enomem;
	slabs->items[slabs->count++] = slab;
	return NULL;
}

static int by_start(const void *left, const void *right)
{
	const struct hawk_slab *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static uint64_t end_of(const struct hawk_slab *slab)
{
	return slab->start + slab->object_bytes * slab->count;
}

struct hawk_error *hawk_slabs_finish(struct hawk_slabs *slabs, const struct hawk_target *target)
{
	uint64_t most = hawk_target_present_bytes(target) / OBJECT_BYTES_MIN + OBJECTS_MISSING_MAX +
			slabs->count;
	size_t used = 0;

	if (slabs->count)
		qsort(slabs->items, slabs->count, sizeof(*slabs->items), by_start);
	for (size_t i = 0; i < slabs->count; i++) {
		if ((used && slabs->items[i].start < end_of(&slabs->items[used - 1])) ||
		    slabs->items[i].count > most - slabs->object_count) {
			slabs->overlapping++;
			continue;
		}
		slabs->items[used] = slabs->items[i];
		slabs->items[used++].first = slabs->object_count;
		slabs->object_count += slabs->items[used - 1].count;
	}
	slabs->count = used;
	slabs->states = calloc(slabs->object_count / OBJECTS_A_BYTE + 1, 1);
	return slabs->states ? NULL : &hawk_enomem;
}

void hawk_slabs_deinit(struct hawk_slabs *slabs)
{
	free(slabs->items);
	free(slabs->states);
	hawk_damages_deinit(&slabs->damages);
	*slabs = (struct hawk_slabs){0};
}

const struct hawk_slab *hawk_slabs_at(const struct hawk_slabs *slabs, uint64_t address)
{
	size_t i = hawk_array_first_above(slabs->items, slabs->count, sizeof(*slabs->items),
					  offsetof(struct hawk_slab, start), address);

	return i && address < end_of(&slabs->items[i - 1]) ? &slabs->items[i - 1] : NULL;
}

static unsigned shift_of(uint64_t object)
{
	return STATE_BITS * (unsigned)(object % OBJECTS_A_BYTE);
}

enum hawk_object_state hawk_slabs_state(const struct hawk_slabs *slabs, uint64_t object)
{
	return slabs->states[object / OBJECTS_A_BYTE] >> shift_of(object) & STATE_MASK;
}

void hawk_slabs_set(struct hawk_slabs *slabs, uint64_t object, enum hawk_object_state state)
{
	uint8_t *states = &slabs->states[object / OBJECTS_A_BYTE];

	*states = (uint8_t)((*states & ~(STATE_MASK << shift_of(object))) |
			    (unsigned)state << shift_of(object));
}

/* As hawk_slabs_mark(); `slab` holds the address, or is NULL. */
static bool mark_in(struct hawk_slabs *slabs, const struct hawk_slab *slab, uint64_t address,
		    enum hawk_object_state state)
{
	uint64_t object;

	if (!slab || (address - slab->start) % slab->object_bytes)
		return false;
	object = slab->first + (address - slab->start) / slab->object_bytes;
	if (hawk_slabs_state(slabs, object) != HAWK_OBJECT_LIVE)
		return false;
	hawk_slabs_set(slabs, object, state);
	return true;
}

bool hawk_slabs_mark(struct hawk_slabs *slabs, uint64_t address, enum hawk_object_state state)
{
	return mark_in(slabs, hawk_slabs_at(slabs, address), address, state);
}

static uint64_t object_at(const struct hawk_slab *slab, uint64_t address)
{
	return address - (address - slab->start) % slab->object_bytes;
}

void hawk_slabs_note_freed(struct hawk_slabs *slabs, uint64_t address)
{
	const struct hawk_slab *slab = hawk_slabs_at(slabs, address);
	struct hawk_damage damage = {.address = address, .found = address};

	if (!slab)
		return;
	damage.kind = hawk_slabs_free_bytes(slabs, address) ? HAWK_DAMAGE_FREED_TWICE
							    : HAWK_DAMAGE_FREED_INSIDE;
	damage.neighbour = object_at(slab, address);
	damage.neighbour_bytes = slab->object_bytes;
	hawk_damages_add(&slabs->damages, &damage);
}

static void note_written(struct hawk_slabs *slabs, uint64_t object, uint64_t found)
{
	hawk_damages_add(
		&slabs->damages,
		&(struct hawk_damage){.address = object,
				      .bytes = sizeof(found),
				      .neighbour = object,
				      .neighbour_bytes = hawk_slabs_free_bytes(slabs, object),
				      .found = found,
				      .kind = HAWK_DAMAGE_WRITTEN});
}

/* Returns true if `address` is the end of a list, or where an object begins. */
static bool is_object(const struct hawk_slabs *slabs, uint64_t address)
{
	const struct hawk_slab *slab = hawk_slabs_at(slabs, address);

	return !address || (slab && object_at(slab, address) == address);
}

/* Notes why a list ends at `at`: either that was freed, or object `last` (0 = none) was written to.
 * Lists may lead to slabs that are not known. */
static void note_break(struct hawk_slabs *slabs, struct hawk_near *near, uint64_t last, uint64_t at)
{
	const struct hawk_slab *slab = hawk_slabs_at(slabs, at);
	uint64_t next = 1;

	if (slab &&
	    (hawk_slabs_free_bytes(slabs, at) ||
	     (!is_object(slabs, at) && hawk_word(near, at, &next) && is_object(slabs, next))))
		hawk_slabs_note_freed(slabs, at);
	else if (last &&
		 (slab || at % OBJECT_BYTES_MIN || !hawk_target_mapping_at(near->target, at) ||
		  hawk_target_module_at(near->target, at)))
		note_written(slabs, last, at);
}

/* Marks the object of a list that begins at `address`. */
static bool mark_of_list(struct hawk_slabs *slabs, const struct hawk_slab_list *list,
			 uint64_t address)
{
	const struct hawk_slab *slab = hawk_slabs_at(slabs, address);

	return slab && (!list->object_bytes || slab->object_bytes == list->object_bytes) &&
	       mark_in(slabs, slab, address, list->state);
}

uint64_t hawk_slabs_mark_list(struct hawk_slabs *slabs, struct hawk_near *near,
			      const struct hawk_slab_list *list)
{
	uint64_t count = 0, at = list->first, last = 0;

	while (at && mark_of_list(slabs, list, at)) {
		count++;
		last = at;
		if (!hawk_word(near, at, &at))
			return count;
	}
	if (at)
		note_break(slabs, near, last, at);
	else if (last && count < list->length)
		note_written(slabs, last, 0);
	return count;
}

uint64_t hawk_slabs_free_bytes(const struct hawk_slabs *slabs, uint64_t address)
{
	const struct hawk_slab *slab = hawk_slabs_at(slabs, address);
	enum hawk_object_state state;

	if (!slab || (address - slab->start) % slab->object_bytes)
		return 0;
	state = hawk_slabs_state(slabs, slab->first + (address - slab->start) / slab->object_bytes);
	return state == HAWK_OBJECT_FREE || state == HAWK_OBJECT_CACHED ? slab->object_bytes : 0;
}

/** Walks objects in ascending order. */
struct cursor {
	const struct hawk_slabs *slabs;
	size_t slab;
	uint64_t index; /**< in the slab */
};

void *hawk_slab_heap_begin(const void *state)
{
	const struct hawk_slab_heap *heap = state;
	struct cursor *cursor = calloc(1, sizeof(*cursor));

	if (cursor)
		cursor->slabs = &heap->slabs;
	return cursor;
}

static const uint8_t piece_states[] = {
	[HAWK_OBJECT_LIVE] = HAWK_PIECE_LIVE,
	[HAWK_OBJECT_FREE] = HAWK_PIECE_FREE,
	[HAWK_OBJECT_CACHED] = HAWK_PIECE_CACHED,
	[HAWK_OBJECT_INTERNAL] = HAWK_PIECE_INTERNAL,
};

bool hawk_slab_heap_next(void *context, struct hawk_piece *ret)
{
	struct cursor *cursor = context;
	const struct hawk_slabs *slabs = cursor->slabs;

	for (; cursor->slab < slabs->count; cursor->slab++, cursor->index = 0) {
		const struct hawk_slab *slab = &slabs->items[cursor->slab];

		if (cursor->index == slab->count)
			continue;
		*ret = (struct hawk_piece){
			.start = slab->start + cursor->index * slab->object_bytes,
			.bytes = slab->object_bytes,
			.state = piece_states[hawk_slabs_state(slabs, slab->first + cursor->index)],
			.arena = slab->arena - 1, /* 0 becomes HAWK_NOT_KNOWN */
			.thread = HAWK_NOT_KNOWN,
			.unit = slab->start,
			.unit_bytes = end_of(slab) - slab->start};
		cursor->index++;
		return true;
	}
	return false;
}

struct hawk_error *hawk_slab_heap_spans(const void *state, struct hawk_heap_spans *ret)
{
	const struct hawk_slab_heap *heap = state;
	struct hawk_error *err = hawk_claims_put(&heap->memory, HAWK_SPAN_HEAP, ret);

	if (!err)
		err = hawk_claims_put(&heap->free, HAWK_SPAN_FREE, ret);
	return err ? err : hawk_claims_put(&heap->metadata, HAWK_SPAN_METADATA, ret);
}

void hawk_slab_heap_describe(const void *state, struct hawk_allocator *ret)
{
	const struct hawk_slab_heap *heap = state;

	ret->version = heap->version;
	ret->incomplete = heap->incomplete;
	ret->differing = heap->differing + heap->slabs.overlapping;
}

void hawk_slab_heap_deinit(struct hawk_slab_heap *heap)
{
	hawk_slabs_deinit(&heap->slabs);
	hawk_claims_deinit(&heap->memory);
	hawk_claims_deinit(&heap->free);
	hawk_claims_deinit(&heap->metadata);
	free(heap->threads);
	free(heap->arenas);
}

struct hawk_error *hawk_slab_heap_add_arena(struct hawk_slab_heap *heap, uint64_t address)
{
	if (!hawk_array_reserve(&heap->arenas, heap->arena_count, &heap->arena_capacity,
				sizeof(*heap->arenas)))
		return &hawk_enomem;
	heap->arenas[heap->arena_count++] = address;
	return NULL;
}

static int by_pointer(const void *left, const void *right)
{
	const struct hawk_slab_thread *a = left, *b = right;

	return a->pointer < b->pointer ? -1 : a->pointer > b->pointer;
}

struct hawk_error *hawk_slab_heap_threads(struct hawk_slab_heap *heap)
{
	const struct hawk_thread *threads = hawk_target_threads(heap->target, &heap->thread_count);

	heap->threads = calloc(heap->thread_count + 1, sizeof(*heap->threads));
	if (!heap->threads)
		return &hawk_enomem;
	for (size_t i = 0; i < heap->thread_count; i++)
		heap->threads[i] =
			(struct hawk_slab_thread){.pointer = hawk_thread_pointer(&threads[i]),
						  .number = i,
						  .arena = HAWK_NOT_KNOWN};
	qsort(heap->threads, heap->thread_count, sizeof(*heap->threads), by_pointer);
	return NULL;
}

struct hawk_slab_thread *hawk_slab_heap_thread(const struct hawk_slab_heap *heap, uint64_t pointer)
{
	size_t i = hawk_array_first_above(heap->threads, heap->thread_count, sizeof(*heap->threads),
					  offsetof(struct hawk_slab_thread, pointer), pointer);

	return pointer && i && heap->threads[i - 1].pointer == pointer ? &heap->threads[i - 1]
								       : NULL;
}

bool hawk_slab_heap_arena(const void *state, size_t number, struct hawk_allocator_arena *ret)
{
	const struct hawk_slab_heap *heap = state;

	if (number >= heap->arena_count)
		return false;
	*ret = (struct hawk_allocator_arena){.address = heap->arenas[number]};
	return true;
}

void hawk_slab_heap_thread_arenas(const void *state, uint32_t *ret)
{
	const struct hawk_slab_heap *heap = state;

	for (size_t i = 0; i < heap->thread_count; i++)
		ret[heap->threads[i].number] = heap->threads[i].arena;
}

bool hawk_slab_heap_cached(const void *state, size_t thread, uint64_t *objects, uint64_t *bytes)
{
	const struct hawk_slab_heap *heap = state;

	for (size_t i = 0; heap->caches_known && i < heap->thread_count; i++) {
		if (heap->threads[i].number != thread)
			continue;
		*objects += heap->threads[i].cached_objects;
		*bytes += heap->threads[i].cached_bytes;
	}
	return heap->caches_known;
}

void hawk_slab_heap_verify(const void *state, struct hawk_damages *ret)
{
	const struct hawk_slab_heap *heap = state;

	for (size_t i = 0; i < heap->slabs.damages.count; i++)
		hawk_damages_add(ret, &heap->slabs.damages.items[i]);
}

uint64_t hawk_slab_heap_free_bytes(const void *state, uint64_t address)
{
	const struct hawk_slab_heap *heap = state;

	return hawk_slabs_free_bytes(&heap->slabs, address);
}
