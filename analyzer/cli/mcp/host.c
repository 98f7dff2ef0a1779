/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opens cores, asks verbs, makes pages.
 */
#include "host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "outgoing.h"

enum {
	PAGE_BYTES = 20000,
	NOTES_BYTES_MAX = 4000,
};

/** Copies the answer, and ends one that is too long. */
static void watch(struct hawk_output *output, const char *bytes, size_t size)
{
	struct hawk_text *document = output->watch_context;

	if (document->size + size > HAWK_MCP_ANSWER_BYTES_MAX)
		output->errnum = ECANCELED;
	else
		hawk_text_append(document, bytes, size);
}

/** Has `verb` answer into host->document. Returns false after complaining. */
static bool answer(struct hawk_mcp_host *host, const struct hawk_verb *verb,
		   const struct hawk_settings *settings)
{
	struct hawk_session *session = &host->session;
	struct hawk_error *err;
	int code;

	hawk_session_renew(session, settings);
	session->findings_said = 0; // each answer stands alone
	err = hawk_session_set_output(session, settings);
	session->output->watch = watch;
	session->output->watch_context = &host->document;
	session->failed = err;
	code = err ? hawk_fail(err) : hawk_verb_answer(verb, session);
	hawk_session_finish(session, code);
	session->settings = &host->opened;
	if (session->output->errnum != ECANCELED)
		return !session->failed;
	hawk_text_clear(&host->document);
	hawk_complain("the answer has more than %d MiB: ask for less",
		      HAWK_MCP_ANSWER_BYTES_MAX >> 20);
	return false;
}

/** Returns false after complaining: a pipe could be the server's own input, a device may never
 * end. */
static bool is_file(const char *path)
{
	struct stat info;

	if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode))
		return true;
	hawk_complain("there is no such file");
	return false;
}

static void close_core(struct hawk_mcp_host *host)
{
	if (host->is_open)
		hawk_session_deinit(&host->session);
	host->is_open = false;
	hawk_mcp_words_deinit(&host->words);
	host->words = (struct hawk_mcp_words){0};
}

/** Reads options that hold for a core or for the whole server. */
static bool read_words(const struct hawk_mcp_host *host, const struct hawk_mcp_tool *tool,
		       const struct hawk_mcp_words *words, struct hawk_settings *ret)
{
	struct hawk_error *err = NULL;

	if (!hawk_options_read(tool->verb, words->count, words->items, ret))
		return false;
	ret->quiet = true;
	ret->threads = host->settings->threads;
	ret->no_native = host->settings->no_native;
	ret->types = true; /* of all questions: the heap is loaded once */
	ret->no_types = host->settings->no_types;
	ret->guest = host->settings->guest;
	if (!ret->sysroot)
		ret->sysroot = host->settings->sysroot;
	if (!ret->debug_directory)
		ret->debug_directory = host->settings->debug_directory;
	if (tool->verb->check)
		err = tool->verb->check(ret);
	return !err || (hawk_fail(err), false);
}

static bool open_core(struct hawk_mcp_host *host, struct hawk_mcp_words *words)
{
	struct hawk_error *err;
	const char *path;

	close_core(host);
	host->words = *words;
	*words = (struct hawk_mcp_words){0};
	host->opened = (struct hawk_settings){0};
	if (!read_words(host, &hawk_mcp_open, &host->words, &host->opened))
		return false;
	path = host->opened.operands[0];
	if (!is_file(path))
		return false;
	host->is_open = true;
	err = hawk_session_open(&host->session, &host->opened, path);
	if (err) {
		hawk_fail(err);
		close_core(host);
		return false;
	}
	if (host->settings->paths == HAWK_PATHS_CHOICE_BASE)
		host->session.source = hawk_path_base(path);
	return answer(host, hawk_mcp_open.verb, &host->opened);
}

/** Asks the open core. */
static bool ask(struct hawk_mcp_host *host, const struct hawk_mcp_tool *tool,
		const struct hawk_mcp_words *words)
{
	struct hawk_settings settings = {
		.sysroot = host->opened.sysroot,
		.debug_directory = host->opened.debug_directory,
		.executable = host->opened.executable,
	};

	if (!host->is_open) {
		hawk_complain("no core is open: call open first");
		return false;
	}
	if (!read_words(host, tool, words, &settings))
		return false;
	if (!hawk_verb_takes(tool->verb, settings.count)) {
		hawk_complain("%s needs \"%s\"", tool->verb->name, tool->operand);
		return false;
	}
	return (tool->verb != &hawk_verb_diff || is_file(settings.operands[0])) &&
	       answer(host, tool->verb, &settings);
}

/** Applies --paths and --filter. */
static struct hawk_error *make_fit_to_leave(const struct hawk_mcp_host *host,
					    struct hawk_text *text)
{
	if (host->settings->paths == HAWK_PATHS_CHOICE_BASE)
		hawk_mcp_cut_paths(text);
	if (text->failed)
		return &hawk_enomem;
	return host->settings->filter && text->size ? hawk_mcp_filter(host->settings->filter, text)
						    : NULL;
}

/** Makes the whole answer. */
static void make(struct hawk_mcp_host *host, const struct hawk_mcp_tool *tool, json_t *arguments)
{
	struct hawk_mcp_words words;
	struct hawk_error *err;

	hawk_text_deinit(&host->document);
	hawk_text_deinit(&host->notes);
	hawk_complain_into(&host->notes);
	host->failed =
		!hawk_mcp_words_make(tool, arguments, &words) ||
		!(tool == &hawk_mcp_open ? open_core(host, &words) : ask(host, tool, &words));
	hawk_complain_into(NULL);
	hawk_mcp_words_deinit(&words);
	err = make_fit_to_leave(host, &host->document);
	if (!err)
		err = make_fit_to_leave(host, &host->notes);
	if (!err)
		return;
	host->failed = true;
	hawk_text_deinit(&host->document);
	hawk_text_deinit(&host->notes);
	hawk_text_puts(&host->notes, hawk_error_message(err));
	hawk_error_destroy(err);
}

/** Returns the end of the page from `from` on: behind a line if possible, never inside of a
 * character. */
static size_t end_of_page(const struct hawk_text *text, size_t from, size_t bytes_max)
{
	size_t end = from + bytes_max;
	const char *newline;

	if (text->size - from <= bytes_max)
		return text->size;
	newline = memrchr(text->bytes + from, '\n', bytes_max);
	if (newline)
		return (size_t)(newline + 1 - text->bytes);
	while ((text->bytes[end] & 0xc0) == 0x80)
		end--;
	return end;
}

static void append_content(json_t *content, json_t *text)
{
	json_array_append_new(content, json_pack("{s:s, s:o}", "type", "text", "text", text));
}

static void append_page(const struct hawk_text *document, size_t from, json_t *content)
{
	size_t end = end_of_page(document, from, PAGE_BYTES);

	append_content(content, json_stringn(document->bytes + from, end - from));
	if (end < document->size)
		append_content(content,
			       json_sprintf("Cut: bytes %zu to %zu of %zu. The same call with "
					    "\"offset\":%zu goes on; smaller \"top\" or filters "
					    "ask for less.",
					    from, end, document->size, end));
}

static json_t *result_of(const struct hawk_mcp_host *host, size_t offset)
{
	const struct hawk_text *document = &host->document;
	bool is_right =
		offset < document->size ? (document->bytes[offset] & 0xc0) != 0x80 : !offset;
	json_t *content = json_array();

	if (!is_right)
		append_content(content,
			       json_sprintf("offset %zu starts no page: the answer has %zu "
					    "bytes",
					    offset, document->size));
	else if (document->size)
		append_page(document, offset, content);
	if (host->notes.size)
		append_content(content,
			       json_stringn(host->notes.bytes,
					    end_of_page(&host->notes, 0, NOTES_BYTES_MAX)));
	return json_pack("{s:o, s:b}", "content", content, "isError", host->failed || !is_right);
}

/** Returns what identifies a question: the tool, and its arguments without the offset. */
static char *name_question(const char *name, json_t *arguments)
{
	json_t *question = json_pack("[s, o]", name, json_copy(arguments));
	char *text;

	json_object_del(json_array_get(question, 1), "offset");
	text = json_dumps(question, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(question);
	return text;
}

static json_t *refuse(const char *message)
{
	return json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text", message,
			 "isError", true);
}

json_t *hawk_mcp_host_call(void *context, const char *name, json_t *arguments)
{
	const struct hawk_mcp_tool *tool = hawk_mcp_find_tool(name);
	const json_t *offset = json_object_get(arguments, "offset");
	struct hawk_mcp_host *host = context;
	char *question;

	if (!tool)
		return NULL;
	if (offset && (!json_is_integer(offset) || json_integer_value(offset) < 0))
		return refuse("\"offset\" must be an integer from 0 on");
	question = name_question(name, arguments);
	/* A core may have changed since a question was asked, but pages are of one answer. */
	if (!json_integer_value(offset) || !host->question || strcmp(question, host->question) != 0)
		make(host, tool, arguments);
	free(host->question);
	host->question = question;
	return result_of(host, (size_t)json_integer_value(offset));
}

bool hawk_mcp_host_open(struct hawk_mcp_host *host, const char *core)
{
	json_t *arguments = json_pack("{s:s}", "core", core);

	if (arguments)
		make(host, &hawk_mcp_open, arguments);
	json_decref(arguments);
	if (arguments && !host->failed)
		return true;
	hawk_complain("%.*s", (int)strcspn(hawk_text_string(&host->notes), "\n"),
		      arguments ? hawk_text_string(&host->notes) : "the core's path is not UTF-8");
	return false;
}

void hawk_mcp_host_deinit(struct hawk_mcp_host *host)
{
	close_core(host);
	hawk_text_deinit(&host->document);
	hawk_text_deinit(&host->notes);
	free(host->question);
}
