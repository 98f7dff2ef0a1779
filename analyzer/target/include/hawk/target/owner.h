/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The process that writes a table file, by what the tracer noted in it: PID, PID namespace and
 * start.
 */
#ifndef HAWK_ANALYZER_TARGET_OWNER_H
#define HAWK_ANALYZER_TARGET_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hawk_owner {
	uint32_t pid; /**< in its own namespace */
	uint64_t pid_namespace;
	uint64_t start_ticks; /**< since boot */
};

/** Reads who writes the table file `fd`. Returns false if it is none, or not complete yet. */
bool hawk_owner_read(int fd, struct hawk_owner *ret);

enum hawk_owner_state {
	HAWK_OWNER_GONE = 0,
	HAWK_OWNER_LIVES,
	HAWK_OWNER_HIDDEN, /**< in a PID namespace that cannot be seen from here */
};

/** Finds the process. If it lives: `*pid` = its number here, `*fd` = its pidfd, for the caller to
 * close. */
enum hawk_owner_state hawk_owner_find(const struct hawk_owner *owner, pid_t *pid, int *fd);

/** How a process ended, from its pidfd; Linux 6.15 tells. */
struct hawk_owner_end {
	bool known;
	int status; /**< as of waitpid() */
};

struct hawk_owner_end hawk_owner_end(int fd);

#endif
