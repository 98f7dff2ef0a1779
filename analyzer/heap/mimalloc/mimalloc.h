/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The structures of mimalloc 2.0 to 3.6 in memory. All are found by their shape; no symbol and no
 * file is needed. Private to heap/mimalloc/.
 *
 *     2.x:  segments of 32 MiB, sealed with a number of the process; each lists its pages
 *     3.x:  a map of all slices of 64 KiB leads to pages
 *     page: | free list | used, capacity | block size | lists freed by this thread, by others |
 */
#ifndef HAWK_ANALYZER_HEAP_MIMALLOC_MIMALLOC_H
#define HAWK_ANALYZER_HEAP_MIMALLOC_MIMALLOC_H

#include "slabs.h"

enum { HAWK_MIMALLOC_SLICE_LOG2 = 16 };

/** How a page says where its first block lies. */
enum hawk_mimalloc_start {
	HAWK_PAGE_BY_SLICE,   /**< behind the slice's start, after a gap that depends on the size */
	HAWK_PAGE_BY_POINTER, /**< an address */
	HAWK_PAGE_BY_WORDS,   /**< 32 bits: words from the description on */
	HAWK_PAGE_BY_BYTES,   /**< 64 bits: bytes from the description on */
};

/** A page's layout; offsets in bytes from its description. */
struct hawk_mimalloc_page_layout {
	uint8_t capacity; /**< 16 bits */
	uint8_t free;
	uint8_t local_free;
	uint8_t thread_free; /**< with two bits of state */
	uint8_t used;        /**< 16 bits */
	uint8_t block_bytes;
	bool short_bytes; /**< the block size has 32 bits */
	uint8_t start;    /**< see enum hawk_mimalloc_start */
	uint8_t heap;
	uint8_t thread; /**< the owner's number; if not known, its heap tells */
	bool knows_thread;
	uint8_t flags; /**< bit 1 = some blocks were handed out by a pointer to the inside */
};

struct hawk_mimalloc_page {
	uint64_t address; /**< of its description */
	uint64_t start;   /**< of its first block */
	uint64_t block_bytes;
	uint32_t capacity;
	uint32_t used;
	bool aligns_within;
	uint64_t lists[3]; /**< first free blocks; the last list holds blocks freed by other threads
			    */
	uint64_t heap;
	uint64_t
		thread; /**< number of the thread that owns it, with bits of state; 0 = not known */
};

struct hawk_mimalloc {
	struct hawk_slab_heap heap; /**< incomplete: mimalloc is present but cannot be read */
	uint64_t root;              /**< address in the library's data of what led to the heap */
	uint16_t delayed_offset;    /**< in a heap: blocks freed by other threads; 0 = no list */
	struct hawk_mimalloc_page *pages;
	size_t page_count, page_capacity;
};

/** Fill pages; leave them alone if the allocator is absent. */
struct hawk_error *hawk_mimalloc_read_segments(struct hawk_mimalloc *mimalloc);
struct hawk_error *hawk_mimalloc_read_map(struct hawk_mimalloc *mimalloc);

/** Reads a page's description, but with HAWK_PAGE_BY_SLICE not its start; returns false if it
 * cannot be one. */
bool hawk_mimalloc_read_page(const struct hawk_mimalloc_page_layout *layout,
			     enum hawk_mimalloc_start start, struct hawk_near *near,
			     uint64_t address, struct hawk_mimalloc_page *ret);
struct hawk_error *hawk_mimalloc_add_page(struct hawk_mimalloc *mimalloc, struct hawk_near *near,
					  const struct hawk_mimalloc_page *page);

/** Counts how well a page's lists fit: their first blocks must begin at block boundaries. */
void hawk_mimalloc_score(const struct hawk_mimalloc_page *page, unsigned *fit, unsigned *seen);

#endif
