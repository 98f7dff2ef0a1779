/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Parts of heaps by what glibc writes in front of blocks (malloc/malloc.c, arena.c). Arenas begin
 * the same from 2.3 on, as far as they are read here. A chunk that has a mapping of its own has one
 * of two forms; `gap` is what memalign leaves in front of it.
 *
 *     chunk:        | prev_size | size + 3 flags | padding | our header | block ...
 *     up to 2.42:     gap         mapping - gap
 *     from 2.43 on:   gap + huge  mapping - gap - 16
 *     arena:        | address of the arena | heap before | size | ...
 */
#include "part.h"

#include "scan.h"

enum {
	FLAG_MAPPED = 2, /* IS_MMAPPED */
	FLAG_ARENA = 4,  /* NON_MAIN_ARENA */
	FLAGS = 7,
	FLAG_HUGE = 1, /* of prev_size, in a chunk with a mapping of its own: huge pages */
	CHUNK_HEADER_BYTES = 16,
	CHUNK_ALIGNMENT = 16,
	PAGE_BYTES = 4096,
};

/* HEAP_MAX_SIZE: arenas lie on multiples of it. */
static const uint64_t ARENA_BYTES_MAX = UINT64_C(64) << 20;

static bool read_words(const struct hawk_target *target, uint64_t address, uint64_t *ret,
		       size_t count)
{
	return hawk_target_read_some(target, address, ret, count * sizeof(*ret)) ==
	       count * sizeof(*ret);
}

/* Where the allocator's pointer to the block is; 0 = its header is not there. */
static uint64_t pointer_of(const struct hawk_target *target, uint64_t start)
{
	struct hawk_block block = {.start = start};
	uint64_t word;

	if (!read_words(target, start - HAWK_HEADER_BYTES, &word, 1))
		return 0;
	block.offset_code = (uint8_t)hawk_header_offset_code(word);
	return start - hawk_scan_offset_bytes(target, &block);
}

/* The size tells the forms apart, since mappings are whole pages. */
static bool mapped_chunk(uint64_t chunk, const uint64_t words[2], uint64_t block_end,
			 struct hawk_span *ret)
{
	uint64_t size = words[1] & ~(uint64_t)FLAGS;
	uint64_t gap = words[0];

	if (size > UINT64_MAX - CHUNK_HEADER_BYTES - chunk)
		return false;
	ret->end = chunk + size;
	if (ret->end % PAGE_BYTES) {
		ret->end += CHUNK_HEADER_BYTES;
		gap &= ~(uint64_t)FLAG_HUGE;
	}
	if (gap > chunk || gap % CHUNK_ALIGNMENT)
		return false;
	ret->start = chunk - gap;
	return ret->start % PAGE_BYTES == 0 && ret->end % PAGE_BYTES == 0 && ret->end >= block_end;
}

static bool arena_of(const struct hawk_target *target, uint64_t chunk, uint64_t block_end,
		     struct hawk_span *ret)
{
	uint64_t start = chunk & -ARENA_BYTES_MAX;
	uint64_t words[3];

	if (!read_words(target, start, words, 3) || words[2] > ARENA_BYTES_MAX ||
	    words[2] % PAGE_BYTES || words[2] < block_end - start)
		return false;
	*ret = (struct hawk_span){start, start + words[2]};
	return true;
}

bool hawk_heap_part(const struct hawk_target *target, const struct hawk_block *block,
		    struct hawk_span *ret)
{
	uint64_t end = block->start + block->size;
	uint64_t pointer = pointer_of(target, block->start);
	uint64_t chunk = pointer - CHUNK_HEADER_BYTES;
	uint64_t words[2];

	if (!pointer || pointer < CHUNK_HEADER_BYTES || !read_words(target, chunk, words, 2))
		return false;
	if (words[1] & FLAG_MAPPED)
		return mapped_chunk(chunk, words, end, ret);
	return words[1] & FLAG_ARENA && arena_of(target, chunk, end, ret);
}
