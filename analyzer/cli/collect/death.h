/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports on a process that died and left a table file.
 */
#ifndef HAWK_ANALYZER_CLI_COLLECT_DEATH_H
#define HAWK_ANALYZER_CLI_COLLECT_DEATH_H

#include <sys/stat.h>

#include "cli.h"
#include "hawk/target/owner.h"

struct hawk_death {
	const char *name; /**< of the table file */
	int table;        /**< open for reading */
	struct stat file;
	pid_t pid;         /**< as seen from here; 0 = unknown */
	int pidfd;         /**< -1 = it was dead when its table was found */
	const char *notes; /**< from /proc, while it lived; NULL = none */
};

/** Returns what /proc tells of a living process, for the caller to free; NULL = out of memory. */
char *hawk_death_notes(pid_t pid);

/** Makes a directory below `settings->handler.to`, with the table, what is known of the end, and
 * the reports, as the owner of the table; nothing for a process that is known to have ended with
 * exit code 0. For a process of its own. Returns the exit code. */
int hawk_death_report(const struct hawk_settings *settings, const struct hawk_death *death);

#endif
