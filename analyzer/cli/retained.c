/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core retained: the bytes that would be freed with a site, a block, a root.
 */
#include <stdlib.h>

#include "hawk/analysis/selection.h"
#include "answer.h"
#include "hawk/analysis/site_freed.h"
#include "tree.h"

enum by { BY_SITE = 1, BY_BLOCK, BY_ROOT, BY_TREE };

/** Sites with exact sizes, and blocks shown, without --top. */
enum { EXACT_SITES = 10, BLOCKS_TOP = 10 };

struct retained {
	struct hawk_session *session;
	struct hawk_pointer_report *report;
	enum by by;
	bool folded;
	bool unknown; /**< the heap is unknown, and the rest empty */
	struct hawk_selection selection;
	uint64_t *bounds; /**< for BY_SITE, like the next two */
	struct hawk_site_list list;
	struct hawk_retained_sites sites;
	struct hawk_retained_blocks blocks; /**< BY_BLOCK */
	struct hawk_session_tree tree;      /**< BY_ROOT and BY_TREE */
};

static void deinit(void *made)
{
	struct retained *retained = made;

	hawk_session_tree_deinit(&retained->tree);
	hawk_retained_blocks_deinit(&retained->blocks);
	hawk_retained_sites_deinit(&retained->sites);
	hawk_site_list_deinit(&retained->list);
	free(retained->bounds);
	hawk_selection_deinit(&retained->selection);
}

/** Chooses the blocks that the filter lets pass. A process may run on afterwards. */
static struct hawk_error *choose(struct hawk_session *session, struct hawk_selection *ret)
{
	struct hawk_error *err = hawk_session_choose(session, session->report.filter, ret);

	err = hawk_session_release(session, err);
	if (err)
		hawk_selection_deinit(ret);
	return err;
}

static struct hawk_error *make_tree(struct hawk_session *session, struct retained *ret)
{
	const struct hawk_settings *settings = session->settings;
	const struct hawk_tree_view view = hawk_report_tree_view(
		ret->report, settings->json, session->screen.full, ret->by == BY_ROOT);
	struct hawk_error *err = NULL;

	if (ret->report->filter)
		err = choose(session, &ret->selection);
	ret->report->chosen = ret->selection.sites;
	return err ? err
		   : hawk_session_tree(session, false, ret->selection.blocks,
				       ret->folded && !settings->json ? NULL : &view, &ret->tree);
}

/** Makes the values for BY_SITE, of all blocks or those that the filter lets pass. */
static struct hawk_error *make_sites(struct hawk_session *session, struct retained *ret)
{
	struct hawk_error *err = NULL;

	if (hawk_settings_choose_blocks(session->settings) && ret->report->filter)
		err = choose(session, &ret->selection);
	if (!err)
		err = hawk_session_list_sites(session, &ret->list);
	if (!err)
		err = hawk_session_retained(session, ret->selection.blocks, &ret->bounds);
	return err ? err
		   : hawk_retained_sites_make(
			     session->graph, &ret->selection, &ret->list, ret->bounds,
			     ret->report->top ? ret->report->top : EXACT_SITES, &ret->sites);
}

static struct hawk_error *make_blocks(struct hawk_session *session, struct retained *ret)
{
	const struct hawk_heap *heap = session->heap;
	size_t most = hawk_report_limit(ret->report, BLOCKS_TOP, heap->index.count,
					session->settings->json || session->screen.full);
	struct hawk_error *err = hawk_session_dominators(session);

	if (!err)
		err = hawk_session_choose(session, ret->report->filter, &ret->selection);
	if (!err)
		err = hawk_retained_blocks_choose(heap, session->dominators, &ret->selection, most,
						  &ret->blocks);
	return err;
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	const struct hawk_settings *settings = session->settings;
	bool reads = settings->by == BY_BLOCK && !settings->folded; // for the blocks shown
	struct hawk_error *err = hawk_session_reach_report(session, reads);
	struct retained *retained = ret;

	if (err)
		return err;
	retained->session = session;
	retained->report = &session->report;
	retained->folded = settings->folded;
	retained->by = settings->folded && settings->by < BY_ROOT ? BY_TREE
		       : settings->by                             ? (enum by)settings->by
								  : BY_SITE;
	retained->unknown = !settings->json && !settings->folded && !session->heap->knows;
	if (retained->unknown)
		return NULL;
	return retained->by == BY_SITE    ? make_sites(session, retained)
	       : retained->by == BY_BLOCK ? make_blocks(session, retained)
					  : make_tree(session, retained);
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct retained *retained = made;
	const struct hawk_heap *heap = retained->report->heap;
	const struct hawk_retained_block *blocks = retained->blocks.shown.items;

	if (retained->folded)
		return;
	if (retained->sites.count)
		hawk_next_add_site(ret, "path", heap->sites[retained->sites.items[0].site].id,
				   "why the largest holder's blocks are alive");
	else if (retained->blocks.shown.count)
		hawk_next_add_address(ret, "path", hawk_block_start(&heap->index, blocks[0].block),
				      "why the largest holder is alive");
	else
		hawk_next_of_holders(retained->report, &retained->tree.tree, ret);
}

static void print_tree(struct retained *retained, const struct hawk_screen *screen)
{
	const struct hawk_pointer_report *report = retained->report;
	const struct hawk_session_tree *tree = &retained->tree;
	const char *by_sites = retained->by == BY_TREE ? ", then by sites" : "";
	struct hawk_chosen chosen = hawk_chosen_sum(report->heap, report->chosen);

	if (!report->chosen)
		hawk_screen_heading(screen, "Retained by roots%s", by_sites);
	else
		hawk_screen_heading(screen, "Retained by %s chosen block%s (%s), by roots%s",
				    hawk_quantity_count(chosen.objects).text,
				    chosen.objects == 1 ? "" : "s",
				    hawk_quantity_bytes(chosen.bytes).text, by_sites);
	if (report->chosen && !chosen.objects)
		hawk_report_put_none(report, screen);
	else if (retained->by == BY_TREE)
		hawk_report_tree(report, &tree->groups, &tree->rows, screen);
	else
		hawk_report_retained_roots(report, &tree->groups, &tree->rows, screen);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct retained *retained = made;

	if (retained->folded)
		return hawk_session_tree_put_folded(retained->session, &retained->tree,
						    screen->output);
	if (retained->unknown)
		hawk_report_put_unknown(retained->report->heap, screen, "Retained",
					"see what retains what");
	else if (retained->by == BY_SITE)
		hawk_report_retained_sites(retained->report, &retained->sites, screen);
	else if (retained->by == BY_BLOCK)
		hawk_report_retained_blocks(retained->report, &retained->blocks, screen);
	else
		print_tree(retained, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct retained *retained = made;
	const struct hawk_pointer_report *report = retained->report;
	struct hawk_json json;

	hawk_report_json_begin(report, &json, output, "hawk-core/retained", 2);
	if (retained->by == BY_SITE) {
		hawk_report_retained_sites_json(report, &retained->sites, &json);
	} else if (retained->by == BY_BLOCK) {
		hawk_report_retained_blocks_json(report, &retained->blocks, &json);
	} else {
		hawk_report_json_chosen(report, &json);
		hawk_report_tree_json(report, &retained->tree.groups, &retained->tree.rows, &json);
	}
	hawk_report_json_end(report, &json);
	return NULL;
}

const struct hawk_answer hawk_answer_retained = {
	.name = "retained",
	.bytes = sizeof(struct retained),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static const struct hawk_option options[] = {
	{"by", 'b', HAWK_OPTION_CHOICE, HAWK_AT(by), "site|block|root|tree",
	 "the holders: sites (the default), single blocks, roots, or roots and then sites"},
	{0},
};

const struct hawk_verb hawk_verb_retained = {
	.name = "retained",
	.arguments = "[options] CORE | --pid PID",
	.summary = "what would be freed with a site, a block, a root",
	.details =
		"Shows shallow and retained sizes: what can be reached only through these blocks. "
		"Sizes of the first 10 sites (or --top) are exact; others are lower bounds (>=).",
	.options = options,
	.shared = HAWK_TAKES_FOLDED | HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET |
		  HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_query,
	.prints = &hawk_answer_retained,
};
