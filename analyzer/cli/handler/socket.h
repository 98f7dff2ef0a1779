/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The kernel's coredump socket (Linux 6.16; requests and acknowledgements since 6.17, where
 * core_pattern begins with @@): a stream for each process that dies, which brings its core.
 */
#ifndef HAWK_ANALYZER_CLI_HANDLER_SOCKET_H
#define HAWK_ANALYZER_CLI_HANDLER_SOCKET_H

#include "cli.h"

/** Takes a core from standard input. Returns the exit code. */
typedef int hawk_take_core(const struct hawk_settings *settings, const char *pid);

/** Listens at `settings->handler.socket` and has `take` take each core, one behind the other, in a
 * process of its own: the process that died waits until it ends. Returns the exit code, in each of
 * these processes too. */
int hawk_handler_serve(const struct hawk_settings *settings, hawk_take_core *take);

#endif
