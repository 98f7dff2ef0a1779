/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core retained: what would be freed with a site, a block, a root.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk_block_choice.h"
#include "hawk_cleanup.h"
#include "hawk_pointer_session.h"
#include "hawk_site_ages.h"
#include "hawk_site_freed.h"
#include "hawk_site_tree.h"

enum by { BY_SITE = 1, BY_BLOCK, BY_ROOT, BY_TREE };

/** How many sites get exact sizes: without --top, and at most. */
enum { EXACT_SITES = 10, EXACT_MAX = 100 };

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

/** The blocks that the filter lets pass. A process may run on then. */
static struct hawk_error *choose(struct hawk_session *session,
				 const struct hawk_pointer_report *report,
				 struct hawk_block_choice *ret)
{
	struct hawk_choice_wish wish = hawk_block_filter_choice(report->filter);
	struct hawk_error *err = hawk_block_choice_make(&session->graph, &wish, ret);

	err = hawk_session_release(session, err);
	if (err)
		hawk_block_choice_deinit(ret);
	return err;
}

/** What a tree is made of. */
struct tree_wish {
	bool both;       /**< by start pointers, too */
	bool filtered;   /**< not all blocks */
	uint64_t *sites; /**< all of their blocks; NULL = all, or it is about blocks */
	struct hawk_block_choice choice; /**< of blocks, if that has been made */
	struct hawk_tree_roots groups;
	struct hawk_tree_view view; /**< what is shown of it */
};

static enum hawk_tree_fold_sort wish_fold(const struct tree_wish *wish)
{
	return wish->both ? HAWK_FOLD_RETAINED_BOTH : HAWK_FOLD_RETAINED;
}

/** All blocks of the sites, without a look at them. */
static struct hawk_error *count_sites(const struct hawk_block_graph *graph, const uint64_t *sites,
				      struct hawk_chosen **ret)
{
	size_t count = graph->heap->site_count;
	struct hawk_chosen *chosen = calloc(count + 1, sizeof(*chosen));

	if (!chosen)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++)
		if (sites[i / 64] >> i % 64 & 1)
			chosen[i] = (struct hawk_chosen){graph->folds.ages[i].objects,
							 graph->folds.ages[i].bytes};
	*ret = chosen;
	return NULL;
}

/** From what is kept. False: there is nothing that it could be made of. */
static bool make_kept_tree(struct hawk_session *session, struct tree_wish *wish,
			   struct hawk_site_tree *ret, struct hawk_error **err)
{
	const struct hawk_block_graph *graph = &session->graph;

	*err = NULL;
	if (wish->filtered && (!wish->sites || !graph->folds.ages))
		return false;
	if (!hawk_site_tree_of_sites(graph, wish_fold(wish), wish->groups.groups, wish->sites,
				     &wish->view, ret, err))
		return false;
	if (wish->sites)
		*err = count_sites(graph, wish->sites, &wish->choice.sites);
	return true;
}

static struct hawk_error *make_tree(struct hawk_session *session,
				    const struct hawk_settings *settings,
				    const struct hawk_pointer_report *report,
				    struct tree_wish *wish, struct hawk_site_tree *ret)
{
	struct hawk_block_graph *graph = &session->graph;
	struct hawk_error *err;

	if (make_kept_tree(session, wish, ret, &err) || err)
		return err;
	if (wish->filtered)
		err = choose(session, report, &wish->choice);
	if (!err && wish->filtered &&
	    (hawk_site_tree_of_chosen(graph, wish_fold(wish), wish->groups.groups,
				      wish->choice.blocks, &wish->view, ret, &err) ||
	     err))
		return err;
	if (!err)
		err = hawk_session_load_graph(session, settings, HAWK_PART_RETAINED);
	if (err)
		return err;
	if (!wish->both)
		return hawk_site_tree_retained(graph, wish->groups.groups, wish->choice.blocks,
					       ret);
	hawk_session_save_retained(session, hawk_block_graph_start_takes_retained(graph));
	err = hawk_site_tree_retained_both(graph, wish->groups.groups, wish->choice.blocks, ret);
	return err;
}

static struct hawk_error *print_tree(struct hawk_session *session,
				     const struct hawk_settings *settings,
				     const struct hawk_pointer_report *report,
				     const struct tree_wish *wish,
				     const struct hawk_site_tree *tree, struct hawk_json *json)
{
	struct hawk_pointer_report chosen = *report;

	chosen.chosen = wish->choice.sites;
	if (json) {
		hawk_report_json_chosen(&chosen, json);
		return hawk_report_tree_json(&chosen, &wish->groups, tree, json);
	}
	if (!wish->both)
		return hawk_report_tree_folded(&chosen, &wish->groups, tree, session->output);
	return put_tree(session, settings, &chosen, &wish->groups, tree);
}

/** As print_tree() shows it. */
static struct hawk_tree_view view_of(const struct hawk_session *session,
				     const struct hawk_settings *settings,
				     const struct hawk_pointer_report *report,
				     const struct hawk_json *json)
{
	return hawk_report_tree_view(report,
				     json                      ? HAWK_TREE_JSON
				     : settings->folded        ? HAWK_TREE_FOLDED
				     : settings->by == BY_TREE ? HAWK_TREE_TEXT
							       : HAWK_TREE_TEXT_ROOTS,
				     &session->screen);
}

/** For BY_ROOT and BY_TREE. */
static struct hawk_error *print_trees(struct hawk_session *session,
				      const struct hawk_settings *settings,
				      const struct hawk_pointer_report *report,
				      struct hawk_json *json)
{
	struct tree_wish wish = {
		.both = json || !settings->folded,
		.filtered = report->filter,
		.view = view_of(session, settings, report, json),
	};
	struct hawk_site_tree tree = {0};
	struct hawk_error *err = hawk_tree_roots_make(report, &wish.groups);

	if (!err && wish.filtered && !hawk_settings_choose_blocks(settings))
		err = hawk_pointer_session_site_bits(session, settings, &wish.sites);
	if (!err)
		err = make_tree(session, settings, report, &wish, &tree);
	if (!err)
		err = print_tree(session, settings, report, &wish, &tree, json);
	hawk_site_tree_deinit(&tree);
	hawk_tree_roots_deinit(&wish.groups);
	hawk_block_choice_deinit(&wish.choice);
	free(wish.sites);
	return err;
}

/** Retained sizes by site: some exact, the others lower bounds. */
struct amounts {
	struct hawk_site_retained *by_site;
	uint64_t *exact; /**< a bit for each site */
};

static void hawk_cleanup_amounts(struct amounts *amounts)
{
	free(amounts->by_site);
	free(amounts->exact);
}

/** Replaces the lower bounds of the first sites of `list` in `report` by exact sizes, which count
 * the chosen `blocks` (NULL = all). */
static struct hawk_error *find_exact(struct hawk_session *session,
				     const struct hawk_settings *settings, const uint64_t *blocks,
				     const struct hawk_site_list *list,
				     struct hawk_pointer_report *report, struct amounts *amounts)
{
	size_t most = !report->top              ? EXACT_SITES
		      : report->top < EXACT_MAX ? report->top
						: EXACT_MAX;
	size_t count = list->count < most ? list->count : most, sites = session->heap.site_count;
	struct hawk_site_retained freed[EXACT_MAX];
	struct hawk_error *err;

	if (!count)
		return NULL;
	amounts->by_site = calloc(sites + 1, sizeof(*amounts->by_site));
	amounts->exact = calloc(sites / 64 + 1, sizeof(*amounts->exact));
	if (!amounts->by_site || !amounts->exact)
		return &hawk_enomem;
	memcpy(amounts->by_site, report->retained ? report->retained : report->graph->retained,
	       sites * sizeof(*amounts->by_site));
	err = hawk_session_load_graph(session, settings, HAWK_PART_REACH);
	if (!err)
		err = hawk_site_freed(&session->graph, blocks, list->sites, count, freed);
	for (size_t i = 0; !err && i < count; i++) {
		uint32_t site = list->sites[i];

		amounts->by_site[site] = freed[i];
		amounts->exact[site / 64] |= UINT64_C(1) << site % 64;
	}
	report->retained = amounts->by_site;
	report->exact = amounts->exact;
	return err;
}

static struct hawk_error *print_list(struct hawk_session *session,
				     const struct hawk_settings *settings,
				     const struct hawk_pointer_report *report,
				     const uint64_t *blocks, struct hawk_json *json)
{
	CLEANUP(amounts) struct amounts amounts = {0};
	struct hawk_pointer_report exact = *report;
	struct hawk_site_list list;
	struct hawk_error *err = hawk_pointer_session_sites(session, settings, &list);

	if (!err) {
		hawk_report_retained_sort(&exact, &list);
		err = find_exact(session, settings, blocks, &list, &exact, &amounts);
	}
	if (!err) {
		hawk_report_retained_sort(&exact, &list);
		err = json ? hawk_report_retained_sites_json(&exact, &list, json)
			   : hawk_report_retained_sites(&exact, &list, &session->screen);
	}
	hawk_site_list_deinit(&list);
	return err;
}

/** What the blocks retain, by site. */
static struct hawk_error *find_retained(struct hawk_session *session,
					const struct hawk_settings *settings,
					const uint64_t *blocks, struct hawk_site_retained **ret)
{
	struct hawk_error *err = hawk_session_load_graph(session, settings, HAWK_PART_REACH);

	/* Only if they are there: else they would be found twice. */
	if (!err)
		err = hawk_session_take_cached(session, HAWK_PART_RETAINED);
	if (err)
		return err;
	hawk_session_save_retained(session,
				   hawk_block_graph_chosen_takes_retained(&session->graph));
	return hawk_block_graph_retained_chosen(&session->graph, blocks, ret);
}

/** By the blocks that the filter lets pass. */
static struct hawk_error *print_chosen(struct hawk_session *session,
				       const struct hawk_settings *settings,
				       const struct hawk_pointer_report *report,
				       struct hawk_json *json)
{
	struct hawk_pointer_report chosen = *report;
	CLEANUP(free_ptr) struct hawk_site_retained *retained = NULL;
	struct hawk_block_choice choice = {0};
	struct hawk_error *err = choose(session, report, &choice);

	if (err)
		return err;
	if (!hawk_block_graph_retained_in_order(&session->graph, choice.blocks, &retained, &err) &&
	    !err)
		err = find_retained(session, settings, choice.blocks, &retained);
	chosen.chosen = choice.sites;
	chosen.retained = retained;
	if (!err)
		err = print_list(session, settings, &chosen, choice.blocks, json);
	hawk_block_choice_deinit(&choice);
	return err;
}

static struct hawk_error *print_sites(struct hawk_session *session,
				      const struct hawk_settings *settings,
				      const struct hawk_pointer_report *report,
				      struct hawk_json *json)
{
	bool chosen = chooses_of_sites(settings) && report->filter;

	return chosen ? print_chosen(session, settings, report, json)
		      : print_list(session, settings, report, NULL, json);
}

/** Which blocks is a matter of all pointers; those to starts come then, in the same memory, unless
 * they are kept. */
static struct hawk_error *print_blocks(struct hawk_session *session,
				       const struct hawk_pointer_report *report,
				       struct hawk_json *json)
{
	bool is_kept = session->graph.folds.by_start;
	struct hawk_dominators made = {0};
	const struct hawk_dominators *start = is_kept ? NULL : &made;
	struct hawk_retained_blocks blocks;
	struct hawk_error *err =
		hawk_retained_blocks_choose(report, json || session->screen.full, &blocks);

	if (!err && !is_kept) {
		hawk_session_save_retained(session,
					   hawk_block_graph_start_takes_retained(&session->graph));
		err = hawk_block_graph_start_dominators(&session->graph, &made);
	}
	if (!err)
		err = json ? hawk_report_retained_blocks_json(report, &blocks, start, json)
			   : hawk_report_retained_blocks(report, &blocks, start, &session->screen);
	hawk_block_graph_drop_start_dominators(&session->graph, &made);
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
	bool one_way = settings->folded && !settings->json;
	unsigned trees = one_way ? HAWK_PART_RETAINED_TREE : HAWK_PART_RETAINED_TREES;
	unsigned orders = one_way ? HAWK_PART_ORDER : HAWK_PART_ORDER | HAWK_PART_START_ORDER;

	if (chooses_of_sites(settings))
		return HAWK_PART_RETAINED_BY_SITE | orders | contents;
	if (is_by_site(settings))
		return HAWK_PART_RETAINED_BY_SITE | contents;
	if (settings->by == BY_BLOCK && !settings->folded)
		return HAWK_PART_RETAINED | HAWK_PART_START_BLOCKS | HAWK_PART_CONTENTS;
	return hawk_settings_choose_blocks(settings) ? trees | orders | contents : trees;
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
	.details =
		"Shows shallow and retained sizes: what can be reached only through these blocks. "
		"A conservative scan cannot be sure, so it is said twice: with all pointers, "
		"and with those to the start of a block only. Sizes of the first 10 sites (or "
		"--top) are exact, those of others at least so much (>=).",
	.options = {options, hawk_pointer_options, hawk_wish_options, hawk_target_options,
		    hawk_color_options, hawk_common_options},
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_wish,
	.answer = answer,
};
