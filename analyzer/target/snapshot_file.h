/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A target read from a snapshot. Its mappings are the process's, but only the trace table's memory
 * can be read. Internal to target/.
 */
#ifndef HAWK_ANALYZER_TARGET_SNAPSHOT_FILE_H
#define HAWK_ANALYZER_TARGET_SNAPSHOT_FILE_H

#include "hawk/snapshot/reader.h"
#include "target_state.h"

/** Fills `target`, and the target of its trace table if separate, from its file. */
struct hawk_error *hawk_snapshot_file_read(struct hawk_target *target,
					   struct hawk_findings *findings);

/** The memory in a snapshot: bytes at ascending, disjoint ranges of addresses. */
struct hawk_snapshot_memory;

/** Creates the memory of `snapshot`; NULL = a target without memory. */
struct hawk_error *hawk_snapshot_memory_create(const struct hawk_snapshot *snapshot,
					       struct hawk_snapshot_memory **ret);

/** Accepts NULL. */
void hawk_snapshot_memory_destroy(struct hawk_snapshot_memory *memory);

/** Implement hawk_target_read_some(), hawk_target_view(), and hawk_core_file_data(). */
size_t hawk_snapshot_memory_read(const struct hawk_snapshot_memory *memory, uint64_t address,
				 void *to, size_t bytes);
const void *hawk_snapshot_memory_view(const struct hawk_snapshot_memory *memory, uint64_t address,
				      size_t bytes);
bool hawk_snapshot_memory_data(const struct hawk_snapshot_memory *memory, uint64_t *start,
			       uint64_t *end);

#endif
