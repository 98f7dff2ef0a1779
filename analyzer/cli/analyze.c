/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core analyze: one screen about a core or a process.
 */
#include "full_sections.h"
#include "leaks_session.h"
#include "session.h"
#include "suspects_session.h"

/** Numbers of choices: "scope" of --by, "cum" of --sort. */
enum { BY_SCOPE = 5, SORT_CUM = 4 };

static bool is_grouped(const struct hawk_settings *settings)
{
	return settings->by > 1 && settings->by != BY_SCOPE;
}

static struct hawk_site_filter filter_of(const struct hawk_settings *settings)
{
	return (struct hawk_site_filter){
		.focus = settings->focus,
		.ignore = settings->ignore,
		.min_bytes = settings->min_bytes,
	};
}

static struct hawk_error *print(struct hawk_session *session, const struct hawk_settings *settings,
				const struct hawk_leaks_report *leaks,
				const struct hawk_suspects *suspects)
{
	struct hawk_site_filter filter = filter_of(settings);
	struct hawk_site_list list = {0};
	struct hawk_report report = {
		.target = session->target,
		.symbols = session->symbols,
		.heap = &session->heap,
		.findings = &session->findings,
		.leaks = leaks,
		.suspects = suspects,
		.source = session->source,
		.filtered = filter.focus || filter.ignore || filter.min_bytes,
		.limited = settings->top,
		.top = (size_t)settings->top,
		.depth = (size_t)settings->depth,
		.sorted = settings->sort,
		.sort = settings->sort && settings->sort != SORT_CUM
				? (enum hawk_site_sort)(settings->sort - 1)
				: HAWK_SITE_SORT_SIZE,
		.by_cum = settings->sort == SORT_CUM,
		.grouped = is_grouped(settings),
		.by_scope = settings->by == BY_SCOPE,
		.by = (enum hawk_group_by)(is_grouped(settings) ? settings->by - 1 : 1),
	};
	struct hawk_error *err = NULL;

	if (session->heap.table) {
		err = hawk_site_list_create(&session->heap, session->symbols, &filter, &list);
		report.list = &list;
	}
	if (!err)
		err = settings->json ? hawk_report_json(&report, session->output)
				     : hawk_report_text(&report, &session->screen);
	hawk_site_list_deinit(&list);
	return err;
}

static struct hawk_error *check(const struct hawk_settings *settings, int count, char **operands)
{
	struct hawk_site_filter filter = filter_of(settings);

	(void)count;
	(void)operands;
	if (settings->sort == SORT_CUM && !is_grouped(settings))
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "--sort cum needs --by function, file or module");
	return hawk_site_filter_check(&filter);
}

/** A process is not there any more when its first screen has been printed. */
static struct hawk_error *load(struct hawk_session *session, const struct hawk_settings *settings)
{
	struct hawk_error *err = hawk_session_sites(session);

	if (err || !settings->pid || !hawk_suspects_wanted(session, settings))
		return err;
	err = hawk_session_graph(session);
	if (!err || hawk_error_code(err) != HAWK_ERROR_UNSUPPORTED)
		return err;
	hawk_error_destroy(err); // suspects will say so
	return NULL;
}

/** Looks for suspects while the first screen is read. */
static struct hawk_error *print_text(struct hawk_session *session,
				     const struct hawk_settings *settings,
				     const struct hawk_leaks_report *leaks)
{
	struct hawk_suspects_session suspects = {0};
	struct hawk_error *err = print(session, settings, leaks, NULL);

	hawk_output_flush(session->output);
	if (err || session->output->errnum) // nobody reads on
		return err;
	err = hawk_suspects_session_make(session, settings, &suspects);
	if (!err && suspects.wanted)
		hawk_report_suspects(&suspects.suspects, &session->screen);
	if (!err && settings->full && !settings->pid && suspects.wanted &&
	    !suspects.suspects.skipped)
		err = hawk_full_sections_print(session, settings);
	hawk_suspects_session_deinit(&suspects);
	hawk_report_findings(&session->findings, hawk_findings_partial(&session->findings),
			     &session->screen);
	return err;
}

static struct hawk_error *print_json(struct hawk_session *session,
				     const struct hawk_settings *settings)
{
	struct hawk_suspects_session suspects = {0};
	struct hawk_error *err = hawk_suspects_session_make(session, settings, &suspects);

	if (!err)
		err = print(session, settings, NULL, suspects.wanted ? &suspects.suspects : NULL);
	hawk_suspects_session_deinit(&suspects);
	return err;
}

static struct hawk_error *answer(struct hawk_session *session, const struct hawk_settings *settings,
				 int count, char **operands, int *code)
{
	struct hawk_leaks_session leaks = {0};
	bool full = settings->full && !settings->json &&
		    !hawk_target_process(session->target)->table_file;
	struct hawk_error *err = load(session, settings);

	(void)count;
	(void)operands;
	(void)code;
	if (!err && full)
		err = hawk_leaks_session_make(session, settings, HAWK_LEAKS_KINDS_LOST, &leaks);
	err = hawk_session_release(session, err);
	if (!err) {
		hawk_session_check(session);
		err = settings->json
			      ? print_json(session, settings)
			      : print_text(session, settings,
					   full && session->heap.table ? &leaks.report : NULL);
	}
	hawk_leaks_session_deinit(&leaks);
	return err;
}

static const struct hawk_option options[] = {
	{"pid", 'p', HAWK_OPTION_COUNT, HAWK_AT(pid), "PID",
	 "look at a running or stopped process instead of a core"},
	{"top", 'n', HAWK_OPTION_COUNT, HAWK_AT(top), "N", "show N sites"},
	{"sort", 's', HAWK_OPTION_CHOICE, HAWK_AT(sort), "size|count|total|cum",
	 "order by live bytes, live blocks, bytes allocated since start; cum: with --by, live "
	 "bytes of "
	 "all that was called"},
	{"depth", 'd', HAWK_OPTION_COUNT, HAWK_AT(depth), "N", "show N lines of each stack"},
	{"full", 'f', HAWK_OPTION_FLAG, HAWK_AT(full), NULL,
	 "everything: all sites, whole stacks, leaks, all threads, memory map, modules"},
	{"by", 'b', HAWK_OPTION_CHOICE, HAWK_AT(by), "site|function|file|module|scope",
	 "add up by what allocated (flat) and what called that (cum), or by HAWK_SCOPE"},
	{"focus", '\0', HAWK_OPTION_STRING, HAWK_AT(focus), "REGEX",
	 "only sites with a function, file, module, scope or type that matches"},
	{"ignore", '\0', HAWK_OPTION_STRING, HAWK_AT(ignore), "REGEX",
	 "no sites with a function, file, module, scope or type that matches"},
	{"min-bytes", '\0', HAWK_OPTION_BYTES, HAWK_AT(min_bytes), "SIZE",
	 "only sites with at least SIZE live bytes (10k, 1M, 2GiB)"},
	{"suspects", '\0', HAWK_OPTION_FLAG, HAWK_AT(suspects), NULL,
	 "show who holds the largest sites with --pid, too; stops the process for longer"},
	{"no-suspects", '\0', HAWK_OPTION_FLAG, HAWK_AT(no_suspects), NULL,
	 "leave out who holds the largest sites, which takes longest"},
	{"json", 'j', HAWK_OPTION_FLAG, HAWK_AT(json), NULL, "one JSON document"},
	{0},
};

const struct hawk_verb hawk_verb_analyze = {
	.name = "analyze",
	.arguments = "[options] CORE | TABLE | --pid PID",
	.summary = "who owns the memory of a dead or living process",
	.details = "Prints how the process died, where its memory went, and which stacks "
		   "allocated most of it; then suspects: the few sites that explain most of "
		   "the memory, who holds them, how they grow, and what to ask next; last, "
		   "what was missing.",
	.options = {options, hawk_target_options, hawk_color_options, hawk_common_options},
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.check = check,
	.answer = answer,
};
