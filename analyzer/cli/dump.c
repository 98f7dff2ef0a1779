/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core dump: a core of a process that goes on.
 */
#include "hawk/target/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "bar.h"
#include "cli.h"
#include "hawk/base/numbers.h"

enum { BLOCK_BYTES = 512 }; /**< of st_blocks */

/** Notes the time as systemd-coredump does, for the ages of blocks. Not all file systems can. */
static void set_time(int fd, uint64_t ns)
{
	struct hawk_text text;

	hawk_text_init(&text);
	hawk_text_printf(&text, "%" PRIu64, ns / 1000);
	(void)!fsetxattr(fd, "user.coredump.timestamp", hawk_text_string(&text), text.size, 0);
	hawk_text_deinit(&text);
}

static struct hawk_error *write_core(struct hawk_target *target, struct hawk_file_sink *sink,
				     struct hawk_findings *findings, struct hawk_dump *result,
				     struct stat *status)
{
	uint64_t bytes;
	uint64_t now_ns = hawk_now_ns(CLOCK_REALTIME);
	struct hawk_error *err = hawk_target_dump(target, findings, sink, result);

	if (!err)
		err = hawk_file_sink_finish(sink, &bytes);
	if (!err && fstat(hawk_file_sink_fd(sink), status) != 0)
		err = hawk_error_os(errno, "cannot write", "the core");
	if (err)
		return err;
	set_time(hawk_file_sink_fd(sink), now_ns);
	return hawk_file_sink_commit(sink);
}

static struct hawk_error *dump(const struct hawk_settings *settings, struct hawk_findings *findings)
{
	struct hawk_file_sink_settings place = {.path = settings->copy, .force = settings->replace};
	struct hawk_file_sink *sink = NULL;
	struct hawk_target *target = NULL;
	struct hawk_dump result = {0};
	struct stat status;
	struct hawk_error *err = hawk_file_sink_create(&place, &sink);

	if (!err)
		err = hawk_target_open_pid((pid_t)settings->pid, findings, &target);
	if (!err)
		err = write_core(target, sink, findings, &result, &status);
	if (!err) {
		printf("%s: %s, a core with %s of memory\n", settings->copy,
		       hawk_quantity_bytes((uint64_t)status.st_blocks * BLOCK_BYTES).text,
		       hawk_quantity_bytes(result.memory_bytes).text);
		printf("process %" PRIu64 " was stopped for %s%s\n", settings->pid,
		       hawk_quantity_nanoseconds(hawk_target_pause_ns(target)).text,
		       result.held ? ": no room for a copy of its memory" : "");
	}
	hawk_target_close(target);
	hawk_file_sink_destroy(sink);
	return err;
}

/** Returns true if anything is missing in the core. */
static bool complain(const struct hawk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].partial)
			hawk_complain("incomplete: %s", findings->items[i].text);
	return hawk_findings_partial(findings);
}

static int run(struct hawk_settings *settings)
{
	struct hawk_findings findings;
	struct hawk_bar bar = {0};
	struct hawk_error *err;
	bool partial;
	int code;

	if (settings->count || !settings->pid || settings->pid > INT32_MAX || !settings->copy) {
		hawk_complain("dump needs --pid PID and --output FILE; see hawk-core help dump");
		return HAWK_EXIT_USAGE;
	}
	/* Report a full disk as an error instead of dying by a signal. */
	signal(SIGXFSZ, SIG_IGN);
	hawk_bar_begin(&bar, settings->quiet);
	hawk_findings_init(&findings);
	err = dump(settings, &findings);
	hawk_bar_deinit(&bar);
	partial = !err && complain(&findings);
	hawk_findings_deinit(&findings);
	if (err)
		return hawk_fail(err);
	code = hawk_help_finish();
	return code == HAWK_EXIT_OK && partial ? HAWK_EXIT_PARTIAL : code;
}

static const struct hawk_option options[] = {
	{"output", 'o', HAWK_OPTION_STRING, HAWK_AT(copy), "FILE",
	 "write the core to FILE (mode 0600); it is compressed if the name ends in .zst"},
	{"force", '\0', HAWK_OPTION_FLAG, HAWK_AT(replace), NULL, "replace FILE if it exists"},
	{0},
};

const struct hawk_verb hawk_verb_dump = {
	.name = "dump",
	.arguments = "--pid PID -o FILE [options]",
	.summary = "write a core of a process that goes on",
	.details = "Writes a core as the kernel would, with the memory that coredump_filter and "
		   "madvise() leave in. Pages that were never touched are holes. The process "
		   "stands still while its memory is copied, and goes on while the copy is "
		   "written; if the copy would take more than half of the free memory, until all "
		   "is written. How long it stood still is printed. gdb reads the core.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_QUIET,
	.exit_codes = "Exit codes: 0 ok, 2 usage, 3 not readable or not writable, 4 not all could "
		      "be read.",
	.run = run,
};
