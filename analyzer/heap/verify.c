/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Asks each allocator for its damages. In a traced process a block begins behind the tracer's
 * header, in a block of the allocator's.
 */
#include "hawk/heap/verify.h"

#include "native.h"
#include "sealed/sweep.h"

enum { SLACK_MAX = 32 /* bytes in which an allocator's block may be longer than asked for */ };

/* Returns true if a block of the tracer's begins in the piece, or died there. */
static bool has_header(const struct hawk_heap *heap, const struct hawk_piece *piece)
{
	uint32_t first = hawk_block_index_first(&heap->index, piece->start);
	struct hawk_block dead;

	return (first < heap->index.count &&
		hawk_block_start(&heap->index, first) < piece->start + piece->bytes) ||
	       hawk_sealed_dead_at(heap, piece->start, piece->start + HAWK_HEADER_BYTES, &dead);
}

/* Adds a header whose seal does not fit, though its size fits the allocator's block. */
static void check_header(const struct hawk_heap *heap, struct hawk_near *near,
			 const struct hawk_piece *piece, struct hawk_damages *ret)
{
	uint64_t words[2], size;

	if (piece->state != HAWK_PIECE_LIVE || piece->bytes <= HAWK_HEADER_BYTES ||
	    hawk_near_read(near, piece->start, words, sizeof(words)) != sizeof(words))
		return;
	size = hawk_header_size(words[0]);
	if (!size || size > piece->bytes - HAWK_HEADER_BYTES ||
	    piece->bytes - HAWK_HEADER_BYTES - size >= SLACK_MAX || has_header(heap, piece))
		return;
	hawk_damages_add(ret, &(struct hawk_damage){
				      .address = piece->start + sizeof(words[0]),
				      .bytes = sizeof(words[1]),
				      .victim = piece->start + HAWK_HEADER_BYTES,
				      .victim_bytes = size,
				      .found = words[1],
				      .kind = HAWK_DAMAGE_HEADER,
			      });
}

static struct hawk_error *check_headers(const struct hawk_heap *heap,
					const struct hawk_walker *walker, const void *state,
					struct hawk_damages *ret)
{
	struct hawk_near near = {.target = heap->target};
	struct hawk_piece piece;
	void *cursor = walker->begin(state);

	if (!cursor)
		return &hawk_enomem;
	while (walker->next(cursor, false, &piece))
		check_header(heap, &near, &piece, ret);
	free(cursor);
	return NULL;
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
		if (walker && !walker->verify)
			hawk_findings_add(findings, HAWK_FINDING_MISSING, true,
					  "allocator-unchecked",
					  "the structures of %s cannot be checked", walker->name);
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

		if (walker && walker->verify)
			walker->verify(state, ret);
		for (size_t j = before; j < ret->count; j++)
			ret->items[j].allocator = walker->name;
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

void hawk_heap_check_end(struct hawk_heap_check *check)
{
	if (check->has_below)
		hawk_heap_deinit(&check->below);
}
