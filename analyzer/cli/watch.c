/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core watch: looks at the counters of a running process again and again.
 *
 * The process is never stopped, so counters of one look are of slightly different moments.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "hawk/report/rates.h"
#include "hawk/trace/table.h"
#include "session.h"

enum {
	DEFAULT_SECONDS = 3,
	DEFAULT_TOP = 10,
	HEADER_ROWS = 6, /**< of the screen, which are no sites */
	DEFAULT_ROWS = 24,
};

static const uint64_t NS_PER_S = 1000000000;

struct watch {
	struct hawk_settings *settings;
	struct hawk_session session;
	struct hawk_rates rates;
	struct hawk_output *log; /**< NULL = none */
	uint32_t extent_count;   /**< of the table, when the process was opened */
};

static struct hawk_error *open_process(struct watch *watch)
{
	struct hawk_error *err = hawk_session_open(&watch->session, watch->settings, NULL);

	if (watch->session.output)
		watch->session.output->is_right = NULL; // what was seen stays true
	watch->extent_count = 0;
	return err;
}

static struct hawk_error *count_sites(struct watch *watch)
{
	struct hawk_session *session = &watch->session;
	struct hawk_error *err = hawk_session_sums(session, 0, 0);

	if (!err && !(session->heap->knows & HAWK_HEAP_COUNTERS))
		err = hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					"process %llu is not traced: watch reads the tracer's "
					"counters",
					(unsigned long long)watch->settings->pid);
	return err;
}

/** Forgets the last look. Returns false if the process has ended. */
static bool forget(struct watch *watch)
{
	struct hawk_session *session = &watch->session;
	struct hawk_span spans[HAWK_TABLE_EXTENTS];
	size_t count;
	const struct hawk_table_extent *extents = hawk_table_extents(session->heap->table, &count);

	for (size_t i = 0; i < count; i++)
		spans[i] = (struct hawk_span){extents[i].address,
					      extents[i].address + extents[i].bytes};
	hawk_session_drop_heap(session);
	hawk_session_renew(session, watch->settings);
	return hawk_target_look_again(session->target, spans, count);
}

/** Reads the counters. A table with new memory needs the process's mappings anew. */
static struct hawk_error *look(struct watch *watch)
{
	struct hawk_error *err = count_sites(watch);
	const struct hawk_table_header *header;

	if (err)
		return err;
	header = hawk_table_header(watch->session.heap->table);
	if (watch->extent_count && header->extent_count != watch->extent_count) {
		hawk_session_deinit(&watch->session);
		err = open_process(watch);
		if (!err)
			err = count_sites(watch);
		if (err)
			return err;
		header = hawk_table_header(watch->session.heap->table);
	}
	watch->extent_count = header->extent_count;
	return hawk_rates_add(&watch->rates, watch->session.heap, hawk_now_ns(CLOCK_MONOTONIC));
}

static size_t rows_for_sites(const struct watch *watch)
{
	struct winsize size;
	size_t rows = DEFAULT_ROWS;

	if (watch->settings->top)
		return (size_t)watch->settings->top;
	if (!isatty(STDOUT_FILENO))
		return DEFAULT_TOP;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row)
		rows = size.ws_row;
	return rows > HEADER_ROWS ? rows - HEADER_ROWS : 1;
}

static struct hawk_error *print(struct watch *watch)
{
	static const char clear[] = "\033[H\033[2J";
	struct hawk_session *session = &watch->session;
	struct hawk_rates_report report = {
		.rates = &watch->rates,
		.heap = session->heap,
		.time_ns = hawk_now_ns(CLOCK_REALTIME),
		.top = rows_for_sites(watch),
	};
	struct hawk_error *err =
		hawk_site_names_create(session->heap, session->symbols, &report.names);

	if (err)
		return err;
	if (isatty(STDOUT_FILENO))
		hawk_output_puts(session->output, clear);
	else if (watch->rates.looks > 1)
		hawk_output_puts(session->output, "\n");
	err = hawk_report_rates(&report, &session->screen);
	hawk_output_flush(session->output);
	if (!err && session->output->errnum)
		err = hawk_error_os(session->output->errnum, "cannot write", "standard output");
	if (!err && watch->log) {
		hawk_report_rates_json(&report, watch->log);
		hawk_output_flush(watch->log);
		if (watch->log->errnum)
			err = hawk_error_os(watch->log->errnum, "cannot write",
					    watch->settings->log);
	}
	hawk_site_names_destroy(report.names);
	return err;
}

/** Sleeps until look number `looks` is due, counted from the first. */
static void wait_for_next(const struct watch *watch)
{
	uint64_t seconds = watch->settings->interval ? watch->settings->interval : DEFAULT_SECONDS;
	uint64_t due_ns = watch->rates.first_ns + watch->rates.looks * seconds * NS_PER_S;
	struct timespec due = {.tv_sec = (time_t)(due_ns / NS_PER_S),
			       .tv_nsec = (long)(due_ns % NS_PER_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
}

static bool has_ended(const struct watch *watch)
{
	const struct hawk_target *target = watch->session.target;
	CLEANUP(error) struct hawk_error *ended = target ? hawk_target_verify(target) : NULL;

	return !target || ended;
}

static void say_ended(const struct watch *watch)
{
	hawk_output_printf(watch->session.output, "process %llu has ended\n",
			   (unsigned long long)watch->settings->pid);
	hawk_output_flush(watch->session.output);
}

static struct hawk_error *follow(struct watch *watch)
{
	uint64_t most = watch->settings->looks ? watch->settings->looks : UINT64_MAX;
	struct hawk_error *err = open_process(watch);

	while (!err) {
		err = look(watch);
		if (err && watch->rates.looks && has_ended(watch)) {
			hawk_error_destroy(err);
			say_ended(watch);
			return NULL;
		}
		if (!err)
			err = print(watch);
		if (err || watch->rates.looks == most)
			break;
		wait_for_next(watch);
		if (!forget(watch)) {
			say_ended(watch);
			break;
		}
	}
	return err;
}

static struct hawk_error *open_log(struct watch *watch)
{
	const char *path = watch->settings->log;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return hawk_error_os(errno, "cannot write", path);
	watch->log = calloc(1, sizeof(*watch->log));
	if (!watch->log) {
		close(fd);
		return &hawk_enomem;
	}
	hawk_output_init(watch->log, fd);
	return NULL;
}

static int run(struct hawk_settings *settings)
{
	struct watch watch = {.settings = settings};
	struct hawk_error *err = NULL;

	if (settings->count || !settings->pid) {
		hawk_complain("watch needs --pid PID; see hawk-core help watch");
		return HAWK_EXIT_USAGE;
	}
	settings->running = settings->no_native = true;
	if (settings->log)
		err = open_log(&watch);
	if (!err)
		err = follow(&watch);
	hawk_session_deinit(&watch.session);
	hawk_rates_deinit(&watch.rates);
	if (watch.log)
		close(watch.log->fd);
	free(watch.log);
	return err ? hawk_fail(err) : HAWK_EXIT_OK;
}

static const struct hawk_option options[] = {
	{"interval", '\0', HAWK_OPTION_COUNT, HAWK_AT(interval), "SECONDS",
	 "look every so many seconds (3 if not given)"},
	{"looks", '\0', HAWK_OPTION_COUNT, HAWK_AT(looks), "N", "end after N looks"},
	{"log", '\0', HAWK_OPTION_STRING, HAWK_AT(log), "FILE",
	 "append each look to FILE (mode 0600), a line of JSON with the sites that changed"},
	{0},
};

const struct hawk_verb hawk_verb_watch = {
	.name = "watch",
	.arguments = "--pid PID [options]",
	.summary = "which sites of a traced process grow, as it runs",
	.details = "Reads the tracer's counters again and again, and shows the sites that grew "
		   "most since the first look, with bytes per second since the look before. The "
		   "process is never stopped. Growth by site needs live=1 in HAWK_OPTS, or "
		   "table=FILE; without, what sites allocate is shown. On a terminal the screen "
		   "is drawn anew; Ctrl-C ends it.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TOP |
		  (HAWK_TAKES_FILES & ~HAWK_TAKES_NO_NATIVE & ~HAWK_TAKES_GUEST &
		   ~HAWK_TAKES_TYPES & ~HAWK_TAKES_QUIET & ~HAWK_TAKES_TABLE) |
		  HAWK_TAKES_COLOR,
	.exit_codes = "Exit codes: 0 ok, 2 usage, 3 not readable or not writable.",
	.run = run,
};
