/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Any bytes as messages to the server of the Model Context Protocol, a line each: every answer is a
 * response of JSON-RPC. And any bytes as a text whose paths are cut, which makes it no longer. The
 * command is no library: its sources are included here.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mcp/outgoing.c"
#include "cli/mcp/protocol.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *list(void)
{
	return json_pack("[{s:s}]", "name", "echo");
}

static json_t *call(void *context, const char *name, json_t *arguments)
{
	(void)context;
	return strcmp(name, "echo") ? NULL : json_incref(arguments);
}

static void send(struct hawk_mcp_peer *peer, const char *line, size_t size)
{
	json_t *answer = hawk_mcp_answer(peer, line, size);
	char *text;

	if (!answer)
		return;
	text = json_dumps(answer, JSON_COMPACT);
	if (!text || strchr(text, '\n') || !json_object_get(answer, "id") ||
	    !json_object_get(answer, "result") == !json_object_get(answer, "error"))
		abort();
	free(text);
	json_decref(answer);
}

static void cut(const char *bytes, size_t size)
{
	struct hawk_text text = {0};

	hawk_text_append(&text, bytes, size);
	hawk_mcp_cut_paths(&text);
	if (text.size > size)
		abort();
	hawk_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hawk_mcp_peer peer = {.version = "1", .list = list, .call = call};
	const char *at = (const char *)data, *end = at + size;

	cut(at, size);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		send(&peer, at, (size_t)((newline ? newline : end) - at));
		at = newline ? newline + 1 : end;
	}
	return 0;
}
