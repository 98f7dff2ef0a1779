/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shared by writer and reader. Internal to snapshot/.
 */
#ifndef HAWK_ANALYZER_SNAPSHOT_STATE_H
#define HAWK_ANALYZER_SNAPSHOT_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "hawk_snapshot.h"

/** The first eight bytes of a file. */
#define HAWK_SNAPSHOT_MAGIC "HAWKSNAP"

/** Returns the checksum of a frame: of its header up to `check`, and its contents as stored. */
uint64_t hawk_snapshot_check(const void *header, size_t header_bytes, const void *contents,
			     size_t bytes);

/** Returns the checksum of the table of contents: of a frame's header, and of all frames before it,
 * whose checksum is `before` (0 = none). */
uint64_t hawk_snapshot_list_check(const struct hawk_snapshot_frame *frame, uint64_t before);

#endif
