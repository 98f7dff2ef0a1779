/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cores of large, mostly empty memory from a compact description, as walkers of allocators need
 * them: a file with holes, opened as a target. Any bytes are a description.
 *
 *     | kind | what follows                                   |
 *     | 'M'  | 6 bytes address / page, 2 bytes pages          |  anonymous memory
 *     | 'D'  | the same                                       |  a module's data, its header before
 *     | 'T'  | 8 bytes thread pointer                         |
 *     | 'W'  | 8 bytes address, 1 byte count, so many words   |  written to memory
 *
 * Test code: runs out of patience with abort().
 */
#ifndef SPARSE_CORE_H
#define SPARSE_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "hawk/target/target.h"

/** A description that is being written. Initialize with zeros; free `bytes`. */
struct sparse_text {
	uint8_t *bytes;
	size_t size;
};

/** Appends memory of so many pages, or a module's data whose header lies a page below. */
void sparse_add_memory(struct sparse_text *text, uint64_t address, uint16_t pages);
void sparse_add_module(struct sparse_text *text, uint64_t address, uint16_t pages);
void sparse_add_thread(struct sparse_text *text, uint64_t pointer);
void sparse_add_words(struct sparse_text *text, uint64_t address, const uint64_t *words,
		      uint8_t count);
/** The same with one word. */
void sparse_add_word(struct sparse_text *text, uint64_t address, uint64_t word);

/** Makes the core and opens it; hawk_target_close() it. */
struct hawk_target *sparse_core_open(const void *bytes, size_t size,
				     struct hawk_findings *findings);

#endif
