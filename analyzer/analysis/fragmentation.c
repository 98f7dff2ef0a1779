/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Goes through allocators' pieces, unit by unit. Sums grow with sites, not with blocks.
 *
 *     page of chunks:  |..free..|block of A|......free......|block of A|..|   A alone pins the page
 *     slab:            |block of A|free|free|free|free|block of B|free|free|   A and B share it
 */
#include "hawk/analysis/fragmentation.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/heap/touched.h"

enum {
	PAGE_BYTES = 4096,
	OWNERS_MAX = 32, /* told apart in a unit */
	QUARTER = 4,
	KEPT_MIN = 128 << 10, /* less is not worth a verdict: as much as a top may keep */
	ARENAS_MANY = 8,      /* glibc makes no more for one processor */
	/* Pins behind those of sites. */
	PIN_UNKNOWN = 0,
	PIN_CACHED,
	PINS_MORE,
};

/** The blocks of one pin in a unit. */
struct owner {
	uint32_t pin;
	uint64_t objects, bytes;
	uint64_t example;
	uint32_t block;
};

/** The current unit. */
struct unit {
	uint64_t start, end; /**< equal: no unit */
	uint64_t free_bytes;
	struct owner owners[OWNERS_MAX];
	unsigned owner_count;
	bool has_more; /**< more owners than are told apart */
	bool is_slab;  /**< else a page of memory, which runs of free chunks count if it is free */
};

struct making {
	const struct hawk_heap *heap;
	const struct hawk_heap_found *found; /**< the allocator walked */
	hawk_piece_function *see;            /**< or NULL */
	void *context;
	struct hawk_fragmentation *result;
	struct hawk_pin *pins;
	uint32_t block; /**< of the heap's: the next one */
	struct unit unit;
	uint64_t run_start, run_end; /**< adjacent free pieces of chunks */
	bool is_beside;              /**< the run lies in an arena beside the main one */
	struct hawk_error *err;
};

static uint64_t page_of(uint64_t address)
{
	return address & -(uint64_t)PAGE_BYTES;
}

static struct hawk_pin *pin_of(const struct making *making, const struct owner *owner)
{
	return &making->pins[owner->pin];
}

/* Adds memory that could be given back: what of it is resident. */
static uint64_t add_whole(struct making *making, uint64_t start, uint64_t end)
{
	uint64_t touched = 0;

	if (start < end && !making->err)
		making->err = hawk_heap_touched(making->heap->target, start, end, &touched);
	making->result->whole_bytes += touched;
	return touched;
}

/* Makes the owner's block the pin's example if it is the first one, or older. */
static void take_example(const struct making *making, const struct owner *owner,
			 struct hawk_pin *pin)
{
	struct hawk_block block = {.start = owner->example};
	bool has_birth = owner->block != HAWK_NOT_KNOWN &&
			 hawk_heap_block(making->heap, owner->block, &block) &&
			 hawk_heap_knows_of(making->heap, block.trace) & HAWK_HEAP_AGES;
	uint64_t birth_units = has_birth ? hawk_birth_decode(block.birth) : 0;

	if (pin->objects && !(has_birth && (!pin->has_birth || birth_units < pin->birth_units)))
		return;
	pin->example = block.start;
	pin->block = owner->block;
	pin->has_birth = has_birth;
	pin->birth_units = birth_units;
}

/* Ends the current unit: adds it to the pins of its owners. */
static void end_unit(struct making *making)
{
	struct unit *unit = &making->unit;
	uint64_t bytes = unit->end - unit->start;

	if (!unit->owner_count && unit->is_slab)
		add_whole(making, unit->start, unit->end);
	else if (unit->free_bytes && unit->owner_count && unit->free_bytes * 2 < bytes) {
		making->result->scattered_bytes += unit->free_bytes;
	} else if (unit->free_bytes && unit->owner_count) {
		bool is_alone = unit->owner_count == 1 && !unit->has_more;

		making->result->pinned_bytes += unit->free_bytes;
		making->result->pinned_units++;
		for (unsigned i = 0; i < unit->owner_count; i++) {
			struct hawk_pin *pin = pin_of(making, &unit->owners[i]);

			take_example(making, &unit->owners[i], pin);
			pin->objects += unit->owners[i].objects;
			pin->bytes += unit->owners[i].bytes;
			pin->units += is_alone;
			pin->returns_bytes += is_alone ? bytes : 0;
			pin->shared_bytes += is_alone ? 0 : unit->free_bytes;
		}
	}
	*unit = (struct unit){0};
}

static void enter_unit(struct making *making, uint64_t start, uint64_t end, bool is_slab)
{
	if (making->unit.start == start && making->unit.end == end)
		return;
	end_unit(making);
	making->unit.start = start;
	making->unit.end = end;
	making->unit.is_slab = is_slab;
}

/** A piece: its owner, if it is live or cached, and all bytes that it takes up. */
struct part {
	uint64_t start, end;
	uint64_t address; /**< of the piece */
	uint32_t block;   /**< its first block, if it is live; or HAWK_NOT_KNOWN */
	uint32_t pin;     /**< if it is not free */
	bool is_free;
};

/* Adds a part of a piece to the current unit. A block counts in the unit that it begins in. */
static void add_part(struct making *making, const struct part *part, uint64_t start, uint64_t end)
{
	struct unit *unit = &making->unit;
	unsigned i = 0;

	if (part->is_free) {
		unit->free_bytes += end - start;
		return;
	}
	while (i < unit->owner_count && unit->owners[i].pin != part->pin)
		i++;
	if (i == OWNERS_MAX) {
		unit->has_more = true;
		return;
	}
	if (i == unit->owner_count)
		unit->owners[unit->owner_count++] = (struct owner){
			.pin = part->pin, .example = part->address, .block = part->block};
	unit->owners[i].objects += start == part->start;
	unit->owners[i].bytes += end - start;
}

/* Adds a chunk to the pages that it touches. Pages inside of it are wholly free, or wholly used. */
static void add_to_pages(struct making *making, const struct part *part)
{
	uint64_t first = page_of(part->start), last = page_of(part->end - 1);

	enter_unit(making, first, first + PAGE_BYTES, false);
	add_part(making, part, part->start,
		 part->end < first + PAGE_BYTES ? part->end : first + PAGE_BYTES);
	if (last == first)
		return;
	enter_unit(making, last, last + PAGE_BYTES, false);
	add_part(making, part, last, part->end);
}

/* Ends a run of free chunks: adds the pages that could be given back. */
static void end_run(struct making *making)
{
	uint64_t start = page_of(making->run_start + PAGE_BYTES - 1);
	uint64_t whole = add_whole(making, start, page_of(making->run_end));

	if (making->is_beside)
		making->result->arena_bytes += whole;
	making->run_start = making->run_end = 0;
}

static void add_to_run(struct making *making, const struct hawk_piece *piece,
		       const struct part *part)
{
	struct hawk_allocator_arena arena;

	if (making->run_end != part->start || !part->is_free)
		end_run(making);
	if (!part->is_free)
		return;
	if (!making->run_end) {
		making->run_start = part->start;
		making->is_beside =
			hawk_allocator_arena(making->found, piece->arena, &arena) && !arena.is_main;
	}
	making->run_end = part->end;
}

/* Returns the pin of a live piece, its first block's site, and in `block` that block. */
static uint32_t owner_of(struct making *making, const struct hawk_piece *piece, uint32_t *block)
{
	const struct hawk_block_index *index = &making->heap->index;
	uint32_t first, site = making->heap->lost_site;

	while (making->block < index->count &&
	       hawk_block_start(index, making->block) < piece->start)
		making->block++;
	first = making->block;
	if (first < index->count && hawk_block_start(index, first) < piece->start + piece->bytes) {
		site = hawk_heap_site_at(making->heap, first);
		*block = first;
	}
	return site < making->heap->site_count ? site
					       : (uint32_t)making->heap->site_count + PIN_UNKNOWN;
}

static void take_piece(struct making *making, const struct hawk_piece *piece)
{
	struct hawk_fragmentation *result = making->result;
	struct part part = {.start = piece->start - piece->before,
			    .address = piece->start,
			    .block = HAWK_NOT_KNOWN};

	part.end = part.start + piece->bytes + piece->overhead;
	switch (piece->state) {
	case HAWK_PIECE_LIVE:
	case HAWK_PIECE_INTERNAL:
		part.pin = owner_of(making, piece, &part.block);
		result->live_bytes += piece->bytes;
		break;
	case HAWK_PIECE_CACHED:
		part.pin = (uint32_t)making->heap->site_count + PIN_CACHED;
		result->cached_bytes += piece->bytes;
		result->free_bytes += piece->bytes;
		break;
	case HAWK_PIECE_FREE:
	case HAWK_PIECE_FAST:
	case HAWK_PIECE_UNTOUCHED:
		part.is_free = true;
		result->free_bytes += piece->bytes;
		break;
	default: /* pins what is around it */
		part.pin = (uint32_t)making->heap->site_count + PIN_UNKNOWN;
	}
	if (part.start >= part.end)
		return;
	if (piece->unit_bytes) {
		enter_unit(making, piece->unit, piece->unit + piece->unit_bytes, true);
		add_part(making, &part, part.start, part.end);
	} else {
		add_to_run(making, piece, &part);
		add_to_pages(making, &part);
	}
}

/* Adds free spans, which are whole units. */
static void add_spans(struct making *making, const struct hawk_heap *allocators)
{
	struct hawk_allocator allocator;

	for (size_t i = 0; i < allocators->spans.count; i++) {
		const struct hawk_heap_span *span = &allocators->spans.items[i];

		if (span->kind != HAWK_SPAN_FREE ||
		    !hawk_allocator_describe(&allocators->found[span->source], &allocator))
			continue;
		add_whole(making, span->start, span->end);
		making->result->free_bytes += span->end - span->start;
	}
}

static struct hawk_error *take_allocator(struct making *making, unsigned source)
{
	CLEANUP(free_ptr) void *walk = hawk_allocator_begin(making->found);
	struct hawk_piece piece;

	if (!walk)
		return &hawk_enomem;
	making->block = 0;
	while (!making->err && hawk_allocator_next(making->found, walk, &piece)) {
		take_piece(making, &piece);
		if (making->see)
			making->see(making->context, source, &piece);
	}
	end_run(making);
	end_unit(making);
	return making->err;
}

static enum hawk_fragmentation_verdict judge(const struct hawk_fragmentation *result)
{
	uint64_t kept = hawk_fragmentation_kept(result);
	uint64_t arena_bytes = result->arenas >= ARENAS_MANY ? result->arena_bytes : 0;
	const uint64_t parts[HAWK_FRAGMENTATION_VERDICTS] = {
		[HAWK_FRAGMENTATION_PINNED] = result->pinned_bytes + result->scattered_bytes,
		[HAWK_FRAGMENTATION_THRESHOLDS] = result->whole_bytes - arena_bytes,
		[HAWK_FRAGMENTATION_ARENAS] = arena_bytes,
		[HAWK_FRAGMENTATION_CACHES] = result->cached_bytes,
	};
	enum hawk_fragmentation_verdict best = HAWK_FRAGMENTATION_NONE;

	if (kept < KEPT_MIN || kept < (kept + result->live_bytes) / QUARTER)
		return HAWK_FRAGMENTATION_NONE;
	for (unsigned i = 0; i < HAWK_FRAGMENTATION_VERDICTS; i++)
		if (parts[i] > parts[best])
			best = (enum hawk_fragmentation_verdict)i;
	return best;
}

static int by_return(const void *left, const void *right)
{
	const struct hawk_pin *a = left, *b = right;

	if (a->returns_bytes != b->returns_bytes)
		return a->returns_bytes > b->returns_bytes ? -1 : 1;
	if (a->shared_bytes != b->shared_bytes)
		return a->shared_bytes > b->shared_bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

/* Moves the pins that hold anything to the result. */
static void finish(struct making *making)
{
	struct hawk_fragmentation *result = making->result;
	size_t all = making->heap->site_count + PINS_MORE;
	uint64_t known;

	for (size_t i = 0; i < all; i++)
		if (making->pins[i].objects || making->pins[i].shared_bytes ||
		    making->pins[i].units)
			making->pins[result->pin_count++] = making->pins[i];
	qsort(making->pins, result->pin_count, sizeof(*making->pins), by_return);
	result->pins = take_ptr(&making->pins);
	known = result->whole_bytes + result->cached_bytes + result->pinned_bytes +
		result->scattered_bytes;
	result->given_back_bytes = result->free_bytes > known ? result->free_bytes - known : 0;
	result->free_bytes = known + result->given_back_bytes;
	result->verdict = judge(result);
}

static struct hawk_error *take_allocators(struct making *making, const struct hawk_heap *allocators)
{
	struct hawk_fragmentation *result = making->result;
	uint64_t most = 0;
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < allocators->found_count && !err; i++) {
		uint64_t before = result->free_bytes;
		struct hawk_allocator allocator;

		making->found = &allocators->found[i];
		if (!hawk_allocator_describe(making->found, &allocator))
			continue;
		err = take_allocator(making, i);
		result->arenas += allocator.arenas;
		if (result->free_bytes - before >= most) {
			most = result->free_bytes - before;
			result->allocator = allocator.name;
		}
	}
	return err;
}

struct hawk_error *hawk_fragmentation_make(const struct hawk_heap *heap,
					   const struct hawk_heap *allocators,
					   hawk_piece_function *see, void *context,
					   struct hawk_fragmentation *ret)
{
	size_t count = heap->site_count + PINS_MORE;
	CLEANUP(free_ptr) struct hawk_pin *pins = calloc(count, sizeof(*pins));
	struct making making = {
		.heap = heap, .see = see, .context = context, .result = ret, .pins = pins};
	struct hawk_error *err;

	*ret = (struct hawk_fragmentation){0};
	if (!pins)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++) {
		pins[i].site = i < heap->site_count ? (uint32_t)i : HAWK_NOT_KNOWN;
		pins[i].block = HAWK_NOT_KNOWN;
	}
	pins[heap->site_count + PIN_CACHED].is_cached = true;
	err = take_allocators(&making, allocators);
	if (!err)
		add_spans(&making, allocators);
	if (!err)
		err = making.err;
	if (err)
		return err;
	take_ptr(&pins);
	finish(&making);
	return NULL;
}

void hawk_fragmentation_deinit(struct hawk_fragmentation *fragmentation)
{
	free(fragmentation->pins);
	free(fragmentation->saved_name);
	*fragmentation = (struct hawk_fragmentation){0};
}

const char *hawk_fragmentation_verdict_name(enum hawk_fragmentation_verdict verdict)
{
	static const char *const names[HAWK_FRAGMENTATION_VERDICTS] = {
		[HAWK_FRAGMENTATION_NONE] = "none",
		[HAWK_FRAGMENTATION_PINNED] = "fragmentation",
		[HAWK_FRAGMENTATION_THRESHOLDS] = "retained by thresholds",
		[HAWK_FRAGMENTATION_ARENAS] = "too many arenas",
		[HAWK_FRAGMENTATION_CACHES] = "caches of threads",
	};

	return names[verdict];
}
