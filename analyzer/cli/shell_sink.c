/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Output of a command into a file, another program or a pager.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hawk_shell.h"

/* -F: what fits the screen is printed and that is all; -R: colours; -X: it stays there. A less that
 * the user has chosen without options of his own gets them by its variable. */
static const char default_pager[] = "less -FRX 2>/dev/null || cat";
static const char less_options[] = "FRX";

static bool open_file(const struct hawk_shell_command *command, struct hawk_shell_sink *ret)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (command->append ? O_APPEND : O_TRUNC);

	ret->fd = open(command->file, flags, 0666);
	if (ret->fd >= 0)
		return true;
	hawk_complain("cannot open %s: %s", command->file, strerror(errno));
	return false;
}

/** Runs `program` by the system's shell, with a pipe as its standard input. */
static bool open_pipe(const char *program, struct hawk_shell_sink *ret)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		hawk_complain("cannot make a pipe: %s", strerror(errno));
		return false;
	}
	child = fork();
	if (child == 0) {
		dup2(ends[0], STDIN_FILENO);
		execl("/bin/sh", "sh", "-c", program, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	if (child < 0) {
		close(ends[1]);
		hawk_complain("cannot run %s: %s", program, strerror(errno));
		return false;
	}
	ret->fd = ends[1];
	ret->child = child;
	return true;
}

bool hawk_shell_sink_open(const struct hawk_shell_command *command, bool pager,
			  struct hawk_shell_sink *ret)
{
	const char *chosen = getenv("PAGER");

	*ret = (struct hawk_shell_sink){.fd = STDOUT_FILENO};
	if (command->file)
		return open_file(command, ret);
	if (command->pipe)
		return open_pipe(command->pipe, ret);
	ret->screen = true;
	if (!pager || (chosen && !strcmp(chosen, "")))
		return true;
	(void)setenv("LESS", less_options, 0);
	return open_pipe(chosen ? chosen : default_pager, ret);
}

void hawk_shell_sink_close(struct hawk_shell_sink *sink)
{
	int status;

	if (sink->fd != STDOUT_FILENO)
		close(sink->fd);
	if (sink->child)
		while (waitpid((pid_t)sink->child, &status, 0) < 0 && errno == EINTR)
			;
}
