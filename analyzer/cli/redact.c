/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core redact: a core without data, for a bug report.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hawk/analysis/tasks.h"
#include "hawk/base/cleanup.h"
#include "hawk/redact/redact.h"
#include "session.h"

static bool goes_to_stdout(const struct hawk_settings *settings)
{
	return !strcmp(settings->copy, "-");
}

static struct hawk_error *check(struct hawk_settings *settings)
{
	/* The copy has no guests: it needs the words by which pointers are explained without. */
	settings->guest = HAWK_GUEST_CHOICE_NONE;
	if (!settings->copy)
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "redact needs --output FILE; see hawk-core help redact");
	if (goes_to_stdout(settings) && isatty(STDOUT_FILENO))
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "redact does not write a core to a terminal");
	return NULL;
}

static struct hawk_error *make_output(int fd, struct hawk_output **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return &hawk_enomem;
	hawk_output_init(*ret, fd);
	return NULL;
}

static struct hawk_error *write_core(struct hawk_session *session, struct hawk_file_sink *sink,
				     struct hawk_redact_result *ret)
{
	CLEANUP(free_ptr) struct hawk_span *numbers = NULL;
	struct hawk_redact_input input = {.vtables = &session->vtables};
	struct hawk_block_types *types;
	bool blocks;
	struct hawk_error *err = hawk_session_sites(session);

	blocks = !err && session->heap->knows && !session->heap->refusal;
	if (blocks)
		err = hawk_session_graph(session);
	if (!err && blocks)
		err = hawk_session_types(session, &types);
	if (!err && blocks)
		err = hawk_tasks_numbers(session->heap, types, &numbers, &input.span_count);
	if (err)
		return err;
	input.heap = session->heap;
	input.graph = blocks ? session->graph : NULL;
	input.spans = numbers;
	return hawk_redact_core(&input, sink, ret);
}

static struct hawk_error *print(struct hawk_output *output, const char *name,
				const struct hawk_redact_result *result, uint64_t bytes)
{
	int errnum;

	hawk_output_printf(output,
			   "%s: %s, a core of %s\n%s words of memory are kept, %s are gone\n", name,
			   hawk_quantity_bytes(bytes).text, hawk_quantity_bytes(result->bytes).text,
			   hawk_quantity_count(result->words_kept).text,
			   hawk_quantity_count(result->words_zeroed).text);
	hawk_output_flush(output);
	errnum = output->errnum;
	output->errnum = 0; // reported here
	return errnum ? hawk_error_os(errnum, "cannot write", "what was done") : NULL;
}

/* Publishes the result: names the file, or copies it to standard output, with the summary on
 * standard error. The summary comes first: the file appears only if it could be printed. */
static struct hawk_error *publish(struct hawk_session *session, struct hawk_file_sink *sink,
				  const struct hawk_redact_result *result, uint64_t bytes)
{
	CLEANUP(free_ptr) struct hawk_output *errors = NULL;
	struct hawk_error *err;

	if (!goes_to_stdout(session->settings)) {
		err = print(session->output, session->settings->copy, result, bytes);
		return err ? err : hawk_file_sink_commit(sink);
	}
	err = hawk_file_sink_copy(sink, STDOUT_FILENO, "standard output");
	if (!err)
		err = make_output(STDERR_FILENO, &errors);
	return err ? err : print(errors, "standard output", result, bytes);
}

static struct hawk_error *redact(struct hawk_session *session, struct hawk_file_sink *sink)
{
	struct hawk_redact_result result;
	uint64_t bytes;
	struct hawk_error *err = write_core(session, sink, &result);

	if (!err)
		err = hawk_file_sink_finish(sink, &bytes);
	return err ? err : publish(session, sink, &result, bytes);
}

static struct hawk_error *answer(struct hawk_session *session)
{
	const char *folder = getenv("TMPDIR");
	bool to_stdout = goes_to_stdout(session->settings);
	struct hawk_file_sink_settings settings = {
		.path = to_stdout ? NULL : session->settings->copy,
		.folder = folder && *folder ? folder : "/var/tmp",
		.compress = HAWK_HAVE_ZSTD,
		.force = session->settings->replace,
	};
	struct hawk_file_sink *sink = NULL;
	struct hawk_error *err;

	if (hawk_target_snapshot(session->target))
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "%s: a snapshot has no data to leave out",
					 session->source);
	if (hawk_target_process(session->target)->table_file)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "%s: is a table file and no core: it holds no data",
					 session->source);
	/* Report a full disk and a closed pipe as errors instead of dying by a signal. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	err = hawk_file_sink_create(&settings, &sink);
	if (!err)
		err = redact(session, sink);
	hawk_file_sink_destroy(sink);
	return err;
}

static const struct hawk_option options[] = {
	{"output", 'o', HAWK_OPTION_STRING, HAWK_AT(copy), "FILE",
	 "write the core to FILE, compressed if its name ends in .zst; - is standard output"},
	{"force", '\0', HAWK_OPTION_FLAG, HAWK_AT(replace), NULL, "replace FILE if it exists"},
	{0},
};

const struct hawk_verb hawk_verb_redact = {
	.name = "redact",
	.arguments = "-o FILE [options] CORE",
	.summary = "a copy of a core without its data, for a bug report",
	.details =
		"Writes a core in which pointers, block headers and the trace table are what they "
		"were, and all other words of memory, vector registers, arguments and environment "
		"are zero. gdb shows the same backtraces, and the other commands give the same "
		"answers. Paths, names of functions, scopes and types stay.",
	.options = options,
	.shared = HAWK_TAKES_TARGET & ~HAWK_TAKES_TYPES,
	.exit_codes = "Exit codes: 0 ok, 2 usage, 3 not readable or not writable, 4 the core is "
		      "incomplete.",
	.needs = "one core file",
	.findings = HAWK_FINDINGS_NOWHERE,
	.check = check,
	.answer = answer,
};
