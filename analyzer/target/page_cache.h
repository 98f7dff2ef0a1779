/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A cache of unchanging pages, each read once and kept while room remains. Following pointers reads
 * a few bytes at a time; a system call each would stop the process ten times as long. Several
 * threads may read.
 */
#ifndef HAWK_ANALYZER_TARGET_PAGE_CACHE_H
#define HAWK_ANALYZER_TARGET_PAGE_CACHE_H

#include <stddef.h>
#include <stdint.h>

enum { HAWK_PAGE_BYTES = 4096 };

struct hawk_page_cache;

/**
 * Reads the page at address `page` into `to` and returns the bytes read; the rest counts as
 * missing. Returns 0 with `to` untouched. Several threads call it at once.
 */
struct hawk_page_source {
	size_t (*read)(const void *context, const void *where, uint64_t page, uint8_t *to);
	const void *context;
};

/**
 * Creates room for `bytes` of pages, rounded down to a power of two; only pages read use memory.
 * Returns NULL if memory runs out.
 */
struct hawk_page_cache *hawk_page_cache_create(const struct hawk_page_source *source, size_t bytes);

/** Accepts NULL. */
void hawk_page_cache_destroy(struct hawk_page_cache *cache);

/**
 * Reads up to `bytes` from `address`, across pages, and returns how many exist. `where` is passed
 * to the source and must be the same for all pages.
 */
size_t hawk_page_cache_read(struct hawk_page_cache *cache, const void *where, uint64_t address,
			    void *to, size_t bytes);

#endif
