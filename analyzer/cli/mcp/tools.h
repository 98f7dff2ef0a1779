/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tools of the server: verbs, with those of their options that read nothing but the open core.
 *
 * Their schemas are made from the verbs' option tables, and their arguments become a command line,
 * so that they cannot differ from what the verbs take.
 */
#ifndef HAWK_ANALYZER_CLI_MCP_TOOLS_H
#define HAWK_ANALYZER_CLI_MCP_TOOLS_H

#include <jansson.h>

#include "cli.h"

struct hawk_mcp_tool {
	const char *name; /**< NULL = the verb's */
	const struct hawk_verb *verb;
	const char *operand;      /**< name of the argument that is the operand; NULL = none */
	const char *operand_help; /**< its description */
	const char *word;         /**< option that each question begins with; NULL = none */
};

/** Opens a core: its operand is the path. */
extern const struct hawk_mcp_tool hawk_mcp_open;

/** Returns the array of tools for tools/list; the caller owns it. */
json_t *hawk_mcp_list_tools(void);

/** Returns NULL if there is none. */
const struct hawk_mcp_tool *hawk_mcp_find_tool(const char *name);

/** A command line; words are owned, NULL is behind the last. */
struct hawk_mcp_words {
	char **items;
	int count;
};

/** Makes the command line for the object `arguments`, without the core. Returns false after
 * complaining. Deinitialize `ret` in any case. */
bool hawk_mcp_words_make(const struct hawk_mcp_tool *tool, json_t *arguments,
			 struct hawk_mcp_words *ret);
void hawk_mcp_words_deinit(struct hawk_mcp_words *words);

#endif
