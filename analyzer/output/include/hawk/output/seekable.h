/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A zstd file of independent frames, each of the same number of unpacked bytes but for holes and
 * the last, and behind them a table of their sizes in a frame that zstd skips. Any zstd unpacks it;
 * a reader of the table unpacks single frames, or many at once. Source of the format:
 * zstd, contrib/seekable_format/zstd_seekable_compression_format.md.
 *
 *     frame | frame | hole | frame ... | 0x184D2A5E, bytes | {packed, unpacked} ... | count, 0, 0x8F92EAB1
 *
 * A hole is a frame of zeros alone, four bytes for each 128 KiB.
 */
#ifndef HAWK_ANALYZER_OUTPUT_SEEKABLE_H
#define HAWK_ANALYZER_OUTPUT_SEEKABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"

enum { HAWK_SEEKABLE_FRAME_BYTES = 256 << 10, HAWK_SEEKABLE_FOOTER_BYTES = 9 };

static const uint32_t HAWK_SEEKABLE_TABLE_MAGIC = 0x184d2a5e;
static const uint32_t HAWK_SEEKABLE_FOOTER_MAGIC = 0x8f92eab1;

struct hawk_seekable;

/** Writes to `fd`, which errors call `path`; both must outlive the result. `level` of zstd, 0 = its
 * default. HAWK_ERROR_UNSUPPORTED in a build without zstd. */
struct hawk_error *hawk_seekable_create(int fd, const char *path, int level,
					struct hawk_seekable **ret);

struct hawk_error *hawk_seekable_write(struct hawk_seekable *seekable, const void *bytes,
				       size_t size);

/** Writes `size` zeros, as holes where they fill frames. */
struct hawk_error *hawk_seekable_skip(struct hawk_seekable *seekable, uint64_t size);

/** Writes what is left, and the table. */
struct hawk_error *hawk_seekable_finish(struct hawk_seekable *seekable);

/** Returns true if `frame` is exactly what a hole of `unpacked` bytes is written as. */
bool hawk_seekable_is_hole(const uint8_t *frame, size_t packed, uint32_t unpacked);

/** Accepts NULL. */
void hawk_seekable_destroy(struct hawk_seekable *seekable);

#endif
