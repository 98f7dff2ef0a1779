/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core source: the lines of functions, with their allocations.
 */
#include "hawk/base/cleanup.h"
#include "hawk/profile/sources.h"
#include "hawk/report/source.h"
#include "session.h"

enum { DEFAULT_TOP = 10, DEFAULT_CONTEXT = 3 };

/** Shared by all functions of an answer. */
struct listing {
	struct hawk_session *session;
	struct hawk_profile *profile;
	struct hawk_source_lines lines;
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

static struct hawk_error *make_listing(struct listing *listing)
{
	regex_t functions;
	struct hawk_error *err = make_profile(listing->session, &listing->profile);

	if (!err)
		err = hawk_regex_compile(listing->session->settings->operands[0], &functions);
	if (err)
		return err;
	err = hawk_source_lines_make(listing->profile, &functions, &listing->lines);
	regfree(&functions);
	return err;
}

/** Prints one function to `json`, or as text if that is NULL. */
static struct hawk_error *
print_function(struct listing *listing, const struct hawk_source_unit *unit, struct hawk_json *json)
{
	struct hawk_session *session = listing->session;
	const struct hawk_settings *settings = session->settings;
	const struct hawk_source_directories directories = {settings->source_directories.items,
							    settings->source_directories.count};
	struct hawk_source_text text;
	struct hawk_source_report report = {
		.profile = listing->profile,
		.lines = &listing->lines,
		.unit = unit,
		.text = &text,
		.context = settings->context.given ? (uint32_t)settings->context.value
						   : DEFAULT_CONTEXT,
	};
	struct hawk_error *err =
		hawk_source_text_open(listing->profile, &listing->lines, unit, session->symbols,
				      &directories, &session->findings, &text);

	if (err)
		return err;
	if (json)
		hawk_report_source_json(&report, json);
	else
		hawk_report_source(&report, &session->screen);
	hawk_source_file_deinit(&text.file);
	return NULL;
}

static struct hawk_error *print_json(struct listing *listing)
{
	struct hawk_session *session = listing->session;
	size_t end = hawk_report_limit(&session->report, 0, listing->lines.unit_count, true);
	struct hawk_error *err = NULL;
	struct hawk_json json;

	hawk_report_json_begin(&session->report, &json, session->output, "hawk-core/source", 4);
	if (session->heap->knows) {
		hawk_json_put_array(&json, "functions");
		for (size_t i = 0; i < end && !err; i++)
			err = print_function(listing, &listing->lines.units[i], &json);
		hawk_json_array_end(&json);
	} else {
		hawk_json_put_null(&json, "functions");
	}
	hawk_report_json_end(&session->report, &json);
	return err;
}

static struct hawk_error *print_text(struct listing *listing)
{
	struct hawk_session *session = listing->session;
	size_t count = listing->lines.unit_count;
	size_t end = hawk_report_limit(&session->report, DEFAULT_TOP, count, session->screen.full);
	struct hawk_error *err = NULL;

	if (!session->heap->knows) {
		hawk_report_put_unknown(session->heap, &session->screen, "Source",
					"see which lines allocate");
		return NULL;
	}
	hawk_report_put_sampling(&session->report, &session->screen);
	if (!count)
		hawk_output_puts(session->output,
				 "No function that matches is in a stack of an allocation.\n");
	for (size_t i = 0; i < end && !err; i++)
		err = print_function(listing, &listing->lines.units[i], NULL);
	if (end < count)
		hawk_screen_heading(&session->screen, "%s more functions match; --top=N shows them",
				    hawk_quantity_count(count - end).text);
	return err;
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct listing listing = {.session = session};
	struct hawk_error *err = hawk_session_sites(session);

	if (!err)
		err = hawk_session_report(session);
	err = hawk_session_release(session, err);
	if (!err)
		err = make_listing(&listing);
	/* The function may be in a module without known names. */
	if (!err && !listing.lines.unit_count && !hawk_findings_partial(&session->findings))
		session->code = HAWK_EXIT_CONDITION;
	if (!err)
		err = session->settings->json ? print_json(&listing) : print_text(&listing);
	hawk_source_lines_deinit(&listing.lines);
	hawk_profile_destroy(listing.profile);
	return err;
}

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
	.answer = answer,
};
