/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core ledger: compares many snapshots. Each is opened, added and closed before the next.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "hawk/analysis/suspects.h"
#include "hawk/base/cleanup.h"
#include "hawk/export/export.h"
#include "hawk/report/ledger.h"
#include "profile.h"

/** The main suspect of one input. */
struct suspect {
	uint32_t step;           /**< in its profile; 0 = none */
	struct hawk_text holder; /**< who keeps it alive */
};

/** Returns the step of the sample of `site`, 0 = none. */
static uint32_t step_of(const struct hawk_profile *profile, const struct hawk_site *site)
{
	char id[HAWK_SITE_DIGITS + 1];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)site->id);
	for (uint32_t i = 0; i < profile->sample_count; i++)
		if (!strcmp(hawk_profile_text(profile, profile->samples[i].labels.site), id))
			return profile->samples[i].step;
	return 0;
}

static struct hawk_error *make_suspect(struct hawk_session *session,
				       const struct hawk_profile *profile, struct suspect *ret)
{
	struct hawk_suspects suspects = {0};
	struct hawk_error *err = hawk_session_dominators(session);

	if (!err)
		err = hawk_session_report(session);
	if (!err)
		err = hawk_suspects_find(session->graph, session->report.reach, session->dominators,
					 session->report.roots, session->report.names, NULL, false,
					 &suspects);
	if (!err && suspects.count) {
		ret->step = step_of(profile, &session->heap->sites[suspects.items[0].site]);
		hawk_suspect_append_holder(&suspects, &suspects.items[0], session->report.names,
					   &ret->holder);
		if (ret->holder.failed)
			err = &hawk_enomem;
	}
	hawk_suspects_deinit(&suspects);
	return err;
}

/** Finds the main suspect. Snapshots of sites alone, or too large for a graph, have none. */
static struct hawk_error *find_suspect(struct hawk_session *session,
				       const struct hawk_profile *profile, struct suspect *ret)
{
	struct hawk_error *err = NULL;

	if (!session->settings->no_suspects && hawk_session_has_blocks(session) &&
	    session->heap->sums.blocks)
		err = make_suspect(session, profile, ret);
	if (!err || (hawk_error_code(err) != HAWK_ERROR_UNSUPPORTED &&
		     hawk_error_code(err) != HAWK_ERROR_NOMEM))
		return err;
	if (hawk_error_code(err) == HAWK_ERROR_NOMEM)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, true,
				  "suspects-missing", "its suspect is left out for want of memory");
	hawk_error_destroy(err);
	ret->step = 0;
	return NULL;
}

static struct hawk_error *add(struct hawk_session *session, struct hawk_ledger *ledger)
{
	const struct hawk_process *process = hawk_target_process(session->target);
	struct hawk_profiled profiled = {0};
	struct suspect suspect = {0};
	struct hawk_error *err = hawk_session_profile(session, &profiled);

	if (!err && !session->heap->knows)
		err = hawk_error_create(HAWK_ERROR_UNSUPPORTED, "its heap is unknown: %s",
					hawk_heap_unknown_text(session->heap));
	if (!err)
		err = find_suspect(session, profiled.profile, &suspect);
	if (!err) {
		const struct hawk_export export = {
			.profile = profiled.profile,
			.process = process,
			.heap = session->heap,
			.end_ns = profiled.end_ns,
		};
		const struct hawk_ledger_input input = {
			.profile = profiled.profile,
			.snapshot = hawk_export_snapshot_id(&export),
			.source = session->source,
			.build_id = hawk_export_build_id(profiled.profile),
			.end_ns = profiled.end_ns,
			.life_ns = profiled.life_ns,
			.signal = process->signal,
			.suspect = suspect.step,
			.holder = hawk_text_string(&suspect.holder),
		};

		err = hawk_ledger_add(ledger, &input);
	}
	hawk_text_deinit(&suspect.holder);
	hawk_profiled_deinit(&profiled);
	return err;
}

/** Passes on the findings that make one of many inputs incomplete, without lesser ones. */
static void pass_on(const struct hawk_findings *from, const char *source, struct hawk_findings *to)
{
	for (size_t i = 0; i < from->count; i++)
		if (from->items[i].partial)
			hawk_findings_add(to, from->items[i].sort, true, "input*", "%s: %s", source,
					  from->items[i].text);
}

/** Adds an input; reports and leaves out an unreadable one. */
static struct hawk_error *add_file(struct hawk_session *session, const char *path,
				   struct hawk_ledger *ledger)
{
	struct hawk_settings own = *session->settings;
	struct hawk_session input;
	struct hawk_error *err;

	own.output = NULL;
	own.quiet = true;
	err = hawk_session_open(&input, &own, path);
	if (!err)
		err = add(&input, ledger);
	if (!err)
		pass_on(&input.findings, path, &session->findings);
	hawk_session_close_report(&input);
	hawk_session_deinit(&input);
	if (!err || err == &hawk_enomem)
		return err;
	hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, true, "input-left-out*",
			  "left out: %s%s%s", strstr(hawk_error_message(err), path) ? "" : path,
			  strstr(hawk_error_message(err), path) ? "" : ": ",
			  hawk_error_message(err));
	hawk_error_destroy(err);
	return NULL;
}

/** Adds the files named in settings->files_from, one a line. */
static struct hawk_error *add_list(struct hawk_session *session, struct hawk_ledger *ledger)
{
	const char *path = session->settings->files_from;
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct hawk_error *err = NULL;
	char *line = NULL;
	size_t capacity = 0;

	if (!file)
		return hawk_error_os(errno, "cannot open", path);
	while (!err && getline(&line, &capacity, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			err = add_file(session, line, ledger);
	}
	if (!err && ferror(file))
		err = hawk_error_os(errno, "cannot read", path);
	free(line);
	if (file != stdin)
		fclose(file);
	return err;
}

struct ledger {
	struct hawk_ledger *ledger;
	struct hawk_ledger_report report;
};

static struct hawk_error *read_all(struct hawk_session *session, struct hawk_ledger *ledger)
{
	const struct hawk_settings *settings = session->settings;
	struct hawk_error *err = NULL;

	for (int i = 0; i < settings->count && !err; i++)
		err = add_file(session, settings->operands[i], ledger);
	if (!err && settings->files_from)
		err = add_list(session, ledger);
	if (!err && !ledger->snapshot_count) {
		hawk_session_print_partial(session);
		return hawk_error_create(HAWK_ERROR_FORMAT, "none of the files can be read");
	}
	return err;
}

static struct hawk_error *make(struct hawk_session *session, void *made)
{
	const struct hawk_settings *settings = session->settings;
	struct ledger *ret = made;
	struct hawk_error *err = hawk_ledger_create(&ret->ledger);

	if (!err)
		err = read_all(session, ret->ledger);
	if (!err)
		err = hawk_ledger_finish(
			ret->ledger, settings->sort ? (enum hawk_ledger_sort)(settings->sort - 1)
						    : HAWK_LEDGER_MEDIAN);
	ret->report = (struct hawk_ledger_report){
		.ledger = ret->ledger,
		.findings = &session->findings,
		.top = (size_t)settings->top,
		.depth = (size_t)settings->depth,
	};
	return err;
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	hawk_report_ledger(&((struct ledger *)made)->report, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	hawk_report_ledger_json(&((struct ledger *)made)->report, output);
	return NULL;
}

static void deinit(void *made)
{
	hawk_ledger_destroy(((struct ledger *)made)->ledger);
}

static const struct hawk_answer answer = {
	.name = "ledger",
	.bytes = sizeof(struct ledger),
	.make = make,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static int run(struct hawk_settings *settings)
{
	struct hawk_error *err = hawk_check_profile(settings);

	if (!err && !settings->count && !settings->files_from)
		err = hawk_error_create(HAWK_ERROR_USAGE, "ledger needs snapshots or --files-from");
	return err ? hawk_fail(err) : hawk_answer_run(settings, &answer);
}

static const struct hawk_option options[] = {
	{"files-from", '\0', HAWK_OPTION_STRING, HAWK_AT(files_from), "FILE",
	 "read the names of snapshots, one a line; - = standard input"},
	{"sort", 's', HAWK_OPTION_CHOICE, HAWK_AT(sort), "median|maximum|slope|count",
	 "order of sites; slope: bytes an hour of uptime"},
	{"full", 'f', HAWK_OPTION_FLAG, HAWK_AT(full), NULL,
	 "all sites and suspects, whole stacks, exact bytes, ids, builds"},
	{"no-suspects", '\0', HAWK_OPTION_FLAG, HAWK_AT(no_suspects), NULL,
	 "leave out who holds the largest sites, which takes longest"},
	{0},
};

const struct hawk_verb hawk_verb_ledger = {
	.name = "ledger",
	.arguments = "[options] SNAPSHOT...",
	.summary = "what many snapshots have in common",
	.details = "Reads any number of snapshots (cores and table files, too), one after the "
		   "other: the main suspects, with how many snapshots have each; and for each "
		   "site in how many it is, the median and the maximum of its live bytes, and "
		   "how fast these grow with uptime. Sites are joined by functions and files, "
		   "so that they stay the same through rebuilds.",
	.options = options,
	.shared = HAWK_TAKES_TOP | HAWK_TAKES_DEPTH | HAWK_TAKES_JSON | HAWK_TAKES_PLUMBING |
		  HAWK_TAKES_FOCUS | HAWK_TAKES_IGNORE | HAWK_TAKES_MIN_BYTES | HAWK_TAKES_FILES |
		  HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.run = run,
};
