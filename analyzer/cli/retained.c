/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core retained: what would be freed with a site, a block, a root.
 */
#include <stdlib.h>

#include "hawk/analysis/selection.h"
#include "hawk/base/cleanup.h"
#include "session.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/analysis/site_tree.h"

enum by { BY_SITE = 1, BY_BLOCK, BY_ROOT, BY_TREE };

/** How many sites get exact sizes: without --top, and at most. */
enum { EXACT_SITES = 10, EXACT_MAX = 100 };

/** How many blocks are shown without --top. */
enum { BLOCKS_TOP = 10 };

/** The tree as text. */
static void put_tree(struct hawk_session *session, const struct hawk_tree_roots *groups,
		     const struct hawk_tree_rows *rows)
{
	const struct hawk_screen *screen = &session->screen;
	const char *by_sites = session->settings->by == BY_TREE ? ", then by sites" : "";
	struct hawk_chosen chosen = hawk_chosen_sum(&session->heap, session->report.chosen);

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
			err = hawk_site_tree_add_retained(&session->graph, &session->dominators,
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

	if (!json && session->settings->folded) {
		hawk_report_tree_folded(&session->report, groups, tree, session->output);
		return NULL;
	}
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

/** Replaces the lower bounds of the first sites of `list` in `retained` by exact sizes, which count
 * the chosen `blocks` (NULL = all). `*exact` has a bit for each such site; caller frees. */
static struct hawk_error *find_exact(struct hawk_session *session, size_t top,
				     const uint64_t *blocks, const struct hawk_site_list *list,
				     struct hawk_site_retained *retained, uint64_t **exact)
{
	size_t most = !top ? EXACT_SITES : top < EXACT_MAX ? top : EXACT_MAX;
	size_t count = list->count < most ? list->count : most;
	struct hawk_site_retained freed[EXACT_MAX];
	struct hawk_error *err;

	*exact = calloc(session->heap.site_count / 64 + 1, sizeof(**exact));
	if (!*exact)
		return &hawk_enomem;
	err = hawk_site_freed(&session->graph, &session->reach, blocks, list->sites, count, freed);
	for (size_t i = 0; !err && i < count; i++) {
		uint32_t site = list->sites[i];

		retained[site] = freed[i];
		(*exact)[site / 64] |= UINT64_C(1) << site % 64;
	}
	return err;
}

/** Of all blocks, or of those that the filter lets pass. */
static struct hawk_error *print_sites(struct hawk_session *session, struct hawk_json *json)
{
	struct hawk_pointer_report *report = &session->report;
	CLEANUP(free_ptr) struct hawk_site_retained *retained = NULL;
	CLEANUP(free_ptr) uint64_t *exact = NULL;
	struct hawk_selection selection = {0};
	struct hawk_site_list list = {0};
	struct hawk_error *err = NULL;

	if (hawk_settings_choose_blocks(session->settings) && report->filter)
		err = choose(session, &selection);
	report->chosen = selection.sites;
	if (!err)
		err = hawk_session_list_sites(session, &list);
	if (!err)
		err = hawk_session_retained(session, selection.blocks, true, &retained);
	report->retained = retained;
	if (!err) {
		hawk_retained_sort(report->heap, report->chosen, retained, &list);
		err = find_exact(session, report->top, selection.blocks, &list, retained, &exact);
	}
	report->exact = exact;
	if (!err) {
		hawk_retained_sort(report->heap, report->chosen, retained, &list);
		if (json)
			hawk_report_retained_sites_json(report, &list, json);
		else
			hawk_report_retained_sites(report, &list, &session->screen);
	}
	hawk_site_list_deinit(&list);
	hawk_selection_deinit(&selection);
	return err;
}

/** Which blocks is a matter of all pointers; those to starts come then. */
static struct hawk_error *print_blocks(struct hawk_session *session, struct hawk_json *json)
{
	const struct hawk_dominators *dominators = &session->dominators;
	size_t most = hawk_report_limit(&session->report, BLOCKS_TOP,
					hawk_block_index_block_count(&session->heap.index),
					json || session->screen.full);
	struct hawk_retained_blocks blocks = {0};
	struct hawk_error *err = hawk_session_dominators(session, HAWK_EDGES_ALL);

	if (!err)
		err = hawk_retained_blocks_choose(&session->heap, dominators,
						  session->report.filter, most, &blocks);
	if (!err)
		err = hawk_session_dominators(session, HAWK_EDGES_START_ONLY);
	if (!err && json)
		hawk_report_retained_blocks_json(&session->report, &blocks, dominators, json);
	else if (!err)
		hawk_report_retained_blocks(&session->report, &blocks, dominators,
					    &session->screen);
	hawk_retained_blocks_deinit(&blocks);
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
	} else if (settings->folded || session->heap.knows) {
		err = print(session, NULL);
	} else {
		hawk_report_put_unknown(session->target, &session->screen, "Retained",
					"see what retains what");
	}
	return err;
}

static const struct hawk_option options[] = {
	{"by", 'b', HAWK_OPTION_CHOICE, HAWK_AT(by), "site|block|root|tree",
	 "what retains: sites (the default), single blocks, roots, or roots and then sites"},
	{"folded", '\0', HAWK_OPTION_FLAG, HAWK_AT(folded), NULL,
	 "the tree as folded stacks for flame graphs: \"root;site;site bytes\""},
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
	.options = {options, hawk_pointer_options, hawk_query_options, hawk_target_options,
		    hawk_output_options, hawk_color_options, hawk_common_options},
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_query,
	.answer = answer,
};
