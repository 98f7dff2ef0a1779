/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A file with holes that is there whole or not at all (output/file.h): readable by its owner alone,
 * flushed to the disk. A name that ends in ".zst" is compressed, in frames of their own
 * (seekable.h).
 */
#ifndef HAWK_ANALYZER_OUTPUT_FILE_SINK_H
#define HAWK_ANALYZER_OUTPUT_FILE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"

struct hawk_file_sink;

struct hawk_file_sink_settings {
	const char *path;   /**< NULL: it gets no name, see hawk_file_sink_copy() */
	const char *folder; /**< without a path: where it lies meanwhile */
	bool compress;      /**< without a path */
	int level;          /**< of zstd; 0 = its default */
	bool force;         /**< it may replace a regular file */
};

/** Returns true for a path that ends in ".zst": the file is compressed. */
bool hawk_file_sink_packs(const char *path);

/**
 * Fails if the file cannot be there: HAWK_ERROR_OS, or HAWK_ERROR_USAGE if `path` exists and is not
 * to be replaced. The settings must outlive it.
 */
struct hawk_error *hawk_file_sink_create(const struct hawk_file_sink_settings *settings,
					 struct hawk_file_sink **ret);

struct hawk_error *hawk_file_sink_write(struct hawk_file_sink *sink, const void *bytes,
					size_t size);

/** Writes `size` zeros; a hole, unless compressed. */
struct hawk_error *hawk_file_sink_skip(struct hawk_file_sink *sink, uint64_t size);

/** Writes out everything, to the disk. */
struct hawk_error *hawk_file_sink_finish(struct hawk_file_sink *sink, uint64_t *bytes);

/** The file, for questions about it. Its position is the number of bytes written. */
int hawk_file_sink_fd(const struct hawk_file_sink *sink);

/** Where this process can open it before it has its name. */
const char *hawk_file_sink_place(const struct hawk_file_sink *sink);

/** After finish: gives it its name. */
struct hawk_error *hawk_file_sink_commit(struct hawk_file_sink *sink);

/** After finish: copies it to `fd`, which `name` calls in errors. */
struct hawk_error *hawk_file_sink_copy(struct hawk_file_sink *sink, int fd, const char *name);

/** Accepts NULL. Deletes what was not committed. */
void hawk_file_sink_destroy(struct hawk_file_sink *sink);

#endif
