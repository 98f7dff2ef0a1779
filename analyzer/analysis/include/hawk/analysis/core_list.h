/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The cores of a machine: files where the kernel, systemd-coredump, ABRT and Apport keep them. Each
 * is opened for its notes alone. Files of other kinds are passed over; what cannot be read is
 * listed with the reason.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_CORE_LIST_H
#define HAWK_ANALYZER_ANALYSIS_CORE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"

enum hawk_core_whole {
	HAWK_CORE_WHOLE_UNKNOWN = 0, /**< compressed */
	HAWK_CORE_WHOLE,
	HAWK_CORE_CUT_OFF,
};

struct hawk_core_entry {
	char *path;
	uint64_t time_ns;    /**< of its end, by systemd's attribute, else the file's time */
	uint64_t file_bytes; /**< of the file, compressed or not; holes count */
	uint32_t pid;        /**< 0 = unknown */
	int signal;          /**< 0 = none, or unknown */
	char *program;       /**< path, or the name alone; "" = unknown */
	enum hawk_core_whole whole;
	bool traced;        /**< the tracer's library is among the mapped files */
	bool modules_known; /**< else `traced` says nothing */
	char *trouble;      /**< why the file cannot be read; NULL = it can */
};

struct hawk_core_list {
	struct hawk_core_entry *items; /**< newest first */
	size_t count;
	size_t capacity;
	bool cut; /**< a directory has more files than are looked at */
};

/** Lists the cores in `folders`, and in problem directories of ABRT below them. Fails if one cannot
 * be read. Deinitialize also after an error. */
struct hawk_error *hawk_core_list_make(const char *const *folders, size_t count,
				       struct hawk_core_list *ret);

/** As hawk_core_list_make(), of the places where systems keep cores, as far as they can be read,
 * and the current directory. */
struct hawk_error *hawk_core_list_usual(struct hawk_core_list *ret);

/** Returns the newest core of the program, or process, `wanted`; "" = of any. NULL if there is
 * none. */
const struct hawk_core_entry *hawk_core_list_last(const struct hawk_core_list *list,
						  const char *wanted);

void hawk_core_list_deinit(struct hawk_core_list *list);

#endif
