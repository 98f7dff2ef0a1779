/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A file that appears under its name only when complete.
 *
 * Until then it has no name (O_TMPFILE), so that even SIGKILL leaves nothing. If the file system
 * lacks such files, it has a temporary name beside its own.
 */
#ifndef HAWK_ANALYZER_OUTPUT_FILE_H
#define HAWK_ANALYZER_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "hawk/base/error.h"

struct hawk_output_file;

/** Creates the file, with mode 0600, in the folder of `path`. `named` gives it a temporary name.
 * Returns 0 or an errno; `*fd`, for reading and writing, belongs to the caller. */
int hawk_output_file_create(const char *path, bool named, int *fd, struct hawk_output_file **ret);

/** Gives the complete file its name and makes it survive a crash of the machine. Returns 0 or an
 * errno: EEXIST if the name is taken and `force` is not set. */
int hawk_output_file_publish(struct hawk_output_file *file, int fd, bool force);

/** Writes all bytes to `fd`, which errors call `path`. */
struct hawk_error *hawk_output_file_write(int fd, const char *path, const void *bytes, size_t size);

/** Removes the file unless it was published. Accepts NULL. */
void hawk_output_file_destroy(struct hawk_output_file *file);

#endif
