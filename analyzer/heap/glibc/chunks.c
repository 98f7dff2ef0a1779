/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Steps from chunk to chunk along a run, around damage.
 */
#include "glibc.h"

/* Returns true if a chunk at `at` can have this size word. */
static bool is_plausible(const struct hawk_glibc_run *run, uint64_t at, uint64_t size)
{
	uint64_t bytes = hawk_chunk_bytes(size);

	return bytes >= HAWK_CHUNK_BYTES_MIN && bytes % HAWK_CHUNK_ALIGNMENT == 0 &&
	       !(size & HAWK_CHUNK_MAPPED) && bytes <= run->end - at;
}

/* Returns the size of the chunks at `at` if they are the two small ones that end a piece of memory,
 * or 0. The memory behind is not the arena's. A third one was the rest of the former top. */
static uint64_t fence_bytes(struct hawk_near *near, uint64_t at)
{
	uint64_t first, second, third, end = at + 2 * HAWK_CHUNK_HEADER_BYTES;

	if (!hawk_word(near, at + HAWK_CHUNK_SIZE_OFFSET, &first) ||
	    !hawk_word(near, at + HAWK_CHUNK_HEADER_BYTES + HAWK_CHUNK_SIZE_OFFSET, &second) ||
	    hawk_chunk_bytes(first) != HAWK_CHUNK_HEADER_BYTES ||
	    hawk_chunk_bytes(second) > HAWK_CHUNK_HEADER_BYTES || !(second & HAWK_CHUNK_IN_USE))
		return 0;
	if (end % HAWK_GLIBC_PAGE_BYTES && hawk_word(near, end + HAWK_CHUNK_SIZE_OFFSET, &third) &&
	    third == (HAWK_CHUNK_HEADER_BYTES | HAWK_CHUNK_IN_USE))
		end += HAWK_CHUNK_HEADER_BYTES;
	return end - at;
}

enum hawk_piece_state hawk_glibc_step(struct hawk_near *near, const struct hawk_glibc_run *run,
				      uint64_t at, uint64_t *size, uint64_t *bytes)
{
	uint64_t next, before, word = *size;

	*bytes = hawk_chunk_bytes(word);
	if (at == run->top || at + *bytes == run->end)
		return HAWK_PIECE_UNTOUCHED;
	if (*bytes < HAWK_CHUNK_BYTES_MIN) {
		*bytes = fence_bytes(near, at);
		return *bytes ? HAWK_PIECE_OVERHEAD : HAWK_PIECE_DAMAGED;
	}
	if (!is_plausible(run, at, word))
		return HAWK_PIECE_DAMAGED;
	if (!hawk_word(near, at + *bytes + HAWK_CHUNK_SIZE_OFFSET, &next))
		return HAWK_PIECE_MISSING;
	*size = next;
	if (next & HAWK_CHUNK_IN_USE) {
		if (!(word & HAWK_CHUNK_ARENA) == !run->has_flag)
			return HAWK_PIECE_LIVE;
		/* The rest of a full heap was too small for a chunk. */
		return next == HAWK_CHUNK_IN_USE ? HAWK_PIECE_OVERHEAD : HAWK_PIECE_DAMAGED;
	}
	if (hawk_word(near, at + *bytes, &before) && before == *bytes)
		return HAWK_PIECE_FREE;
	/* The follower calls it free, but has another size: its words were overwritten, by this
	 * chunk unless it is linked. */
	return hawk_chunk_is_linked(near, at) ? HAWK_PIECE_FREE : HAWK_PIECE_LIVE;
}

/* Returns true if `least` sound chunks follow each other from `at` on, or up to the run's end, and
 * none reaches into another allocator's memory. */
static bool is_sound(const struct hawk_glibc *glibc, struct hawk_near *near,
		     const struct hawk_glibc_run *run, uint64_t at, uint64_t size, unsigned least)
{
	const struct hawk_claim *claim = hawk_claims_from(&glibc->claims, at);
	uint64_t limit = claim ? claim->start : UINT64_MAX;
	unsigned count = 0;

	while (count < least) {
		uint64_t bytes, word = size, before;

		switch (hawk_glibc_step(near, run, at, &size, &bytes)) {
		case HAWK_PIECE_FREE:
			if (!hawk_word(near, at + bytes, &before) || before != bytes)
				return false;
			break;
		case HAWK_PIECE_LIVE:
			if (!(size & HAWK_CHUNK_IN_USE) || !is_plausible(run, at, word))
				return false;
			break;
		case HAWK_PIECE_UNTOUCHED:
			return (at == run->top || count) && bytes <= limit - at;
		case HAWK_PIECE_OVERHEAD:
			return count;
		default:
			return false;
		}
		if (bytes > limit - at)
			return false;
		at += bytes;
		count++;
	}
	return true;
}

uint64_t hawk_glibc_resume(const struct hawk_glibc *glibc, struct hawk_near *near,
			   const struct hawk_glibc_run *run, uint64_t at, unsigned least)
{
	while (run->end - at > HAWK_CHUNK_ALIGNMENT + HAWK_CHUNK_BYTES_MIN) {
		const struct hawk_claim *claim;
		uint64_t size;

		at += HAWK_CHUNK_ALIGNMENT;
		claim = hawk_claims_from(&glibc->claims, at);
		if (claim && claim->start <= at) {
			if (claim->end >= run->end)
				break;
			at = (claim->end - 1) & -(uint64_t)HAWK_CHUNK_ALIGNMENT;
			continue;
		}
		if (at == run->top)
			return at;
		if (!hawk_word(near, at + HAWK_CHUNK_SIZE_OFFSET, &size))
			break;
		if (is_plausible(run, at, size) && is_sound(glibc, near, run, at, size, least))
			return at;
	}
	return run->end;
}

bool hawk_glibc_ends_well(const struct hawk_glibc *glibc, struct hawk_near *near,
			  const struct hawk_glibc_run *run, uint64_t at, uint64_t *end)
{
	const struct hawk_claim *claim = hawk_claims_from(&glibc->claims, at);
	uint64_t limit = claim ? claim->start : run->end, size, count = 0;

	if (!hawk_word(near, at + HAWK_CHUNK_SIZE_OFFSET, &size) ||
	    (size & HAWK_CHUNK_FLAGS) != HAWK_CHUNK_IN_USE)
		return false;
	for (;; count++) {
		uint64_t bytes;
		enum hawk_piece_state step = hawk_glibc_step(near, run, at, &size, &bytes);

		*end = at;
		if (step == HAWK_PIECE_UNTOUCHED) {
			*end = at + bytes;
			return at == run->top && bytes <= run->end - at;
		}
		if (step == HAWK_PIECE_OVERHEAD && count) {
			*end = at + bytes;
			return true;
		}
		if ((step != HAWK_PIECE_LIVE && step != HAWK_PIECE_FREE) || at + bytes > limit)
			return false;
		at += bytes;
	}
}

void hawk_glibc_begin(struct hawk_glibc_cursor *cursor, const struct hawk_glibc *glibc)
{
	*cursor = (struct hawk_glibc_cursor){.glibc = glibc, .near = {.target = glibc->target}};
}

/* Marks a chunk that looks used but is not. */
static void tell_special(struct hawk_glibc_cursor *cursor, struct hawk_glibc_chunk *chunk)
{
	const struct hawk_glibc *glibc = cursor->glibc;

	while (cursor->special < glibc->special_count &&
	       glibc->specials[cursor->special].start < chunk->start)
		cursor->special++;
	if (cursor->special < glibc->special_count &&
	    glibc->specials[cursor->special].start == chunk->start) {
		chunk->state = glibc->specials[cursor->special].state;
		chunk->owner = glibc->specials[cursor->special].owner;
	}
}

/* Makes a piece that is no chunk, up to the next sound chunks. */
static void skip(struct hawk_glibc_cursor *cursor, const struct hawk_glibc_run *run,
		 enum hawk_piece_state state, uint64_t from, struct hawk_glibc_chunk *ret)
{
	ret->state = state;
	ret->word = cursor->size;
	cursor->at = hawk_glibc_resume(cursor->glibc, &cursor->near, run, from,
				       state == HAWK_PIECE_FOREIGN ? HAWK_GLIBC_SOUND_FOREIGN
								   : HAWK_GLIBC_SOUND);
	if (!hawk_word(&cursor->near, cursor->at + HAWK_CHUNK_SIZE_OFFSET, &cursor->size))
		cursor->at = run->end;
}

/* Passes the fence posts; the memory behind them becomes a piece of its own. */
static void pass_fence(struct hawk_glibc_cursor *cursor, const struct hawk_glibc_run *run,
		       struct hawk_glibc_chunk *ret)
{
	uint64_t behind = ret->start + ret->bytes;

	if (run->top > ret->start && behind < run->top) {
		cursor->at = behind;
		cursor->is_foreign = true;
	} else {
		cursor->at = run->end;
	}
}

static void take_step(struct hawk_glibc_cursor *cursor, const struct hawk_glibc_run *run,
		      struct hawk_glibc_chunk *ret)
{
	ret->state = hawk_glibc_step(&cursor->near, run, cursor->at, &cursor->size, &ret->bytes);
	switch (ret->state) {
	case HAWK_PIECE_LIVE:
		ret->usable = ret->bytes - HAWK_CHUNK_SIZE_OFFSET;
		cursor->last = ret->start + HAWK_CHUNK_HEADER_BYTES;
		tell_special(cursor, ret);
		cursor->at += ret->bytes;
		break;
	case HAWK_PIECE_FREE:
		cursor->at += ret->bytes;
		break;
	case HAWK_PIECE_OVERHEAD:
		pass_fence(cursor, run, ret);
		break;
	case HAWK_PIECE_DAMAGED:
		ret->neighbour = cursor->last;
		skip(cursor, run, HAWK_PIECE_DAMAGED, cursor->at, ret);
		break;
	default:
		cursor->at = run->end;
	}
}

bool hawk_glibc_next(struct hawk_glibc_cursor *cursor, struct hawk_glibc_chunk *ret)
{
	const struct hawk_glibc *glibc = cursor->glibc;
	const struct hawk_glibc_run *run;

	while (cursor->run < glibc->run_count && cursor->at >= glibc->runs[cursor->run].end) {
		cursor->run++;
		cursor->at = 0;
	}
	if (cursor->run == glibc->run_count)
		return false;
	run = &glibc->runs[cursor->run];
	if (!cursor->at) {
		cursor->at = run->start;
		cursor->last = 0;
		cursor->is_foreign = false;
	}
	*ret = (struct hawk_glibc_chunk){.start = cursor->at};
	if (run->usable) {
		ret->state = HAWK_PIECE_LIVE;
		ret->usable = run->usable;
		cursor->at = run->end;
	} else if (cursor->is_foreign) {
		cursor->is_foreign = false;
		skip(cursor, run, HAWK_PIECE_FOREIGN, cursor->at - HAWK_CHUNK_ALIGNMENT, ret);
	} else if (cursor->at != run->start ||
		   hawk_word(&cursor->near, cursor->at + HAWK_CHUNK_SIZE_OFFSET, &cursor->size)) {
		take_step(cursor, run, ret);
	} else {
		ret->state = HAWK_PIECE_MISSING;
		cursor->at = run->end;
	}
	ret->bytes = cursor->at - ret->start;
	return true;
}
