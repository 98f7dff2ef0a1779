/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prepares a text to leave the server: cuts paths to base names, and runs the filter command.
 */
#ifndef HAWK_ANALYZER_CLI_MCP_OUTGOING_H
#define HAWK_ANALYZER_CLI_MCP_OUTGOING_H

#include "hawk/base/error.h"
#include "hawk/base/text.h"

/** Upper limit on an answer, of a verb and of the filter. */
enum { HAWK_MCP_ANSWER_BYTES_MAX = 16 << 20 };

/**
 * Cuts paths to their last part, in JSON documents and in plain text: all values of fields that
 * hold a path (`file`, `module` ...), and in other strings words that begin with "/", "./" or
 * "../".
 */
void hawk_mcp_cut_paths(struct hawk_text *text);

/** Replaces `text` by what the system's shell makes of it with `command`. Fails unless the command
 * ends with 0 and its output is UTF-8. */
struct hawk_error *hawk_mcp_filter(const char *command, struct hawk_text *text);

#endif
