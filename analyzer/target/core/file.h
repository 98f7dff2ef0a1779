/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The bytes of a core file: mapped as a whole, read-only, never copied.
 *
 * Invariant: bytes[0 .. size) can be read at any time by any thread. A file that shrinks, or a disk
 * that fails, while we read would raise SIGBUS; such a page is replaced by zeros and
 * hawk_core_file_check() reports it. Only this file changes a signal's disposition; other SIGBUS go
 * to the previous handler.
 */
#ifndef HAWK_ANALYZER_TARGET_CORE_FILE_H
#define HAWK_ANALYZER_TARGET_CORE_FILE_H

#include <pthread.h>

#include "hawk/target/target.h"

struct hawk_core_file {
	const uint8_t *bytes;
	size_t size;
	struct hawk_end_times
		times; /**< candidates for the process's end; zeros for the caller's bytes */
	int fd;        /**< -1 = the caller's bytes */
	struct hawk_core_guard *guard;
	/** The ranges found last: a hole from `start` on, then data. tmpfs scans every page of a
	 * range to find its end; each stage of the analysis asks again, and each block in a hole.
	 */
	pthread_mutex_t lock;
	struct hawk_core_extent {
		off_t start;
		off_t data;
		off_t hole;
	} extents[4];
	unsigned next_extent; /**< the next one to replace */
};

/** Opens and maps `path` if it is a regular, non-empty file; HAWK_ERROR_OS or _FORMAT if not. */
struct hawk_error *hawk_core_file_open(const char *path, struct hawk_core_file **ret);

/** Maps an open regular file of `size` > 0 bytes; consumes `opened` even on failure. */
struct hawk_error *hawk_core_file_map(int opened, uint64_t size, const char *path,
				      struct hawk_core_file **ret);

/** Makes a file over the caller's bytes, which must outlive it. */
struct hawk_error *hawk_core_file_over(const void *bytes, size_t size, struct hawk_core_file **ret);

/** Find the time when the process of an open core died; the second uses the name alone. */
void hawk_core_times(int fd, const char *path, struct hawk_end_times *ret);
void hawk_core_times_of_name(const char *path, struct hawk_end_times *ret);

/** Accepts NULL. */
void hawk_core_file_close(struct hawk_core_file *file);

/**
 * Narrows [*start, *end), addresses within `mapping`, to its first range that is no hole of the
 * file; returns false if it is all hole.
 */
bool hawk_core_file_data(struct hawk_core_file *file, const struct hawk_mapping *mapping,
			 uint64_t *start, uint64_t *end);

/** Adds the finding "core-changed" if bytes vanished while they were read. */
void hawk_core_file_check(const struct hawk_core_file *file, struct hawk_findings *findings);

/**
 * open.c: fills `*ret` if the first bytes are those of an ELF core of a supported machine, else
 * returns HAWK_ERROR_FORMAT or _UNSUPPORTED with a sentence that says what the file is.
 */
struct hawk_error *hawk_core_identify(const uint8_t *bytes, size_t size,
				      const struct hawk_arch **ret);

/**
 * core_open.c: opens the target in `file`, which it owns from now on, even on failure. `name`
 * prefixes errors; NULL = none.
 */
struct hawk_error *hawk_core_open_file(struct hawk_core_file *file, const char *name,
				       struct hawk_findings *findings, struct hawk_target **ret);

/** unpack.c: returns true if `file` is compressed in a supported format. */
bool hawk_core_unpack_needed(const struct hawk_core_file *file);

/**
 * Unpacks `packed` into an unnamed file and maps it; consumes `packed` even on failure. `path`
 * names it in errors. A cut-off or damaged core yields the part before the damage, with the finding
 * "core-unpack".
 */
struct hawk_error *hawk_core_unpack(struct hawk_core_file *packed, const char *path,
				    const struct hawk_unpack_settings *settings,
				    struct hawk_findings *findings, struct hawk_core_file **ret);

/** As hawk_core_unpack(), but unpacks no more than a core's headers and first notes may need. */
struct hawk_error *hawk_core_unpack_beginning(struct hawk_core_file *packed, const char *path,
					      struct hawk_core_file **ret);

/** table_file.c: returns true for the first bytes of a table file, even a damaged one. */
bool hawk_table_file_is(const uint8_t *bytes, size_t size);

/**
 * Fills process and mappings of `target` from its file, a table file of the tracer (table=FILE). It
 * holds only the trace table's extents, each at its address: no blocks, threads, modules. Fails
 * with HAWK_ERROR_FORMAT if the header is incomplete.
 */
struct hawk_error *hawk_table_file_read(struct hawk_target *target, struct hawk_findings *findings);

#endif
