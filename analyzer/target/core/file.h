/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The bytes of a core file: mapped as a whole, read-only, never copied.
 *
 * Invariant: bytes[0 .. size) can be read at any time by any thread. A file that shrinks, or a disk
 * that fails, while we read would raise SIGBUS; such a page is replaced by zeros and
 * hawk_core_file_check() reports it. This is the one place where the library changes a signal's
 * disposition; a SIGBUS anywhere else is passed on to whatever was there before.
 */
#ifndef HAWK_ANALYZER_TARGET_CORE_FILE_H
#define HAWK_ANALYZER_TARGET_CORE_FILE_H

#include <pthread.h>

#include "hawk/target/target.h"

struct hawk_core_file {
	const uint8_t *bytes;
	size_t size;
	struct hawk_end_times times; /**< what it says of when its process died; zeros for bytes of
					the caller */
	int fd;                      /**< -1 = bytes of the caller */
	struct hawk_core_guard *guard;
	/** The stretches of data that were asked for last: a file system in memory looks at every
	 * page of one to find its end, and each stage of the analysis asks again. */
	pthread_mutex_t lock;
	struct hawk_core_extent {
		off_t data;
		off_t hole;
	} extents[4];
	unsigned next_extent; /**< to be replaced */
};

/** Opens and maps `path` if it is a regular, non-empty file; HAWK_ERROR_OS or _FORMAT if not. */
struct hawk_error *hawk_core_file_open(const char *path, struct hawk_core_file **ret);

/** The same of an open regular file of `size` > 0 bytes; `fd` is consumed, also if it fails. */
struct hawk_error *hawk_core_file_map(int fd, uint64_t size, const char *path,
				      struct hawk_core_file **ret);

/** The same over bytes of the caller, who keeps them. */
struct hawk_error *hawk_core_file_over(const void *bytes, size_t size, struct hawk_core_file **ret);

/** Says when the process of an open core died; and the part of it that the name alone tells. */
void hawk_core_times(int fd, const char *path, struct hawk_end_times *ret);
void hawk_core_times_of_name(const char *path, struct hawk_end_times *ret);

/** Accepts NULL. */
void hawk_core_file_close(struct hawk_core_file *file);

/**
 * Narrows [*start, *end), addresses within `mapping`, to the first stretch of it that is no hole of
 * the file; false if it is all hole.
 */
bool hawk_core_file_data(struct hawk_core_file *file, const struct hawk_mapping *mapping,
			 uint64_t *start, uint64_t *end);

/** Adds the finding "core-changed" if bytes vanished while they were read. */
void hawk_core_file_check(const struct hawk_core_file *file, struct hawk_findings *findings);

/**
 * core_open.c: NULL if the first bytes are those of an x86_64 ELF core, else HAWK_ERROR_FORMAT
 * or _UNSUPPORTED with a sentence that says what the file is.
 */
struct hawk_error *hawk_core_identify(const uint8_t *bytes, size_t size);

/**
 * core_open.c: the target that is in `file`, which it owns from now on, also when it fails. `name`
 * is put in front of errors; NULL = nothing.
 */
struct hawk_error *hawk_core_open_file(struct hawk_core_file *file, const char *name,
				       struct hawk_findings *findings, struct hawk_target **ret);

/** core_unpack.c: whether `file` is compressed in a way that can be unpacked here. */
bool hawk_core_unpack_needed(const struct hawk_core_file *file);

/**
 * The unpacked `packed`, which is consumed, also if it fails: a file without a name that is mapped
 * like any other core. `path` names it in errors. Of a core that was cut off or damaged, what comes
 * before the damage, with the finding "core-unpack".
 */
struct hawk_error *hawk_core_unpack(struct hawk_core_file *packed, const char *path,
				    const struct hawk_unpack_settings *settings,
				    struct hawk_findings *findings, struct hawk_core_file **ret);

/** table_file.c: whether these are the first bytes of a table file, also of one that is damaged. */
bool hawk_table_file_is(const uint8_t *bytes, size_t size);

/**
 * Fills process and mappings of `target` from its file, a table file of the tracer (table=FILE):
 * only the extents of the trace table are left, each at its address. No blocks, threads, modules.
 * HAWK_ERROR_FORMAT: not even the header is there.
 */
struct hawk_error *hawk_table_file_read(struct hawk_target *target, struct hawk_findings *findings);

#endif
