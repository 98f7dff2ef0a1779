/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Whose a table file is: by process id, pid namespace and start time, which stay when a process
 * executes another program.
 */
#ifndef HAWK_FILE_OWNER_H
#define HAWK_FILE_OWNER_H

#include "hawk_file.h"

struct hawk_file_owner {
	uint32_t pid;
	uint64_t start_ticks; /**< 0 = not known */
	uint64_t pid_namespace;
};
void hawk_file_owner_self(struct hawk_file_owner *ret);

/** Whether the file open as `fd` holds the table of an earlier program of this very process. */
bool hawk_file_owner_is_self(int fd);

#endif
