/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shared by every verb that asks one core or process: opening, the exit code, closing.
 */
#include <string.h>

#include "answer.h"
#include "hawk/base/cleanup.h"

enum { UNPACKING_SECONDS = 2 }; /**< longer unpacking gets a hint */

bool hawk_verb_takes(const struct hawk_verb *verb, int count)
{
	return count >= verb->operands_min &&
	       (verb->operands_max < 0 || count <= verb->operands_max);
}

/** Returns true if the findings that make the answer incomplete must be printed here. */
static bool findings_left(const struct hawk_verb *verb, const struct hawk_settings *settings)
{
	return verb->findings == HAWK_FINDINGS_NOWHERE ||
	       (verb->findings == HAWK_FINDINGS_IN_JSON && !settings->json);
}

/* Prints the error. A block that was not found may lie in missing memory, or its header may be
 * overwritten. */
static int fail(struct hawk_session *session, struct hawk_error *err)
{
	int code = hawk_fail(err);
	bool partial = hawk_findings_partial(&session->findings);
	bool headers = session->heap && hawk_heap_unaccounted(session->heap);

	if (code != HAWK_EXIT_CONDITION || (!partial && !headers))
		return code;
	hawk_session_print_partial(session);
	if (headers)
		hawk_complain("incomplete: headers of live blocks were overwritten; the block may "
			      "be one of those");
	return HAWK_EXIT_PARTIAL;
}

int hawk_verb_answer(const struct hawk_verb *verb, struct hawk_session *session)
{
	bool partial;
	struct hawk_error *err;

	session->answer_complete = false;
	session->code = HAWK_EXIT_OK;
	err = verb->prints ? hawk_answer_print(session, verb->prints) : verb->answer(session);
	err = hawk_session_release(session, err);
	hawk_session_close_report(session);
	hawk_bar_clear(&session->bar);
	err = hawk_session_name_snapshot(session, err);
	session->failed = err;
	if (err)
		return fail(session, err);
	if (findings_left(verb, session->settings))
		hawk_session_print_partial(session);
	if (hawk_enomem_swallowed())
		hawk_complain("incomplete: memory ran out, so names or words may be left out");
	partial = hawk_enomem_swallowed() ||
		  (hawk_findings_partial(&session->findings) && !session->answer_complete);
	return session->code == HAWK_EXIT_OK && partial ? HAWK_EXIT_PARTIAL : session->code;
}

/** Suggests the shell for a compressed core, which each command unpacks anew. */
static void advise(const struct hawk_verb *verb, const struct hawk_session *session)
{
	double seconds = (double)session->unpacking_ns / 1e9;

	if (seconds >= UNPACKING_SECONDS && verb != &hawk_verb_shell &&
	    strcmp(session->source, "-") != 0)
		hawk_complain("unpacking %s took %.1f s; \"hawk-core shell\" does so once for all "
			      "questions",
			      session->source, seconds);
}

int hawk_verb_ask(const struct hawk_verb *verb, struct hawk_settings *settings)
{
	int skip = (verb->live && settings->pid) || settings->last ? 0 : 1;
	const char *core = skip ? settings->operands[0] : NULL;
	CLEANUP(free_ptr) char *last = NULL;
	struct hawk_session session = {0};
	struct hawk_error *err = NULL;
	int code;

	settings->operands += skip;
	settings->count -= skip;
	if (settings->count < 0 || !hawk_verb_takes(verb, settings->count)) {
		hawk_complain("%s needs %s; see hawk-core help %s", verb->name, verb->needs,
			      verb->name);
		return HAWK_EXIT_USAGE;
	}
	if (verb->check)
		err = verb->check(settings);
	if (!err && settings->last)
		err = hawk_last_core(settings, &last);
	if (!err)
		err = hawk_session_open(&session, settings, last ? last : core);
	session.failed = err;
	code = err ? hawk_fail(err) : hawk_verb_answer(verb, &session);
	if (session.output && code != HAWK_EXIT_USAGE)
		code = hawk_session_finish(&session, code);
	advise(verb, &session);
	hawk_session_deinit(&session);
	return code;
}
