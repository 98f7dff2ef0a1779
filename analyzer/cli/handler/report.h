/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The reports of a crash: a snapshot (report.hawk) and the answer of analyze (report.txt,
 * report.json).
 */
#ifndef HAWK_ANALYZER_CLI_HANDLER_REPORT_H
#define HAWK_ANALYZER_CLI_HANDLER_REPORT_H

#include "cli.h"

/** Writes the reports of the core or table file `path` into the current directory. Ends the program
 * at `end_ns` of CLOCK_MONOTONIC. `pid`: the process is still there, and its files are looked up in
 * its root directory; NULL = it is gone. Returns the exit code. */
int hawk_crash_report(const char *path, const char *pid, uint64_t end_ns);

#endif
