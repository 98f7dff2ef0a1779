/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes the reports of a crash.
 */
#include "report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk/base/numbers.h"
#include "session.h"

enum { PATH_BYTES = 64 };

static const uint64_t NS_PER_S = 1000000000;

/** Has `verb` answer into the file `name`. Returns the exit code. */
static int answer(struct hawk_session *session, const struct hawk_verb *verb, const char *name,
		  bool json)
{
	struct hawk_settings settings = *session->opened;
	struct hawk_error *err;
	int code;

	settings.output = name;
	settings.json = json;
	hawk_session_renew(session, &settings);
	err = hawk_session_set_output(session, &settings);
	session->failed = err;
	code = err ? hawk_fail(err) : hawk_verb_answer(verb, session);
	code = hawk_session_finish(session, code);
	session->settings = session->opened;
	return code;
}

/** Names the process's root directory if it is not ours: its files lie there. */
static void set_sysroot(const char *pid, char *root, size_t size, struct hawk_settings *ret)
{
	struct stat ours, its;

	snprintf(root, size, "/proc/%s/root", pid);
	if (stat("/", &ours) == 0 && stat(root, &its) == 0 && access(root, X_OK) == 0 &&
	    (ours.st_ino != its.st_ino || ours.st_dev != its.st_dev))
		ret->sysroot = root;
}

static void on_alarm(int signal)
{
	static const char message[] = "hawk-core: the limit of time ended the analysis\n";
	ssize_t written = write(STDERR_FILENO, message, sizeof(message) - 1);

	(void)signal, (void)written;
	_exit(HAWK_EXIT_PARTIAL);
}

static void limit_time(uint64_t end_ns)
{
	uint64_t now_ns = hawk_now_ns(CLOCK_MONOTONIC);

	signal(SIGALRM, on_alarm);
	alarm(now_ns < end_ns ? (unsigned)((end_ns - now_ns) / NS_PER_S + 1) : 1);
}

int hawk_crash_report(const char *path, const char *pid, uint64_t end_ns)
{
	struct hawk_settings settings = {.quiet = true, .types = true};
	struct hawk_session session;
	char root[PATH_BYTES];
	struct hawk_error *err;
	int code;

	limit_time(end_ns);
	if (pid)
		set_sysroot(pid, root, sizeof(root), &settings);
	err = hawk_session_open(&session, &settings, path);
	if (err) {
		code = hawk_fail(err);
	} else {
		code = answer(&session, &hawk_verb_snapshot, "report.hawk", false);
		code |= answer(&session, &hawk_verb_analyze, "report.txt", false);
		code |= answer(&session, &hawk_verb_analyze, "report.json", true);
	}
	hawk_session_deinit(&session);
	return code ? HAWK_EXIT_PARTIAL : HAWK_EXIT_OK;
}
