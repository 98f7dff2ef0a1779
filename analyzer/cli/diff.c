/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core diff: what grew between two cores, table files, snapshots or processes.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/report/diff.h"
#include "profile.h"

enum { BY_SITE = 1 };

/* Nanoseconds; a shorter interval gives no rate. */
static const uint64_t RATE_NS_MIN = UINT64_C(60) * 1000000000;

/** The limit of --fail-if-grown: per cent of the earlier bytes, or bytes. */
struct limit {
	bool given, is_share;
	double percent;
	uint64_t bytes;
};

static struct hawk_error *parse_limit(const char *text, struct limit *ret)
{
	size_t length = text ? strlen(text) : 0;
	char *end;

	*ret = (struct limit){.given = text};
	if (!text || hawk_quantity_parse_bytes(text, &ret->bytes))
		return NULL;
	ret->is_share = length && text[length - 1] == '%';
	ret->percent = strtod(text, &end);
	if (ret->is_share && end != text && end == text + length - 1 && ret->percent >= 0 &&
	    ret->percent < 1e6)
		return NULL;
	return hawk_error_create(HAWK_ERROR_USAGE,
				 "--fail-if-grown is a share or a size: 10%%, 5M; not \"%s\"",
				 text);
}

static struct hawk_error *check(struct hawk_settings *settings)
{
	struct limit limit;
	struct hawk_error *err = parse_limit(settings->fail_if_grown, &limit);

	return err ? err : hawk_check_profile(settings);
}

/** Returns true if growth beyond the limit is certain; makes the sentence about it. */
static bool is_grown(const struct limit *limit, const struct hawk_diff_row *whole,
		     struct hawk_text *text)
{
	double most = limit->is_share ? (double)whole->before.bytes * limit->percent / 100
				      : (double)limit->bytes;

	if (!limit->given || whole->bytes <= 0 || !whole->significant ||
	    (double)whole->bytes <= most)
		return false;
	hawk_text_printf(text, "Grown by %s: more than %s.",
			 hawk_quantity_bytes((uint64_t)whole->bytes).text,
			 hawk_quantity_bytes((uint64_t)most).text);
	return true;
}

static void append_name(struct hawk_text *text, const struct hawk_profiled *profiled)
{
	if (profiled->source)
		hawk_text_puts(text, profiled->source);
	else
		hawk_text_printf(text, "process %u", profiled->pid);
}

static double hours_between(const struct hawk_profiled *before, const struct hawk_profiled *after)
{
	uint64_t ns = after->life_ns > before->life_ns ? after->life_ns - before->life_ns : 0;

	return before->life_ns && ns >= RATE_NS_MIN ? (double)ns / 3600e9 : 0;
}

static bool are_different(const struct hawk_profiled *before, const struct hawk_profiled *after)
{
	return before->program && after->program &&
	       strcmp(hawk_path_base(before->program), hawk_path_base(after->program)) != 0;
}

static struct hawk_error *print(struct hawk_session *session, const struct hawk_profiled *before,
				const struct hawk_profiled *after,
				const struct hawk_profile *difference)
{
	const struct hawk_settings *settings = session->settings;
	CLEANUP(text) struct hawk_text before_name = {0}, after_name = {0}, growth = {0};
	struct hawk_profile_groups groups = {0};
	struct hawk_diff diff = {0};
	struct limit limit;
	struct hawk_error *err = hawk_diff_make(before->profile, after->profile, &diff);

	if (!err && settings->by > BY_SITE)
		err = hawk_profile_groups_make(difference,
					       (enum hawk_profile_by)(settings->by - BY_SITE),
					       difference->shown_column, false, &groups);
	if (!err)
		err = parse_limit(settings->fail_if_grown, &limit);
	if (!err) {
		append_name(&before_name, before);
		append_name(&after_name, after);
		if (!before->unknown && !after->unknown && is_grown(&limit, &diff.whole, &growth))
			session->code = HAWK_EXIT_CONDITION;
		const struct hawk_diff_report report = {
			.diff = &diff,
			.difference = difference,
			.groups = settings->by > BY_SITE ? &groups : NULL,
			.findings = &session->findings,
			.before = hawk_text_string(&before_name),
			.after = hawk_text_string(&after_name),
			.what = after->profile->what,
			.hours = hours_between(before, after),
			.top = (size_t)settings->top,
			.depth = (size_t)settings->depth,
			.growth = growth.bytes,
			.other_program = are_different(before, after),
			.before_unknown = before->unknown,
			.after_unknown = after->unknown,
		};

		if (settings->json)
			hawk_report_diff_json(&report, session->output);
		else
			hawk_report_diff(&report, &session->screen);
	}
	hawk_profile_groups_deinit(&groups);
	hawk_diff_deinit(&diff);
	return err;
}

/** Compares the first operand with the process of --pid, else with the second operand. */
static struct hawk_error *answer(struct hawk_session *session)
{
	const char *other = session->settings->operands[0];
	bool live = session->settings->pid;
	struct hawk_profiled ours = {0}, theirs = {0};
	struct hawk_profile *difference = NULL;
	const struct hawk_profiled *before = live ? &theirs : &ours;
	const struct hawk_profiled *after = live ? &ours : &theirs;
	struct hawk_error *err = hawk_session_profile(session, &ours);

	if (!err)
		err = hawk_profile_open(session->settings, other, &session->findings, &theirs);
	if (!err)
		err = hawk_profile_difference(after->profile, before->profile, &difference);
	if (!err && are_different(before, after))
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, false, "other-program",
				  "the two are of different programs: %s and %s",
				  hawk_path_base(before->program), hawk_path_base(after->program));
	if (!err)
		err = print(session, before, after, difference);
	hawk_profile_destroy(difference);
	hawk_profiled_deinit(&ours);
	hawk_profiled_deinit(&theirs);
	return err;
}

static const struct hawk_option options[] = {
	{"pid", 'p', HAWK_OPTION_COUNT, HAWK_AT(pid), "PID",
	 "compare a core with a running or stopped process"},
	{"by", 'b', HAWK_OPTION_CHOICE, HAWK_AT(by), "site|function|file|module",
	 "add up by what allocated (flat) and what called that (cum)"},
	{"fail-if-grown", '\0', HAWK_OPTION_STRING, HAWK_AT(fail_if_grown), "SHARE|SIZE",
	 "exit with 1 if memory grew by more than 10%, 5M ..."},
	{"full", 'f', HAWK_OPTION_FLAG, HAWK_AT(full), NULL,
	 "all sites that changed, whole names and stacks, ids"},
	{0},
};

const struct hawk_verb hawk_verb_diff = {
	.name = "diff",
	.arguments = "[options] BEFORE AFTER | BEFORE --pid PID",
	.summary = "what grew between two cores",
	.details = "Compares two cores, table files or processes, site by site: new, gone, "
		   "grown. Sites that a rebuild gave other ids are joined by their functions and "
		   "files.",
	.options = options,
	.shared = HAWK_TAKES_TOP | HAWK_TAKES_DEPTH | HAWK_TAKES_JSON | HAWK_TAKES_PROFILE |
		  HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes =
		"Exit codes: 0 ok, 1 grown beyond --fail-if-grown, 2 usage, 3 not readable, 4 "
		"the answer is incomplete.",
	.needs = "two cores, or a core and --pid",
	.live = true,
	.operands_min = 1,
	.operands_max = 1,
	.check = check,
	.answer = answer,
};
