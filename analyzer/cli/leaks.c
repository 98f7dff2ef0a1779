/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core leaks: which blocks nothing points to any more, and who allocated them.
 */
#include "hawk/base/cleanup.h"
#include "leaks_session.h"

enum { EXIT_CODE_MAX = 255 };

static struct hawk_error *check(const struct hawk_settings *settings, int count, char **operands)
{
	struct hawk_block_wish wish = hawk_settings_wish(settings);
	struct hawk_error *err = NULL;
	unsigned bits;

	(void)count;
	(void)operands;
	if (settings->kinds)
		err = hawk_leaks_parse_kinds(settings->kinds, &bits);
	if (!err && settings->heuristics)
		err = hawk_leaks_parse_heuristics(settings->heuristics, &bits);
	if (!err && settings->exit_code.given && settings->exit_code.value > EXIT_CODE_MAX)
		err = hawk_error_create(HAWK_ERROR_USAGE, "--exit-code is a number up to %d",
					EXIT_CODE_MAX);
	return err ? err : hawk_block_wish_check(&wish);
}

static unsigned kinds_of(const struct hawk_settings *settings)
{
	unsigned kinds = settings->full || settings->json || settings->site.given
				 ? HAWK_LEAKS_KINDS_ALL
				 : HAWK_LEAKS_KINDS_LOST;

	if (settings->kinds) // checked before
		hawk_error_destroy(hawk_leaks_parse_kinds(settings->kinds, &kinds));
	return kinds;
}

static void print(struct hawk_session *session, const struct hawk_settings *settings,
		  struct hawk_leaks_session *leaks, int *code)
{
	struct hawk_leaks_report *report = &leaks->report;

	report->top = (size_t)settings->top;
	report->depth = (size_t)settings->depth;
	if (settings->json)
		hawk_leaks_report_json(report, session->output);
	else
		hawk_leaks_report_text(report, &session->screen);
	session->answer_complete = !report->partial;
	if (report->partial)
		*code = HAWK_EXIT_PARTIAL;
	if (report->sums[HAWK_REACH_DEFINITELY_LOST].objects)
		*code = settings->exit_code.given ? (int)settings->exit_code.value
						  : HAWK_EXIT_CONDITION;
}

static struct hawk_error *answer(struct hawk_session *session, const struct hawk_settings *settings,
				 int count, char **operands, int *code)
{
	struct hawk_leaks_session leaks;
	struct hawk_error *err =
		hawk_leaks_session_make(session, settings, kinds_of(settings), &leaks);

	(void)count;
	(void)operands;
	if (!err)
		print(session, settings, &leaks, code);
	hawk_leaks_session_deinit(&leaks);
	return err;
}

static const struct hawk_option options[] = {
	{"pid", 'p', HAWK_OPTION_COUNT, HAWK_AT(pid), "PID",
	 "look at a running or stopped process instead of a core"},
	{"kinds", 'k', HAWK_OPTION_STRING, HAWK_AT(kinds), "KIND,...",
	 "show records of these kinds: definite, indirect, possible, reachable, or all "
	 "(default: definite,possible; with --full, --json or --site: all)"},
	{"top", 'n', HAWK_OPTION_COUNT, HAWK_AT(top), "N", "show N loss records"},
	{"depth", 'd', HAWK_OPTION_COUNT, HAWK_AT(depth), "N", "show N lines of each stack"},
	{"full", 'f', HAWK_OPTION_FLAG, HAWK_AT(full), NULL,
	 "everything: all records, whole stacks, what suppressions did"},
	{"suppressions", 's', HAWK_OPTION_STRINGS, HAWK_AT(suppressions), "FILE",
	 "leave out known leaks: lines of LeakSanitizer (leak:PATTERN), entries of Valgrind; may "
	 "be repeated"},
	{"heuristics", '\0', HAWK_OPTION_STRING, HAWK_AT(heuristics), "NAME,...",
	 "interior pointers that count as start pointers: Valgrind's stdstring, length64, "
	 "newarray and multipleinheritance (or valgrind, for these), lengthprefix, listnode, "
	 "backpointer, all (default) or none"},
	{"exit-code", '\0', HAWK_OPTION_NUMBER, HAWK_AT(exit_code), "N",
	 "exit with N instead of 1 when something is definitely lost"},
	{"threads", '\0', HAWK_OPTION_COUNT, HAWK_AT(threads), "N", "use N processors"},
	{"json", 'j', HAWK_OPTION_FLAG, HAWK_AT(json), NULL, "one JSON document"},
	{0},
};

const struct hawk_verb hawk_verb_leaks = {
	.name = "leaks",
	.arguments = "[options] CORE | --pid PID",
	.summary = "which blocks are lost, and who allocated them",
	.details = "Prints the blocks that no pointer leads to any more, by allocation stack, "
		   "with the evidence for it.",
	.options = {options, hawk_wish_options, hawk_target_options, hawk_color_options,
		    hawk_common_options},
	.exit_codes =
		"Exit codes: 0 nothing is definitely lost, 1 something is (see --exit-code), "
		"2 usage, 3 not readable, 4 the answer is incomplete and nothing is definitely "
		"lost.",
	.needs = "one core file, or --pid",
	.live = true,
	.check = check,
	.answer = answer,
};
