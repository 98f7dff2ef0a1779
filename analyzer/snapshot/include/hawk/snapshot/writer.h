/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes the frames of a snapshot, in the order in which they are put. Other layers define their
 * contents.
 */
#ifndef HAWK_ANALYZER_SNAPSHOT_WRITER_H
#define HAWK_ANALYZER_SNAPSHOT_WRITER_H

#include "hawk/output/output.h"
#include "hawk/snapshot/column.h"
#include "hawk/base/error.h"
#include "hawk_snapshot.h"

struct hawk_snapshot_writer {
	struct hawk_output *output; /**< its error is the writer's */
	uint64_t flags;             /**< enum hawk_snapshot_flag */
	uint64_t frames;
	uint64_t list_check; /**< of the headers of all frames so far */
};

/** Writes the header. `output` must outlive the writer. */
void hawk_snapshot_begin(struct hawk_snapshot_writer *writer, struct hawk_output *output,
			 uint64_t flags);

/** The input of one frame. */
struct hawk_snapshot_piece {
	uint64_t first; /**< number of the first item */
	uint64_t items;
	struct hawk_column column;
};

/** Writes one frame, even an empty one. */
struct hawk_error *hawk_snapshot_put(struct hawk_snapshot_writer *writer,
				     enum hawk_snapshot_section section,
				     const struct hawk_snapshot_piece *piece);

/** Called to fill piece `number`, which is zeros, on any thread. */
typedef struct hawk_error *hawk_snapshot_fill(void *context, size_t number,
					      struct hawk_snapshot_piece *piece);

/** Writes `count` frames in order of their numbers; `fill` fills them on several threads. */
struct hawk_error *hawk_snapshot_put_all(struct hawk_snapshot_writer *writer,
					 enum hawk_snapshot_section section, size_t count,
					 hawk_snapshot_fill *fill, void *context);

/** Writes the last frame. */
struct hawk_error *hawk_snapshot_finish(struct hawk_snapshot_writer *writer);

/** Returns the last component of `path` for a snapshot without folders, else `path`. */
const char *hawk_snapshot_path(const struct hawk_snapshot_writer *writer, const char *path);

/** Puts a sentence; words that begin with '/' are paths, shortened likewise. */
void hawk_snapshot_put_text(const struct hawk_snapshot_writer *writer, struct hawk_column *column,
			    const char *text);

#endif
