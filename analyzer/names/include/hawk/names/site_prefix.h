/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A site's id, or its first digits: as users type them, and as printed where 16 do not fit.
 */
#ifndef HAWK_ANALYZER_NAMES_SITE_PREFIX_H
#define HAWK_ANALYZER_NAMES_SITE_PREFIX_H

#include "hawk/heap/heap.h"

enum {
	HAWK_SITE_DIGITS = 16,
	HAWK_SITE_DIGITS_MIN = 6, /**< never print fewer: the next core has other sites */
};

struct hawk_site_prefix {
	uint64_t value;
	unsigned digits;
};

/** Parses 1 to 16 hex digits, with or without 0x. */
bool hawk_site_prefix_parse(const char *text, struct hawk_site_prefix *ret);

/** Finds the site whose id is `prefix`, else the only one whose id starts with it. HAWK_ERROR_USAGE
 * if none or several do. `*ret` is an index into heap->sites. */
struct hawk_error *hawk_site_prefix_find(const struct hawk_heap *heap,
					 const struct hawk_site_prefix *prefix, uint32_t *ret);

/** Returns how many digits distinguish `id` within `ids` (ascending, including `id`); at least
 * HAWK_SITE_DIGITS_MIN. */
unsigned hawk_site_prefix_digits(const uint64_t *ids, size_t count, uint64_t id);

#endif
