/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The independent frames of a zstd file with a table (hawk/output/seekable.h), unpacked by all
 * processors. A damaged frame costs only itself.
 */
#ifndef HAWK_ANALYZER_TARGET_CORE_FRAMES_H
#define HAWK_ANALYZER_TARGET_CORE_FRAMES_H

#include "spool.h"

struct hawk_core_frame {
	uint64_t packed_start; /**< in the file */
	uint64_t start;        /**< of the unpacked bytes; a multiple of a page */
	uint32_t packed_bytes;
	uint32_t bytes;
};

struct hawk_core_frames {
	struct hawk_core_frame *items;
	size_t count;
	uint64_t bytes; /**< unpacked */
};

/** Reads the table. Returns false if there is none that fits the file, or if its frames are too
 * large or not aligned: such a file is unpacked from front to end. */
bool hawk_core_frames_read(const struct hawk_core_file *packed, struct hawk_core_frames *ret);

/** Unpacks all frames into `spool`. `*lost` = bytes of damaged frames, which become zeros. Ends
 * with more than `data_max` bytes of data in the spool, which has to be checked. */
struct hawk_error *hawk_core_frames_unpack(const struct hawk_core_frames *frames,
					   const struct hawk_core_file *packed, uint64_t data_max,
					   struct hawk_core_spool *spool, uint64_t *lost);

void hawk_core_frames_deinit(struct hawk_core_frames *frames);

#endif
