/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core source: the lines of functions, with their allocations.
 */
#include "hawk/report/source.h"
#include "answer.h"
#include "profile.h"

enum { DEFAULT_CONTEXT = 3 };

struct source {
	struct hawk_profile *profile;
	struct hawk_source_lines lines;
	struct hawk_source_report report;
	const char *functions; /**< the pattern of their names */
};

static struct hawk_error *check(struct hawk_settings *settings)
{
	regex_t functions;
	struct hawk_error *err = hawk_regex_compile(settings->operands[0], &functions);

	if (err)
		return err;
	regfree(&functions);
	if (settings->context.given && settings->context.value > UINT32_MAX)
		settings->context.value = UINT32_MAX;
	return NULL;
}

static struct hawk_error *make_profile(struct hawk_session *session, struct hawk_profile **ret)
{
	static const struct hawk_site_filter everything;
	static const struct hawk_profile_style style;
	struct hawk_site_list list = {0};
	struct hawk_error *err =
		hawk_site_list_create(session->heap, session->symbols, &everything, &list);

	if (!err)
		err = hawk_profile_of_sites(session->heap, session->symbols, &list, false, &style,
					    ret);
	hawk_site_list_deinit(&list);
	return err;
}

static struct hawk_error *make_lines(struct hawk_session *session, struct source *source)
{
	regex_t functions;
	struct hawk_error *err = make_profile(session, &source->profile);

	if (!err)
		err = hawk_regex_compile(session->settings->operands[0], &functions);
	if (err)
		return err;
	err = hawk_source_lines_make(source->profile, &functions, &source->lines);
	regfree(&functions);
	return err;
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	const struct hawk_settings *settings = session->settings;
	struct source *source = ret;
	struct hawk_error *err = hawk_session_sites(session);

	if (!err)
		err = hawk_session_report(session);
	err = hawk_session_release(session, err);
	if (!err)
		err = make_lines(session, source);
	if (err)
		return err;
	/* The function may be in a module without known names. */
	if (!source->lines.unit_count && !hawk_findings_partial(&session->findings))
		session->code = HAWK_EXIT_CONDITION;
	source->functions = settings->operands[0];
	source->report = (struct hawk_source_report){
		.pointers = &session->report,
		.listing = hawk_session_listing(session, source->profile, &source->lines),
		.context = settings->context.given ? (uint32_t)settings->context.value
						   : DEFAULT_CONTEXT,
	};
	return NULL;
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct source *source = made;

	hawk_next_of_source(&source->report, source->functions, ret);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	return hawk_report_source(&((struct source *)made)->report, screen);
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	return hawk_report_source_json(&((struct source *)made)->report, output);
}

static void deinit(void *made)
{
	struct source *source = made;

	hawk_source_lines_deinit(&source->lines);
	hawk_profile_destroy(source->profile);
}

static const struct hawk_answer answer = {
	.name = "source",
	.bytes = sizeof(struct source),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static const struct hawk_option options[] = {
	{"context", 'C', HAWK_OPTION_NUMBER, HAWK_AT(context), "N",
	 "show N lines before and behind each line that allocates (3 if not given)"},
	{0},
};

const struct hawk_verb hawk_verb_source = {
	.name = "source",
	.arguments = "[options] CORE FUNCTION | --pid PID FUNCTION",
	.summary = "source lines of a function, with what they allocate",
	.details = "Shows the source of each function whose name matches FUNCTION, an extended "
		   "regular expression, around the lines that allocate: live bytes of the line "
		   "itself (flat) and with what it calls (cum), live blocks, and bytes allocated "
		   "since the start, both with what it calls.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TOP | HAWK_TAKES_FULL | HAWK_TAKES_JSON |
		  HAWK_TAKES_SOURCE_DIRECTORY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.exit_codes = "Exit codes: 0 ok, 1 no function matches, 2 usage, 3 not readable, 4 the "
		      "answer is incomplete.",
	.needs = "a core file (or --pid), and a function",
	.live = true,
	.operands_min = 1,
	.operands_max = 1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = check,
	.prints = &answer,
};
