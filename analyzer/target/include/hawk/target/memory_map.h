/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The memory map for display: joins related mappings, names stacks, and keeps the largest rows.
 */
#ifndef HAWK_ANALYZER_TARGET_MEMORY_MAP_H
#define HAWK_ANALYZER_TARGET_MEMORY_MAP_H

#include "hawk/target/target.h"

/** One mapping, or a run of neighbours of the same file. */
struct hawk_map_row {
	uint64_t start, end;
	uint64_t bytes, present_bytes;
	uint32_t flags;
	bool mixed; /**< of mappings with different rights */
	bool vdso;
	const char *path;                /**< NULL = anonymous */
	const struct hawk_thread *stack; /**< the first thread whose stack lies in it; or NULL */
};

struct hawk_memory_map {
	struct hawk_map_row *rows; /**< ascending */
	size_t count;
	size_t left_out; /**< further rows, smaller than these */
	uint64_t left_out_bytes;
};

/** Joins neighbours and keeps the `most` largest rows, and those as large as the last of them;
 * SIZE_MAX: every mapping is a row. Deinitialize after success only. */
struct hawk_error *hawk_memory_map_make(const struct hawk_target *target, size_t most,
					struct hawk_memory_map *ret);
void hawk_memory_map_deinit(struct hawk_memory_map *map);

/** Returns for each mapping the first thread whose stack pointer is in it, or NULL. Caller frees;
 * NULL = out of memory. */
const struct hawk_thread **hawk_target_stacks(const struct hawk_target *target);

#endif
