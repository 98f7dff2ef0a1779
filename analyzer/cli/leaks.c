/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core leaks: blocks that no pointer leads to any more, and the sites that allocated them.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "leaks.h"
#include "answer.h"

enum { EXIT_CODE_MAX = 255 };

static struct hawk_error *read_suppressions(const struct hawk_settings *settings,
					    struct hawk_suppressions **ret)
{
	struct hawk_error *err = NULL;

	if (!settings->suppressions.count)
		return NULL;
	err = hawk_suppressions_create(ret);
	for (size_t i = 0; i < settings->suppressions.count && !err; i++)
		err = hawk_suppressions_read(*ret, settings->suppressions.items[i]);
	return err;
}

/** Finds mistakes in suppressions before a program runs, or a core is read, for nothing. */
static struct hawk_error *check_suppressions(const struct hawk_settings *settings)
{
	struct hawk_suppressions *suppressions = NULL;
	struct hawk_error *err = read_suppressions(settings, &suppressions);

	hawk_suppressions_destroy(suppressions);
	return err;
}

static struct hawk_error *check(struct hawk_settings *settings)
{
	struct hawk_error *err = NULL;
	unsigned bits;

	if (settings->kinds)
		err = hawk_leaks_parse_kinds(settings->kinds, &bits);
	if (!err && settings->heuristics)
		err = hawk_leaks_parse_heuristics(settings->heuristics, &bits);
	if (!err && settings->exit_code.given && settings->exit_code.value > EXIT_CODE_MAX)
		err = hawk_error_create(HAWK_ERROR_USAGE, "--exit-code is a number up to %d",
					EXIT_CODE_MAX);
	if (!err)
		err = check_suppressions(settings);
	return err ? err : hawk_check_query(settings);
}

/* Returns the requested heuristics. */
static unsigned heuristics_of(const struct hawk_settings *settings)
{
	unsigned heuristics = HAWK_HEURISTICS_ALL;

	if (settings->heuristics) // checked before
		hawk_error_destroy(hawk_leaks_parse_heuristics(settings->heuristics, &heuristics));
	return heuristics;
}

/* Returns the reason why blocks cannot be read again, or NULL. */
static const char *unread_why(struct hawk_session *session)
{
	struct hawk_error *err;

	if (!(session->heap->knows & HAWK_HEAP_CONTENTS))
		return "a snapshot does not hold the contents of blocks";
	err = hawk_session_readable(session);
	hawk_error_destroy(err);
	return err ? "the process ran on" : NULL;
}

/* Applies heuristics. A process released before (hawk-core shell) has no contents left to read, and
 * a snapshot has none. */
static struct hawk_error *explain(struct hawk_session *session, unsigned heuristics,
				  struct hawk_leaks_session *leaks)
{
	const char *unread = unread_why(session);
	size_t before = session->findings.count;
	struct hawk_error *err;

	leaks->explained.ends = heuristics & HAWK_HEURISTIC_ENDPOINTER;
	if (unread) {
		if (heuristics & ~(unsigned)HAWK_HEURISTIC_ENDPOINTER)
			hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, false,
					  "heuristics-unread",
					  "%s, so interior pointers could not be explained by "
					  "heuristics",
					  unread);
		return NULL;
	}
	err = hawk_heuristics_find(session->graph, heuristics, &session->vtables,
				   &leaks->explained);
	hawk_findings_sort(&session->findings, before); /* threads run in any order */
	return err;
}

/* Adds findings about doubts, once, even if several parts of an answer are about leaks. */
static void report_doubts(struct hawk_session *session, const struct hawk_leaks *leaks)
{
	static const char *const keys[] = {"leaks-downgraded", "threads-missing", NULL};
	size_t threads;

	hawk_findings_drop(&session->findings, keys, &session->findings_said);
	hawk_target_threads(session->target, &threads);
	if (!threads)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, true, "threads-missing",
				  "there are no threads: registers are not known, nor which part "
				  "of a stack is live");
	if (leaks->downgrade.objects)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, true,
				  "leaks-downgraded",
				  "%s blocks (%s) to which no pointer was found are called "
				  "possibly lost: %s",
				  hawk_quantity_count(leaks->downgrade.objects).text,
				  hawk_quantity_bytes(leaks->downgrade.bytes).text,
				  hawk_leaks_doubt_text(hawk_leaks_doubt(session->graph)));
}

/* Returns true if missing memory makes the answer incomplete: blocks may be lost in it, or held
 * from it. */
static bool is_partial(const struct hawk_session *session, const struct hawk_leaks *leaks)
{
	static const char *const memory[] = {"core-truncated", "live-unreadable", "roots-missing",
					     "stack-missing", NULL};

	if (!session->heap->knows)
		return hawk_findings_partial(&session->findings);
	if (hawk_leaks_may_hide(session->graph, leaks))
		return true;
	return hawk_heap_is_whole(session->heap)
		       ? hawk_findings_partial_but(&session->findings, memory)
		       : hawk_findings_partial(&session->findings);
}

static struct hawk_error *choose(struct hawk_session *session, struct hawk_leaks_session *leaks,
				 uint64_t **ret)
{
	struct hawk_block_filter *filter = NULL;
	struct hawk_error *err = hawk_session_filter(session, &filter);

	if (!err && filter)
		err = hawk_selection_bits_make(session->heap, hawk_block_filter_selector(filter),
					       false, ret);
	leaks->report.filtered = filter;
	hawk_block_filter_destroy(filter);
	return err;
}

/* Finds the leaders of a single site's indirectly lost blocks. */
static struct hawk_error *find_leaders(struct hawk_session *session,
				       struct hawk_leaks_session *leaks)
{
	struct hawk_leaks_report *report = &leaks->report;
	struct hawk_error *err;
	uint32_t site;

	if (!session->settings->site.given ||
	    !leaks->leaks.sums[HAWK_REACH_INDIRECTLY_LOST].objects)
		return NULL;
	err = hawk_site_prefix_find(session->heap, &session->settings->site.prefix, &site);
	if (!err)
		err = hawk_leak_leaders_of(session->graph, leaks->leaks.reach, site,
					   &leaks->leaders, &report->leader_count);
	report->leaders = leaks->leaders;
	return err;
}

/* Finds cycles and the words that name types: all that records need of a process's memory. */
static struct hawk_error *find_cycles(struct hawk_session *session, const uint64_t *chosen,
				      struct hawk_leaks_session *leaks)
{
	struct hawk_leaks_report *report = &leaks->report;
	struct hawk_error *err = hawk_session_types(session, &report->types);

	if (!err && !leaks->leaks.downgraded)
		err = hawk_leak_cycles_find(session->graph, leaks->leaks.reach, chosen,
					    &leaks->cycles);
	if (!err)
		hawk_leaks_read_types(session->graph, hawk_block_types_modules(report->types),
				      &leaks->leaks, &leaks->cycles);
	return err;
}

static struct hawk_error *find(struct hawk_session *session, unsigned kinds,
			       struct hawk_leaks_session *leaks)
{
	unsigned heuristics = heuristics_of(session->settings);
	bool all = heuristics == HAWK_HEURISTICS_ALL;
	CLEANUP(free_ptr) uint64_t *chosen = NULL;
	struct hawk_error *err = NULL;

	if (!all)
		err = explain(session, heuristics, leaks);
	if (!err)
		err = choose(session, leaks, &chosen);
	if (!err && all)
		err = hawk_session_reach(session);
	else if (!err)
		err = hawk_reach_make(session->graph, &leaks->explained, &leaks->reach);
	if (!err)
		err = hawk_leaks_make(
			session->graph, all ? &session->graph->explained : &leaks->explained,
			all ? session->reach : &leaks->reach, kinds, chosen, &leaks->leaks);
	if (!err && kinds)
		err = find_cycles(session, chosen, leaks);
	hawk_target_release(session->target);
	return err ? err : find_leaders(session, leaks);
}

struct hawk_error *hawk_leaks_session_make(struct hawk_session *session, unsigned kinds,
					   struct hawk_leaks_session *ret)
{
	struct hawk_error *err;

	*ret = (struct hawk_leaks_session){0};
	err = read_suppressions(session->settings, &ret->suppressions);
	if (!err)
		err = hawk_session_graph(session);
	if (!err && session->heap->knows)
		err = find(session, ret->suppressions ? (unsigned)HAWK_LEAKS_KINDS_ALL : kinds,
			   ret);
	err = hawk_session_release(session, err);
	if (err)
		return err;
	if (session->heap->knows)
		report_doubts(session, &ret->leaks);
	hawk_session_check(session);
	ret->report.heap = session->heap;
	ret->report.graph = session->graph;
	ret->report.symbols = session->symbols;
	ret->report.leaks = &ret->leaks;
	ret->report.cycles = &ret->cycles;
	ret->report.selection = &ret->selection;
	ret->report.suppressions = ret->suppressions;
	ret->report.findings = &session->findings;
	ret->report.next = &session->next;
	ret->report.source = session->source;
	ret->report.partial = is_partial(session, &ret->leaks);
	err = hawk_leak_selection_make(session->heap, session->symbols, &ret->leaks,
				       ret->suppressions, kinds, &ret->selection);
	if (!err)
		err = hawk_root_namer_create(session->graph, session->symbols, &ret->namer);
	if (!err)
		err = hawk_site_names_create(session->heap, session->symbols, &ret->names);
	ret->report.namer = ret->namer;
	ret->report.names = ret->names;
	return err;
}

void hawk_leaks_session_deinit(struct hawk_leaks_session *leaks)
{
	hawk_root_namer_destroy(leaks->namer);
	hawk_site_names_destroy(leaks->names);
	hawk_leak_selection_deinit(&leaks->selection);
	free(leaks->leaders);
	hawk_leaks_deinit(&leaks->leaks);
	hawk_reach_deinit(&leaks->reach);
	hawk_explained_deinit(&leaks->explained);
	hawk_suppressions_destroy(leaks->suppressions);
}

static unsigned kinds_of(const struct hawk_settings *settings)
{
	unsigned kinds = settings->full || settings->json || settings->site.given
				 ? HAWK_LEAKS_KINDS_ALL
				 : HAWK_LEAKS_KINDS_LISTED;

	if (settings->kinds) // checked before
		hawk_error_destroy(hawk_leaks_parse_kinds(settings->kinds, &kinds));
	return kinds;
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	const struct hawk_settings *settings = session->settings;
	struct hawk_leaks_session *leaks = ret;
	struct hawk_leaks_report *report = &leaks->report;
	struct hawk_error *err = hawk_leaks_session_make(session, kinds_of(settings), leaks);

	if (err)
		return err;
	report->top = (size_t)settings->top;
	report->depth = (size_t)settings->depth;
	session->answer_complete = !report->partial;
	if (report->partial)
		session->code = HAWK_EXIT_PARTIAL;
	if (report->selection->sums[HAWK_REACH_DEFINITELY_LOST].objects)
		session->code = settings->exit_code.given ? (int)settings->exit_code.value
							  : HAWK_EXIT_CONDITION;
	return NULL;
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct hawk_leaks_session *leaks = made;

	hawk_leaks_report_text(&leaks->report, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct hawk_leaks_session *leaks = made;

	hawk_leaks_report_json(&leaks->report, output);
	return NULL;
}

static void add_next(void *made, struct hawk_next *ret)
{
	hawk_next_of_leaks(&((struct hawk_leaks_session *)made)->report, ret);
}

static void deinit(void *made)
{
	hawk_leaks_session_deinit(made);
}

const struct hawk_answer hawk_answer_leaks = {
	.name = "leaks",
	.bytes = sizeof(struct hawk_leaks_session),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static const struct hawk_option options[] = {
	{"kinds", 'k', HAWK_OPTION_STRING, HAWK_AT(kinds), "KIND,...",
	 "show records of these kinds: definite, indirect, possible, reachable, or all "
	 "(default: definite,possible; with --full, --json or --site: all)"},
	{"full", 'f', HAWK_OPTION_FLAG, HAWK_AT(full), NULL,
	 "everything: all records, whole stacks, what suppressions did"},
	{"suppressions", 's', HAWK_OPTION_STRINGS, HAWK_AT(suppressions), "FILE",
	 "leave out known leaks: lines of LeakSanitizer (leak:PATTERN), entries of Valgrind; may "
	 "be repeated"},
	{"heuristics", '\0', HAWK_OPTION_STRING, HAWK_AT(heuristics), "NAME,...",
	 "interior pointers that count as start pointers: Valgrind's stdstring, length64, "
	 "newarray and multipleinheritance (or valgrind, for these), lengthprefix, listnode, "
	 "backpointer, prefix, all (default) or none; endpointer: one past the end is interior"},
	{"exit-code", '\0', HAWK_OPTION_NUMBER, HAWK_AT(exit_code), "N",
	 "exit with N instead of 1 when something is definitely lost"},
	{0},
};

const struct hawk_verb hawk_verb_leaks = {
	.name = "leaks",
	.arguments = "[options] CORE | --pid PID",
	.summary = "which blocks are lost, and who allocated them",
	.details = "Prints the blocks that no pointer leads to any more, by allocation stack, "
		   "with the evidence for it.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TOP | HAWK_TAKES_DEPTH | HAWK_TAKES_THREADS |
		  HAWK_TAKES_JSON | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.exit_codes =
		"Exit codes: 0 nothing is definitely lost, 1 something is (see --exit-code), "
		"2 usage, 3 not readable, 4 the answer is incomplete and nothing is definitely "
		"lost.",
	.needs = "one core file, or --pid",
	.live = true,
	.check = check,
	.prints = &hawk_answer_leaks,
};
