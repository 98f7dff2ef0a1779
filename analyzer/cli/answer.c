/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes answers and prints them.
 */
#include "answer.h"

#include <errno.h>
#include <stdlib.h>

/** Makes `settings` the session's. Returns those before. */
static const struct hawk_settings *set(struct hawk_session *session,
				       const struct hawk_settings *settings)
{
	const struct hawk_settings *before = session->settings;

	session->settings = settings;
	session->screen.full = settings->full;
	return before;
}

struct hawk_error *hawk_answer_make(struct hawk_session *session, const struct hawk_answer *answer,
				    const struct hawk_settings *settings, void **ret)
{
	const struct hawk_settings *ours = session->settings;
	void *made = calloc(1, answer->bytes);
	struct hawk_error *err;

	*ret = NULL;
	if (!made)
		return &hawk_enomem;
	set(session, settings);
	err = answer->make(session, made);
	set(session, ours);
	if (err)
		hawk_answer_destroy(answer, made);
	else
		*ret = made;
	return err;
}

struct hawk_error *hawk_answer_put(struct hawk_session *session, const struct hawk_answer *answer,
				   const struct hawk_settings *settings, void *made)
{
	const struct hawk_settings *ours = set(session, settings);
	struct hawk_error *err;

	hawk_session_begin_next(session);
	if (answer->next && (answer->text_has_next || hawk_session_can_ask_again(session)))
		answer->next(made, &session->next);
	err = settings->json ? answer->json(made, session->output)
			     : answer->text(made, &session->screen);
	hawk_answer_destroy(answer, made);
	set(session, ours);
	return err;
}

void hawk_answer_destroy(const struct hawk_answer *answer, void *made)
{
	if (!made)
		return;
	answer->deinit(made);
	free(made);
}

struct hawk_error *hawk_answer_print_with(struct hawk_session *session,
					  const struct hawk_answer *answer,
					  const struct hawk_settings *settings)
{
	void *made;
	struct hawk_error *err = hawk_answer_make(session, answer, settings, &made);

	if (!err && settings->only_condition && session->code == HAWK_EXIT_OK) {
		session->output->errnum = ECANCELED;
		hawk_answer_destroy(answer, made);
		return NULL;
	}
	return err ? err : hawk_answer_put(session, answer, settings, made);
}

struct hawk_error *hawk_answer_print(struct hawk_session *session, const struct hawk_answer *answer)
{
	struct hawk_error *err = hawk_answer_print_with(session, answer, session->settings);

	if (!err && !answer->text_has_next && !session->settings->json)
		hawk_report_next(&session->next, &session->screen);
	return err;
}

int hawk_answer_run(struct hawk_settings *settings, const struct hawk_answer *answer)
{
	struct hawk_session session = {0};
	struct hawk_error *err = hawk_session_begin(&session, settings, NULL);
	int code;

	if (!err)
		err = hawk_answer_print(&session, answer);
	session.failed = err;
	if (err)
		code = hawk_fail(err);
	else if (hawk_findings_partial(&session.findings) || hawk_enomem_swallowed())
		code = HAWK_EXIT_PARTIAL;
	else
		code = session.code;
	if (session.output && code != HAWK_EXIT_USAGE)
		code = hawk_session_finish(&session, code);
	if (session.output)
		hawk_session_deinit(&session);
	return code;
}
