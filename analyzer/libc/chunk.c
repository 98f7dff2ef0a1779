/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds heaps by the words that glibc writes before blocks (malloc/malloc.c, arena.c). The words of
 * arenas read here are the same from 2.3 on. A chunk with its own mapping has one of two forms;
 * `gap` is the space that memalign leaves before it. Mappings are whole pages, so only one form
 * fits.
 *
 *     chunk:        | prev_size | size + 3 flags | block ...
 *     up to 2.42:     gap         mapping - gap
 *     from 2.43 on:   gap + huge  mapping - gap - 16
 *     arena:        | address of the arena | heap before | size | ...
 */
#include "hawk/libc/chunk.h"

#include "hawk/libc/version.h"

enum {
	FLAG_MAPPED = 2, /* IS_MMAPPED */
	FLAG_ARENA = 4,  /* NON_MAIN_ARENA */
	FLAGS = 7,
	CHUNK_HEADER_BYTES = 16,
	CHUNK_SIZE = 8, /* offset of the size in the chunk */
	CHUNK_ALIGNMENT = 16,
	ARENA_SIZE = 16, /* offset of the size in an arena's heap (struct heap_info) */
};

/* HEAP_MAX_SIZE: arenas lie on multiples of it. */
static const uint64_t ARENA_BYTES_MAX = UINT64_C(64) << 20;

static bool read_words(const struct hawk_target *target, uint64_t address, uint64_t *ret,
		       size_t count)
{
	return hawk_target_read_some(target, address, ret, count * sizeof(*ret)) ==
	       count * sizeof(*ret);
}

static uint64_t page_bytes_of(const struct hawk_target *target)
{
	return hawk_target_process(target)->page_bytes;
}

/* Finds the mapping of the chunk with the header `words`, by one layout. */
static bool mapped_by(const struct hawk_malloc_layout *layout, uint64_t page_bytes, uint64_t chunk,
		      const uint64_t words[2], uint64_t block_end, struct hawk_span *ret)
{
	uint64_t size = words[1] & ~(uint64_t)FLAGS;
	uint64_t gap = words[0] & ~(uint64_t)layout->mapped_flags;

	if (size > UINT64_MAX - CHUNK_HEADER_BYTES - chunk || gap > chunk || gap % CHUNK_ALIGNMENT)
		return false;
	ret->end = chunk + size + layout->mapped_uncounted;
	ret->start = chunk - gap;
	return ret->start % page_bytes == 0 && ret->end % page_bytes == 0 && ret->end >= block_end;
}

static bool mapped_chunk(const struct hawk_target *target, uint64_t chunk, const uint64_t words[2],
			 uint64_t block_end, struct hawk_span *ret)
{
	for (size_t row = 0; row < HAWK_LIBC_VERSIONS; row++)
		if (mapped_by(&hawk_libc_versions[row].malloc, page_bytes_of(target), chunk, words,
			      block_end, ret))
			return true;
	return false;
}

static uint64_t arena_of(uint64_t chunk)
{
	return chunk & -ARENA_BYTES_MAX;
}

static bool arena_heap(const struct hawk_target *target, uint64_t chunk, uint64_t block_end,
		       struct hawk_span *ret)
{
	uint64_t start = arena_of(chunk);
	uint64_t size;

	if (!read_words(target, start + ARENA_SIZE, &size, 1) || size > ARENA_BYTES_MAX ||
	    size % page_bytes_of(target) || size < block_end - start)
		return false;
	*ret = (struct hawk_span){start, start + size};
	return true;
}

/* Reads the chunk of `pointer` and its header's words; returns false if they cannot be read. */
static bool read_chunk(const struct hawk_target *target, uint64_t pointer, uint64_t *chunk,
		       uint64_t words[2])
{
	*chunk = pointer - CHUNK_HEADER_BYTES;
	return pointer >= CHUNK_HEADER_BYTES && read_words(target, *chunk, words, 2);
}

bool hawk_chunk_heap(const struct hawk_target *target, uint64_t pointer, uint64_t end,
		     struct hawk_span *ret)
{
	uint64_t chunk, words[2];

	if (!read_chunk(target, pointer, &chunk, words))
		return false;
	if (words[1] & FLAG_MAPPED)
		return mapped_chunk(target, chunk, words, end, ret);
	return words[1] & FLAG_ARENA && arena_heap(target, chunk, end, ret);
}

size_t hawk_chunk_numbers(const struct hawk_target *target, uint64_t pointer,
			  struct hawk_span ret[HAWK_CHUNK_NUMBERS])
{
	uint64_t chunk, words[2];

	if (!read_chunk(target, pointer, &chunk, words))
		return 0;
	if (words[1] & FLAG_MAPPED) {
		ret[0] = (struct hawk_span){chunk, pointer};
		return 1;
	}
	if (!(words[1] & FLAG_ARENA))
		return 0;
	/* The chunk's first word belongs to the block before. */
	ret[0] = (struct hawk_span){chunk + CHUNK_SIZE, pointer};
	ret[1].start = arena_of(chunk) + ARENA_SIZE;
	ret[1].end = ret[1].start + sizeof(uint64_t);
	return 2;
}
