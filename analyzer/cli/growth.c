/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core growth: which sites leak, cache or queue, or were filled once.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "answer.h"
#include "hawk/report/growth.h"

/** Reports a core whose end is not recorded and which may have idled on. */
static void report_doubt(struct hawk_session *session)
{
	const struct hawk_life *life = &session->heap->life;

	if (life->end == HAWK_LIFE_CLOCK && hawk_life_may_have_idled(life))
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, false, "life-end",
				  "when the process died is not known: it last allocated %.0f s "
				  "after its start, and the core's file is %.0f s younger than "
				  "that",
				  hawk_life_seconds(life->clock_units),
				  hawk_life_seconds(life->latest_units - life->clock_units));
}

struct growth {
	struct hawk_site_ages *ages;
	uint64_t *retained;
	struct hawk_site_list list;
	struct hawk_growth_report report;
};

static void deinit(void *made)
{
	struct growth *growth = made;

	hawk_site_list_deinit(&growth->list);
	free(growth->ages);
	free(growth->retained);
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	const struct hawk_settings *settings = session->settings;
	bool filtered = hawk_settings_choose_blocks(settings);
	struct hawk_selection selection = {0};
	struct growth *growth = ret;
	struct hawk_error *err = hawk_session_reach_report(session, false);

	if (!err && filtered)
		err = hawk_session_choose(session, session->report.filter, &selection);
	if (!err)
		err = hawk_site_ages_make(session->heap, session->reach, selection.blocks,
					  &growth->ages);
	hawk_selection_deinit(&selection);
	err = hawk_session_release(session, err);
	if (err)
		return err;
	report_doubt(session);
	if (!filtered)
		err = hawk_session_retained(session, NULL, &growth->retained);
	if (!err)
		err = hawk_session_list_sites(session, &growth->list);
	if (!err)
		hawk_site_ages_choose(session->graph, growth->ages, filtered,
				      (enum hawk_growth_verdict)settings->by, &growth->list);
	growth->report = (struct hawk_growth_report){
		.pointers = &session->report,
		.list = &growth->list,
		.ages = growth->ages,
		.filtered = filtered,
		.retained = growth->retained,
	};
	return err;
}

static void add_next(void *made, struct hawk_next *ret)
{
	hawk_next_of_growth(&((struct growth *)made)->report, ret);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct growth *growth = made;

	hawk_report_growth(&growth->report, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct growth *growth = made;
	struct hawk_json json;

	hawk_report_json_begin(growth->report.pointers, &json, output, "hawk-core/growth", 2);
	hawk_report_growth_json(&growth->report, &json);
	hawk_report_json_end(growth->report.pointers, &json);
	return NULL;
}

const struct hawk_answer hawk_answer_growth = {
	.name = "growth",
	.bytes = sizeof(struct growth),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static const struct hawk_option options[] = {
	{"verdict", '\0', HAWK_OPTION_CHOICE, HAWK_AT(by),
	 "leak|cache|start-up|burst|steady|grows|saturating", "only sites with this verdict"},
	{0},
};

const struct hawk_verb hawk_verb_growth = {
	.name = "growth",
	.arguments = "[options] CORE | --pid PID",
	.summary = "which sites leak, cache or queue, or were filled once",
	.details =
		"Judges each site from one core: when its live blocks were born, how many others "
		"were freed, and whether anything still leads to them. The verdict is leak, cache "
		"or growing queue, saturating, start-up, burst or steady, with reasons and a "
		"confidence; only "
		"grows, if nothing else is known than that nothing was freed; or unclear, if there "
		"is too little data.",
	.options = options,
	.shared = HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_query,
	.prints = &hawk_answer_growth,
};
