/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sections of `analyze --full` that other verbs answer: retained, sites, growth, schema.
 */
#ifndef HAWK_ANALYZER_CLI_FULL_SECTIONS_H
#define HAWK_ANALYZER_CLI_FULL_SECTIONS_H

#include "session.h"

/** Text only, and of cores only: a process has been let go by then. The heap is traced. */
struct hawk_error *hawk_full_sections_print(struct hawk_session *session,
					    const struct hawk_settings *settings);

#endif
