/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs a program as a child until it is about to exit, and then has `leaks` and `snapshot` ask it.
 *
 * The program keeps its standard input, output and error, its process group and its terminal.
 * Signals from the terminal reach it directly; those that are sent to this command are passed on.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk/target/watch.h"
#include "watched.h"

struct watcher {
	const struct hawk_settings *settings;
	struct hawk_watch *watch;
	pid_t first;
	bool lost;   /**< some process has definitely lost blocks */
	int trouble; /**< exit code of an answer that failed or is incomplete; 0 = none */
};

static volatile sig_atomic_t program; /**< pid */

/** Signals of the terminal come from the kernel, and the program gets them as well. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	int errnum = errno;

	(void)context;
	if (info->si_code <= 0 && info->si_pid != program)
		kill((pid_t)program, number);
	errno = errnum;
}

static void set_unless_ignored(int number, const struct sigaction *action)
{
	struct sigaction old;

	if (!sigaction(number, NULL, &old) &&
	    (old.sa_flags & SA_SIGINFO || old.sa_handler != SIG_IGN))
		sigaction(number, action, NULL);
}

/** Passes signals on to the program; else they end this command, as during a report. */
static void pass_signals(bool on)
{
	static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT};
	struct sigaction action = {.sa_flags = SA_RESTART};

	if (on) {
		action.sa_flags |= SA_SIGINFO;
		action.sa_sigaction = pass_on;
	}
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		set_unless_ignored(passed[i], &action);
}

/** Leaves stops by the terminal to the program: this command stops after it. */
static void ignore_job_stops(void)
{
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
}

/** Starts the program, which waits for a byte in `*gate` before its exec. */
static struct hawk_error *start(char *const *arguments, pid_t *ret, int *gate)
{
	int ends[2];
	char byte;

	if (pipe(ends) != 0)
		return hawk_error_os(errno, "pipe", NULL);
	*ret = fork();
	if (*ret == 0) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) != 1)
			_exit(HAWK_EXIT_UNREADABLE);
		close(ends[0]);
		_exit(hawk_run_become(arguments));
	}
	close(ends[0]);
	*gate = ends[1];
	return *ret < 0 ? hawk_error_os(errno, "fork", NULL) : NULL;
}

/** Returns FILE, or FILE.PID for processes other than the first. NULL: none is wanted. */
static const char *file_of(const struct watcher *watcher, const char *path, pid_t pid,
			   struct hawk_text *text)
{
	if (!path || pid == watcher->first)
		return path;
	hawk_text_printf(text, "%s.%d", path, pid);
	return text->failed ? path : text->bytes;
}

static int take_snapshot(const struct watcher *watcher, pid_t pid)
{
	CLEANUP(text) struct hawk_text path = {0};
	struct hawk_settings settings = {
		.watch = watcher->watch,
		.pid = (uint64_t)pid,
		.quiet = true,
		.debug_directory = watcher->settings->debug_directory,
		.force = watcher->settings->force,
		.output = file_of(watcher, watcher->settings->exit_snapshot, pid, &path),
	};

	return hawk_verb_ask(&hawk_verb_snapshot, &settings);
}

static int print_leaks(const struct watcher *watcher, pid_t pid)
{
	CLEANUP(text) struct hawk_text path = {0};
	struct hawk_settings settings = *watcher->settings;

	settings.watch = watcher->watch;
	settings.pid = (uint64_t)pid;
	settings.count = 0;
	settings.exit_code.given = false;
	settings.only_condition = settings.quiet || pid != watcher->first;
	settings.quiet = true;
	settings.on_stderr = true;
	settings.output = file_of(watcher, settings.output, pid, &path);
	return hawk_verb_ask(&hawk_verb_leaks, &settings);
}

/** Returns the short name of a process; "?" if it is gone. */
static const char *name_of(pid_t pid, char name[32])
{
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (!file || !fgets(name, 32, file))
		strcpy(name, "?");
	if (file)
		fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return name;
}

static void ask(struct watcher *watcher, pid_t pid)
{
	char name[32];
	int code = 0;

	if (watcher->settings->exit_snapshot)
		code = take_snapshot(watcher, pid);
	if (code)
		watcher->trouble = code;
	if (!watcher->settings->leaks)
		return;
	code = print_leaks(watcher, pid);
	if (code == HAWK_EXIT_CONDITION) {
		watcher->lost = true;
		hawk_complain("%s (process %d) lost memory", name_of(pid, name), pid);
	} else if (code) {
		watcher->trouble = code;
		hawk_complain("leaks of %s (process %d) are not known for certain",
			      name_of(pid, name), pid);
	}
}

/** Dies as the program did, so that the caller sees the same; without a core of this command. */
static int die_by(const struct watcher *watcher, int number)
{
	const struct rlimit none = {0};

	if (!watcher->settings->quiet)
		hawk_complain("signal %d (%s) killed the program: its heap was not read", number,
			      strsignal(number));
	setrlimit(RLIMIT_CORE, &none);
	signal(number, SIG_DFL);
	raise(number);
	return 128 + number;
}

static int code_of(const struct watcher *watcher, int status)
{
	const struct hawk_number *wanted = &watcher->settings->exit_code;
	int code = WEXITSTATUS(status);

	if (WIFSIGNALED(status))
		return die_by(watcher, WTERMSIG(status));
	if (wanted->given && !wanted->value)
		return code;
	if (watcher->lost)
		return wanted->given ? (int)wanted->value : HAWK_EXIT_LEAKS;
	return code ? code : watcher->trouble;
}

static struct hawk_error *follow(struct watcher *watcher, int *code)
{
	enum hawk_watch_event event = HAWK_WATCH_STOPPED;
	struct hawk_error *err = NULL;
	int status = 0;
	pid_t pid;

	while (!err && event != HAWK_WATCH_ENDED) {
		pass_signals(true);
		err = hawk_watch_next(watcher->watch, &event, &pid, &status);
		pass_signals(false);
		if (!err && event == HAWK_WATCH_EXIT)
			ask(watcher, pid);
		else if (!err && event == HAWK_WATCH_STOPPED)
			raise(SIGSTOP);
	}
	if (!err)
		*code = code_of(watcher, status);
	return err;
}

int hawk_run_watched(const struct hawk_settings *settings)
{
	struct watcher watcher = {.settings = settings};
	CLEANUP(close_fd) int gate = -1;
	int code = 0;
	struct hawk_error *err = start(settings->operands, &watcher.first, &gate);

	if (err)
		return hawk_fail(err);
	err = hawk_watch_create(watcher.first, settings->follow, &watcher.watch);
	if (err) // the program ends, because the gate closes
		return hawk_fail(hawk_error_prefix(err, "cannot watch %s", settings->operands[0]));
	program = watcher.first;
	ignore_job_stops();
	if (write(gate, "", 1) != 1)
		err = hawk_error_os(errno, "cannot start", settings->operands[0]);
	close(take_fd(&gate));
	if (!err)
		err = follow(&watcher, &code);
	hawk_watch_destroy(watcher.watch);
	return err ? hawk_fail(err) : code;
}

/** Refuses a file that exists before the program runs for nothing. */
static struct hawk_error *check_file(const char *path, bool force)
{
	struct stat info;

	if (!path || force || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
		return NULL;
	return hawk_error_create(HAWK_ERROR_OS, "%s exists already; --force replaces it", path);
}

struct hawk_error *hawk_run_check_watch(struct hawk_settings *settings)
{
	struct hawk_error *err;

	settings->kinds = settings->leaks && *settings->leaks ? settings->leaks : NULL;
	if (!settings->leaks && (settings->suppressions.count || settings->exit_code.given ||
				 settings->json || settings->full || settings->output))
		return hawk_error_create(HAWK_ERROR_USAGE, "--suppressions, --exit-code, --json, "
							   "--full and --output need --leaks");
	if (!settings->leaks && !settings->exit_snapshot && settings->follow)
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "--follow needs --leaks or --snapshot-at-exit");
	err = hawk_verb_leaks.check(settings);
	if (!err)
		err = check_file(settings->output, settings->force);
	if (!err)
		err = check_file(settings->exit_snapshot, settings->force);
	return err;
}
