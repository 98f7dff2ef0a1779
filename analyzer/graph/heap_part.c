/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Parts of heaps by what glibc writes in front of blocks (malloc/malloc.c, arena.c: unchanged from
 * 2.3 to 2.41 but for arenas' header, of which only the size is used).
 *
 *     chunk:  | prev_size | size + 3 flags | padding | our header | block ...
 *     arena:  | address of the arena | heap before | size | ...
 */
#include "hawk_heap_part.h"

#include "hawk_scan.h"

enum {
	FLAG_MAPPED = 2, /* IS_MMAPPED */
	FLAG_ARENA = 4,  /* NON_MAIN_ARENA */
	FLAGS = 7,
	CHUNK_HEADER_BYTES = 16,
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

static bool mapped_chunk(uint64_t chunk, const uint64_t words[2], uint64_t block_end,
			 struct hawk_span *ret)
{
	uint64_t size = words[1] & ~(uint64_t)FLAGS;

	/* memalign leaves a gap in front, which it writes into prev_size. */
	if (words[0] > chunk || size > UINT64_MAX - chunk)
		return false;
	*ret = (struct hawk_span){chunk - words[0], chunk + size};
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

bool hawk_heap_part(const struct hawk_target *target, uint64_t start, uint64_t end,
		    struct hawk_span *ret)
{
	uint64_t pointer = pointer_of(target, start);
	uint64_t chunk = pointer - CHUNK_HEADER_BYTES;
	uint64_t words[2];

	if (!pointer || pointer < CHUNK_HEADER_BYTES || !read_words(target, chunk, words, 2))
		return false;
	if (words[1] & FLAG_MAPPED)
		return mapped_chunk(chunk, words, end, ret);
	return words[1] & FLAG_ARENA && arena_of(target, chunk, end, ret);
}
