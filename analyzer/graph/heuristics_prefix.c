/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts blocks by site and offset, and keeps the offset at which nine of ten of a site's blocks
 * are pointed to. Sites of few blocks have no prefix: two pointers may agree by accident.
 */
#include "heuristics_prefix.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"

enum {
	STEP_BYTES = 8,
	OFFSETS = 16, /* bits of a block's offsets: up to 128 bytes */
	BLOCKS_MIN = 8,
	SHARE_PER_TEN = 9,
	AT_ONCE = sizeof(uint64_t) / sizeof(uint16_t),
};

static const uint8_t NO_OFFSET = UINT8_MAX;

/** Counts a site's blocks by the offset at which they are pointed to. */
struct counts {
	uint32_t blocks[OFFSETS];
};

struct hawk_error *hawk_prefixes_init(const struct hawk_heap *heap, struct hawk_prefixes *ret)
{
	uint64_t bytes = ((uint64_t)heap->index.count / AT_ONCE + 1) * sizeof(uint64_t);

	*ret = (struct hawk_prefixes){.heap = heap};
	return hawk_area_create_sparse(&ret->offsets, bytes);
}

void hawk_prefixes_deinit(struct hawk_prefixes *prefixes)
{
	hawk_area_destroy(&prefixes->offsets);
	*prefixes = (struct hawk_prefixes){0};
}

/* Returns 0 if `inside` is too large or not aligned. */
static uint16_t bit_of(uint64_t inside)
{
	if (!inside || inside % STEP_BYTES || inside > OFFSETS * STEP_BYTES)
		return 0;
	return (uint16_t)(1u << (inside / STEP_BYTES - 1));
}

void hawk_prefixes_note(struct hawk_prefixes *prefixes, uint32_t block, uint64_t inside)
{
	uint16_t *offsets = (uint16_t *)prefixes->offsets.bytes + block;
	uint16_t bit = bit_of(inside);

	/* Mostly the bit is set already: without a write the cache line stays shared between
	 * threads. */
	if (bit & ~__atomic_load_n(offsets, __ATOMIC_RELAXED))
		__atomic_fetch_or(offsets, bit, __ATOMIC_RELAXED);
}

bool hawk_prefixes_has(const struct hawk_prefixes *prefixes, uint32_t block, uint64_t inside)
{
	return ((const uint16_t *)prefixes->offsets.bytes)[block] & bit_of(inside);
}

/* Returns the next block from `block` on with a bit set, or the number of blocks. */
static uint32_t next_noted(const struct hawk_prefixes *prefixes, uint32_t block)
{
	const uint16_t *offsets = prefixes->offsets.bytes;
	const uint64_t *words = prefixes->offsets.bytes;
	uint32_t count = prefixes->heap->index.count;

	while (block < count && !offsets[block])
		block += block % AT_ONCE || words[block / AT_ONCE] ? 1 : AT_ONCE;
	return block < count ? block : count;
}

static void count_blocks(const struct hawk_prefixes *prefixes, struct counts *counts)
{
	const struct hawk_heap *heap = prefixes->heap;
	const uint16_t *offsets = prefixes->offsets.bytes;

	for (uint32_t i = next_noted(prefixes, 0); i < heap->index.count;
	     i = next_noted(prefixes, i + 1)) {
		uint32_t site = hawk_heap_site_at(heap, i);

		for (unsigned bits = offsets[i]; bits && site < heap->site_count; bits &= bits - 1)
			counts[site].blocks[__builtin_ctz(bits)]++;
	}
}

/* Returns the bit of the offset at which most of `blocks` blocks are pointed to, the lowest among
 * equals. */
static uint8_t choose_offset(uint64_t blocks, const struct counts *counts)
{
	unsigned best = 0;

	for (unsigned i = 1; i < OFFSETS; i++)
		if (counts->blocks[i] > counts->blocks[best])
			best = i;
	if (counts->blocks[best] < BLOCKS_MIN ||
	    (uint64_t)counts->blocks[best] * 10 < blocks * SHARE_PER_TEN)
		return NO_OFFSET;
	return (uint8_t)best;
}

/** A site by its innermost frame. */
struct caller {
	uint64_t pc; /**< 0 = not known */
	uint32_t site;
};

static int compare(const void *left, const void *right)
{
	const struct caller *a = left, *b = right;

	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

/* Fills in the callers of all sites that have a stack, and returns their number. */
static size_t find_callers(const struct hawk_heap *heap, struct caller *callers)
{
	struct hawk_trace trace;
	size_t count = 0;

	for (uint32_t i = 0; i < heap->site_count; i++) {
		const struct hawk_site *site = &heap->sites[i];

		if (!site->trace || site->trace == UINT32_MAX || site->id == HAWK_SITE_NOT_SAMPLED)
			continue;
		callers[count] = (struct caller){.site = i};
		if (heap->table && hawk_table_trace(heap->table, site->trace, &trace) &&
		    trace.frame_count)
			callers[count].pc = trace.frames[0];
		count++;
	}
	qsort(callers, count, sizeof(*callers), compare);
	return count;
}

/* Chooses offsets for one caller's sites [0, count): each its own, else the one of all together. */
static void choose_offsets(const struct hawk_heap *heap, const struct caller *callers, size_t count,
			   const struct counts *counts, uint8_t *chosen)
{
	struct counts all = {{0}};
	uint64_t blocks = 0;
	uint8_t common;

	for (size_t i = 0; i < count; i++) {
		blocks += hawk_site_blocks(&heap->sites[callers[i].site]);
		for (unsigned j = 0; j < OFFSETS; j++)
			all.blocks[j] += counts[callers[i].site].blocks[j];
	}
	common = choose_offset(blocks, &all);
	for (size_t i = 0; i < count; i++) {
		uint32_t site = callers[i].site;

		chosen[site] = choose_offset(hawk_site_blocks(&heap->sites[site]), &counts[site]);
		if (chosen[site] == NO_OFFSET)
			chosen[site] = common;
	}
}

static struct hawk_error *choose_all(const struct hawk_heap *heap, const struct counts *counts,
				     uint8_t *chosen)
{
	CLEANUP(free_ptr) struct caller *callers = calloc(heap->site_count + 1, sizeof(*callers));
	size_t count, end;

	if (!callers)
		return &hawk_enomem;
	count = find_callers(heap, callers);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && callers[i].pc && callers[end].pc == callers[i].pc;)
			end++;
		choose_offsets(heap, callers + i, end - i, counts, chosen);
	}
	return NULL;
}

/* Reduces each block's offsets to the chosen one. */
static void keep_chosen(struct hawk_prefixes *prefixes, const uint8_t *chosen)
{
	const struct hawk_heap *heap = prefixes->heap;
	uint16_t *offsets = prefixes->offsets.bytes;

	for (uint32_t i = next_noted(prefixes, 0); i < heap->index.count;
	     i = next_noted(prefixes, i + 1)) {
		uint32_t site = hawk_heap_site_at(heap, i);
		bool has = site < heap->site_count && chosen[site] != NO_OFFSET;

		offsets[i] &= has ? (uint16_t)(1u << chosen[site]) : 0;
		prefixes->any |= offsets[i] != 0;
	}
}

static void hawk_cleanup_area(struct hawk_area *area)
{
	hawk_area_destroy(area);
}

struct hawk_error *hawk_prefixes_choose(struct hawk_prefixes *prefixes)
{
	const struct hawk_heap *heap = prefixes->heap;
	CLEANUP(area) struct hawk_area area = {0};
	CLEANUP(free_ptr) uint8_t *chosen = NULL;
	struct hawk_error *err;

	/* Without stacks a site is a class, and blocks of one size are of many types. */
	if (!(heap->knows & HAWK_HEAP_STACKS) || next_noted(prefixes, 0) == heap->index.count)
		return NULL;
	err = hawk_area_create_sparse(&area, sizeof(struct counts) * (uint64_t)heap->site_count);
	if (err)
		return err;
	chosen = malloc(heap->site_count + 1);
	if (!chosen)
		return &hawk_enomem;
	memset(chosen, NO_OFFSET, heap->site_count + 1);
	count_blocks(prefixes, area.bytes);
	err = choose_all(heap, area.bytes, chosen);
	if (!err)
		keep_chosen(prefixes, chosen);
	return err;
}
