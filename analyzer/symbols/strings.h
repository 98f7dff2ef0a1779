/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory that lives as long as the symbols object: interned strings and arrays. Nothing is freed
 * individually. Each string is stored once, so equal names are equal pointers.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_STRINGS_H
#define HAWK_ANALYZER_SYMBOLS_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hawk_strings_chunk;

struct hawk_strings {
	struct hawk_strings_chunk *chunk; /**< newest first */
	const char **slots;               /**< open addressing; NULL = free */
	uint32_t *hashes;
	size_t slot_count; /**< a power of two, or 0 */
	size_t count;
};

void hawk_strings_init(struct hawk_strings *strings);
void hawk_strings_deinit(struct hawk_strings *strings);

/** Returns `bytes` zeroed bytes, aligned to 8; NULL = out of memory. */
void *hawk_strings_alloc(struct hawk_strings *strings, size_t bytes);

/** Returns the only copy of [bytes, bytes + size), NUL-terminated; NULL = out of memory. */
const char *hawk_strings_intern(struct hawk_strings *strings, const char *bytes, size_t size);

#endif
