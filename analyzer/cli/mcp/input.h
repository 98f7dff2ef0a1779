/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The client's messages, a line each. Lines are read ahead while a request is answered, because
 * the client may take it back.
 */
#ifndef HAWK_ANALYZER_CLI_MCP_INPUT_H
#define HAWK_ANALYZER_CLI_MCP_INPUT_H

#include <stdbool.h>
#include <stddef.h>

enum { HAWK_MCP_INPUT_BYTES = 4 << 20 };

struct hawk_mcp_input {
	int fd;
	bool ended;
	size_t start, end; /**< of the unread bytes */
	char bytes[HAWK_MCP_INPUT_BYTES];
};

/** Waits for a line and gives its bytes, valid until the next call; `*size` is larger than
 * HAWK_MCP_MESSAGE_BYTES_MAX for a longer one. Returns false behind the last. */
bool hawk_mcp_input_line(struct hawk_mcp_input *input, const char **line, size_t *size);

/** Reads what is there, as far as there is room, and gives a whole line behind `*at`, which begins
 * as NULL. Returns false behind the last; the lines stay unread. */
bool hawk_mcp_input_peek(struct hawk_mcp_input *input, const char **at, size_t *size);

#endif
