/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The directory of `hawk-core handler` and `collect`: one directory for each crash, called
 * NAME.PID.TIME, which belongs to the owner of the process. Everything here happens before a byte
 * of the core is read; then the handler becomes that owner.
 */
#ifndef HAWK_ANALYZER_CLI_HANDLER_PLACE_H
#define HAWK_ANALYZER_CLI_HANDLER_PLACE_H

#include <stdint.h>
#include <stdio.h>

#include "hawk/base/error.h"

struct stat;

struct hawk_crash {
	const char *pid;
	const char *signal; /**< NULL = unknown */
	const char *time;   /**< seconds since 1970 */
	const char *name;
	/** Owner and notes of a process that is gone; its PID may be another one's by now. NULL =
	 * it is still there, and /proc tells both. */
	const struct stat *owner;
	const char *notes;
};

/** Opens `path`, which is absolute, and waits until no other handler works there. */
struct hawk_error *hawk_place_open(const char *path, uint64_t end_ns, int *ret);

/** Removes the oldest crashes until `keep` are left. */
void hawk_place_prune(int place, uint64_t keep);

/** Copies one of the process's files in /proc, if it can be read. */
void hawk_crash_note(FILE *notes, const char *pid, const char *name);

/** Makes the crash's directory and the current one of it, notes there what /proc knows of the
 * process, and gives up all rights but those of the process's owner. */
struct hawk_error *hawk_place_enter(int place, const struct hawk_crash *crash);

#endif
