/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages of opening a core, from bytes to a target: program headers (core_segments.c), notes
 * (core_notes.c), and the mappings that follow from both (core_mappings.c).
 *
 * Every stage takes the whole file as bytes and size and believes nothing in it.
 */
#ifndef HAWK_CORE_PARSE_H
#define HAWK_CORE_PARSE_H

#include <elf.h>

#include "hawk_cursor.h"
#include "target_state.h"

/** One PT_NOTE, as far as the file holds it. */
struct hawk_core_note_range {
	uint64_t offset;
	uint64_t bytes;
	uint64_t alignment; /**< 4 or 8 */
	bool cut;           /**< the file ends before it does */
};

/** What the program headers say. */
struct hawk_core_segments {
	struct hawk_mapping *loads; /**< sorted, disjoint, without paths */
	size_t load_count;
	struct hawk_core_note_range *notes; /**< in the order of the file's program headers */
	size_t note_count;
	bool doubtful; /**< as findings say: others may be missing, or lie elsewhere */
};

/** Fails only if there is not one program header; all else is clamped and in the findings. */
struct hawk_error *hawk_core_read_segments(const uint8_t *bytes, size_t size,
					   struct hawk_findings *findings,
					   struct hawk_core_segments *ret);
void hawk_core_segments_deinit(struct hawk_core_segments *segments);

/** The next program header; zeros behind the end. */
Elf64_Phdr hawk_core_program_header(struct hawk_cursor *cursor);

/** core_claims.c: whether the `count` program headers at `offset` fit together; if not, findings
 * say why. Fails for want of memory only. */
struct hawk_error *hawk_core_check_claims(const uint8_t *bytes, size_t size, uint64_t offset,
					  uint64_t count, struct hawk_findings *findings,
					  bool *fit);

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
	bool known; /**< there was an NT_FILE */
};

/** Fills the target's process, auxv and threads, and `files`. */
struct hawk_error *hawk_core_read_notes(const uint8_t *bytes, size_t size,
					const struct hawk_core_segments *segments,
					struct hawk_target *target, struct hawk_core_files *files,
					struct hawk_findings *findings);
void hawk_core_files_deinit(struct hawk_core_files *files);

/** core_file_note.c: parses the descriptor of an NT_FILE; `cut` = its end is not in the core. */
struct hawk_error *hawk_core_parse_file_note(const void *bytes, size_t size, bool cut,
					     struct hawk_core_files *ret,
					     struct hawk_findings *findings);

/** Fills the target's mappings. */
struct hawk_error *hawk_core_merge_mappings(const struct hawk_core_segments *segments,
					    const struct hawk_core_files *files,
					    struct hawk_target *target);

#endif
