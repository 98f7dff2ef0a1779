/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core export: the answer as a file for other tools.
 */
#include <string.h>

#include "export_graph.h"
#include "hawk/export/export.h"
#include "profile.h"

struct format {
	struct hawk_error *(*write)(const struct hawk_export *, struct hawk_output *);
	const char *binary; /**< name of a binary format; NULL = text, which a terminal may show */
	bool needs_blocks;  /**< needs blocks, so cannot hold a difference */
};

/** In the order of --format's words; those of enum hawk_export_graph follow. */
static const struct format formats[] = {
	{hawk_export_pprof, "a pprof profile", false},
	{hawk_export_folded, NULL, false},
	{hawk_export_speedscope, NULL, false},
	{hawk_export_dhat, NULL, false},
	{hawk_export_massif, NULL, false},
	{hawk_export_heaptrack, NULL, true},
	{hawk_export_ndjson, NULL, false},
};

enum { FIRST_GRAPH = sizeof(formats) / sizeof(formats[0]) + 1 };

/** Choices of --format: the formats above, then graphs. */
#define FORMATS "pprof|folded|speedscope|dhat|massif|heaptrack|ndjson|heapsnapshot|hprof|sqlite|dot"

static struct hawk_error *check(struct hawk_settings *settings)
{
	if (!settings->format)
		return hawk_error_create(HAWK_ERROR_USAGE, "export needs --format=" FORMATS);
	if (settings->format >= FIRST_GRAPH) {
		struct hawk_error *err = hawk_export_graph_check(
			settings, (enum hawk_export_graph)(settings->format - FIRST_GRAPH));

		if (err)
			return err;
	} else if (formats[settings->format - 1].needs_blocks &&
		   (settings->base || settings->what > HAWK_WHAT_LIVE)) {
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "this format has live blocks: no --what, no --base");
	}
	return hawk_check_profile(settings);
}

/** Replaces `profiled` by its difference from --base. */
static struct hawk_error *subtract_base(struct hawk_session *session,
					struct hawk_profiled *profiled)
{
	struct hawk_profile *difference;
	struct hawk_profiled base;
	struct hawk_error *err = hawk_profile_open(session->settings, session->settings->base,
						   &session->findings, &base);

	if (!err)
		err = hawk_profiled_difference(&base, profiled, &difference);
	hawk_profiled_deinit(&base);
	if (err)
		return err;
	hawk_profile_destroy(profiled->profile);
	profiled->profile = difference;
	return NULL;
}

static bool ends_in(const char *path, const char *end)
{
	size_t length = strlen(path);

	return length > strlen(end) && !strcmp(path + length - strlen(end), end);
}

/** Compresses by file name: readers such as heaptrack's rely on it. */
static struct hawk_error *pack_by_name(struct hawk_output *output)
{
	if (output->path && ends_in(output->path, ".gz"))
		return hawk_output_gzip(output);
	return output->path && ends_in(output->path, ".zst") ? hawk_output_zstd(output) : NULL;
}

/** Writes a pprof profile: readers expect gzip, but accept plain data, written without zlib. */
static struct hawk_error *write_profile(struct hawk_session *session,
					const struct hawk_profiled *profiled)
{
	const struct format *format = &formats[session->settings->format - 1];
	struct hawk_error *err = NULL;
	const struct hawk_export export = {
		.profile = profiled->profile,
		.process = hawk_target_process(session->target),
		.heap = session->heap,
		.findings = &session->findings,
		.source = profiled->source,
		.end_ns = profiled->end_ns,
		.life_ns = profiled->life_ns,
		.column = profiled->column,
		.filtered = hawk_is_profile_filtered(session->settings) || session->settings->base,
		.blocks_max = HAWK_EXPORT_BLOCKS_MAX,
	};

	if (format->binary)
		hawk_error_destroy(hawk_output_gzip(session->output));
	else
		err = pack_by_name(session->output);
	return err ? err : format->write(&export, session->output);
}

static struct hawk_error *export_profile(struct hawk_session *session)
{
	const char *binary = formats[session->settings->format - 1].binary;
	struct hawk_error *err =
		binary ? hawk_output_refuse_terminal(session->output, binary) : NULL;
	struct hawk_profiled profiled = {0};

	if (!err)
		err = hawk_session_profile(session, &profiled);
	if (!err && session->settings->base)
		err = subtract_base(session, &profiled);
	if (!err)
		err = write_profile(session, &profiled);
	hawk_profiled_deinit(&profiled);
	return err;
}

static struct hawk_error *answer(struct hawk_session *session)
{
	int graph = session->settings->format - FIRST_GRAPH;

	return graph < 0 ? export_profile(session)
			 : hawk_export_graph_answer(session, (enum hawk_export_graph)graph);
}

static const struct hawk_option options[] = {
	{"format", 'F', HAWK_OPTION_CHOICE, HAWK_AT(format), FORMATS, "the format to write"},
	{"base", '\0', HAWK_OPTION_STRING, HAWK_AT(base), "CORE",
	 "write the memory added since CORE"},
	{0},
};

const struct hawk_verb hawk_verb_export = {
	.name = "export",
	.arguments = "--format F [options] CORE | TABLE | --pid PID",
	.summary = "the answer as a file for other viewers",
	.details = "Writes who owns the memory, by stack, in a format that other tools read. "
		   "pprof: go tool pprof, Perfetto. folded: flame graphs. speedscope: its web "
		   "page. dhat: Valgrind's dh_view.html. massif: ms_print. heaptrack: its viewer, "
		   "block by block. ndjson: rows for jq, DuckDB, ClickHouse. Or all blocks and "
		   "pointers (heapsnapshot: DevTools; hprof: VisualVM), all tables (sqlite), the "
		   "graph of sites (dot).",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_PROFILE | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid, and --format=" FORMATS,
	.live = true,
	.findings = HAWK_FINDINGS_NOWHERE,
	.check = check,
	.answer = answer,
};
