/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core export: the answer as a file for other tools.
 */
#include "export_graph.h"
#include "hawk/export/export.h"
#include "profile.h"

/** In the order of --format's words; behind them are those of enum hawk_export_graph. */
static struct hawk_error *(*const writers[])(const struct hawk_export *, struct hawk_output *) = {
	hawk_export_pprof,
	hawk_export_folded,
	hawk_export_speedscope,
};

enum { FIRST_GRAPH = sizeof(writers) / sizeof(writers[0]) + 1 };

static struct hawk_error *check(struct hawk_settings *settings)
{
	if (!settings->format)
		return hawk_error_create(HAWK_ERROR_USAGE, "export needs --format");
	if (settings->format >= FIRST_GRAPH) {
		struct hawk_error *err = hawk_export_graph_check(
			settings, (enum hawk_export_graph)(settings->format - FIRST_GRAPH));

		if (err)
			return err;
	}
	return hawk_check_profile(settings);
}

/** Puts what `profiled` has more than --base in its place. */
static struct hawk_error *subtract_base(struct hawk_session *session,
					struct hawk_profiled *profiled)
{
	struct hawk_profile *difference;
	struct hawk_profiled base;
	struct hawk_error *err = hawk_profile_open(session->settings, session->settings->base,
						   &session->findings, &base);

	if (!err)
		err = hawk_profile_difference(profiled->profile, base.profile, &difference);
	hawk_profiled_deinit(&base);
	if (err)
		return err;
	hawk_profile_destroy(profiled->profile);
	profiled->profile = difference;
	return NULL;
}

static struct hawk_error *export_profile(struct hawk_session *session)
{
	struct hawk_profiled profiled;
	struct hawk_error *err = hawk_session_profile(session, &profiled);

	if (!err && session->settings->base)
		err = subtract_base(session, &profiled);
	if (!err) {
		const struct hawk_export export = {
			.profile = profiled.profile,
			.process = hawk_target_process(session->target),
			.source = profiled.source,
			.end_ns = profiled.end_ns,
			.life_ns = profiled.life_ns,
			.column = profiled.column,
		};

		err = writers[session->settings->format - 1](&export, session->output);
	}
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
	{"pid", 'p', HAWK_OPTION_COUNT, HAWK_AT(pid), "PID",
	 "read a running or stopped process instead of a core"},
	{"format", 'F', HAWK_OPTION_CHOICE, HAWK_AT(format),
	 "pprof|folded|speedscope|heapsnapshot|sqlite|dot", "what to write"},
	{"base", '\0', HAWK_OPTION_STRING, HAWK_AT(base), "CORE",
	 "write what has been added since CORE"},
	{0},
};

const struct hawk_verb hawk_verb_export = {
	.name = "export",
	.arguments = "--format F [options] CORE | TABLE | --pid PID",
	.summary = "the answer as a file for other viewers",
	.details =
		"Writes who owns the memory, by stack, in a format that other tools read; or all "
		"blocks and pointers (heapsnapshot), all tables (sqlite), the graph of sites "
		"(dot).",
	.options = {options, hawk_profile_options, hawk_target_options, hawk_output_options,
		    hawk_common_options},
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_NOWHERE,
	.check = check,
	.answer = answer,
};
