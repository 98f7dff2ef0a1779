/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages of opening a core, from bytes to a target: program headers (core_segments.c), notes
 * (core_notes.c), and the mappings that follow from both (core_open.c).
 *
 * Every stage takes the whole file as bytes and size and trusts nothing in it.
 */
#ifndef HAWK_ANALYZER_TARGET_CORE_PARSE_H
#define HAWK_ANALYZER_TARGET_CORE_PARSE_H

#include <elf.h>

#include "target_state.h"

/** One PT_NOTE, cut to the bytes that the file holds. */
struct hawk_core_note_range {
	uint64_t offset;
	uint64_t bytes;
	uint64_t alignment; /**< 4 or 8 */
	bool cut;           /**< the file ends before the note does */
};

/** Contents of the program headers. */
struct hawk_core_segments {
	struct hawk_mapping *loads; /**< sorted, disjoint, without paths */
	size_t load_count;
	struct hawk_core_note_range *notes; /**< in the order of the file's program headers */
	size_t note_count;
	bool doubtful; /**< headers are damaged (see findings): segments may be missing or elsewhere
			*/
};

/** Fails only without any program header; clamps everything else and adds findings. */
struct hawk_error *hawk_core_read_segments(const struct hawk_arch *arch, const uint8_t *bytes,
					   size_t size, struct hawk_findings *findings,
					   struct hawk_core_segments *ret);
void hawk_core_segments_deinit(struct hawk_core_segments *segments);

/** One line of NT_FILE. */
struct hawk_core_named_range {
	uint64_t start;
	uint64_t end;
	uint64_t offset;  /**< in the file, in bytes */
	const char *path; /**< in the core's bytes */
};

struct hawk_core_files {
	struct hawk_core_named_range *items; /**< sorted, disjoint */
	size_t count;
	bool known; /**< the core has an NT_FILE */
};

/** Fills the target's process, auxv and threads, and `files`. */
struct hawk_error *hawk_core_read_notes(const uint8_t *bytes, size_t size,
					const struct hawk_core_segments *segments,
					struct hawk_target *target, struct hawk_core_files *files,
					struct hawk_findings *findings);
void hawk_core_files_deinit(struct hawk_core_files *files);

#endif
