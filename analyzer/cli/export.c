/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core export: the answer as a file for other tools.
 */
#include <time.h>

#include "hawk/export/export.h"
#include "hawk/profile/sources.h"
#include "leaks.h"
#include "session.h"

enum what { WHAT_LIVE = 1, WHAT_TOTAL, WHAT_LOST };

struct format {
	struct hawk_error *(*write)(const struct hawk_export *, struct hawk_output *);
	const char *binary; /**< name of what is not for a terminal; NULL = text */
};

/** In the order of --format's words. */
static const struct format formats[] = {
	{hawk_export_pprof, "a pprof profile"},
	{hawk_export_folded, NULL},
	{hawk_export_speedscope, NULL},
	{hawk_export_dhat, NULL},
	{hawk_export_massif, NULL},
	{hawk_export_heaptrack, NULL},
	{hawk_export_ndjson, NULL},
};

static struct hawk_site_filter filter_of(const struct hawk_settings *settings)
{
	return (struct hawk_site_filter){
		.focus = settings->focus,
		.ignore = settings->ignore,
		.min_bytes = settings->min_bytes,
	};
}

static bool is_filtered(const struct hawk_settings *settings)
{
	return settings->focus || settings->ignore || settings->min_bytes;
}

static struct hawk_error *check(struct hawk_settings *settings)
{
	struct hawk_site_filter filter = filter_of(settings);

	if (!settings->format)
		return hawk_error_create(HAWK_ERROR_USAGE, "export needs --format");
	return hawk_site_filter_check(&filter);
}

static struct hawk_error *profile_sites(struct hawk_session *session, struct hawk_profile **ret)
{
	const struct hawk_profile_style style = {.plumbing = session->settings->plumbing};
	struct hawk_site_filter filter = filter_of(session->settings);
	struct hawk_site_list list = {0};
	struct hawk_error *err = hawk_session_sites(session);

	err = hawk_session_release(session, err);
	if (!err)
		err = hawk_site_list_create(&session->heap, session->symbols, &filter, &list);
	if (!err)
		err = hawk_profile_of_sites(&session->heap, session->symbols, &list,
					    is_filtered(session->settings), &style, ret);
	hawk_site_list_deinit(&list);
	return err;
}

static struct hawk_error *profile_leaks(struct hawk_session *session, struct hawk_profile **ret)
{
	const struct hawk_profile_style style = {.plumbing = session->settings->plumbing};
	struct hawk_leaks_session leaks = {0};
	struct hawk_error *err = hawk_leaks_session_make(session, HAWK_LEAKS_KINDS_LOST, &leaks);

	if (!err)
		err = hawk_profile_of_leaks(&session->heap, session->symbols, &leaks.leaks,
					    HAWK_LEAKS_KINDS_LOST, &style, ret);
	hawk_leaks_session_deinit(&leaks);
	return err;
}

static struct hawk_error *make_profile(struct hawk_session *session, struct hawk_profile **ret)
{
	return session->settings->what == WHAT_LOST ? profile_leaks(session, ret)
						    : profile_sites(session, ret);
}

static uint32_t column_of(const struct hawk_settings *settings, const struct hawk_profile *profile)
{
	uint32_t column = settings->what == WHAT_TOTAL ? hawk_profile_column(profile, "alloc_space")
						       : UINT32_MAX;

	return column == UINT32_MAX ? profile->shown_column : column;
}

/** Of a process, now; of a core, what comes nearest: CLOCK_REALTIME in nanoseconds, 0 = unknown. */
static uint64_t end_time(const struct hawk_target *target)
{
	const struct hawk_process *process = hawk_target_process(target);
	const struct hawk_end_times *times = &process->end;
	struct timespec now;

	if (!process->live)
		return times->attribute_ns ? times->attribute_ns : times->file_ns;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/** pprof's readers want gzip; without zlib they also take it as it is. */
static struct hawk_error *write_profile(struct hawk_session *session,
					const struct hawk_export *export)
{
	const struct format *format = &formats[session->settings->format - 1];

	if (format->binary)
		hawk_error_destroy(hawk_output_gzip(session->output));
	return format->write(export, session->output);
}

static struct hawk_error *answer(struct hawk_session *session)
{
	const char *binary = formats[session->settings->format - 1].binary;
	struct hawk_error *err =
		binary ? hawk_output_refuse_terminal(session->output, binary) : NULL;
	struct hawk_profile *profile = NULL;
	struct hawk_export export;

	if (!err)
		err = make_profile(session, &profile);
	if (err)
		return err;
	export = (struct hawk_export){
		.profile = profile,
		.process = hawk_target_process(session->target),
		.heap = &session->heap,
		.findings = &session->findings,
		.source = session->source,
		.end_ns = end_time(session->target),
		.life_ns = session->heap.life.end_units * HAWK_BIRTH_UNIT_NS,
		.column = column_of(session->settings, profile),
		.filtered = is_filtered(session->settings),
		.blocks_max = HAWK_EXPORT_BLOCKS_MAX,
	};
	err = write_profile(session, &export);
	hawk_profile_destroy(profile);
	hawk_session_check(session);
	return err;
}

static const struct hawk_option options[] = {
	{"pid", 'p', HAWK_OPTION_COUNT, HAWK_AT(pid), "PID",
	 "read a running or stopped process instead of a core"},
	{"format", 'F', HAWK_OPTION_CHOICE, HAWK_AT(format),
	 "pprof|folded|speedscope|dhat|massif|heaptrack|ndjson", "what to write"},
	{"what", 'w', HAWK_OPTION_CHOICE, HAWK_AT(what), "live|total|lost",
	 "live blocks; all that was allocated since the start; what leaked"},
	{"plumbing", '\0', HAWK_OPTION_FLAG, HAWK_AT(plumbing), NULL,
	 "keep the frames of allocators and standard libraries at the end of stacks"},
	{"focus", '\0', HAWK_OPTION_STRING, HAWK_AT(focus), "REGEX",
	 "only sites with a function, file, module, scope or type that matches"},
	{"ignore", '\0', HAWK_OPTION_STRING, HAWK_AT(ignore), "REGEX",
	 "no sites with a function, file, module, scope or type that matches"},
	{"min-bytes", '\0', HAWK_OPTION_BYTES, HAWK_AT(min_bytes), "SIZE",
	 "only sites with at least SIZE live bytes (10k, 1M, 2GiB)"},
	{0},
};

const struct hawk_verb hawk_verb_export = {
	.name = "export",
	.arguments = "--format F [options] CORE | TABLE | --pid PID",
	.summary = "the answer as a file for other viewers",
	.details = "Writes who owns the memory, by stack, in a format that other tools read. "
		   "pprof: go tool pprof, Perfetto. folded: flame graphs. speedscope: its web "
		   "page. dhat: Valgrind's dh_view.html. massif: ms_print. heaptrack: its viewer, "
		   "block by block. ndjson: rows for jq, DuckDB, ClickHouse.",
	.options = {options, hawk_target_options, hawk_output_options, hawk_common_options},
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_NOWHERE,
	.check = check,
	.answer = answer,
};
