/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The Model Context Protocol as a function from one message to its answer: JSON-RPC 2.0, the
 * handshake, and requests about tools. Knows neither streams nor cores.
 *
 * Messages are hostile: each wrong one gets the error that JSON-RPC has for it. The specification:
 * modelcontextprotocol.io/specification/2025-11-25.
 */
#ifndef HAWK_ANALYZER_CLI_MCP_PROTOCOL_H
#define HAWK_ANALYZER_CLI_MCP_PROTOCOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/** Upper limit on a message. */
enum { HAWK_MCP_MESSAGE_BYTES_MAX = 1 << 20 };

struct hawk_mcp_peer {
	const char *version; /**< of hawk-core */
	/** Returns the array of tools, owned by the caller. */
	json_t *(*list)(void);
	/** Calls tool `name`; `arguments` is an object. Returns its result, owned by the caller;
	 * NULL = there is no such tool. */
	json_t *(*call)(void *context, const char *name, json_t *arguments);
	void *context;
	/** Returns true if the client has taken request `id` back; NULL = it never does. */
	bool (*is_cancelled)(void *wire, const json_t *id);
	/** Sends a notification and consumes it. */
	void (*notify)(void *wire, json_t *message);
	void *wire;
	bool initialized;
};

/** Returns true if the message takes request `id` back. */
bool hawk_mcp_cancels(const char *message, size_t size, const json_t *id);

/** Returns the answer to a message, owned by the caller; NULL if none is due. */
json_t *hawk_mcp_answer(struct hawk_mcp_peer *peer, const char *message, size_t size);

#endif
