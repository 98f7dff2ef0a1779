/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core retained: what would be freed with a site, a block, a root.
 */
#include "hawk_block_choice.h"
#include "hawk_cleanup.h"
#include "hawk_pointer_session.h"

enum by { BY_SITE = 1, BY_BLOCK, BY_ROOT, BY_TREE };

static bool is_by_site(const struct hawk_settings *settings)
{
	return settings->by < BY_BLOCK && !settings->folded;
}

/** Of sites only some blocks. */
static bool chooses_of_sites(const struct hawk_settings *settings)
{
	return is_by_site(settings) && hawk_settings_choose_blocks(settings);
}

/** The tree as text. */
static struct hawk_error *put_tree(struct hawk_session *session,
				   const struct hawk_settings *settings,
				   const struct hawk_pointer_report *report,
				   const struct hawk_tree_roots *groups,
				   const struct hawk_site_tree *tree)
{
	const struct hawk_screen *screen = &session->screen;
	const char *by_sites = settings->by == BY_TREE ? ", then by sites" : "";
	struct hawk_chosen chosen = hawk_report_chosen(report);

	if (!report->chosen)
		hawk_screen_heading(screen, "Retained by roots%s", by_sites);
	else
		hawk_screen_heading(screen, "Retained by %s chosen block%s (%s), by roots%s",
				    hawk_quantity_count(chosen.objects).text,
				    chosen.objects == 1 ? "" : "s",
				    hawk_quantity_bytes(chosen.bytes).text, by_sites);
	if (report->chosen && !chosen.objects) {
		hawk_report_put_none(report, screen);
		return NULL;
	}
	return (settings->by == BY_TREE ? hawk_report_tree
					: hawk_report_retained_roots)(report, groups, tree, screen);
}

/** Made from the dominator tree, for BY_ROOT and BY_TREE, of `blocks` (NULL = all). */
static struct hawk_error *print_tree(struct hawk_session *session,
				     const struct hawk_settings *settings,
				     const struct hawk_pointer_report *report,
				     const uint64_t *blocks, struct hawk_json *json)
{
	struct hawk_tree_roots groups = {0};
	struct hawk_site_tree tree = {0};
	struct hawk_error *err = hawk_tree_roots_make(report, &groups);

	if (!err && settings->folded && !json) {
		err = hawk_site_tree_retained(&session->graph, groups.groups, blocks, &tree);
	} else if (!err) {
		hawk_session_save_retained(session,
					   hawk_block_graph_start_takes_retained(&session->graph));
		err = hawk_site_tree_retained_both(&session->graph, groups.groups, blocks, &tree);
		hawk_session_end_progress(session);
	}
	if (!err && json) {
		hawk_report_json_chosen(report, json);
		err = hawk_report_tree_json(report, &groups, &tree, json);
	} else if (!err && !tree.start) {
		err = hawk_report_tree_folded(report, &groups, &tree, session->output);
	} else if (!err) {
		err = put_tree(session, settings, report, &groups, &tree);
	}
	hawk_site_tree_deinit(&tree);
	hawk_tree_roots_deinit(&groups);
	return err;
}

/** The blocks that the filter lets pass. A process may run on then. */
static struct hawk_error *choose(struct hawk_session *session,
				 const struct hawk_pointer_report *report,
				 struct hawk_block_choice *ret)
{
	struct hawk_choice_wish wish = hawk_block_filter_choice(report->filter);
	struct hawk_error *err = hawk_block_choice_make(&session->graph, &wish, ret);

	hawk_target_release(session->target);
	return err;
}

static struct hawk_error *print_trees(struct hawk_session *session,
				      const struct hawk_settings *settings,
				      const struct hawk_pointer_report *report,
				      struct hawk_json *json)
{
	struct hawk_pointer_report chosen = *report;
	struct hawk_block_choice choice = {0};
	struct hawk_error *err = report->filter ? choose(session, report, &choice) : NULL;

	chosen.chosen = choice.sites;
	if (!err)
		err = print_tree(session, settings, &chosen, choice.blocks, json);
	hawk_block_choice_deinit(&choice);
	return err;
}

static struct hawk_error *print_list(struct hawk_session *session,
				     const struct hawk_settings *settings,
				     const struct hawk_pointer_report *report,
				     struct hawk_json *json)
{
	struct hawk_site_list list;
	struct hawk_error *err = hawk_pointer_session_sites(session, settings, &list);

	if (!err)
		err = json ? hawk_report_retained_sites_json(report, &list, json)
			   : hawk_report_retained_sites(report, &list, &session->screen);
	hawk_site_list_deinit(&list);
	return err;
}

/** By the blocks that the filter lets pass. */
static struct hawk_error *print_chosen(struct hawk_session *session,
				       const struct hawk_settings *settings,
				       const struct hawk_pointer_report *report,
				       struct hawk_json *json)
{
	struct hawk_pointer_report chosen = *report;
	CLEANUP(free_ptr) struct hawk_site_retained *retained = NULL;
	struct hawk_block_choice choice;
	struct hawk_error *err = choose(session, report, &choice);

	if (err)
		return err;
	hawk_session_save_retained(session,
				   hawk_block_graph_chosen_takes_retained(&session->graph));
	err = hawk_block_graph_retained_chosen(&session->graph, choice.blocks, &retained);
	hawk_session_end_progress(session);
	chosen.chosen = choice.sites;
	chosen.retained = retained;
	if (!err)
		err = print_list(session, settings, &chosen, json);
	hawk_block_choice_deinit(&choice);
	return err;
}

static struct hawk_error *print_sites(struct hawk_session *session,
				      const struct hawk_settings *settings,
				      const struct hawk_pointer_report *report,
				      struct hawk_json *json)
{
	bool chosen = chooses_of_sites(settings) && report->filter;

	return (chosen ? print_chosen : print_list)(session, settings, report, json);
}

/** Which blocks is a matter of all pointers; those to starts come then, in the same memory. */
static struct hawk_error *print_blocks(struct hawk_session *session,
				       const struct hawk_pointer_report *report,
				       struct hawk_json *json)
{
	struct hawk_dominators start = {0};
	struct hawk_retained_blocks blocks;
	struct hawk_error *err =
		hawk_retained_blocks_choose(report, json || session->screen.full, &blocks);

	if (!err) {
		hawk_session_save_retained(session,
					   hawk_block_graph_start_takes_retained(&session->graph));
		err = hawk_block_graph_start_dominators(&session->graph, &start);
		hawk_session_end_progress(session);
	}
	if (!err)
		err = json ? hawk_report_retained_blocks_json(report, &blocks, &start, json)
			   : hawk_report_retained_blocks(report, &blocks, &start, &session->screen);
	hawk_block_graph_drop_start_dominators(&session->graph, &start);
	hawk_retained_blocks_deinit(&blocks);
	return err;
}

static struct hawk_error *print_one(struct hawk_session *session,
				    const struct hawk_settings *settings,
				    const struct hawk_pointer_report *report,
				    struct hawk_json *json)
{
	if (settings->by >= BY_ROOT || settings->folded)
		return print_trees(session, settings, report, json);
	if (settings->by != BY_BLOCK)
		return print_sites(session, settings, report, json);
	return print_blocks(session, report, json);
}

static struct hawk_error *print(struct hawk_session *session, const struct hawk_settings *settings,
				const struct hawk_pointer_report *report)
{
	struct hawk_error *err;
	struct hawk_json json;

	if (!settings->json && !settings->folded && !session->heap.table) {
		hawk_report_put_unknown(session->target, &session->screen, "Retained",
					"see what retains what");
		return NULL;
	}
	if (!settings->json)
		return print_one(session, settings, report, NULL);
	hawk_report_json_begin(report, &json, session->output, "hawk-core/retained", 2);
	err = print_one(session, settings, report, &json);
	hawk_report_json_end(report, &json);
	return err;
}

/** What the answer is made from. Only types, and blocks that are shown, are read later. */
static unsigned parts_of(const struct hawk_settings *settings)
{
	unsigned contents = settings->type ? (unsigned)HAWK_PART_CONTENTS : 0;

	if (chooses_of_sites(settings))
		return HAWK_PART_REACH | contents;
	if (is_by_site(settings))
		return HAWK_PART_RETAINED_BY_SITE | contents;
	if (settings->by == BY_BLOCK && !settings->folded)
		contents = HAWK_PART_CONTENTS;
	return HAWK_PART_RETAINED | contents;
}

static struct hawk_error *answer(struct hawk_session *session, const struct hawk_settings *settings,
				 int count, char **operands, int *code)
{
	struct hawk_pointer_report report;
	struct hawk_error *err =
		hawk_pointer_session_open(session, settings, parts_of(settings), &report);

	(void)count;
	(void)operands;
	(void)code;
	if (!err)
		err = print(session, settings, &report);
	hawk_pointer_session_deinit(&report);
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
	.details = "Shows shallow and retained sizes from the dominator tree: what can be reached "
		   "only through these blocks. A conservative scan cannot be sure, so it is said "
		   "twice: with all pointers, and with those to the start of a block only.",
	.options = {options, hawk_pointer_options, hawk_wish_options, hawk_target_options,
		    hawk_color_options, hawk_common_options},
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_wish,
	.answer = answer,
};
