/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds lists of free memory by their shape, without symbols (malloc/malloc.c, struct malloc_state,
 * which has no fast bins from 2.43 on). `next` is a ring through the starts of all arenas.
 *
 *     | lock, flags | 10 fast bins | top | last remainder | 127 bins: first, last | bits | next ...
 *
 * Bins are rings whose heads pretend to be chunks, 16 bytes before their two links: an empty one
 * points there, and the last one is always empty. A chunk's first word belongs to the block before
 * it while that block is in use. So all these pointers lead to the last word of the block before
 * free memory, lost or not.
 */
#include "hawk/libc/bins.h"

#include <string.h>

#include "hawk/libc/version.h"

enum {
	BINS = 127,
	NEXT_OFFSET = 16 * BINS + 16, /* from the first bin: behind 16 bytes of bits */
	ARENAS_MAX = 1 << 13,         /* eight for each processor */
	LINKS_OFFSET = 16,            /* links within a chunk */
	CHUNK_ALIGNMENT = 16,
	EMPTY_MIN = 4,
	STRANGE_MAX = 2, /* heads that may be overwritten: that may be why the program died */
};

struct bin {
	uint64_t first, last;
};

static bool is_empty(const struct bin *bin, uint64_t address)
{
	return bin->first == address - LINKS_OFFSET && bin->last == bin->first;
}

static bool may_be_chunk(const struct hawk_target *target, uint64_t address)
{
	return address && address < hawk_arch_address_end(hawk_target_arch(target)) &&
	       address % CHUNK_ALIGNMENT == 0;
}

/* Returns true if an arena's last bin lies at `address` and its first not before `from`. Arenas do
 * not overlap, so `from` limits the number of forged ones. */
static bool ends_bins(const struct hawk_target *target, uint64_t from, uint64_t address)
{
	struct bin bins[BINS + 1];
	uint64_t start = address - (BINS - 1) * sizeof(bins[0]);
	unsigned empty = 0;
	unsigned strange = 0;

	/* Nearly every word tested is not a last bin: leave early. */
	if (hawk_target_read_some(target, address, &bins[BINS - 1], 2 * sizeof(bins[0])) !=
		    2 * sizeof(bins[0]) ||
	    !is_empty(&bins[BINS - 1], address) || is_empty(&bins[BINS], address + sizeof(bins[0])))
		return false;
	if (start > address || start < from ||
	    hawk_target_read_some(target, start, bins, BINS * sizeof(bins[0])) !=
		    BINS * sizeof(bins[0]))
		return false;
	for (unsigned i = 0; i < BINS && strange <= STRANGE_MAX; i++) {
		if (is_empty(&bins[i], start + i * sizeof(bins[0])))
			empty++;
		else if (!may_be_chunk(target, bins[i].first) ||
			 !may_be_chunk(target, bins[i].last))
			strange++;
	}
	return empty >= EMPTY_MIN && strange <= STRANGE_MAX;
}

/* Returns true if the ring of arenas leads back to the one with `bins`, by this layout. */
static bool closes_ring(const struct hawk_target *target, const struct hawk_malloc_layout *layout,
			uint64_t bins)
{
	uint64_t start = bins - layout->bins;
	uint64_t arena = start;

	for (unsigned i = 0; i < ARENAS_MAX; i++) {
		uint64_t at = arena + layout->bins + NEXT_OFFSET;

		if (hawk_target_read_some(target, at, &arena, sizeof(arena)) != sizeof(arena))
			return false;
		if (arena == start)
			return true;
	}
	return false;
}

/* Returns the bytes of lists before `bins`. */
static uint64_t lists_before(const struct hawk_target *target, uint64_t bins)
{
	size_t row = 0;

	while (row + 1 < HAWK_LIBC_VERSIONS &&
	       !closes_ring(target, &hawk_libc_versions[row].malloc, bins))
		row++;
	return hawk_libc_versions[row].malloc.lists;
}

bool hawk_bins_next(struct hawk_words *words, uint64_t start, uint64_t end, struct hawk_span *ret)
{
	struct hawk_word_range range;

	for (uint64_t at = start; hawk_words_next(words, at, end, &range);
	     at = range.start + range.words * HAWK_WORD_BYTES) {
		for (size_t i = 0; i < range.words; i++) {
			uint64_t address = range.start + i * HAWK_WORD_BYTES;
			uint64_t value;

			memcpy(&value, range.bytes + i * HAWK_WORD_BYTES, sizeof(value));
			if (value != address - LINKS_OFFSET ||
			    !ends_bins(words->target, start, address))
				continue;
			ret->end = address + sizeof(struct bin);
			ret->start = ret->end - BINS * sizeof(struct bin);
			ret->start -= lists_before(words->target, ret->start);
			return true;
		}
	}
	return false;
}
