/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opens and closes the inputs and outputs of verbs.
 *
 * A process is released on every way out of this program: closing the target releases it, and if
 * this process is killed the kernel does.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hawk/base/parallel.h"
#include "hawk/base/numbers.h"
#include "hawk/libc/thread_pointers.h"
#include "hawk/target/watch.h"
#include "session.h"

enum {
	DEFAULT_COLUMNS = 80,
	COLUMNS_MIN = 60,
	COLUMNS_MAX = 200,
	COLOR_ALWAYS = 2,
	COLOR_NEVER = 3,
};

static const uint64_t DOWNLOAD_BYTES_MAX = UINT64_C(2) << 30;

static int answer_fd(const struct hawk_settings *settings)
{
	return settings->on_stderr ? STDERR_FILENO : STDOUT_FILENO;
}

static unsigned terminal_columns(bool on_terminal, int fd)
{
	const char *text = getenv("COLUMNS");
	uint64_t columns = 0;
	struct winsize size;

	if (on_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		columns = size.ws_col;
	else if (!text || !hawk_quantity_parse_count(text, &columns))
		columns = DEFAULT_COLUMNS;
	if (columns < COLUMNS_MIN)
		return COLUMNS_MIN;
	return columns > COLUMNS_MAX ? COLUMNS_MAX : (unsigned)columns;
}

static bool wants_color(int setting, bool on_terminal)
{
	const char *no_color = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");

	if (setting == COLOR_ALWAYS)
		return true;
	if (setting == COLOR_NEVER || (no_color && *no_color))
		return false;
	return on_terminal && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

/** Drops the findings of an earlier question's answer. */
static void drop_findings(struct hawk_session *session)
{
	static const char *const keys[] = {"heuristics-unread", "types-unread",
					   "leaks-downgraded",  "life-end",
					   "threads-missing",   NULL};

	hawk_findings_drop(&session->findings, keys, &session->findings_said);
}

void hawk_session_renew(struct hawk_session *session, const struct hawk_settings *settings)
{
	bool on_terminal = !settings->output && isatty(answer_fd(settings));
	uint64_t threads = settings->threads;

	drop_findings(session);
	if (session->type_table && session->type_table->flows)
		hawk_session_drop_types(session);
	session->settings = settings;
	session->screen = (struct hawk_screen){
		.output = session->output,
		.width = terminal_columns(on_terminal, answer_fd(settings)),
		.color = wants_color(settings->color, on_terminal),
		.full = settings->full,
	};
	hawk_bar_begin(&session->bar, settings->quiet);
	hawk_parallel_set_threads(threads < hawk_parallel_processors() ? (unsigned)threads : 0);
}

/** Clears the progress bar before any output. */
static void before_output(void *context, const struct hawk_output *output, const char *bytes,
			  size_t size)
{
	hawk_bar_before_output(context, output->fd, bytes, size);
}

struct hawk_error *hawk_session_set_output(struct hawk_session *session,
					   const struct hawk_settings *settings)
{
	struct hawk_output *output = session->output;
	struct hawk_error *err = NULL;

	hawk_output_deinit(output);
	hawk_output_init(output, answer_fd(settings));
	output->terminal = isatty(answer_fd(settings));
	if (settings->output) {
		/* Report a limit on file sizes as an error instead of dying by a signal. */
		signal(SIGXFSZ, SIG_IGN);
		err = hawk_output_open_file(output, settings->output, settings->force);
	}
	output->before = before_output;
	output->before_context = &session->bar;
	return err;
}

/** Returns true if the process still exists. Some verbs read while they print, and must not print
 * the missing data of a killed process. */
static bool is_process_there(void *context)
{
	const struct hawk_session *session = context;
	struct hawk_error *ended = session->target ? hawk_target_verify(session->target) : NULL;
	bool is_there = !ended;

	hawk_error_destroy(ended);
	return is_there;
}

static struct hawk_error *open_output(struct hawk_session *session,
				      const struct hawk_settings *settings)
{
	struct hawk_error *err;

	session->output = calloc(1, sizeof(*session->output));
	if (!session->output)
		return &hawk_enomem;
	hawk_session_renew(session, settings);
	err = hawk_session_set_output(session, settings);
	if (settings->pid) {
		session->output->is_right = is_process_there;
		session->output->is_right_context = session;
	}
	return err;
}

/** Reports paths given by the user that do not exist, rather than search without them. */
static struct hawk_error *check_paths(const struct hawk_settings *settings)
{
	const char *const paths[] = {settings->sysroot, settings->debug_directory,
				     settings->module_directory, settings->executable,
				     settings->table_file};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (paths[i] && access(paths[i], F_OK) != 0 &&
		    (paths[i] != settings->table_file || strcmp(paths[i], "-") != 0))
			return hawk_error_os(errno, "cannot open", paths[i]);
	return NULL;
}

/** Gives libdebuginfod, which reads the environment, the server's address. */
static struct hawk_error *allow_download(const struct hawk_settings *settings, uint64_t *bytes_max)
{
	const char *servers = getenv("DEBUGINFOD_URLS");

	if (*settings->debuginfod && setenv("DEBUGINFOD_URLS", settings->debuginfod, 1) != 0)
		return &hawk_enomem;
	if (!*settings->debuginfod && (!servers || !*servers))
		return hawk_error_create(HAWK_ERROR_USAGE, "--debuginfod: name a server with "
							   "--debuginfod=URL or DEBUGINFOD_URLS");
	*bytes_max = settings->max_download ? settings->max_download : DOWNLOAD_BYTES_MAX;
	return NULL;
}

/** Opens a core or a table file, which may be compressed. */
static struct hawk_error *open_file(struct hawk_session *session, const char *path,
				    struct hawk_target **ret)
{
	const char *folder = getenv("TMPDIR");
	struct hawk_unpack_settings settings = {
		.folder = folder && *folder ? folder : NULL,
		.dash = true,
	};
	uint64_t start_ns = hawk_now_ns(CLOCK_MONOTONIC);
	struct hawk_error *err = hawk_target_unpack_core(path, &settings, &session->findings, ret);

	if (session->bar.shown) /* only unpacking shows a bar during opening */
		session->unpacking_ns += hawk_now_ns(CLOCK_MONOTONIC) - start_ns;
	hawk_bar_clear(&session->bar);
	return err;
}

static struct hawk_error *attach_table(struct hawk_session *session, const char *path)
{
	struct hawk_target *table;
	struct hawk_error *err = open_file(session, path, &table);

	if (!err)
		err = hawk_table_attach(session->target, table);
	return err ? hawk_error_prefix(err, "%s", path) : NULL;
}

static struct hawk_error *open_process(struct hawk_session *session,
				       const struct hawk_settings *settings)
{
	if (settings->watch)
		return hawk_target_open_watched(settings->watch, &session->findings,
						&session->target);
	return (settings->running ? hawk_target_open_running : hawk_target_open_pid)(
		(pid_t)settings->pid, &session->findings, &session->target);
}

struct hawk_error *hawk_session_begin(struct hawk_session *session,
				      const struct hawk_settings *settings, const char *core)
{
	*session = (struct hawk_session){.source = core};
	hawk_findings_init(&session->findings);
	hawk_findings_init(&session->graph_findings);
	return open_output(session, settings);
}

struct hawk_error *hawk_session_open(struct hawk_session *session,
				     const struct hawk_settings *settings, const char *core)
{
	struct hawk_symbols_options options = {
		.sysroot = settings->sysroot,
		.debug_directory = settings->debug_directory,
		.system_debug_directory = getenv("HAWK_DEBUG_DIR"),
		.executable = settings->executable,
		.module_directory = settings->module_directory,
	};
	struct hawk_error *err = hawk_session_begin(session, settings, core);

	if (!err)
		err = check_paths(settings);
	if (!err && settings->debuginfod)
		err = allow_download(settings, &options.download_bytes_max);
	session->opened = settings;
	if (err)
		return err;
	if (!core && settings->pid > INT32_MAX)
		return hawk_error_create(HAWK_ERROR_USAGE, "there is no process %llu",
					 (unsigned long long)settings->pid);
	if (core)
		err = open_file(session, core, &session->target);
	else
		err = open_process(session, settings);
	if (!err)
		err = hawk_thread_pointers_find(session->target, &session->findings);
	if (!err && settings->table_file)
		err = attach_table(session, settings->table_file);
	if (err)
		return err;
	session->findings_opened = session->findings.count;
	err = hawk_symbols_create(session->target, &options, &session->findings, &session->symbols);
	return hawk_session_name_snapshot(session, err);
}

struct hawk_error *hawk_session_name_snapshot(const struct hawk_session *session,
					      struct hawk_error *err)
{
	if (!err || hawk_error_code(err) != HAWK_ERROR_FORMAT || !session->target ||
	    !hawk_target_snapshot(session->target))
		return err;
	return hawk_error_prefix(err, "%s", session->source);
}

struct hawk_error *hawk_session_release(struct hawk_session *session, struct hawk_error *err)
{
	struct hawk_error *ended;

	hawk_target_release(session->target);
	ended = hawk_target_verify(session->target);
	if (!ended)
		return err;
	hawk_error_destroy(err);
	return ended;
}

static void report_unknown(struct hawk_session *session)
{
	const struct hawk_heap *heap = session->heap;
	bool searched;

	if (!heap || heap->knows)
		return;
	searched = heap->unknown == HAWK_HEAP_NOT_TRACED && !session->settings->no_native &&
		   !hawk_target_snapshot(session->target);
	if (heap->unknown == HAWK_HEAP_NOT_TRACED || heap->unknown == HAWK_HEAP_TABLE_MISSING)
		hawk_findings_add(
			&session->findings, HAWK_FINDING_MISSING, true,
			heap->unknown == HAWK_HEAP_NOT_TRACED ? "not-traced" : "heap-unknown",
			"there is %s in %s%s: its heap is not known",
			searched ? "neither a trace table nor a known allocator" : "no trace table",
			session->source ? "the core" : "the process",
			heap->unknown == HAWK_HEAP_TABLE_MISSING
				? ", although it had the tracer's library"
				: "");
	else
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, true, "heap-unknown",
				  "the heap is unknown: %s", hawk_heap_unknown_text(heap));
}

void hawk_session_check(struct hawk_session *session)
{
	if (session->checked)
		return;
	session->checked = true;
	hawk_target_check(session->target, &session->findings);
	report_unknown(session);
}

void hawk_session_print_partial(struct hawk_session *session)
{
	for (size_t i = session->findings_said; i < session->findings.count; i++)
		if (session->findings.items[i].partial)
			hawk_complain("incomplete: %s", session->findings.items[i].text);
	if (session->findings.forgotten)
		hawk_complain("incomplete: memory ran out: what else is missing is not known");
	session->findings_said = session->findings.count;
}

int hawk_session_finish(struct hawk_session *session, int code)
{
	struct hawk_output *output = session->output;
	struct hawk_error *err;

	if (session->failed && output->path && !output->errnum) // no answer to keep
		output->errnum = ECANCELED;
	err = hawk_output_finish(output);
	if (!err)
		return code;
	if (output->errnum != ECANCELED && output->errnum != EPIPE)
		return hawk_fail(err);
	hawk_error_destroy(err);
	/* An invalid answer was reported as an error. A reader that closed the pipe has enough. */
	return output->errnum == EPIPE ? HAWK_EXIT_SIGPIPE : code;
}

void hawk_session_deinit(struct hawk_session *session)
{
	hawk_bar_deinit(&session->bar);
	hawk_next_deinit(&session->next);
	hawk_session_drop_heap(session);
	hawk_symbols_destroy(session->symbols);
	hawk_target_close(session->target);
	hawk_findings_deinit(&session->findings);
	hawk_findings_deinit(&session->graph_findings);
	hawk_output_deinit(session->output);
	free(session->output);
}
