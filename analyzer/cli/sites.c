/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core sites: which sites' blocks hold which.
 */
#include "hawk/export/dot.h"
#include "answer.h"

/** Folds all blocks, or those that the settings choose. */
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

static struct hawk_error *check(struct hawk_settings *settings)
{
	if (settings->dot && settings->json)
		return hawk_error_create(HAWK_ERROR_USAGE, "--dot or --json: not both");
	return hawk_check_query(settings);
}

struct sites {
	struct hawk_pointer_report *report;
	struct hawk_site_list list;
	struct hawk_selection selection;
	struct hawk_site_graph graph;
	bool drawn;
};

static void deinit(void *made)
{
	struct sites *sites = made;

	hawk_site_list_deinit(&sites->list);
	hawk_selection_deinit(&sites->selection);
	hawk_site_graph_deinit(&sites->graph);
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	struct sites *sites = ret;
	struct hawk_error *err = fold(session, &sites->selection, &sites->graph);

	if (!err)
		err = hawk_session_report(session);
	err = hawk_session_release(session, err);
	sites->report = &session->report;
	sites->report->chosen = sites->selection.sites;
	sites->drawn = session->settings->dot;
	return err ? err : hawk_session_list_sites(session, &sites->list);
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct sites *sites = made;
	const struct hawk_heap *heap = sites->report->heap;

	if (sites->drawn || !heap->knows)
		return;
	hawk_site_list_choose(&sites->list, heap, sites->report->chosen);
	if (sites->list.count)
		hawk_next_add_site(ret, "merge-paths", heap->sites[sites->list.sites[0]].id,
				   "what keeps the first blocks alive");
}

static struct hawk_error *draw(struct sites *sites, struct hawk_output *output)
{
	const struct hawk_dot dot = {
		.heap = sites->report->heap,
		.names = sites->report->names,
		.graph = &sites->graph,
		.chosen = sites->report->chosen,
		.top = sites->report->top,
	};

	return hawk_export_dot(&dot, &sites->list, output);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct sites *sites = made;

	return sites->drawn
		       ? draw(sites, screen->output)
		       : hawk_report_site_graph(sites->report, &sites->graph, &sites->list, screen);
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct sites *sites = made;
	struct hawk_error *err;
	struct hawk_json json;

	hawk_report_json_begin(sites->report, &json, output, "hawk-core/sites", 3);
	err = hawk_report_site_graph_json(sites->report, &sites->graph, &sites->list, &json);
	hawk_report_json_end(sites->report, &json);
	return err;
}

const struct hawk_answer hawk_answer_sites = {
	.name = "sites",
	.bytes = sizeof(struct sites),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

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
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = check,
	.prints = &hawk_answer_sites,
};
