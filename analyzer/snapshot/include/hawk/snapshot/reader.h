/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the frames of a snapshot, found by hopping from header to header. All checksums are tested
 * when it is opened; contents are decoded on demand. Hostile input: checksums show only that bytes
 * are the writer's, and nothing in a frame is trusted.
 */
#ifndef HAWK_ANALYZER_SNAPSHOT_READER_H
#define HAWK_ANALYZER_SNAPSHOT_READER_H

#include <stdbool.h>

#include "hawk/base/cursor.h"
#include "hawk/base/error.h"
#include "hawk_snapshot.h"

struct hawk_snapshot;

/** Returns true for the first bytes of a snapshot of any version. */
bool hawk_snapshot_is(const uint8_t *bytes, size_t size);

/**
 * Finds the frames in the file's `bytes`, which must outlive `ret`. Fails with
 * HAWK_ERROR_UNSUPPORTED for a newer version, with HAWK_ERROR_FORMAT if the header or the table of
 * contents is damaged, or a frame that no table of contents confirms.
 */
struct hawk_error *hawk_snapshot_open(const uint8_t *bytes, size_t size,
				      struct hawk_snapshot **ret);

/** Accepts NULL. */
void hawk_snapshot_close(struct hawk_snapshot *snapshot);

/** Returns bits of enum hawk_snapshot_flag. */
uint64_t hawk_snapshot_flags(const struct hawk_snapshot *snapshot);

/** Returns true if the file ends before the last frame. */
bool hawk_snapshot_is_cut(const struct hawk_snapshot *snapshot);

/** Returns the name of the first section whose contents are damaged, which hawk_snapshot_read()
 * refuses; NULL = none. */
const char *hawk_snapshot_damaged_section(const struct hawk_snapshot *snapshot);

/** Returns the number of present frames of `section`. */
size_t hawk_snapshot_frame_count(const struct hawk_snapshot *snapshot,
				 enum hawk_snapshot_section section);

/** The decoded contents of one frame. */
struct hawk_snapshot_contents {
	uint64_t first; /**< number of the first item */
	uint64_t items;
	struct hawk_cursor cursor; /**< over them */
	void *owned;               /**< decoded bytes; NULL = in place */
};

/** Reads frame `number` of `section`. Fails with HAWK_ERROR_FORMAT if it is missing or damaged. */
struct hawk_error *hawk_snapshot_read(const struct hawk_snapshot *snapshot,
				      enum hawk_snapshot_section section, size_t number,
				      struct hawk_snapshot_contents *ret);

/** Accepts contents of zeros. */
void hawk_snapshot_contents_deinit(struct hawk_snapshot_contents *contents);

/** Returns the number of the frame that holds `item`, SIZE_MAX = none. Needs
 * hawk_snapshot_is_whole(). */
size_t hawk_snapshot_frame_of(const struct hawk_snapshot *snapshot,
			      enum hawk_snapshot_section section, uint64_t item);

/** Returns NULL if the frames of `section` hold exactly items 0 .. `items` - 1, else the error. */
struct hawk_error *hawk_snapshot_is_whole(const struct hawk_snapshot *snapshot,
					  enum hawk_snapshot_section section, uint64_t items);

/** Called with the contents of a frame, on any thread. */
typedef struct hawk_error *hawk_snapshot_take(void *context,
					      struct hawk_snapshot_contents *contents);

/** Calls `take` for all frames of `section`, which must be whole, on several threads in any order.
 */
struct hawk_error *hawk_snapshot_read_all(const struct hawk_snapshot *snapshot,
					  enum hawk_snapshot_section section, uint64_t items,
					  hawk_snapshot_take *take, void *context);

/** Returns HAWK_ERROR_FORMAT for a `section` with impossible contents but a valid checksum. */
struct hawk_error *hawk_snapshot_nonsense(enum hawk_snapshot_section section);

static inline void hawk_cleanup_contents(struct hawk_snapshot_contents *contents)
{
	hawk_snapshot_contents_deinit(contents);
}

#endif
