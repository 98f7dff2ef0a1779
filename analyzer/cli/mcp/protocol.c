/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Answers messages of the Model Context Protocol.
 *
 * Memory is not checked: the allocator that jansson is given ends the process (mcp.c).
 */
#include "protocol.h"

#include <stdio.h>
#include <string.h>

#include "hawk/base/numbers.h"
#include "hawk/base/progress.h"

enum {
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	NO_SUCH_METHOD = -32601,
	INVALID_PARAMETERS = -32602,

	SECOND_NS = 1000 * 1000 * 1000,
	PROGRESS_NS = SECOND_NS / 5, /* between two notifications */
};

/** Newest first. 2025-03-26 is left out because it requires batches. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2024-11-05"};

static const char instructions[] =
	"Call open with the path of a core first; its answer is the first screen. Then "
	"ask on: a site's id is the argument site of other tools, addresses are written as "
	"\"0x...\". leaks: what nothing points to any more. path, refs: why a block is alive. "
	"retained: what holds most. growth: leak, cache or start-up. source: the lines. Each "
	"answer is the JSON document of the verb of hawk-core with that name.";

struct request {
	struct hawk_mcp_peer *peer;
	json_t *id;
	json_t *parameters; /**< an object; NULL = none */
};

/** A NULL `id` becomes null. */
static json_t *fail(json_t *id, int code, const char *message)
{
	return json_pack("{s:s, s:O?, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id ? id : json_null(),
			 "error", "code", code, "message", message);
}

/** Consumes `result`. */
static json_t *succeed(const struct request *request, json_t *result)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", request->id, "result", result);
}

/** Returns the newest version that is not newer than the wanted one, or else the newest. */
static const char *choose_version(const char *wanted)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (strcmp(versions[i], wanted) <= 0)
			return versions[i];
	return versions[0];
}

static json_t *initialize(const struct request *request)
{
	const char *wanted =
		json_string_value(json_object_get(request->parameters, "protocolVersion"));

	if (!wanted)
		return fail(request->id, INVALID_PARAMETERS,
			    "initialize needs \"protocolVersion\", a string");
	request->peer->initialized = true;
	return succeed(request, json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion",
					  choose_version(wanted), "capabilities", "tools",
					  "serverInfo", "name", "hawk-core", "version",
					  request->peer->version, "instructions", instructions));
}

static json_t *ping(const struct request *request)
{
	return succeed(request, json_object());
}

static json_t *list_tools(const struct request *request)
{
	if (json_object_get(request->parameters, "cursor"))
		return fail(request->id, INVALID_PARAMETERS, "no such cursor: there is one page");
	return succeed(request, json_pack("{s:o}", "tools", request->peer->list()));
}

/** The progress of a call, for a client that asked for it. */
struct progress {
	const struct hawk_mcp_peer *peer;
	json_t *token;
	uint64_t start_ns, told_ns;
};

/** Sends the stage. Its number has to rise: it is the time since the call began. */
static void tell(void *context, const struct hawk_progress *stage)
{
	struct progress *progress = context;
	uint64_t now = hawk_now_ns(CLOCK_MONOTONIC), done = hawk_progress_done(stage);
	char share[16] = "";

	if (progress->told_ns && now - progress->told_ns < PROGRESS_NS)
		return;
	progress->told_ns = now;
	if (stage->all)
		snprintf(share, sizeof(share), ", %u %%",
			 done < stage->all ? (unsigned)((double)done * 100 / (double)stage->all)
					   : 100);
	progress->peer->notify(progress->peer->wire,
			       json_pack("{s:s, s:s, s:{s:O, s:f, s:o}}", "jsonrpc", "2.0",
					 "method", "notifications/progress", "params",
					 "progressToken", progress->token, "progress",
					 (double)(now - progress->start_ns) / SECOND_NS, "message",
					 json_sprintf("%s%s", stage->stage, share)));
}

/** Calls the tool; NULL if the client takes the request back meanwhile. */
static json_t *perform(const struct request *request, const char *name, json_t *arguments,
		       bool *gone)
{
	struct hawk_mcp_peer *peer = request->peer;
	json_t *meta = json_object_get(request->parameters, "_meta");
	struct progress progress = {
		.peer = peer,
		.token = json_object_get(meta, "progressToken"),
		.start_ns = hawk_now_ns(CLOCK_MONOTONIC),
	};
	const struct hawk_progress_listener listener = {tell, &progress};
	bool heard = json_is_string(progress.token) || json_is_integer(progress.token);
	json_t *result;

	*gone = peer->is_cancelled && peer->is_cancelled(peer->wire, request->id);
	if (*gone)
		return NULL;
	hawk_progress_listen(heard && peer->notify ? &listener : NULL);
	result = peer->call(peer->context, name, arguments);
	hawk_progress_listen(NULL);
	*gone = peer->is_cancelled && peer->is_cancelled(peer->wire, request->id);
	if (!*gone)
		return result;
	json_decref(result);
	return NULL;
}

static json_t *call_tool(const struct request *request)
{
	json_t *arguments = json_object_get(request->parameters, "arguments");
	const char *name = json_string_value(json_object_get(request->parameters, "name"));
	json_t *none = json_object();
	json_t *result = NULL;
	bool gone = false;

	if (name && (!arguments || json_is_object(arguments)))
		result = perform(request, name, arguments ? arguments : none, &gone);
	json_decref(none);
	if (gone)
		return NULL;
	if (result)
		return succeed(request, result);
	return fail(request->id, INVALID_PARAMETERS,
		    !name ? "tools/call needs \"name\", a string"
		    : arguments && !json_is_object(arguments)
			    ? "\"arguments\" must be an object"
			    : "no such tool: tools/list names them");
}

static const struct method {
	const char *name;
	bool early; /**< allowed before initialize */
	json_t *(*answer)(const struct request *request);
} methods[] = {
	{"initialize", true, initialize},
	{"ping", true, ping},
	{"tools/list", false, list_tools},
	{"tools/call", false, call_tool},
};

static json_t *answer_request(const struct request *request, const char *name)
{
	const struct method *method = NULL;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(methods[i].name, name))
			method = &methods[i];
	if (!method)
		return fail(request->id, NO_SUCH_METHOD, "no such method");
	if (!method->early && !request->peer->initialized)
		return fail(request->id, INVALID_REQUEST, "initialize must come first");
	if (request->parameters && !json_is_object(request->parameters))
		return fail(request->id, INVALID_PARAMETERS, "\"params\" must be an object");
	return method->answer(request);
}

static json_t *answer_object(struct hawk_mcp_peer *peer, json_t *message)
{
	const struct request request = {
		.peer = peer,
		.id = json_object_get(message, "id"),
		.parameters = json_object_get(message, "params"),
	};
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));
	const json_t *method = json_object_get(message, "method");
	bool is_id = json_is_string(request.id) || json_is_number(request.id);

	if (!version || strcmp(version, "2.0") != 0)
		return fail(is_id ? request.id : NULL, INVALID_REQUEST,
			    "\"jsonrpc\" must be \"2.0\"");
	/* No request was sent, so an answer is not expected; it gets none. */
	if (!method && (json_object_get(message, "result") || json_object_get(message, "error")))
		return NULL;
	if (!json_is_string(method))
		return fail(is_id ? request.id : NULL, INVALID_REQUEST,
			    "\"method\" must be a string");
	if (!request.id) // notifications/initialized, say
		return NULL;
	if (!is_id)
		return fail(NULL, INVALID_REQUEST, "\"id\" must be a string or a number");
	return answer_request(&request, json_string_value(method));
}

bool hawk_mcp_cancels(const char *bytes, size_t size, const json_t *id)
{
	static const char method[] = "notifications/cancelled";
	json_t *message, *wanted;
	bool cancels;

	if (!memmem(bytes, size, method, strlen(method)))
		return false;
	message = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	wanted = json_object_get(json_object_get(message, "params"), "requestId");
	cancels = wanted && json_equal(wanted, id) &&
		  json_is_string(json_object_get(message, "method")) &&
		  !strcmp(json_string_value(json_object_get(message, "method")), method);
	json_decref(message);
	return cancels;
}

json_t *hawk_mcp_answer(struct hawk_mcp_peer *peer, const char *bytes, size_t size)
{
	json_t *message, *answer;

	if (size > HAWK_MCP_MESSAGE_BYTES_MAX)
		return fail(NULL, INVALID_REQUEST, "the message is longer than 1 MiB");
	message = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	if (!message)
		return fail(NULL, PARSE_ERROR, "the message is not valid JSON");
	if (json_is_object(message))
		answer = answer_object(peer, message);
	else
		answer = fail(NULL, INVALID_REQUEST,
			      json_is_array(message)
				      ? "batches are not supported: one message a line"
				      : "the message is not an object");
	json_decref(message);
	return answer;
}
