/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A site's id, or the first digits of it: as they are asked for, and as they are written where
 * there is no room for all 16.
 */
#ifndef HAWK_ANALYZER_NAMES_SITE_PREFIX_H
#define HAWK_ANALYZER_NAMES_SITE_PREFIX_H

#include "hawk/heap/sites.h"

enum {
	HAWK_SITE_DIGITS = 16,
	HAWK_SITE_DIGITS_MIN = 6, /**< fewer are not written: the next core has other sites */
};

struct hawk_site_prefix {
	uint64_t value;
	unsigned digits;
};

/** 1 to 16 hex digits, with or without 0x. */
bool hawk_site_prefix_parse(const char *text, struct hawk_site_prefix *ret);

/** The site that has `prefix` as its id, else the only one whose id begins so. HAWK_ERROR_USAGE =
 * none or several do. `*ret` is an index into heap->sites. */
struct hawk_error *hawk_site_prefix_find(const struct hawk_heap *heap,
					 const struct hawk_site_prefix *prefix, uint32_t *ret);

/** How many digits tell `id` from all of `ids` (ascending, itself among them): from
 * HAWK_SITE_DIGITS_MIN on. */
unsigned hawk_site_prefix_digits(const uint64_t *ids, size_t count, uint64_t id);

#endif
