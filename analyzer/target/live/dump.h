/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Parts of a core that is written of a process. Internal to hawk_target_dump().
 */
#ifndef HAWK_ANALYZER_TARGET_LIVE_DUMP_H
#define HAWK_ANALYZER_TARGET_LIVE_DUMP_H

#include "hawk/base/text.h"
#include "hawk/output/file_sink.h"
#include "hawk/target/target.h"

/** One PT_LOAD: `bytes` of [start, end) from its start are in the file. */
struct hawk_dump_segment {
	uint64_t start, end, bytes;
	uint32_t flags; /**< enum hawk_mapping_flag */
};

/** dump_segments.c: chooses the memory to store, a segment for each mapping; caller frees. */
struct hawk_error *hawk_dump_choose(const struct hawk_target *target,
				    struct hawk_dump_segment **ret);

/** dump_notes.c: appends the notes of the core. */
struct hawk_error *hawk_dump_notes(const struct hawk_target *target, struct hawk_text *notes);

/** dump_headers.c: writes ELF header, program headers and notes, up to the first page of memory. */
struct hawk_error *hawk_dump_headers(const struct hawk_arch *arch, uint64_t page_bytes,
				     const struct hawk_dump_segment *segments, size_t count,
				     const struct hawk_text *notes, struct hawk_file_sink *sink);

#endif
