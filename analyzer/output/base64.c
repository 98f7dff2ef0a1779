/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A filter that writes base64 (RFC 4648, section 4) without line breaks.
 */
#include <stdlib.h>

#include "filter.h"

enum {
	GROUP_BYTES = 3,
	GROUP_LETTERS = 4,
};

struct base64 {
	struct hawk_filter filter;
	unsigned char group[GROUP_BYTES]; /**< an incomplete group */
	size_t held;
	size_t used; /**< of `letters` */
	char letters[HAWK_FILTER_BYTES];
};

static void pass(struct base64 *base64)
{
	hawk_filter_pass(base64->filter.output, base64->filter.next, base64->letters, base64->used);
	base64->used = 0;
}

static void encode_group(struct base64 *base64)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *group = base64->group;
	char *to = base64->letters + base64->used;

	to[0] = alphabet[group[0] >> 2];
	to[1] = alphabet[(group[0] & 3) << 4 | group[1] >> 4];
	to[2] = alphabet[(group[1] & 15) << 2 | group[2] >> 6];
	to[3] = alphabet[group[2] & 63];
	base64->held = 0;
	base64->used += GROUP_LETTERS;
	if (base64->used == sizeof(base64->letters))
		pass(base64);
}

static void put(struct hawk_filter *filter, const void *bytes, size_t size)
{
	struct base64 *base64 = (struct base64 *)filter;
	const unsigned char *at = bytes;

	for (const unsigned char *end = at + size; at < end; at++) {
		base64->group[base64->held++] = *at;
		if (base64->held == GROUP_BYTES)
			encode_group(base64);
	}
}

static void end(struct hawk_filter *filter)
{
	struct base64 *base64 = (struct base64 *)filter;
	size_t missing = (GROUP_BYTES - base64->held) % GROUP_BYTES;

	if (missing) {
		for (size_t i = base64->held; i < GROUP_BYTES; i++)
			base64->group[i] = 0;
		pass(base64);
		encode_group(base64);
		for (size_t i = 0; i < missing; i++)
			base64->letters[GROUP_LETTERS - 1 - i] = '=';
	}
	pass(base64);
}

static void destroy(struct hawk_filter *filter)
{
	free(filter);
}

struct hawk_error *hawk_output_base64(struct hawk_output *output)
{
	struct base64 *base64 = calloc(1, sizeof(*base64));

	if (!base64)
		return &hawk_enomem;
	base64->filter = (struct hawk_filter){.put = put, .end = end, .destroy = destroy};
	hawk_filter_add(output, &base64->filter);
	return NULL;
}
