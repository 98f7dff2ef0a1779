/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What an administrator needs to make the kernel call `hawk-core handler`. Nothing is changed.
 */
#ifndef HAWK_ANALYZER_CLI_HANDLER_INSTALL_H
#define HAWK_ANALYZER_CLI_HANDLER_INSTALL_H

#include "cli.h"

/** Prints the kernel's settings, a systemd unit that makes them, and what stands in the way.
 * Returns the exit code: HAWK_EXIT_CONDITION if something does. */
int hawk_handler_install(const struct hawk_settings *settings);

#endif
