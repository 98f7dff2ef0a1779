/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes answers and prints them.
 */
#include "answer.h"

#include <errno.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"

struct hawk_error *hawk_answer_print_with(struct hawk_session *session,
					  const struct hawk_answer *answer,
					  const struct hawk_settings *settings)
{
	const struct hawk_settings *ours = session->settings;
	CLEANUP(free_ptr) void *made = calloc(1, answer->bytes);
	struct hawk_error *err;

	if (!made)
		return &hawk_enomem;
	session->settings = settings;
	session->screen.full = settings->full;
	err = answer->make(session, made);
	if (!err && settings->only_condition && session->code == HAWK_EXIT_OK)
		session->output->errnum = ECANCELED;
	else if (!err)
		err = settings->json ? answer->json(made, session->output)
				     : answer->text(made, &session->screen);
	answer->deinit(made);
	session->settings = ours;
	session->screen.full = ours->full;
	return err;
}

struct hawk_error *hawk_answer_print(struct hawk_session *session, const struct hawk_answer *answer)
{
	return hawk_answer_print_with(session, answer, session->settings);
}
