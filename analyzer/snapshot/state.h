/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What writer and reader agree on beside the format. Internal to snapshot/.
 */
#ifndef HAWK_ANALYZER_SNAPSHOT_STATE_H
#define HAWK_ANALYZER_SNAPSHOT_STATE_H

#include <stddef.h>
#include <stdint.h>

/** The first eight bytes of a file. */
#define HAWK_SNAPSHOT_MAGIC "HAWKSNAP"

/** The checksum of a frame: of its header up to `check`, and its contents as stored. */
uint64_t hawk_snapshot_check(const void *header, size_t header_bytes, const void *contents,
			     size_t bytes);

#endif
