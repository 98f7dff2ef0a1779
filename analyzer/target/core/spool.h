/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A file without a name that holds a core which cannot be mapped where it is: compressed, or in a
 * pipe. It vanishes with this process, however that ends. Its length and the room that it leaves in
 * the file system are bounded, pages of zeros become holes, and what is no core is refused by its
 * first bytes.
 */
#ifndef HAWK_ANALYZER_TARGET_CORE_SPOOL_H
#define HAWK_ANALYZER_TARGET_CORE_SPOOL_H

#include "file.h"

enum { HAWK_CORE_SPOOL_BUFFER_BYTES = 1 << 20 };

struct hawk_core_spool {
	const char *what;   /**< begins messages: "is compressed" */
	const char *remedy; /**< ends that about the room; "" = none */
	const char *folder;
	bool may_be_packed;  /**< a compressed core is welcome, too */
	uint8_t *buffer;     /**< to be filled, then added */
	uint64_t bytes;      /**< added so far */
	uint64_t data_bytes; /**< of them written: the others are holes */
	uint64_t bytes_max;
	int fd;
};

/** Makes an empty file in the folder of `settings` (NULL: /var/tmp). To be closed even after an
 * error. `what` must outlive it. */
struct hawk_error *hawk_core_spool_open(struct hawk_core_spool *spool, const char *what,
					const struct hawk_unpack_settings *settings);

/** Adds the first `bytes` of the buffer, which must be all of it but for the last time. */
struct hawk_error *hawk_core_spool_add(struct hawk_core_spool *spool, size_t bytes);

/** Maps what was added, at least one byte; the file is the result's from now on. */
struct hawk_error *hawk_core_spool_map(struct hawk_core_spool *spool, const char *path,
				       struct hawk_core_file **ret);

void hawk_core_spool_close(struct hawk_core_spool *spool);

/** pipe.c: opens and maps standard input: a regular file as it is, a pipe by way of a spool. */
struct hawk_error *hawk_core_standard_input(const struct hawk_unpack_settings *settings,
					    struct hawk_core_file **ret);

#endif
