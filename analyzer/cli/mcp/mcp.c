/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core mcp: a server of the Model Context Protocol on standard input and output.
 *
 * Nothing but the protocol reaches standard output: descriptor 1 becomes /dev/null, like 0, so that
 * neither a verb nor the filter touches the streams.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "host.h"
#include "input.h"
#include "protocol.h"

/** The streams, behind the peer. */
struct wire {
	struct hawk_mcp_input *in;
	FILE *out;
};

/** Moves a standard descriptor to another one; returns -1 with errno set. */
static int take_standard(int fd)
{
	CLEANUP(close_fd) int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	CLEANUP(close_fd) int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	return nowhere >= 0 && own >= 0 && dup2(nowhere, fd) >= 0 ? take_fd(&own) : -1;
}

static bool is_blank(const char *line, size_t size)
{
	return size < 2 && (!size || *line == '\r');
}

/** Writes a message and consumes it. */
static void send_message(void *wire, json_t *message)
{
	FILE *out = ((struct wire *)wire)->out;

	json_dumpf(message, out, JSON_COMPACT);
	json_decref(message);
	putc('\n', out);
	fflush(out);
}

/** Looks for notifications/cancelled among the lines that wait. */
static bool is_cancelled(void *wire, const json_t *id)
{
	const char *line = NULL;
	bool found = false;
	size_t size;

	while (!found && hawk_mcp_input_peek(((struct wire *)wire)->in, &line, &size))
		found = hawk_mcp_cancels(line, size, id);
	return found;
}

/** Serves until the input ends. Returns false after complaining if an answer could not be written.
 */
static bool serve(struct hawk_mcp_peer *peer, const struct wire *wire)
{
	const char *line;
	size_t size;

	while (hawk_mcp_input_line(wire->in, &line, &size)) {
		json_t *answer = is_blank(line, size) ? NULL : hawk_mcp_answer(peer, line, size);

		if (!answer)
			continue;
		send_message(peer->wire, answer);
		if (ferror(wire->out)) {
			hawk_complain("cannot write to standard output: %s", strerror(errno));
			return false;
		}
	}
	return true;
}

static void *allocate(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		hawk_enomem_end();
	return memory;
}

static int run(struct hawk_settings *settings)
{
	static struct hawk_mcp_input input;
	struct hawk_mcp_host host = {.settings = settings};
	struct wire wire = {.in = &input};
	struct hawk_mcp_peer peer = {
		.version = HAWK_VERSION,
		.list = hawk_mcp_list_tools,
		.call = hawk_mcp_host_call,
		.context = &host,
		.is_cancelled = is_cancelled,
		.notify = send_message,
		.wire = &wire,
	};
	CLEANUP(close_fd) int in = -1;
	CLEANUP(close_file) FILE *out = NULL;
	int out_fd;
	bool done;

	if (settings->count > 1) {
		hawk_complain("mcp takes at most one core; see hawk-core help mcp");
		return HAWK_EXIT_USAGE;
	}
	in = input.fd = take_standard(STDIN_FILENO);
	out_fd = take_standard(STDOUT_FILENO);
	wire.out = out = out_fd < 0 ? NULL : fdopen(out_fd, "w");
	if (in < 0 || !out)
		return hawk_fail(hawk_error_os(errno, "cannot use", "standard input and output"));
	json_set_alloc_funcs(allocate, free);
	done = (!settings->count || hawk_mcp_host_open(&host, settings->operands[0])) &&
	       serve(&peer, &wire);
	hawk_mcp_host_deinit(&host);
	return done ? HAWK_EXIT_OK : HAWK_EXIT_UNREADABLE;
}

static const struct hawk_option options[] = {
	{"paths", '\0', HAWK_OPTION_CHOICE, HAWK_AT(paths), "full|base",
	 "paths in answers: whole (full), or only their last part (base)"},
	{"filter", '\0', HAWK_OPTION_STRING, HAWK_AT(filter), "COMMAND",
	 "pipe each answer through COMMAND, for sh, before it leaves; if COMMAND fails, no answer "
	 "leaves"},
	{0},
};

const struct hawk_verb hawk_verb_mcp = {
	.name = "mcp",
	.arguments = "[options] [CORE]",
	.summary = "answer an assistant's questions (Model Context Protocol)",
	.details =
		"Serves the Model Context Protocol on standard input and output until the input "
		"ends. Tools: open, which loads a core (as CORE is) and keeps it; analyze, leaks, "
		"path, merge-paths, refs, whatis, retained, growth, diff, sql and source, with the "
		"JSON documents of those verbs in pages of at most 20 kB. Nothing is written, and "
		"no program runs but the filter.",
	.options = options,
	.shared = HAWK_TAKES_THREADS | HAWK_TAKES_SYSROOT | HAWK_TAKES_DEBUG_DIRECTORY |
		  HAWK_TAKES_NO_NATIVE | HAWK_TAKES_GUEST,
	.types = true,
	.exit_codes =
		"Exit codes: 0 the input ended, 2 usage, 3 the core, standard input or output "
		"cannot be used.",
	.run = run,
};
