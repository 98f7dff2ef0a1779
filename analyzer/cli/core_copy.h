/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Copies a core from a file or a pipe, in one pass, within limits. A copy that ends early is a core
 * that is cut off.
 */
#ifndef HAWK_ANALYZER_CLI_CORE_COPY_H
#define HAWK_ANALYZER_CLI_CORE_COPY_H

#include <stdint.h>

#include "hawk/base/error.h"
#include "hawk/output/file_sink.h"

struct hawk_core_copy {
	struct hawk_file_sink *sink;
	uint64_t written_max; /**< bytes of the copy; UINT64_MAX = any number */
	uint64_t free_min;    /**< bytes to leave free in its file system */
	uint64_t end_ns;      /**< of CLOCK_MONOTONIC; UINT64_MAX = none */
	uint64_t bytes;       /**< copied so far */
	const char *stopped;  /**< the limit that ended it; NULL = the copy is whole */
};

/** Copies `fd`, which errors call `name`, to its end or a limit. Keeps the holes of a file. */
struct hawk_error *hawk_core_copy(struct hawk_core_copy *copy, int fd, const char *name);

#endif
