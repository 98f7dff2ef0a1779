/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core growth: which sites leak, cache or queue, or were filled once.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "session.h"
#include "hawk/report/growth.h"

/** A core's life whose end is not noted, and which may have gone on idle. */
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

static void print(struct hawk_session *session, const struct hawk_growth_report *growth)
{
	struct hawk_json json;

	if (!session->settings->json) {
		hawk_report_growth(growth, &session->screen);
		return;
	}
	hawk_report_json_begin(growth->pointers, &json, session->output, "hawk-core/growth", 2);
	hawk_report_growth_json(growth, &json);
	hawk_report_json_end(growth->pointers, &json);
}

static struct hawk_error *answer(struct hawk_session *session)
{
	const struct hawk_settings *settings = session->settings;
	CLEANUP(free_ptr) struct hawk_site_ages *ages = NULL;
	CLEANUP(free_ptr) struct hawk_site_retained *retained = NULL;
	struct hawk_site_list list = {0};
	struct hawk_growth_report growth = {
		.pointers = &session->report,
		.list = &list,
		.filtered = hawk_settings_choose_blocks(settings),
	};
	struct hawk_selection selection = {0};
	struct hawk_error *err = hawk_session_reach_report(session, false);

	if (!err && growth.filtered)
		err = hawk_session_choose(session, session->report.filter, &selection);
	if (!err)
		err = hawk_site_ages_make(session->heap, session->reach, selection.blocks, &ages);
	hawk_selection_deinit(&selection);
	err = hawk_session_release(session, err);
	if (err)
		return err;
	report_doubt(session);
	growth.ages = ages;
	if (!growth.filtered)
		err = hawk_session_retained(session, NULL, settings->json, &retained);
	growth.retained = retained;
	if (!err)
		err = hawk_session_list_sites(session, &list);
	if (!err) {
		hawk_site_ages_choose(session->graph, ages, growth.filtered,
				      (enum hawk_growth_verdict)settings->by, &list);
		print(session, &growth);
	}
	hawk_site_list_deinit(&list);
	return err;
}

static const struct hawk_option options[] = {
	{"verdict", '\0', HAWK_OPTION_CHOICE, HAWK_AT(by), "leak|cache|start-up|burst|steady|grows",
	 "only sites with this verdict"},
	{0},
};

const struct hawk_verb hawk_verb_growth = {
	.name = "growth",
	.arguments = "[options] CORE | --pid PID",
	.summary = "which sites leak, cache or queue, or were filled once",
	.details =
		"Judges each site from one core: when its live blocks were born, how many others "
		"were freed, and whether anything still leads to them. The verdict is leak, cache "
		"or growing queue, start-up, burst or steady, with reasons and a confidence; only "
		"grows, if nothing else is known than that nothing was freed; or unclear, if there "
		"is too little data.",
	.options = options,
	.shared = HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_query,
	.answer = answer,
};
