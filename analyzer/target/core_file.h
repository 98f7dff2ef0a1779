/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The bytes of a core file: mapped as a whole, read-only, never copied.
 *
 * Invariant: hawk_core_file_bytes()[0 .. hawk_core_file_size()) can be read at any time by any
 * thread. A file that shrinks, or a disk that fails, while we read would raise SIGBUS; such a page
 * is replaced by zeros (core_guard.c) and hawk_core_file_check() reports it.
 */
#ifndef HAWK_CORE_FILE_H
#define HAWK_CORE_FILE_H

#include "hawk_target.h"

struct hawk_core_file;

/** Opens and maps `path` if it is a regular, non-empty file; HAWK_ERROR_OS or _FORMAT if not. */
struct hawk_error *hawk_core_file_open(const char *path, struct hawk_core_file **ret);

/** The same of an open regular file of `size` > 0 bytes; `fd` is consumed, also if it fails. */
struct hawk_error *hawk_core_file_map(int fd, uint64_t size, const char *path,
				      struct hawk_core_file **ret);

/** The same over bytes of the caller, who keeps them. */
struct hawk_error *hawk_core_file_over(const void *bytes, size_t size, struct hawk_core_file **ret);

/** What the file says of when its process died; zeros for bytes of the caller. */
const struct hawk_end_times *hawk_core_file_times(const struct hawk_core_file *file);
/** Of an unpacked core: those of the file that was unpacked. */
void hawk_core_file_set_times(struct hawk_core_file *file, const struct hawk_end_times *times);

/** core_times.c: the same of an open file; and of its name alone, which fills only that part. */
void hawk_core_times(int fd, const char *path, struct hawk_end_times *ret);
void hawk_core_times_of_name(const char *path, struct hawk_end_times *ret);

/** Accepts NULL. */
void hawk_core_file_close(struct hawk_core_file *file);

const uint8_t *hawk_core_file_bytes(const struct hawk_core_file *file);
size_t hawk_core_file_size(const struct hawk_core_file *file);

/**
 * Narrows [*start, *end), addresses within `mapping`, to the first stretch of it that is no hole of
 * the file; false if it is all hole.
 */
bool hawk_core_file_data(const struct hawk_core_file *file, const struct hawk_mapping *mapping,
			 uint64_t *start, uint64_t *end);

/** Adds the finding "core-changed" if bytes vanished while they were read. */
void hawk_core_file_check(const struct hawk_core_file *file, struct hawk_findings *findings);

/**
 * core_identify.c: NULL if the first bytes are those of an x86_64 ELF core, else HAWK_ERROR_FORMAT
 * or _UNSUPPORTED with a sentence that says what the file is.
 */
struct hawk_error *hawk_core_identify(const uint8_t *bytes, size_t size);

/**
 * core_open.c: the target that is in `file`, which it owns from now on, also when it fails. `name`
 * is put in front of errors; NULL = nothing.
 */
struct hawk_error *hawk_core_open_file(struct hawk_core_file *file, const char *name,
				       struct hawk_findings *findings, struct hawk_target **ret);

#endif
