/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All live blocks of a target in ascending order, 12 bytes each, and the answer to "which block
 * contains this address?" in one cache miss, for another 24 bytes per KiB of heap.
 *
 *     address:  | 26 bits: chunk of 4 MiB | 12 bits: KiB in it | 6 bits: granule | 4 bits |
 *
 * The drawing shows granules of 16 bytes, which suit most allocators. If some blocks begin on other
 * multiples of 8, granules have 8 bytes, and records and chunks are half as large too.
 *
 * A directory numbers every chunk that holds (a part of) a block, in ascending order. Small
 * integers and wild words are rejected there. (Chunk number, granule in it) is a 32-bit granule id.
 * Each KiB has a record: the granules at which blocks begin, the granules that blocks cover, and
 * the number of blocks that begin in earlier records. A block is known by its number from 0 on;
 * numbers ascend with addresses.
 *
 * Blocks may be nested: an address belongs to the innermost block. A nested block's header
 * (HAWK_HEADER_BYTES) and the rest of its last granule belong to no block.
 */
#ifndef HAWK_ANALYZER_HEAP_BLOCK_INDEX_H
#define HAWK_ANALYZER_HEAP_BLOCK_INDEX_H

#include "hawk/base/area.h"
#include "hawk/heap/source.h"

enum {
	HAWK_CHUNK_LOG2 = 22, /**< bytes of a chunk with granules of 16 bytes */
	HAWK_GRANULE_LOG2 = 4,
	HAWK_RECORD_LOG2 = HAWK_GRANULE_LOG2 + 6, /**< bytes of a record */
	HAWK_CHUNK_GRANULES_LOG2 = HAWK_CHUNK_LOG2 - HAWK_GRANULE_LOG2,
	HAWK_CHUNK_RECORDS_LOG2 = HAWK_CHUNK_LOG2 - HAWK_RECORD_LOG2,
	HAWK_ADDRESS_BITS = 48,
	/** Highest chunk number: 64 GiB of chunks with blocks, or 32 GiB with small granules. A
	 * large block costs two chunks, whatever its size. */
	HAWK_CHUNKS_MAX = (1 << (32 - HAWK_CHUNK_GRANULES_LOG2)) - 1,
	/** Directory entry of a chunk wholly inside one block. */
	HAWK_CHUNK_INSIDE = 0xffff,
};

/** No block. */
static const uint32_t HAWK_BLOCK_NOWHERE = UINT32_MAX;

/** Upper limit on blocks. Two numbers stay unused, so that number << 1 | 1 is never
 * HAWK_BLOCK_NOWHERE. */
static const uint32_t HAWK_BLOCKS_MAX = (UINT32_C(1) << 31) - 2;

/** 64 granules of heap. Bit i is granule i. */
struct hawk_index_record {
	uint64_t starts; /**< a block begins here */
	uint64_t covers; /**< a block has bytes here, or is empty and begins here */
	uint32_t rank;   /**< blocks that begin in earlier records; valid if `covers` is not 0 */
	uint32_t reserved;
};

/** A block too large for a 32-bit size, or with chunks of its own. */
struct hawk_large_block {
	uint64_t start;
	uint64_t size;
	uint32_t number;
};

/** A block with nested blocks: pool objects carved out of it. */
struct hawk_nest {
	uint32_t number;
	uint32_t behind; /**< number of the first block behind it */
	uint32_t parent; /**< index of the enclosing nest; UINT32_MAX = none */
	uint64_t end;
	uint64_t own_bytes; /**< without nested blocks and their headers */
};

/** A block in which the next blocks may be nested. */
struct hawk_open_block {
	uint64_t at; /**< memory below is covered already */
	uint64_t end;
	uint32_t nest; /**< index among nests; UINT32_MAX = nothing nested so far */
};

struct hawk_block_index {
	uint32_t count;
	unsigned finer;     /**< 0 = granules of 16 bytes, 1 = of 8 */
	uint32_t *granules; /**< id of the first granule */
	uint32_t *sizes;    /**< bytes; UINT32_MAX = see `large` */
	uint32_t *traces;
	/** Upper 16 bits of the header's word 0 (kind, offset, birth); NULL unless
	 * hawk_block_index_keep_heads() was called. */
	uint16_t *heads;

	uint16_t *directory; /**< by address >> hawk_block_index_chunk_log2(); 0 = no blocks */
	struct hawk_index_record *records;
	uint64_t first_chunk;      /**< number of the first block's chunk in memory */
	uint64_t chunk_span;       /**< chunks from there to the end of the last block */
	uint64_t *chunk_addresses; /**< by chunk number */
	uint32_t chunk_count;      /**< highest number given out */
	uint32_t chunk_max;        /**< HAWK_CHUNKS_MAX, or less */
	struct hawk_large_block *large;
	size_t large_count;
	size_t large_capacity;
	uint64_t end; /**< of the last block */
	/** No block begins where another one ends (hawk_heap_found.blocks_apart), so a pointer one
	 * past the end never leads to the next block. */
	bool apart;

	struct hawk_nest *nests; /**< by number; mostly none */
	size_t nest_count;
	size_t nest_capacity;
	struct hawk_open_block open[HAWK_BLOCK_DEPTH_MAX + 1]; /**< by depth */
	unsigned open_count;

	struct hawk_area granules_area;
	struct hawk_area sizes_area;
	struct hawk_area traces_area;
	struct hawk_area heads_area;
	struct hawk_area directory_area;
	struct hawk_area records_area;
};

/** Makes an empty index. `heap_bytes_max` (more than all blocks can take up) is a hint: address
 * space is reserved for it. */
struct hawk_error *hawk_block_index_init(struct hawk_block_index *index, uint64_t heap_bytes_max);

/** Lets blocks begin on multiples of 8. Call on an empty index. Needs 256 MiB of address space for
 * the directory, where granules of 16 bytes need 128. */
struct hawk_error *hawk_block_index_use_small_granules(struct hawk_block_index *index);

/** Returns log2 of the bytes of a granule. */
static inline unsigned hawk_block_index_granule_log2(const struct hawk_block_index *index)
{
	return HAWK_GRANULE_LOG2 - index->finer;
}

/** Returns log2 of the bytes of a chunk. */
static inline unsigned hawk_block_index_chunk_log2(const struct hawk_block_index *index)
{
	return HAWK_CHUNK_LOG2 - index->finer;
}

/** Fills `heads` too, for another 2 bytes per block. Call on an empty index. Needed for living
 * processes, whose headers cannot be read later. */
struct hawk_error *hawk_block_index_keep_heads(struct hawk_block_index *index,
					       uint64_t heap_bytes_max);

/** Accepts an index of zeros. */
void hawk_block_index_deinit(struct hawk_block_index *index);

/**
 * Adds blocks in ascending order, disjoint but for nesting. Fails with HAWK_ERROR_UNSUPPORTED at
 * more blocks than 32-bit numbers can address, or at addresses above 48 bits: refused, never wrong.
 */
struct hawk_error *hawk_block_index_add(struct hawk_block_index *to,
					const struct hawk_block *blocks, size_t count);

/** Must be called after the last block: stores blocks held back, gives back unused reservations. */
struct hawk_error *hawk_block_index_finish(struct hawk_block_index *index);

/** Returns the memory in use: table, records, directory. */
uint64_t hawk_block_index_memory_bytes(const struct hawk_block_index *index);

/** The slow halves of the functions below. */
uint64_t hawk_block_index_large_size(const struct hawk_block_index *index, uint32_t block);
uint32_t hawk_block_index_large_at(const struct hawk_block_index *index, uint64_t address);
uint32_t hawk_block_index_inside(const struct hawk_block_index *index, uint32_t block,
				 uint64_t address);

static inline uint64_t hawk_block_start(const struct hawk_block_index *index, uint32_t block)
{
	uint32_t granule = index->granules[block];
	uint32_t within = granule & ((1u << HAWK_CHUNK_GRANULES_LOG2) - 1);

	return index->chunk_addresses[granule >> HAWK_CHUNK_GRANULES_LOG2] +
	       ((uint64_t)within << hawk_block_index_granule_log2(index));
}

/** Returns the block's requested bytes. */
static inline uint64_t hawk_block_size(const struct hawk_block_index *index, uint32_t block)
{
	uint32_t size = index->sizes[block];

	return size != UINT32_MAX ? size : hawk_block_index_large_size(index, block);
}

/** Returns the nest of a block with nested blocks, or NULL. */
const struct hawk_nest *hawk_block_nest(const struct hawk_block_index *index, uint32_t block);

/** Returns the bytes of a block without nested blocks and their headers, so that sums over blocks
 * count no byte twice. */
static inline uint64_t hawk_block_own_bytes(const struct hawk_block_index *index, uint32_t block)
{
	const struct hawk_nest *nest = index->nest_count ? hawk_block_nest(index, block) : NULL;

	return nest ? nest->own_bytes : hawk_block_size(index, block);
}

/** A stretch of a block's own bytes. */
struct hawk_stretch {
	uint64_t start;
	uint64_t end;
	uint32_t next; /**< the nested block that follows, if any */
};

/** The slow half of the next function. */
bool hawk_block_stretch_behind(const struct hawk_block_index *index, uint32_t block,
			       struct hawk_stretch *stretch);

/** Advances to the next stretch of `block`; start with zeros. Returns false behind the last one. */
static inline bool hawk_block_next_stretch(const struct hawk_block_index *index, uint32_t block,
					   struct hawk_stretch *stretch)
{
	uint64_t start;

	if (index->nest_count)
		return hawk_block_stretch_behind(index, block, stretch);
	if (stretch->next)
		return false;
	start = hawk_block_start(index, block);
	*stretch = (struct hawk_stretch){start, start + hawk_block_size(index, block), 1};
	return start < stretch->end;
}

/** Returns the chunk number of `address`, 0 = no block near, or HAWK_CHUNK_INSIDE. */
static inline uint32_t hawk_block_index_chunk(const struct hawk_block_index *index,
					      uint64_t address)
{
	return address >> HAWK_ADDRESS_BITS
		       ? 0
		       : index->directory[address >> hawk_block_index_chunk_log2(index)];
}

/** Returns the record of an address in chunk `number`, which is not HAWK_CHUNK_INSIDE. */
static inline const struct hawk_index_record *
hawk_block_index_record(const struct hawk_block_index *index, uint32_t number, uint64_t address)
{
	uint64_t within = address >> (HAWK_RECORD_LOG2 - index->finer) &
			  ((1u << HAWK_CHUNK_RECORDS_LOG2) - 1);

	return &index->records[(uint64_t)number << HAWK_CHUNK_RECORDS_LOG2 | within];
}

/** Returns the number of bits set. */
#ifdef __POPCNT__
static inline uint32_t hawk_popcount(uint64_t bits)
{
	return (uint32_t)__builtin_popcountll(bits);
}
#else
/* Plain arithmetic: without -mpopcnt the builtin is a function call. */
static inline uint32_t hawk_popcount(uint64_t bits)
{
	bits -= bits >> 1 & UINT64_C(0x5555555555555555);
	bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
	bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}
#endif

/** Returns the block that contains `address`, shifted left by 1; bit 0 means not the block's first
 * byte. `number` is the address's chunk. */
static inline uint32_t hawk_block_index_resolve(const struct hawk_block_index *index,
						uint32_t number, uint64_t address)
{
	const struct hawk_index_record *record;
	unsigned granule_log2 = hawk_block_index_granule_log2(index);
	unsigned bit = (unsigned)(address >> granule_log2) & 63;
	uint32_t block;

	if (number == HAWK_CHUNK_INSIDE)
		return hawk_block_index_large_at(index, address);
	record = hawk_block_index_record(index, number, address);
	if (!(record->covers >> bit & 1))
		return HAWK_BLOCK_NOWHERE;
	block = record->rank + hawk_popcount(record->starts << (63 - bit)) - 1;
	if (!(address & ((1u << granule_log2) - 1))) {
		if (record->starts >> bit & 1)
			return block << 1;
		if (!index->nest_count)
			return block << 1 | 1;
	}
	/* The address may lie behind the block's end, within its last granule. */
	if (index->nest_count)
		return hawk_block_index_inside(index, block, address);
	if (address - hawk_block_start(index, block) >= hawk_block_size(index, block))
		return HAWK_BLOCK_NOWHERE;
	return block << 1 | 1;
}

/**
 * Returns the number of the block that contains `address`, or HAWK_BLOCK_NOWHERE. `*interior` means
 * not the block's first byte. An empty block contains its first byte; no other block contains the
 * byte behind its last.
 */
static inline uint32_t hawk_block_index_find(const struct hawk_block_index *index, uint64_t address,
					     bool *interior)
{
	uint32_t number = hawk_block_index_chunk(index, address);
	uint32_t found =
		number ? hawk_block_index_resolve(index, number, address) : HAWK_BLOCK_NOWHERE;

	*interior = found & 1;
	return found == HAWK_BLOCK_NOWHERE ? found : found >> 1;
}

/** The slow half of the next function. */
uint32_t hawk_block_index_ended_at(const struct hawk_block_index *index, uint64_t address);

/** As hawk_block_index_resolve(), for a pointer: if blocks lie apart, the address right behind a
 * block's last byte belongs to it as well. */
static inline uint32_t hawk_block_index_resolve_pointer(const struct hawk_block_index *index,
							uint32_t number, uint64_t address)
{
	const struct hawk_index_record *record;
	unsigned granule_log2 = hawk_block_index_granule_log2(index);
	unsigned bit = (unsigned)(address >> granule_log2) & 63;
	bool within = address & ((1u << granule_log2) - 1);
	uint32_t block;

	if (number == HAWK_CHUNK_INSIDE)
		return hawk_block_index_large_at(index, address);
	record = hawk_block_index_record(index, number, address);
	if (!(record->covers >> bit & 1)) {
		if (within || (bit && !(record->covers >> (bit - 1) & 1)))
			return HAWK_BLOCK_NOWHERE;
		return hawk_block_index_ended_at(index, address);
	}
	if (index->nest_count) {
		uint32_t edge = hawk_block_index_resolve(index, number, address);

		return edge != HAWK_BLOCK_NOWHERE || !within
			       ? edge
			       : hawk_block_index_ended_at(index, address);
	}
	block = record->rank + hawk_popcount(record->starts << (63 - bit)) - 1;
	if (!within)
		return block << 1 | !(record->starts >> bit & 1);
	if (address - hawk_block_start(index, block) >=
	    hawk_block_size(index, block) + index->apart)
		return HAWK_BLOCK_NOWHERE;
	return block << 1 | 1;
}

/** Returns the graph edge of a word with this value, or HAWK_BLOCK_NOWHERE. */
static inline uint32_t hawk_block_index_edge(const struct hawk_block_index *index, uint64_t value)
{
	return hawk_block_index_resolve_pointer(index, hawk_block_index_chunk(index, value), value);
}

/** Returns the first block that begins at or above `address`, or `count`. */
uint32_t hawk_block_index_first(const struct hawk_block_index *index, uint64_t address);

#endif
