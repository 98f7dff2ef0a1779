/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core retained: what would be freed with a site, a block, a root.
 */
#include <stdlib.h>

#include "hawk/analysis/selection.h"
#include "hawk/base/cleanup.h"
#include "profile.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/analysis/site_tree.h"

enum by { BY_SITE = 1, BY_BLOCK, BY_ROOT, BY_TREE };

/** Sites that get exact sizes, and blocks that are shown, without --top. */
enum { EXACT_SITES = 10, BLOCKS_TOP = 10 };

/** The tree as text. */
static void put_tree(struct hawk_session *session, const struct hawk_tree_roots *groups,
		     const struct hawk_tree_rows *rows)
{
	const struct hawk_screen *screen = &session->screen;
	const char *by_sites = session->settings->by == BY_TREE ? ", then by sites" : "";
	struct hawk_chosen chosen = hawk_chosen_sum(session->heap, session->report.chosen);

	if (!session->report.chosen)
		hawk_screen_heading(screen, "Retained by roots%s", by_sites);
	else
		hawk_screen_heading(screen, "Retained by %s chosen block%s (%s), by roots%s",
				    hawk_quantity_count(chosen.objects).text,
				    chosen.objects == 1 ? "" : "s",
				    hawk_quantity_bytes(chosen.bytes).text, by_sites);
	if (session->report.chosen && !chosen.objects)
		hawk_report_put_none(&session->report, screen);
	else if (session->settings->by == BY_TREE)
		hawk_report_tree(&session->report, groups, rows, screen);
	else
		hawk_report_retained_roots(&session->report, groups, rows, screen);
}

/** The blocks that the filter lets pass. A process may run on then. */
static struct hawk_error *choose(struct hawk_session *session, struct hawk_selection *ret)
{
	struct hawk_error *err = hawk_session_choose(session, session->report.filter, ret);

	err = hawk_session_release(session, err);
	if (err)
		hawk_selection_deinit(ret);
	return err;
}

/** By all pointers, and with `both` by start pointers, too. */
static struct hawk_error *make_tree(struct hawk_session *session,
				    const struct hawk_tree_roots *groups, const uint64_t *blocks,
				    struct hawk_site_tree *tree)
{
	const enum hawk_edges ways[] = {HAWK_EDGES_ALL, HAWK_EDGES_START_ONLY};
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < (tree->both ? 2 : 1) && !err; i++) {
		err = hawk_session_dominators(session, ways[i]);
		if (!err)
			err = hawk_site_tree_add_retained(session->graph, session->dominators,
							  groups->groups, blocks, tree);
	}
	return err ? err : hawk_site_tree_finish(tree);
}

static struct hawk_error *print_tree(struct hawk_session *session,
				     const struct hawk_tree_roots *groups,
				     const struct hawk_site_tree *tree, struct hawk_json *json)
{
	struct hawk_tree_view view =
		hawk_report_tree_view(&session->report, json ? NULL : &session->screen,
				      !json && session->settings->by == BY_ROOT);
	struct hawk_tree_rows rows;
	struct hawk_error *err;

	if (!json && session->settings->folded)
		return hawk_session_put_folded(session, groups, tree);
	err = hawk_site_tree_show(tree, &view, &rows);
	if (!err && json) {
		hawk_report_json_chosen(&session->report, json);
		hawk_report_tree_json(&session->report, groups, &rows, json);
	} else if (!err) {
		put_tree(session, groups, &rows);
	}
	hawk_tree_rows_deinit(&rows);
	return err;
}

/** For BY_ROOT and BY_TREE. */
static struct hawk_error *print_trees(struct hawk_session *session, struct hawk_json *json)
{
	struct hawk_selection selection = {0};
	struct hawk_tree_roots groups = {0};
	struct hawk_site_tree tree = {.both = json || !session->settings->folded};
	struct hawk_error *err = hawk_tree_roots_make(session->report.roots, &groups);

	if (!err && session->report.filter)
		err = choose(session, &selection);
	session->report.chosen = selection.sites;
	if (!err)
		err = make_tree(session, &groups, selection.blocks, &tree);
	if (!err)
		err = print_tree(session, &groups, &tree, json);
	hawk_site_tree_deinit(&tree);
	hawk_tree_roots_deinit(&groups);
	hawk_selection_deinit(&selection);
	return err;
}

/** Of all blocks, or of those that the filter lets pass. */
static struct hawk_error *print_sites(struct hawk_session *session, struct hawk_json *json)
{
	struct hawk_pointer_report *report = &session->report;
	CLEANUP(free_ptr) struct hawk_site_retained *bounds = NULL;
	struct hawk_selection selection = {0};
	struct hawk_retained_sites sites = {0};
	struct hawk_site_list list = {0};
	struct hawk_error *err = NULL;

	if (hawk_settings_choose_blocks(session->settings) && report->filter)
		err = choose(session, &selection);
	if (!err)
		err = hawk_session_list_sites(session, &list);
	if (!err)
		err = hawk_session_retained(session, selection.blocks, true, &bounds);
	if (!err)
		err = hawk_retained_sites_make(session->graph, session->reach, &selection, &list,
					       bounds, report->top ? report->top : EXACT_SITES,
					       &sites);
	if (!err && json)
		hawk_report_retained_sites_json(report, &sites, json);
	else if (!err)
		hawk_report_retained_sites(report, &sites, &session->screen);
	hawk_retained_sites_deinit(&sites);
	hawk_site_list_deinit(&list);
	hawk_selection_deinit(&selection);
	return err;
}

/** Which blocks is a matter of all pointers; those to starts come then. */
static struct hawk_error *print_blocks(struct hawk_session *session, struct hawk_json *json)
{
	const struct hawk_heap *heap = session->heap;
	size_t most = hawk_report_limit(&session->report, BLOCKS_TOP, heap->index.count,
					json || session->screen.full);
	struct hawk_retained_blocks blocks = {0};
	struct hawk_selection selection = {0};
	struct hawk_error *err = hawk_session_dominators(session, HAWK_EDGES_ALL);

	if (!err)
		err = hawk_session_choose(session, session->report.filter, &selection);
	if (!err)
		err = hawk_retained_blocks_choose(heap, session->dominators, &selection, most,
						  &blocks);
	if (!err)
		err = hawk_session_dominators(session, HAWK_EDGES_START_ONLY);
	if (!err) {
		hawk_retained_blocks_add_start(session->dominators, &blocks);
		if (json)
			hawk_report_retained_blocks_json(&session->report, &blocks, json);
		else
			hawk_report_retained_blocks(&session->report, &blocks, &session->screen);
	}
	hawk_retained_blocks_deinit(&blocks);
	hawk_selection_deinit(&selection);
	return err;
}

static struct hawk_error *print(struct hawk_session *session, struct hawk_json *json)
{
	if (session->settings->by >= BY_ROOT || session->settings->folded)
		return print_trees(session, json);
	if (session->settings->by != BY_BLOCK)
		return print_sites(session, json);
	return print_blocks(session, json);
}

static struct hawk_error *answer(struct hawk_session *session)
{
	const struct hawk_settings *settings = session->settings;
	bool reads = settings->by == BY_BLOCK && !settings->folded; // blocks that are shown
	struct hawk_error *err = hawk_session_reach_report(session, reads);
	struct hawk_json json;

	if (err)
		return err;
	if (settings->json) {
		hawk_report_json_begin(&session->report, &json, session->output,
				       "hawk-core/retained", 2);
		err = print(session, &json);
		hawk_report_json_end(&session->report, &json);
	} else if (settings->folded || session->heap->knows) {
		err = print(session, NULL);
	} else {
		hawk_report_put_unknown(session->heap, &session->screen, "Retained",
					"see what retains what");
	}
	return err;
}

static const struct hawk_option options[] = {
	{"by", 'b', HAWK_OPTION_CHOICE, HAWK_AT(by), "site|block|root|tree",
	 "what retains: sites (the default), single blocks, roots, or roots and then sites"},
	{0},
};

const struct hawk_verb hawk_verb_retained = {
	.name = "retained",
	.arguments = "[options] CORE | --pid PID",
	.summary = "what would be freed with a site, a block, a root",
	.details =
		"Shows shallow and retained sizes: what can be reached only through these blocks. "
		"A conservative scan cannot be sure, so each size is given twice: by all "
		"pointers, and only by pointers to the start of a block. Sizes of the first 10 "
		"sites (or --top) are exact; others are lower bounds (>=).",
	.options = options,
	.shared = HAWK_TAKES_FOLDED | HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET |
		  HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_query,
	.answer = answer,
};
