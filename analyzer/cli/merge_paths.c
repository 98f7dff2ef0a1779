/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core merge-paths: the paths that keep a site's blocks alive.
 */
#include "answer.h"
#include "tree.h"

struct merged {
	struct hawk_session *session;
	struct hawk_session_tree tree;
	bool folded;
};

static void deinit(void *made)
{
	struct merged *merged = made;

	hawk_session_tree_deinit(&merged->tree);
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	const struct hawk_settings *settings = session->settings;
	struct hawk_selection selection = {0};
	struct merged *merged = ret;
	struct hawk_tree_view view;
	struct hawk_error *err = hawk_session_reach_report(session, false);

	if (err)
		return err;
	merged->session = session;
	merged->folded = settings->folded;
	view = hawk_report_tree_view(&session->report, settings->json, session->screen.full, false);
	err = hawk_session_choose(session, session->report.filter, &selection);
	if (!err)
		err = hawk_session_tree(session, true, selection.blocks,
					settings->folded ? NULL : &view, &merged->tree);
	hawk_selection_deinit(&selection);
	return err;
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct merged *merged = made;

	if (!merged->folded)
		hawk_next_of_paths(&merged->session->report, &merged->tree.tree, ret);
}

static void print_tree(const struct merged *merged, const struct hawk_screen *screen)
{
	const struct hawk_pointer_report *report = &merged->session->report;
	const struct hawk_session_tree *tree = &merged->tree;
	uint64_t count = tree->tree.nodes[0].cum_objects;

	hawk_screen_heading(screen, "Shortest paths to %s block%s, merged",
			    hawk_quantity_count(count).text, count == 1 ? "" : "s");
	if (count)
		hawk_report_tree(report, &tree->groups, &tree->rows, screen);
	else
		hawk_report_put_none(report, screen);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct merged *merged = made;

	if (merged->folded)
		return hawk_session_tree_put_folded(merged->session, &merged->tree, screen->output);
	if (merged->session->heap->knows)
		print_tree(merged, screen);
	else
		hawk_report_put_unknown(merged->session->heap, screen, "Paths",
					"see why blocks are alive");
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct merged *merged = made;
	const struct hawk_pointer_report *report = &merged->session->report;
	struct hawk_json json;

	if (merged->folded)
		return hawk_session_tree_put_folded(merged->session, &merged->tree, output);
	hawk_report_json_begin(report, &json, output, "hawk-core/merge-paths", 2);
	hawk_report_tree_json(report, &merged->tree.groups, &merged->tree.rows, &json);
	hawk_report_json_end(report, &json);
	return NULL;
}

static const struct hawk_answer prints = {
	.name = "merge-paths",
	.bytes = sizeof(struct merged),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

const struct hawk_verb hawk_verb_merge_paths = {
	.name = "merge-paths",
	.arguments = "[options] CORE [SITE] | --pid PID [SITE]",
	.summary = "why a site's blocks are alive: their paths, merged",
	.details = "Follows the shortest path from a root to every block of SITE (or to those that "
		   "the filters choose) and merges the paths by the sites on the way. Blocks that "
		   "no root leads to are under \"lost\".",
	.shared = HAWK_TAKES_FOLDED | HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET |
		  HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file (or --pid) and a site",
	.live = true,
	.operands_max = 1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_site,
	.prints = &prints,
};
