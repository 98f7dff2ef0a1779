/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Files below /proc/PID. All are opened relative to an open /proc/PID, which goes stale when the
 * process dies: so a pid that is used again is never mistaken for the one asked for.
 */
#ifndef HAWK_LIVE_PROC_H
#define HAWK_LIVE_PROC_H

#include "hawk_target.h"
#include "hawk_text.h"

enum { HAWK_PROC_FILE_MAX = 256 << 20 };

/** The whole of a small file; HAWK_ERROR_OS, or _UNSUPPORTED beyond HAWK_PROC_FILE_MAX. */
struct hawk_error *hawk_proc_read(int directory, const char *name, struct hawk_text *ret);

/** Fields of /proc/PID/stat or task/TID/stat. */
struct hawk_proc_stat {
	char state; /**< R S D T t Z X I */
	bool kernel_thread;
	uint64_t thread_count;
	uint64_t start_ticks;
};
struct hawk_error *hawk_proc_stat(int directory, const char *name, struct hawk_proc_stat *ret);

/** The value of a line "key:\tvalue" of /proc/PID/status as a number; `fallback` if it is not
 * there. */
uint64_t hawk_proc_status_number(int directory, const char *key, uint64_t fallback);

/** Parses /proc/PID/maps text into sorted mappings; `target` owns paths and mappings. */
struct hawk_error *hawk_proc_parse_maps(const char *text, struct hawk_target *target,
					uint64_t *vdso);

/** What ptrace's EPERM means, as far as can be found out. */
struct hawk_error *hawk_proc_refusal(pid_t pid, int directory, int errnum);

#endif
