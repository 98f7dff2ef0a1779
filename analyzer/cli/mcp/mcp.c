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
#include "protocol.h"

/** Moves a standard stream to another descriptor; returns NULL with errno set. */
static FILE *take_stream(int fd, const char *mode)
{
	CLEANUP(close_fd) int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	CLEANUP(close_fd) int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *stream =
		nowhere >= 0 && own >= 0 && dup2(nowhere, fd) >= 0 ? fdopen(own, mode) : NULL;

	if (stream)
		take_fd(&own);
	return stream;
}

/** Reads a line of at most `room` bytes; `*size` is larger than that for a longer one. Returns
 * false behind the last. */
static bool read_line(FILE *in, char *line, size_t room, size_t *size)
{
	int c;

	*size = 0;
	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (*size < room)
			line[*size] = (char)c;
		*size += *size <= room;
	}
	return c != EOF || *size;
}

static bool is_blank(const char *line, size_t size)
{
	return size < 2 && (!size || *line == '\r');
}

/** Serves until the input ends. Returns false after complaining if an answer could not be written.
 */
static bool serve(struct hawk_mcp_peer *peer, FILE *in, FILE *out)
{
	static char line[HAWK_MCP_MESSAGE_BYTES_MAX];
	size_t size;

	while (read_line(in, line, sizeof(line), &size)) {
		json_t *answer = is_blank(line, size) ? NULL : hawk_mcp_answer(peer, line, size);

		if (!answer)
			continue;
		json_dumpf(answer, out, JSON_COMPACT);
		json_decref(answer);
		putc('\n', out);
		if (fflush(out) != 0) {
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
	struct hawk_mcp_host host = {.settings = settings};
	struct hawk_mcp_peer peer = {
		.version = HAWK_VERSION,
		.list = hawk_mcp_list_tools,
		.call = hawk_mcp_host_call,
		.context = &host,
	};
	CLEANUP(close_file) FILE *in = NULL;
	CLEANUP(close_file) FILE *out = NULL;
	bool done;

	if (settings->count > 1) {
		hawk_complain("mcp takes at most one core; see hawk-core help mcp");
		return HAWK_EXIT_USAGE;
	}
	in = take_stream(STDIN_FILENO, "r");
	out = take_stream(STDOUT_FILENO, "w");
	if (!in || !out)
		return hawk_fail(hawk_error_os(errno, "cannot use", "standard input and output"));
	json_set_alloc_funcs(allocate, free);
	done = (!settings->count || hawk_mcp_host_open(&host, settings->operands[0])) &&
	       serve(&peer, in, out);
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
	.exit_codes =
		"Exit codes: 0 the input ended, 2 usage, 3 the core, standard input or output "
		"cannot be used.",
	.run = run,
};
