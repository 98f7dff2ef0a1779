/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pages of memory that does not change, each read once and kept while there is room: what follows
 * pointers asks for a few bytes here and a few there, and every time for a system call would let a
 * stopped process wait ten times as long. Several threads may read.
 */
#ifndef HAWK_ANALYZER_TARGET_PAGE_CACHE_H
#define HAWK_ANALYZER_TARGET_PAGE_CACHE_H

#include <stddef.h>
#include <stdint.h>

enum { HAWK_PAGE_BYTES = 4096 };

struct hawk_page_cache;

/**
 * How many bytes of the page at `page` (an address) could be read into `to`; the rest of it is as
 * good as not there. If it is 0, `to` is as it was. Called for a page at a time, by several threads
 * at once.
 */
struct hawk_page_source {
	size_t (*read)(const void *context, const void *where, uint64_t page, uint8_t *to);
	const void *context;
};

/**
 * Room for `bytes` of pages, rounded down to a power of two; only what was read takes memory.
 * NULL: there is no memory for it.
 */
struct hawk_page_cache *hawk_page_cache_create(const struct hawk_page_source *source, size_t bytes);

/** Accepts NULL. */
void hawk_page_cache_destroy(struct hawk_page_cache *cache);

/**
 * How many bytes from `address` on, up to `bytes`, are there; over the end of a page too. `where`
 * is for the source, and must be the same for all of the pages.
 */
size_t hawk_page_cache_read(struct hawk_page_cache *cache, const void *where, uint64_t address,
			    void *to, size_t bytes);

#endif
