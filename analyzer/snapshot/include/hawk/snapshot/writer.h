/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes the frames of a snapshot, in the order in which they are put. What they hold is up to the
 * layers that own it.
 */
#ifndef HAWK_ANALYZER_SNAPSHOT_WRITER_H
#define HAWK_ANALYZER_SNAPSHOT_WRITER_H

#include "hawk/output/output.h"
#include "hawk/snapshot/column.h"
#include "hawk/base/error.h"
#include "hawk_snapshot.h"

struct hawk_snapshot_writer {
	struct hawk_output *output; /**< whose error is the writer's */
	uint64_t flags;             /**< enum hawk_snapshot_flag */
	uint64_t frames;
	uint64_t list_check; /**< of the headers of all frames so far */
};

/** Writes the header. `output` must outlive the writer. */
void hawk_snapshot_begin(struct hawk_snapshot_writer *writer, struct hawk_output *output,
			 uint64_t flags);

/** What one frame is made of. */
struct hawk_snapshot_piece {
	uint64_t first; /**< number of the first item */
	uint64_t items;
	struct hawk_column column;
};

/** Writes one frame; an empty one, too. */
struct hawk_error *hawk_snapshot_put(struct hawk_snapshot_writer *writer,
				     enum hawk_snapshot_section section,
				     const struct hawk_snapshot_piece *piece);

/** Fills piece `number`, which is zeros. On any thread. */
typedef struct hawk_error *hawk_snapshot_fill(void *context, size_t number,
					      struct hawk_snapshot_piece *piece);

/** Writes `count` frames, which `fill` fills on several threads; they are written in the order of
 * their numbers. */
struct hawk_error *hawk_snapshot_put_all(struct hawk_snapshot_writer *writer,
					 enum hawk_snapshot_section section, size_t count,
					 hawk_snapshot_fill *fill, void *context);

/** Writes the last frame. */
struct hawk_error *hawk_snapshot_finish(struct hawk_snapshot_writer *writer);

/** The last component of `path` if the snapshot is to have no folders, else `path`. */
const char *hawk_snapshot_path(const struct hawk_snapshot_writer *writer, const char *path);

/** Puts a sentence in which words that begin with '/' are paths, treated likewise. */
void hawk_snapshot_put_text(const struct hawk_snapshot_writer *writer, struct hawk_column *column,
			    const char *text);

#endif
