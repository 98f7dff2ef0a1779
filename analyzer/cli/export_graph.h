/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Formats of `export` that hold the object graph, the site graph or all tables, and no profile.
 */
#ifndef HAWK_ANALYZER_CLI_EXPORT_GRAPH_H
#define HAWK_ANALYZER_CLI_EXPORT_GRAPH_H

#include "session.h"

/** In the order of --format's words, behind those of profiles. */
enum hawk_export_graph {
	HAWK_EXPORT_HEAP_SNAPSHOT,
	HAWK_EXPORT_HPROF,
	HAWK_EXPORT_SQLITE,
	HAWK_EXPORT_DOT,
};

/** Returns HAWK_ERROR_USAGE for options that do not apply to the format. */
struct hawk_error *hawk_export_graph_check(const struct hawk_settings *settings,
					   enum hawk_export_graph format);

struct hawk_error *hawk_export_graph_answer(struct hawk_session *session,
					    enum hawk_export_graph format);

#endif
