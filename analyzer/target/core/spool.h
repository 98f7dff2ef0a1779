/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * An unnamed file for a core that cannot be mapped in place: compressed, or in a pipe. It vanishes
 * with this process, however that ends. Its length and the room left in the file system are
 * bounded. Pages of zeros become holes. Data other than a core is refused by its first bytes.
 */
#ifndef HAWK_ANALYZER_TARGET_CORE_SPOOL_H
#define HAWK_ANALYZER_TARGET_CORE_SPOOL_H

#include "file.h"

enum { HAWK_CORE_SPOOL_BUFFER_BYTES = 1 << 20 };

struct hawk_core_spool {
	const char *what;   /**< begins messages: "is compressed" */
	const char *remedy; /**< ends the message about the room; "" = none */
	const char *folder;
	bool may_be_packed;  /**< a compressed core is accepted too */
	uint8_t *buffer;     /**< filled by the caller, then added */
	uint64_t bytes;      /**< added so far */
	uint64_t data_bytes; /**< written bytes; the others are holes */
	uint64_t bytes_max;
	int fd;
};

/** Makes an empty file in the folder of `settings` (NULL: /var/tmp). Close it even after an error.
 * `what` must outlive it. */
struct hawk_error *hawk_core_spool_open(struct hawk_core_spool *spool, const char *what,
					const struct hawk_unpack_settings *settings);

/** Adds the first `bytes` of the buffer: all of it except in the last call. */
struct hawk_error *hawk_core_spool_add(struct hawk_core_spool *spool, size_t bytes);

/** Returns an error if a core of `bytes` is too long. */
struct hawk_error *hawk_core_spool_check_length(const struct hawk_core_spool *spool,
						uint64_t bytes);

/** Writes the first `bytes` of the buffer at spool->bytes, which stays. For threads, each with a
 * copy of the spool and a buffer of its own. */
struct hawk_error *hawk_core_spool_put(struct hawk_core_spool *spool, size_t bytes);

/** Maps the data added, at least one byte. The result owns the file from then on. */
struct hawk_error *hawk_core_spool_map(struct hawk_core_spool *spool, const char *path,
				       struct hawk_core_file **ret);

void hawk_core_spool_close(struct hawk_core_spool *spool);

/** pipe.c: opens and maps standard input: a regular file in place, a pipe through a spool. */
struct hawk_error *hawk_core_standard_input(const struct hawk_unpack_settings *settings,
					    struct hawk_core_file **ret);

#endif
