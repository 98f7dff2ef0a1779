/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core sites: which sites' blocks hold which.
 */
#include "hawk/export/dot.h"
#include "session.h"

/** Of all blocks, or of those that the settings choose. */
static struct hawk_error *fold(struct hawk_session *session, struct hawk_selection *selection,
			       struct hawk_site_graph *ret)
{
	struct hawk_block_filter *filter = NULL;
	struct hawk_error *err = hawk_session_graph(session);

	if (!err && session->heap->knows && hawk_settings_choose_blocks(session->settings))
		err = hawk_session_filter(session, &filter);
	if (!err)
		err = hawk_session_choose(session, filter, selection);
	hawk_block_filter_destroy(filter);
	if (!err)
		err = hawk_session_readable(session);
	return err ? err : hawk_site_graph_make(session->graph, selection->blocks, ret);
}

static struct hawk_error *draw(struct hawk_session *session, const struct hawk_site_graph *graph,
			       struct hawk_site_list *list)
{
	const struct hawk_dot dot = {
		.heap = session->heap,
		.names = session->report.names,
		.graph = graph,
		.chosen = session->report.chosen,
		.top = session->report.top,
	};

	return hawk_export_dot(&dot, list, session->output);
}

static struct hawk_error *print(struct hawk_session *session, const struct hawk_site_graph *graph,
				struct hawk_site_list *list)
{
	struct hawk_error *err;
	struct hawk_json json;

	if (session->settings->dot)
		return draw(session, graph, list);
	if (!session->settings->json)
		return hawk_report_site_graph(&session->report, graph, list, &session->screen);
	hawk_report_json_begin(&session->report, &json, session->output, "hawk-core/sites", 3);
	err = hawk_report_site_graph_json(&session->report, graph, list, &json);
	hawk_report_json_end(&session->report, &json);
	return err;
}

static struct hawk_error *check(struct hawk_settings *settings)
{
	if (settings->dot && settings->json)
		return hawk_error_create(HAWK_ERROR_USAGE, "--dot or --json: not both");
	return hawk_check_query(settings);
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct hawk_site_list list = {0};
	struct hawk_selection selection = {0};
	struct hawk_site_graph graph = {0};
	struct hawk_error *err = fold(session, &selection, &graph);

	if (!err)
		err = hawk_session_report(session);
	err = hawk_session_release(session, err);
	session->report.chosen = selection.sites;
	if (!err)
		err = hawk_session_list_sites(session, &list);
	if (!err)
		err = print(session, &graph, &list);
	hawk_site_list_deinit(&list);
	hawk_selection_deinit(&selection);
	hawk_site_graph_deinit(&graph);
	return err;
}

static const struct hawk_option options[] = {
	{"dot", '\0', HAWK_OPTION_FLAG, HAWK_AT(dot), NULL,
	 "the graph of the largest sites for Graphviz"},
	{0},
};

const struct hawk_verb hawk_verb_sites = {
	.name = "sites",
	.arguments = "[options] CORE | --pid PID",
	.summary = "which sites' blocks hold which, and where",
	.details = "Folds all pointers by site: for each site, from which sites' blocks, and from "
		   "which offset in them, its blocks are held, and how many of them. A program's "
		   "data structures in a few lines, without debug information. With --size, --age "
		   "or --type only pointers to such blocks count.",
	.options = options,
	.shared = HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = check,
	.answer = answer,
};
