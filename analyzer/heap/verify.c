/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Asks each allocator for its damages. In a traced process a block begins behind the tracer's
 * header, in a block of the allocator's.
 */
#include "hawk/heap/verify.h"

#include "native.h"
#include "sealed/sweep.h"

enum {
	SLACK_MAX = 32, /* bytes in which an allocator's block may be longer than asked for */
	RECOVERIES_MAX = 1 << 8 /* each takes milliseconds for a large block */
};

/* Returns true if a block of the tracer's begins in the piece, or died there. */
static bool has_header(const struct hawk_heap *heap, const struct hawk_piece *piece)
{
	uint32_t first = hawk_block_index_first(&heap->index, piece->start);
	struct hawk_block dead;

	return (first < heap->index.count &&
		hawk_block_start(&heap->index, first) < piece->start + piece->bytes) ||
	       hawk_sealed_dead_at(heap, piece->start, piece->start + HAWK_HEADER_BYTES, &dead);
}

/** A search for overwritten headers. */
struct check {
	const struct hawk_heap *heap;
	struct hawk_near near;
	struct hawk_damages *damages;
	unsigned recoveries;
};

/* Returns true if the bytes around the border between two blocks look like one write. */
static bool runs_over(struct check *check, uint64_t border)
{
	uint8_t bytes[2];

	return hawk_near_read(&check->near, border - 1, bytes, 2) == 2 &&
	       hawk_damage_runs_over(bytes[0], bytes[1]);
}

/* Adds a header of a live block that is not sealed. Its size may be sound; the seal may tell its
 * first word; else the block below must have run over both. */
static void check_header(struct check *check, const struct hawk_piece *piece)
{
	struct hawk_damage damage = {.address = piece->start,
				     .bytes = sizeof(uint64_t),
				     .victim = piece->start + HAWK_HEADER_BYTES,
				     .kind = HAWK_DAMAGE_GUARD};
	uint64_t words[2], most = piece->bytes - HAWK_HEADER_BYTES, size;
	bool has_below;

	if (piece->state != HAWK_PIECE_LIVE || piece->bytes <= HAWK_HEADER_BYTES ||
	    has_header(check->heap, piece) ||
	    hawk_near_read(&check->near, piece->start, words, sizeof(words)) != sizeof(words))
		return;
	size = hawk_header_size(words[0]);
	has_below = hawk_heap_block_below(check->heap, piece->start, &damage.neighbour,
					  &damage.neighbour_bytes);
	damage.neighbour = has_below ? damage.neighbour : 0;
	damage.found = words[0];
	if (size && size <= most && most - size < SLACK_MAX) {
		damage.kind = HAWK_DAMAGE_HEADER;
		damage.address += sizeof(words[0]);
		damage.victim_bytes = size;
		damage.found = words[1];
	} else if (check->recoveries++ < RECOVERIES_MAX &&
		   hawk_sealed_recover(check->heap, piece->start, piece->bytes, words[1],
				       &damage.expected)) {
		damage.victim_bytes = hawk_header_size(damage.expected);
	} else if (!has_below || !runs_over(check, piece->start)) {
		return;
	}
	hawk_damages_add(check->damages, &damage);
}

static struct hawk_error *check_headers(const struct hawk_heap *heap,
					const struct hawk_walker *walker, const void *state,
					struct hawk_damages *ret)
{
	struct check check = {.heap = heap, .near.target = heap->target, .damages = ret};
	struct hawk_piece piece;
	void *cursor = walker->begin(state);

	if (!cursor)
		return &hawk_enomem;
	while (walker->next(cursor, &piece))
		check_header(&check, &piece);
	free(cursor);
	return NULL;
}

/* Turns a free inside of an allocator's block into what it is: the tracer passes on a pointer that
 * it has no live header for. If a block died there, that was freed twice. */
static void settle_freed(const struct hawk_heap *heap, struct hawk_damage *damage)
{
	struct hawk_block dead;

	if (damage->kind == HAWK_DAMAGE_FREED_INSIDE &&
	    damage->address == damage->neighbour + HAWK_HEADER_BYTES &&
	    hawk_sealed_dead_at(heap, damage->neighbour, damage->neighbour, &dead))
		damage->kind = HAWK_DAMAGE_FREED_TWICE;
}

static const struct hawk_heap *allocators_of(const struct hawk_heap_check *check)
{
	return check->has_below ? &check->below : check->heap;
}

struct hawk_error *hawk_heap_check_begin(const struct hawk_heap *heap,
					 struct hawk_findings *findings,
					 struct hawk_heap_check *ret)
{
	struct hawk_error *err = NULL;
	const void *state;
	bool is_known = false;

	*ret = (struct hawk_heap_check){.heap = heap};
	if (heap->knows & HAWK_HEAP_STACKS) {
		err = hawk_heap_find_allocators(heap, &ret->below);
		ret->has_below = !err;
	}
	for (unsigned i = 0; i < allocators_of(ret)->found_count; i++) {
		const struct hawk_walker *walker =
			hawk_native_walker(&allocators_of(ret)->found[i], &state);

		is_known |= walker != NULL;
	}
	if (!err && !is_known)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "allocator-unknown",
				  "no allocator was recognized, so that none of its structures "
				  "could be checked");
	return err;
}

struct hawk_error *hawk_heap_check_damages(const struct hawk_heap_check *check,
					   struct hawk_damages *ret)
{
	const struct hawk_heap *heap = check->heap, *allocators = allocators_of(check);
	bool headers = check->has_below && hawk_heap_unaccounted(heap);
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < allocators->found_count && !err; i++) {
		const void *state;
		const struct hawk_walker *walker =
			hawk_native_walker(&allocators->found[i], &state);
		size_t before = ret->count;

		if (walker)
			walker->verify(state, ret);
		for (size_t j = before; j < ret->count; j++) {
			ret->items[j].allocator = walker->name;
			if (check->has_below)
				settle_freed(heap, &ret->items[j]);
		}
		if (walker && headers)
			err = check_headers(heap, walker, state, ret);
	}
	for (size_t i = 0; i < heap->damages.count; i++)
		if (heap->damages.items[i].kind == HAWK_DAMAGE_HEADER)
			hawk_damages_add(ret, &heap->damages.items[i]);
	return err;
}

uint64_t hawk_heap_check_free_bytes(const struct hawk_heap_check *check, uint64_t pointer)
{
	const struct hawk_heap *allocators = allocators_of(check);
	uint64_t header = check->has_below ? HAWK_HEADER_BYTES : 0, bytes = 0;

	for (unsigned i = 0; i < allocators->found_count && !bytes; i++) {
		const void *state;
		const struct hawk_walker *walker =
			hawk_native_walker(&allocators->found[i], &state);

		if (walker && walker->free_bytes)
			bytes = walker->free_bytes(state, pointer - header);
	}
	return bytes > header ? bytes - header : 0;
}

bool hawk_heap_block_below(const struct hawk_heap *heap, uint64_t address, uint64_t *start,
			   uint64_t *bytes)
{
	enum { SLACK_SHARE = 4 };
	uint32_t i = hawk_block_index_first(&heap->index, address);
	uint64_t slack;

	if (!i)
		return false;
	*start = hawk_block_start(&heap->index, i - 1);
	*bytes = hawk_block_size(&heap->index, i - 1);
	slack = address - *start - *bytes;
	return !slack ||
	       (heap->knows & HAWK_HEAP_EXACT && slack <= SLACK_MAX + *bytes / SLACK_SHARE);
}

void hawk_heap_check_end(struct hawk_heap_check *check)
{
	if (check->has_below)
		hawk_heap_deinit(&check->below);
}
