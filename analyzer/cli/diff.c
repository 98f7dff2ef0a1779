/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core diff: what grew between two cores, table files, snapshots or processes.
 */
#include <stdlib.h>
#include <string.h>

#include "answer.h"
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

struct difference {
	struct hawk_session *session;
	struct hawk_profiled before, after;
	struct hawk_profile *profile; /**< after less before */
	struct hawk_diff diff;
	struct hawk_profile_groups groups;
	struct hawk_text before_name, after_name, growth;
	struct hawk_diff_report report;
};

/** Opens the first operand, and the process of --pid, else the second operand. */
static struct hawk_error *open_both(struct hawk_session *session, struct difference *ret)
{
	const struct hawk_settings *settings = session->settings;
	struct hawk_error *err =
		hawk_session_profile(session, settings->pid ? &ret->after : &ret->before);

	return err ? err
		   : hawk_profile_open(settings, settings->operands[0], &session->findings,
				       settings->pid ? &ret->before : &ret->after);
}

static struct hawk_error *compare(const struct hawk_settings *settings, struct difference *ret)
{
	struct hawk_error *err =
		hawk_diff_make(ret->before.profile, ret->after.profile, &ret->diff);

	if (!err && settings->by > BY_SITE)
		err = hawk_profile_groups_make(ret->profile,
					       (enum hawk_profile_by)(settings->by - BY_SITE),
					       ret->profile->shown_column, false, &ret->groups);
	return err;
}

/** Judges the growth, and describes the inputs. */
static struct hawk_error *judge(struct hawk_session *session, struct difference *ret)
{
	const struct hawk_settings *settings = session->settings;
	const struct hawk_profiled *before = &ret->before, *after = &ret->after;
	struct limit limit;
	struct hawk_error *err = parse_limit(settings->fail_if_grown, &limit);

	if (err)
		return err;
	append_name(&ret->before_name, before);
	append_name(&ret->after_name, after);
	if (!before->unknown && !after->unknown && is_grown(&limit, &ret->diff.whole, &ret->growth))
		session->code = HAWK_EXIT_CONDITION;
	ret->report = (struct hawk_diff_report){
		.diff = &ret->diff,
		.difference = ret->profile,
		.groups = settings->by > BY_SITE ? &ret->groups : NULL,
		.findings = &session->findings,
		.next = &session->next,
		.before = hawk_text_string(&ret->before_name),
		.after = hawk_text_string(&ret->after_name),
		.what = after->profile->what,
		.hours = hours_between(before, after),
		.top = (size_t)settings->top,
		.depth = (size_t)settings->depth,
		.growth = ret->growth.bytes,
		.other_program = are_different(before, after),
		.before_unknown = before->unknown,
		.after_unknown = after->unknown,
	};
	if (ret->report.other_program)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, false, "other-program",
				  "the two are of different programs: %s and %s",
				  hawk_path_base(before->program), hawk_path_base(after->program));
	return NULL;
}

static struct hawk_error *make(struct hawk_session *session, void *made)
{
	struct difference *ret = made;
	struct hawk_error *err = open_both(session, ret);

	ret->session = session;
	if (!err)
		err = hawk_profile_difference(ret->after.profile, ret->before.profile,
					      &ret->profile);
	if (!err)
		err = compare(session->settings, ret);
	return err ? err : judge(session, ret);
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct difference *difference = made;
	struct hawk_settings settings = *difference->session->settings;

	if (!settings.pid) { // the later core is not the session's
		settings.executable = settings.table_file = NULL;
		hawk_text_clear(&ret->core);
		hawk_settings_append_core(&settings, settings.operands[0], &ret->core);
	}
	hawk_next_of_diff(&difference->report, difference->after.has_blocks, ret);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	hawk_report_diff(&((struct difference *)made)->report, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	hawk_report_diff_json(&((struct difference *)made)->report, output);
	return NULL;
}

static void deinit(void *made)
{
	struct difference *difference = made;

	hawk_text_deinit(&difference->before_name);
	hawk_text_deinit(&difference->after_name);
	hawk_text_deinit(&difference->growth);
	hawk_profile_groups_deinit(&difference->groups);
	hawk_diff_deinit(&difference->diff);
	hawk_profile_destroy(difference->profile);
	hawk_profiled_deinit(&difference->before);
	hawk_profiled_deinit(&difference->after);
}

static const struct hawk_answer answer = {
	.name = "diff",
	.bytes = sizeof(struct difference),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

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
		  HAWK_TAKES_FILES | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.types = true,
	.exit_codes =
		"Exit codes: 0 ok, 1 grown beyond --fail-if-grown, 2 usage, 3 not readable, 4 "
		"the answer is incomplete.",
	.needs = "two cores, or a core and --pid",
	.live = true,
	.operands_min = 1,
	.operands_max = 1,
	.check = check,
	.prints = &answer,
};
