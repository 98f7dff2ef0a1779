/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core sites: which sites' blocks hold which.
 */
#include "hawk_pointer_session.h"

static struct hawk_error *print(struct hawk_session *session, const struct hawk_settings *settings,
				const struct hawk_pointer_report *report,
				struct hawk_site_list *list)
{
	const struct hawk_site_graph *graph = &session->sites;
	struct hawk_error *err;
	struct hawk_json json;

	if (settings->dot)
		return hawk_report_site_graph_dot(report, graph, list, session->output);
	if (!settings->json)
		return hawk_report_site_graph(report, graph, list, &session->screen);
	hawk_report_json_begin(report, &json, session->output, "hawk-core/sites", 3);
	err = hawk_report_site_graph_json(report, graph, list, &json);
	hawk_report_json_end(report, &json);
	return err;
}

static struct hawk_error *answer(struct hawk_session *session, const struct hawk_settings *settings,
				 int count, char **operands, int *code)
{
	struct hawk_pointer_report report = {0};
	struct hawk_site_list list = {0};
	struct hawk_error *err = hawk_session_load_sites(session, settings, HAWK_PART_ROOTS);

	(void)count;
	(void)operands;
	(void)code;
	if (!err)
		err = hawk_pointer_session_open(session, settings,
						HAWK_PART_ROOTS | HAWK_PART_CONTENTS, &report);
	hawk_target_release(session->target);
	if (!err)
		err = hawk_pointer_session_sites(session, settings, &list);
	if (!err)
		err = print(session, settings, &report, &list);
	hawk_site_list_deinit(&list);
	hawk_pointer_session_deinit(&report);
	return err;
}

static const struct hawk_option options[] = {
	{"site", '\0', HAWK_OPTION_HEX, HAWK_AT(site), "HEX", "only this site"},
	{"module", '\0', HAWK_OPTION_STRING, HAWK_AT(module), "REGEX",
	 "only sites with a matching module in their stack"},
	{"function", '\0', HAWK_OPTION_STRING, HAWK_AT(function), "REGEX",
	 "only sites with a matching function in their stack"},
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
		   "data structures in a few lines, without debug information.",
	.options = {options, hawk_pointer_options, hawk_target_options, hawk_color_options,
		    hawk_common_options},
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_wish,
	.answer = answer,
};
