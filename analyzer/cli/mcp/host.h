/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The open core behind the tools: has verbs answer with one session, as the shell does, and cuts
 * their documents into pages.
 */
#ifndef HAWK_ANALYZER_CLI_MCP_HOST_H
#define HAWK_ANALYZER_CLI_MCP_HOST_H

#include "tools.h"
#include "session.h"

struct hawk_mcp_host {
	const struct hawk_settings *settings; /**< of the server */
	struct hawk_session session;
	bool is_open;
	struct hawk_mcp_words words; /**< of open; `opened` points into them */
	struct hawk_settings opened; /**< settings of the session */
	char *question;              /**< of the last answer */
	struct hawk_text document;   /**< the last answer, whole: its pages are cut from it */
	struct hawk_text notes;      /**< what verbs would say on standard error */
	bool failed;
};

/** Calls a tool, for struct hawk_mcp_peer; `context` is the host. Standard output must lead to
 * nowhere: verbs believe that they write there. */
json_t *hawk_mcp_host_call(void *context, const char *name, json_t *arguments);

/** Opens `core` as the tool does, before a client asks. Returns false after complaining. */
bool hawk_mcp_host_open(struct hawk_mcp_host *host, const char *core);

void hawk_mcp_host_deinit(struct hawk_mcp_host *host);

#endif
