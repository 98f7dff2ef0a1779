/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core merge-paths: the paths that keep a site's blocks alive.
 */
#include "hawk/base/cleanup.h"
#include "profile.h"
#include "hawk/analysis/site_tree.h"

static void print_text(struct hawk_session *session, const struct hawk_tree_roots *groups,
		       const struct hawk_tree_rows *rows)
{
	uint64_t count = rows->tree->nodes[0].cum_objects;

	hawk_screen_heading(&session->screen, "Shortest paths to %s block%s, merged",
			    hawk_quantity_count(count).text, count == 1 ? "" : "s");
	if (count)
		hawk_report_tree(&session->report, groups, rows, &session->screen);
	else
		hawk_report_put_none(&session->report, &session->screen);
}

static struct hawk_error *print(struct hawk_session *session, const struct hawk_tree_roots *groups,
				const struct hawk_site_tree *tree)
{
	const struct hawk_pointer_report *report = &session->report;
	bool in_json = session->settings->json;
	struct hawk_tree_view view =
		hawk_report_tree_view(report, in_json ? NULL : &session->screen, false);
	struct hawk_tree_rows rows;
	struct hawk_error *err;
	struct hawk_json json;

	if (session->settings->folded)
		return hawk_session_put_folded(session, groups, tree);
	if (!in_json && !session->heap->knows) {
		hawk_report_put_unknown(session->heap, &session->screen, "Paths",
					"see why blocks are alive");
		return NULL;
	}
	err = hawk_site_tree_show(tree, &view, &rows);
	if (!err && in_json) {
		hawk_report_json_begin(report, &json, session->output, "hawk-core/merge-paths", 2);
		hawk_report_tree_json(report, groups, &rows, &json);
		hawk_report_json_end(report, &json);
	} else if (!err) {
		print_text(session, groups, &rows);
	}
	hawk_tree_rows_deinit(&rows);
	return err;
}

static struct hawk_error *make(struct hawk_session *session, const struct hawk_tree_roots *groups,
			       struct hawk_site_tree *ret)
{
	struct hawk_selection selection = {0};
	struct hawk_error *err = hawk_session_choose(session, session->report.filter, &selection);

	if (!err)
		err = hawk_session_paths(session);
	if (!err)
		err = hawk_site_tree_paths(session->graph, session->paths, groups->groups,
					   selection.blocks, ret);
	hawk_selection_deinit(&selection);
	return err;
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct hawk_tree_roots groups = {0};
	struct hawk_site_tree tree = {0};
	struct hawk_error *err = hawk_session_reach_report(session, false);

	if (!err)
		err = hawk_tree_roots_make(session->report.roots, &groups);
	if (!err)
		err = make(session, &groups, &tree);
	if (!err)
		err = print(session, &groups, &tree);
	hawk_site_tree_deinit(&tree);
	hawk_tree_roots_deinit(&groups);
	return err;
}

const struct hawk_verb hawk_verb_merge_paths = {
	.name = "merge-paths",
	.arguments = "[options] CORE [SITE] | --pid PID [SITE]",
	.summary = "why a site's blocks are alive: their paths, merged",
	.details = "Follows the shortest path from a root to every block of SITE (or to those that "
		   "the filters choose) and merges the paths by the sites on the way. Blocks that "
		   "no root leads to are under \"lost\".",
	.shared = HAWK_TAKES_FOLDED | HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET |
		  HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file (or --pid) and a site",
	.live = true,
	.operands_max = 1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_site,
	.answer = answer,
};
