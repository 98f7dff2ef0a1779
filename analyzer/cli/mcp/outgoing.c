/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Base names for paths, and the filter, which reads and writes memory files: neither side waits
 * for the other.
 */
#include "outgoing.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "hawk/base/cleanup.h"

/** Fields of JSON documents that hold a path and nothing else. */
static const char *const path_fields[] = {"after",  "before", "example", "file",  "found",
					  "module", "path",   "program", "source"};

static bool is_path_field(const char *key, size_t length)
{
	for (size_t i = 0; i < sizeof(path_fields) / sizeof(*path_fields); i++)
		if (strlen(path_fields[i]) == length && !strncmp(path_fields[i], key, length))
			return true;
	return false;
}

static const char *behind_last_slash(const char *from, const char *end)
{
	const char *slash = memrchr(from, '/', (size_t)(end - from));

	return slash ? slash + 1 : from;
}

static bool is_of_path(char c)
{
	return (unsigned char)c > ' ' && !strchr("\"'\\()<>[]{},:;=|&`", c);
}

/** Returns the end of the path at `from`, which begins with "/", "./" or "../", or `from`. "//" and
 * "/x" hide nothing, and a comment of C is none. */
static const char *end_of_path(const char *from, const char *end)
{
	const char *at = from;

	while (at < end && *at == '.' && at - from < 2)
		at++;
	if (end - at < 2 || *at != '/' ||
	    (!isalnum((unsigned char)at[1]) && !strchr("._-~", at[1])))
		return from;
	while (at < end && is_of_path(*at))
		at++;
	return at;
}

/** Returns the end of the byte at `from`, or of an escape: of JSON (\n, \u001b), or of a complaint
 * (\x1b). */
static const char *end_of_character(const char *from, const char *end)
{
	size_t length = 2;

	if (*from != '\\' || end - from < 2)
		return from + 1;
	if (from[1] == 'u' || from[1] == 'x')
		length = from[1] == 'u' ? 6 : 4;
	return length < (size_t)(end - from) ? from + length : end;
}

/** Appends the text with these paths cut. */
static void append_cut(const char *from, const char *end, struct hawk_text *ret)
{
	bool inside = false; // of a word

	while (from < end) {
		const char *next = inside ? from : end_of_path(from, end);

		if (next > from) {
			from = behind_last_slash(from, next - 1);
		} else {
			next = end_of_character(from, end);
			inside = next == from + 1 && is_of_path(*from);
		}
		hawk_text_append(ret, from, (size_t)(next - from));
		from = next;
	}
}

/** Returns the end of the JSON string whose quote is at `quote`: behind its last quote. */
static const char *end_of_string(const char *quote, const char *end)
{
	const char *at = quote + 1;

	while (at < end && *at != '"')
		at += *at == '\\' && at + 1 < end ? 2 : 1;
	return at < end ? at + 1 : end;
}

void hawk_mcp_cut_paths(struct hawk_text *text)
{
	const char *at = hawk_text_string(text), *end = at + text->size;
	struct hawk_text cut = {0};
	bool is_path = false; // the next string

	while (at < end) {
		const char *quote = memchr(at, '"', (size_t)(end - at));
		const char *from = quote ? quote + 1 : end;
		const char *to = quote ? end_of_string(quote, end) : end;

		append_cut(at, from, &cut);
		if (to < end && *to == ':') {
			is_path = is_path_field(from, (size_t)(to - 1 - from));
		} else if (is_path) {
			from = behind_last_slash(from, to);
			is_path = false;
		}
		append_cut(from, to, &cut);
		at = to;
	}
	hawk_text_deinit(text);
	*text = cut;
}

static int spawn_shell(const char *command, int in, int out, pid_t *ret)
{
	const char *const words[] = {"sh", "-c", command, NULL};
	posix_spawn_file_actions_t actions;
	int errnum;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	errnum = posix_spawn(ret, "/bin/sh", &actions, NULL, (char **)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return errnum;
}

/** Runs the command with the memory file `in` as input, and waits for it. */
static struct hawk_error *run(const char *command, int in, int out)
{
	int status = 0;
	pid_t child;
	int errnum = spawn_shell(command, in, out, &child);

	if (errnum)
		return hawk_error_os(errnum, "cannot start", "/bin/sh");
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return NULL;
	return hawk_error_create(HAWK_ERROR_OS, "the filter failed with %s %d, so nothing is sent",
				 WIFEXITED(status) ? "exit code" : "signal",
				 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static bool fill(int fd, const struct hawk_text *text)
{
	size_t at = 0;

	while (at < text->size) {
		ssize_t written = write(fd, text->bytes + at, text->size - at);

		if (written < 0)
			return false;
		at += (size_t)written;
	}
	return lseek(fd, 0, SEEK_SET) == 0;
}

static struct hawk_error *read_back(int fd, struct hawk_text *ret)
{
	off_t size = lseek(fd, 0, SEEK_END);
	json_t *probe;

	if (size < 0 || size > HAWK_MCP_ANSWER_BYTES_MAX)
		return hawk_error_create(HAWK_ERROR_LIMIT, "the filter wrote more than %d MiB",
					 HAWK_MCP_ANSWER_BYTES_MAX >> 20);
	CLEANUP(free_ptr) char *bytes = malloc((size_t)size + 1);
	if (!bytes)
		return &hawk_enomem;
	if (pread(fd, bytes, (size_t)size, 0) != (ssize_t)size)
		return hawk_error_create(HAWK_ERROR_OS, "cannot read what the filter wrote");
	probe = json_stringn(bytes, (size_t)size);
	json_decref(probe);
	if (!probe)
		return hawk_error_create(HAWK_ERROR_FORMAT, "the filter wrote what is not UTF-8");
	hawk_text_clear(ret);
	hawk_text_append(ret, bytes, (size_t)size);
	return NULL;
}

struct hawk_error *hawk_mcp_filter(const char *command, struct hawk_text *text)
{
	CLEANUP(close_fd) int in = memfd_create("answer", MFD_CLOEXEC);
	CLEANUP(close_fd) int out = memfd_create("filtered", MFD_CLOEXEC);
	struct hawk_error *err;

	if (in < 0 || out < 0 || !fill(in, text))
		return hawk_error_os(errno, "cannot hand the answer to", "the filter");
	err = run(command, in, out);
	return err ? err : read_back(out, text);
}
