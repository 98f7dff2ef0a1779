/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core handler: takes a core from the kernel as it arrives, and analyzes it.
 *
 * The kernel starts it as root, with the core as standard input and nothing else open, or sends the
 * core by a socket. It reads the core only as the owner of the process that died.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_copy.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "install.h"
#include "place.h"
#include "report.h"
#include "socket.h"

enum {
	OPERANDS = 4,
	DEFAULT_KEEP = 10,
	DEFAULT_SECONDS = 300,
	RESERVE_BYTES = 1 << 20, /**< for what follows when the limit of file sizes is near */
	FASTEST_LEVEL = 1,
	LOG_BYTES_MAX = 1 << 20,
	PATH_BYTES = 64,
	NAME_BYTES = 32,
};

static const uint64_t NS_PER_S = 1000000000;
static const uint64_t DEFAULT_MAX_SIZE = UINT64_C(16) << 30;
static const uint64_t DEFAULT_MIN_FREE = UINT64_C(1) << 30;
static const char core_name[] = "core.zst";

/** Makes standard output and standard error files: the kernel leaves them closed, and a core must
 * not get their numbers. Complaints go to a log in the directory then. */
static void open_standard_files(int place)
{
	struct stat status;
	bool silent = fcntl(STDERR_FILENO, F_GETFD) < 0;
	int log;

	while (fcntl(STDERR_FILENO, F_GETFD) < 0 && open("/dev/null", O_RDWR) >= 0)
		;
	if (!silent)
		return;
	log = openat(place, "handler.log", O_CREAT | O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		     0600);
	if (log < 0)
		return;
	if (fstat(log, &status) == 0 && status.st_size > LOG_BYTES_MAX && ftruncate(log, 0) != 0)
		return;
	dup2(log, STDERR_FILENO);
}

static uint64_t size_max(const struct hawk_settings *settings)
{
	uint64_t most = settings->handler.max_size ? settings->handler.max_size : DEFAULT_MAX_SIZE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur < RESERVE_BYTES)
		return most;
	return hawk_least(most, limit.rlim_cur - RESERVE_BYTES);
}

/** Writes the core to the file, as far as the limits go. */
static struct hawk_error *receive(const struct hawk_settings *settings, uint64_t end_ns,
				  struct hawk_file_sink *sink)
{
	struct hawk_core_copy copy = {
		.sink = sink,
		.written_max = size_max(settings),
		.free_min =
			settings->handler.min_free ? settings->handler.min_free : DEFAULT_MIN_FREE,
		.end_ns = end_ns,
	};
	const char *from = settings->handler.socket ? "the socket" : "standard input";
	uint64_t bytes;
	struct hawk_error *err = hawk_core_copy(&copy, STDIN_FILENO, from);

	if (!err && !copy.bytes)
		err = hawk_error_create(HAWK_ERROR_FORMAT, "%s: no core was read: %s%s", from,
					copy.stopped ? "the limit of " : "it is empty",
					copy.stopped ? copy.stopped : "");
	if (!err && copy.stopped)
		hawk_complain("the core is cut off behind %s: the limit of %s",
			      hawk_quantity_bytes(copy.bytes).text, copy.stopped);
	if (!err)
		err = hawk_file_sink_finish(sink, &bytes);
	if (!err && !settings->handler.no_core)
		err = hawk_file_sink_commit(sink);
	return err;
}

static int take(const struct hawk_settings *settings, const struct hawk_crash *crash,
		uint64_t end_ns)
{
	struct hawk_file_sink_settings place = {
		.path = settings->handler.no_core ? NULL : core_name,
		.folder = ".",
		.compress = true,
		.level = FASTEST_LEVEL,
	};
	struct hawk_file_sink *sink = NULL;
	struct hawk_error *err = hawk_file_sink_create(&place, &sink);
	int code;

	if (!err)
		err = receive(settings, end_ns, sink);
	if (err) {
		code = hawk_fail(err);
	} else {
		code = hawk_crash_report(settings->handler.no_core ? hawk_file_sink_place(sink)
								   : core_name,
					 crash->pid, end_ns);
	}
	hawk_file_sink_destroy(sink);
	return code;
}

/** Takes the core from standard input. */
static int handle(const struct hawk_settings *settings, const struct hawk_crash *crash)
{
	uint64_t seconds =
		settings->handler.max_time ? settings->handler.max_time : DEFAULT_SECONDS;
	uint64_t keep = settings->handler.keep ? settings->handler.keep : DEFAULT_KEEP;
	uint64_t end_ns = hawk_now_ns(CLOCK_MONOTONIC) + seconds * NS_PER_S;
	struct hawk_error *err;
	int place;

	signal(SIGXFSZ, SIG_IGN);
	setenv("TMPDIR", ".", 0);
	err = hawk_place_open(settings->handler.to, end_ns, &place);
	if (err)
		return hawk_fail(err);
	open_standard_files(place);
	hawk_place_prune(place, keep - 1);
	err = hawk_place_enter(place, crash);
	return err ? hawk_fail(err) : take(settings, crash, end_ns);
}

static int handle_peer(const struct hawk_settings *settings, const char *pid)
{
	char name[NAME_BYTES] = "", seconds[NAME_BYTES], path[PATH_BYTES];
	const struct hawk_crash crash = {.pid = pid, .time = seconds, .name = name};

	snprintf(seconds, sizeof(seconds), "%" PRIu64, hawk_now_ns(CLOCK_REALTIME) / NS_PER_S);
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	CLEANUP(close_file) FILE *file = fopen(path, "re");
	if (file && fgets(name, sizeof(name), file))
		name[strcspn(name, "\n")] = 0;
	return handle(settings, &crash);
}

static int run(struct hawk_settings *settings)
{
	char **words = settings->operands;

	if (settings->handler.to && settings->handler.install && !settings->count)
		return hawk_handler_install(settings);
	if (settings->handler.to && settings->handler.socket && !settings->count)
		return hawk_handler_serve(settings, handle_peer);
	if (settings->handler.to && !settings->handler.install && !settings->handler.socket &&
	    settings->count == OPERANDS) {
		const struct hawk_crash crash = {
			.pid = words[0],
			.signal = words[1],
			.time = words[2],
			.name = words[3],
		};

		return handle(settings, &crash);
	}
	hawk_complain("handler needs --to=DIR, and a PID, SIGNAL, TIME and NAME, --socket or "
		      "--install; see hawk-core help handler");
	return HAWK_EXIT_USAGE;
}

static const struct hawk_option options[] = {
	{"to", '\0', HAWK_OPTION_STRING, HAWK_AT(handler.to), "DIR",
	 "keep cores and reports below DIR"},
	{"socket", '\0', HAWK_OPTION_STRING, HAWK_AT(handler.socket), "PATH",
	 "serve the kernel's coredump socket at PATH (Linux 6.16)"},
	{"no-core", '\0', HAWK_OPTION_FLAG, HAWK_AT(handler.no_core), NULL,
	 "keep the reports and the snapshot, without the core"},
	{"keep", '\0', HAWK_OPTION_COUNT, HAWK_AT(handler.keep), "N",
	 "keep the newest N crashes (10 if not given)"},
	{"max-size", '\0', HAWK_OPTION_BYTES, HAWK_AT(handler.max_size), "SIZE",
	 "cut the core off where it takes SIZE, compressed (16G if not given)"},
	{"max-time", '\0', HAWK_OPTION_COUNT, HAWK_AT(handler.max_time), "SECONDS",
	 "take so long at most, waiting for other handlers included (300 if not given)"},
	{"min-free", '\0', HAWK_OPTION_BYTES, HAWK_AT(handler.min_free), "SIZE",
	 "cut the core off where less than SIZE would be free (1G if not given)"},
	{"install", '\0', HAWK_OPTION_FLAG, HAWK_AT(handler.install), NULL,
	 "print how to make the kernel start it, and what stands in the way; change nothing"},
	{0},
};

const struct hawk_verb hawk_verb_handler = {
	.name = "handler",
	.arguments = "--to=DIR [options] [PID SIGNAL TIME NAME]",
	.summary = "take cores from the kernel, and analyze them at once",
	.details = "Reads a core from standard input, as the kernel starts it by core_pattern "
		   "(|/usr/bin/hawk-core handler --to=DIR %P %s %t %e), or from the "
		   "kernel's coredump socket (--socket=PATH, core_pattern @@PATH). Below DIR, in "
		   "NAME.PID.TIME, it writes the core while it arrives (core.zst, as pack does), "
		   "then a snapshot (report.hawk) and the answer of analyze (report.txt, "
		   "report.json), and what /proc knew of the process (process.txt). One works at a "
		   "time in DIR. It reads the core with the rights of the process's owner.",
	.options = options,
	.exit_codes = "Exit codes: 0 ok, 2 usage, 3 not readable or not writable, 4 the answer is "
		      "incomplete. --install: 1 if something stands in the way.",
	.run = run,
};
