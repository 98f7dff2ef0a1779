/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core verify: what is wrong with the heap, and which block is at fault.
 */
#include "verify.h"

#include "answer.h"

struct hawk_error *hawk_verify_session_make(struct hawk_session *session,
					    struct hawk_verify_session *ret)
{
	struct hawk_block_types *types;
	struct hawk_error *err = hawk_session_types(session, &types);

	if (!err)
		err = hawk_verify_make(session->heap, types, session->symbols, &session->findings,
				       &ret->verify);
	if (!err)
		hawk_verify_resolve(session->symbols, types, &ret->verify);
	ret->report = (struct hawk_verify_report){
		.heap = session->heap,
		.symbols = session->symbols,
		.verify = &ret->verify,
		.findings = &session->findings,
		.next = &session->next,
		.source = session->source,
		.top = (size_t)session->settings->top,
		.depth = (size_t)session->settings->depth,
	};
	return err;
}

void hawk_verify_session_deinit(struct hawk_verify_session *verify)
{
	hawk_verify_deinit(&verify->verify);
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	struct hawk_verify_session *verify = ret;
	struct hawk_error *err = hawk_session_heap(session);

	if (!err)
		err = hawk_session_contents(session);
	if (!err)
		err = hawk_session_readable(session);
	if (!err)
		err = hawk_verify_session_make(session, verify);
	err = hawk_session_release(session, err);
	if (err)
		return err;
	hawk_session_check(session);
	verify->report.partial = hawk_findings_partial(&session->findings);
	if (verify->verify.count)
		session->code = HAWK_EXIT_CONDITION;
	return NULL;
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct hawk_verify_session *verify = made;

	hawk_verify_report_text(&verify->report, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct hawk_verify_session *verify = made;

	hawk_verify_report_json(&verify->report, output);
	return NULL;
}

static void add_next(void *made, struct hawk_next *ret)
{
	hawk_next_of_verify(&((struct hawk_verify_session *)made)->report, ret);
}

static void deinit(void *made)
{
	hawk_verify_session_deinit(made);
}

static const struct hawk_answer verify_answer = {
	.name = "verify",
	.bytes = sizeof(struct hawk_verify_session),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static struct hawk_error *answer(struct hawk_session *session)
{
	return hawk_answer_print(session, &verify_answer);
}

const struct hawk_verb hawk_verb_verify = {
	.name = "verify",
	.arguments = "[options] CORE | --pid PID",
	.summary = "what is wrong with the heap, and which block is at fault",
	.details = "Checks the structures of every allocator and the tracer's headers: sizes, "
		   "links, blocks that are free twice, free blocks that were written to. Names for "
		   "each damage the block that ran over or was misused, how far, and what was "
		   "found in place of what.",
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TOP | HAWK_TAKES_DEPTH | HAWK_TAKES_FULL |
		  HAWK_TAKES_JSON | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes = "Exit codes: 0 nothing is damaged, 1 something is, 2 usage, 3 not readable, "
		      "4 not everything could be checked, and nothing is known to be damaged.",
	.needs = "one core file, or --pid",
	.live = true,
	.answer = answer,
};
