/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which pages of a private anonymous mapping were ever touched. All others are zeros, and must not
 * be read: that would be slow, and would allocate page tables in the process we look at.
 */
#ifndef HAWK_LIVE_PAGES_H
#define HAWK_LIVE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hawk_page_run {
	uint64_t start; /**< address */
	uint64_t end;
};

struct hawk_pages {
	struct hawk_page_run *runs; /**< sorted, disjoint, not touching */
	size_t count;
	size_t capacity;
	bool known; /**< false: any page may hold something */
};

/** Asks the open /proc/PID/pagemap about [start, end); `ret->known` is false if that failed. */
void hawk_pages_read(int pagemap, uint64_t start, uint64_t end, struct hawk_pages *ret);
void hawk_pages_deinit(struct hawk_pages *pages);

/** Narrows [*start, *end) to its first stretch of touched pages; false = there is none. */
bool hawk_pages_next(const struct hawk_pages *pages, uint64_t *start, uint64_t *end);

#endif
