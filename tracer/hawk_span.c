/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How spans are made and grow.
 */
#include "hawk_span.h"

#include "hawk_claim.h"
#include "hawk_extents.h"
#include "hawk_file.h"
#include "hawk_place.h"

enum {
	PAGE_BYTES = 1 << HAWK_SPAN_PAGE_LOG2,
	ROOM_SHARE = 4, /**< what is more than one part in so many of the room comes in pieces */
	PIECE_BYTES = 1 << 16, /**< the least that a piece has, while there is room */
	TRIES = 8,             /**< others take of the room meanwhile */
};

static uint64_t pack(uint64_t address, size_t bytes)
{
	return address >> HAWK_SPAN_PAGE_LOG2 << HAWK_SPAN_COUNT_BITS |
	       bytes >> HAWK_SPAN_PAGE_LOG2;
}

static bool is_in_file(const struct hawk_span_shape *shape)
{
	return shape->kind != HAWK_EXTENT_PRIVATE && hawk_file_active();
}

static uint64_t room_for(const struct hawk_span_shape *shape)
{
	uint64_t room = hawk_place_room();
	uint64_t file = is_in_file(shape) ? hawk_file_room() : UINT64_MAX;

	return (room < file ? room : file) & -(uint64_t)PAGE_BYTES;
}

/** What is missing of the first `bytes`. */
static size_t needed(size_t mapped, size_t bytes)
{
	return ((bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES) - mapped;
}

/** How much to map next, so that `bytes` are there; 0: there is no room for that. */
static size_t choose_piece(const struct hawk_span_shape *shape, size_t mapped, size_t bytes)
{
	uint64_t room = room_for(shape);
	size_t rest = shape->bytes - mapped;
	size_t least = needed(mapped, bytes);
	size_t piece = room / ROOM_SHARE & -(size_t)PAGE_BYTES;

	if (rest <= piece)
		return rest;
	if (least > room)
		return 0;
	if (piece < PIECE_BYTES)
		piece = PIECE_BYTES;
	if (piece < least)
		piece = least;
	if (piece > room)
		piece = room;
	return piece < rest ? piece : rest;
}

/** All of a span in a file, wherever the kernel puts it. */
static void *map_in_file(size_t bytes, uint64_t *file_offset)
{
	void *memory;

	if (!hawk_place_take(bytes))
		return NULL;
	memory = hawk_file_map(bytes, file_offset);
	if (!memory)
		hawk_place_give_back(NULL, bytes);
	return memory;
}

/** Anonymous memory that was mapped at `memory` becomes a part of the file, if that is where the
 * span is. False: no room there; it is given back. */
static bool move_into_file(const struct hawk_span_shape *shape, void *memory, size_t bytes,
			   uint64_t *file_offset)
{
	if (!is_in_file(shape) || hawk_file_map_over(memory, bytes, file_offset))
		return true;
	hawk_place_give_back(memory, bytes);
	return false;
}

static void *map_piece(const struct hawk_span_shape *shape, size_t bytes, uint64_t *file_offset)
{
	void *memory;

	if (is_in_file(shape) && bytes == shape->bytes)
		return map_in_file(bytes, file_offset);
	memory = hawk_place_map(bytes, shape->bytes, shape->kind != HAWK_EXTENT_PRIVATE);
	if (memory && !move_into_file(shape, memory, bytes, file_offset))
		return NULL;
	return memory;
}

/** Whether `piece` failed because others took of the room meanwhile. */
static bool came_late(const struct hawk_span_shape *shape, size_t piece)
{
	return piece > room_for(shape);
}

static void *map_front(const struct hawk_span_shape *shape, size_t bytes, size_t *piece,
		       uint64_t *file_offset)
{
	void *memory = NULL;

	for (int i = 0; i < TRIES; i++) {
		*piece = choose_piece(shape, 0, bytes);
		memory = *piece ? map_piece(shape, *piece, file_offset) : NULL;
		if (memory || !came_late(shape, *piece))
			break;
	}
	if (memory && shape->wiped && !hawk_file_wipe_on_fork(memory, shape->wiped)) {
		hawk_place_give_back(memory, *piece);
		return NULL;
	}
	return memory;
}

/** File mappings stay: others may be growing from them. */
static void unmap_front(const struct hawk_span_shape *shape, void *memory, size_t bytes)
{
	if (!is_in_file(shape))
		hawk_place_give_back(memory, bytes);
}

static void make(struct hawk_span *span, const struct hawk_span_shape *shape, size_t bytes)
{
	uint64_t expected = 0, file_offset = 0;
	size_t piece;
	void *memory = map_front(shape, bytes, &piece, &file_offset);

	if (!memory)
		return;
	if (__atomic_compare_exchange_n(&span->state, &expected, pack((uint64_t)memory, piece),
					false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		hawk_extents_publish(memory, piece, shape->kind, file_offset);
	else
		unmap_front(shape, memory, piece);
}

/** Maps the next piece behind `end`; returns its size, 0: no memory there. */
static size_t map_behind(const struct hawk_span_shape *shape, uint64_t end, size_t mapped,
			 size_t bytes, uint64_t *file_offset)
{
	for (int i = 0; i < TRIES; i++) {
		size_t piece = choose_piece(shape, mapped, bytes);

		if (piece && hawk_place_extend(end, piece))
			return move_into_file(shape, (void *)end, piece, file_offset) ? piece : 0;
		if (!came_late(shape, piece))
			return 0;
	}
	return 0;
}

/** Whoever gets the memory behind the end is the one who may say so: no exchange. */
static void grow(struct hawk_span *span, const struct hawk_span_shape *shape, uint64_t state,
		 size_t bytes)
{
	uint64_t start = hawk_span_address(state);
	size_t mapped = hawk_span_bytes(state);
	uint64_t end = start + mapped, file_offset = 0;
	size_t piece = map_behind(shape, end, mapped, bytes, &file_offset);

	if (!piece)
		return;
	if (file_offset)
		hawk_extents_publish((const void *)end, piece, shape->kind, file_offset);
	else
		hawk_extents_extend(end, piece, shape->kind);
	__atomic_store_n(&span->state, pack(start, mapped + piece), __ATOMIC_RELEASE);
}

/** Nobody waits in vain, call after call, once the room is used up; and whoever takes the last of
 * it has a claim until it is there. */
static bool is_hopeless(const struct hawk_span *span, const struct hawk_span_shape *shape,
			uint64_t state, size_t bytes)
{
	return needed(hawk_span_bytes(state), bytes) > room_for(shape) &&
	       !hawk_claim_is_taken(&span->claim);
}

static bool needs_claim(const struct hawk_span_shape *shape, uint64_t state)
{
	return state || shape->kind == HAWK_EXTENT_PRIVATE || hawk_file_active();
}

static void reach_alone(struct hawk_span *span, const struct hawk_span_shape *shape, size_t bytes)
{
	uint64_t state = __atomic_load_n(&span->state, __ATOMIC_ACQUIRE);

	if (!state)
		make(span, shape, bytes);
	else if (hawk_span_bytes(state) < bytes)
		grow(span, shape, state, bytes);
}

/** One step towards `bytes`. */
static void reach(struct hawk_span *span, const struct hawk_span_shape *shape, uint64_t state,
		  size_t bytes)
{
	if (!needs_claim(shape, state)) {
		make(span, shape, bytes);
		return;
	}
	if (is_hopeless(span, shape, state, bytes) ||
	    !hawk_claim_take(&span->claim, &span->state, state))
		return;
	reach_alone(span, shape, bytes);
	hawk_claim_end(&span->claim);
}

uint64_t hawk_span_reach(struct hawk_span *span, const struct hawk_span_shape *shape, size_t bytes)
{
	uint64_t before, state = __atomic_load_n(&span->state, __ATOMIC_ACQUIRE);

	/* Others may have grown it, but not that far. */
	do {
		if (hawk_span_bytes(state) >= bytes)
			return hawk_span_address(state);
		before = state;
		reach(span, shape, state, bytes);
		state = __atomic_load_n(&span->state, __ATOMIC_ACQUIRE);
	} while (state != before);
	return 0;
}

void hawk_span_set(struct hawk_span *span, uint64_t address, size_t bytes)
{
	span->state = pack(address, bytes);
	span->claim = 0;
}
