/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the place and number of a core file's program headers. Readers and copiers of cores share
 * it, so that both see the same segments in damaged files.
 */
#ifndef HAWK_ANALYZER_TARGET_CORE_HEADERS_H
#define HAWK_ANALYZER_TARGET_CORE_HEADERS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"

/** Linux allows a process 65,530 mappings by default. Bounds memory where a count is forged. */
enum { HAWK_CORE_SEGMENTS_MAX = 1 << 22 };

struct hawk_core_headers {
	uint64_t offset; /**< of the first, in the file, in bytes */
	uint64_t count;  /**< headers that the file holds whole; at least 1 */
	uint64_t listed; /**< number stated; 0 = unknown, `count` was inferred */
};

/** Fails if the file holds no program header of the usual size. */
struct hawk_error *hawk_core_headers_locate(const uint8_t *bytes, size_t size,
					    struct hawk_core_headers *ret);

/**
 * States in `header` that it has `count` program headers. Returns true if they are too many for it:
 * `section`, which is always set, must then lie at `section_offset` of the file.
 */
bool hawk_core_headers_state(uint64_t count, uint64_t section_offset, Elf64_Ehdr *header,
			     Elf64_Shdr *section);

/** Returns true if the list is complete, and its length known. */
static inline bool hawk_core_headers_whole(const struct hawk_core_headers *headers)
{
	return headers->count == headers->listed;
}

#endif
