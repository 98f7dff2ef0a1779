/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * First digits of site ids.
 */
#include "hawk/names/site_prefix.h"

#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/quantity.h"

bool hawk_site_prefix_parse(const char *text, struct hawk_site_prefix *ret)
{
	size_t sign = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 2 : 0;
	uint64_t value;

	if (!hawk_quantity_parse_hex(text, &value))
		return false;
	*ret = (struct hawk_site_prefix){value, (unsigned)strlen(text + sign)};
	return true;
}

static bool begins_with(uint64_t id, const struct hawk_site_prefix *prefix)
{
	return id >> 4 * (HAWK_SITE_DIGITS - prefix->digits) == prefix->value;
}

struct hawk_error *hawk_site_prefix_find(const struct hawk_heap *heap,
					 const struct hawk_site_prefix *prefix, uint32_t *ret)
{
	size_t found = 0;

	for (size_t i = 0; i < heap->site_count; i++) {
		if (heap->sites[i].id == prefix->value) {
			*ret = (uint32_t)i;
			return NULL;
		}
		if (begins_with(heap->sites[i].id, prefix) && !found++)
			*ret = (uint32_t)i;
	}
	if (found == 1)
		return NULL;
	return hawk_error_create(HAWK_ERROR_USAGE,
				 found ? "there are several sites %0*llx..."
				       : "there is no site %0*llx",
				 (int)prefix->digits, (unsigned long long)prefix->value);
}

/** Digits that both begin with: one is left that tells them apart. */
static unsigned common_digits(uint64_t id, uint64_t other)
{
	return (unsigned)__builtin_clzll((id ^ other) | 1) / 4;
}

unsigned hawk_site_prefix_digits(const uint64_t *ids, size_t count, uint64_t id)
{
	unsigned digits = HAWK_SITE_DIGITS_MIN;
	size_t low = id ? hawk_array_first_above(ids, count, sizeof(*ids), 0, id - 1) : 0;

	if (low && common_digits(id, ids[low - 1]) >= digits)
		digits = common_digits(id, ids[low - 1]) + 1;
	if (low + 1 < count && common_digits(id, ids[low + 1]) >= digits)
		digits = common_digits(id, ids[low + 1]) + 1;
	return digits;
}
