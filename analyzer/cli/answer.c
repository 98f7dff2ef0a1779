/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes answers and prints them.
 */
#include "answer.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

struct hawk_error *hawk_answer_print_to(struct hawk_session *session,
					const struct hawk_answer *answer,
					const struct hawk_settings *settings,
					struct hawk_output *output)
{
	const struct hawk_settings *ours = session->settings;
	CLEANUP(free_ptr) void *made = calloc(1, answer->bytes);
	struct hawk_screen screen = session->screen;
	struct hawk_error *err;

	if (!made)
		return &hawk_enomem;
	screen.output = output;
	session->settings = settings;
	err = answer->make(session, made);
	if (!err)
		err = settings->json ? answer->json(made, output) : answer->text(made, &screen);
	answer->deinit(made);
	session->settings = ours;
	return err;
}

struct hawk_error *hawk_answer_print(struct hawk_session *session, const struct hawk_answer *answer)
{
	return hawk_answer_print_to(session, answer, session->settings, session->output);
}
