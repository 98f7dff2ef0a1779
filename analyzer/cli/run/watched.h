/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * `hawk-core run --leaks`: starts the program as a child and asks it when it is about to exit.
 */
#ifndef HAWK_ANALYZER_CLI_RUN_WATCHED_H
#define HAWK_ANALYZER_CLI_RUN_WATCHED_H

#include "cli.h"

/** Becomes the program. Returns the exit code after a complaint if that fails. */
int hawk_run_become(char *const *arguments);

/** Checks the options of --leaks and --snapshot-at-exit before anything is started. */
struct hawk_error *hawk_run_check_watch(struct hawk_settings *settings);

/** Runs the program; returns the exit code, or dies by the signal that the program died of. */
int hawk_run_watched(const struct hawk_settings *settings);

#endif
