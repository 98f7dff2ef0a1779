/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core threads: what every thread does, and which threads wait for each other.
 */
#include "hawk/report/threads.h"

#include "answer.h"

struct made {
	struct hawk_threads threads;
	struct hawk_threads_report report;
};

static struct hawk_error *check_tid(const struct hawk_threads *threads,
				    const struct hawk_number *tid)
{
	for (uint32_t i = 0; i < threads->count && tid->given; i++)
		if (threads->items[i].thread->tid == tid->value)
			return NULL;
	return tid->given ? hawk_error_create(HAWK_ERROR_USAGE, "there is no thread %llu",
					      (unsigned long long)tid->value)
			  : NULL;
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	const struct hawk_settings *settings = session->settings;
	struct hawk_threads_wish wish = {.target = session->target, .symbols = session->symbols};
	struct made *made = ret;
	struct hawk_error *err = hawk_session_sites(session);

	if (!err)
		err = hawk_session_readable(session);
	wish.heap = session->heap;
	if (!err)
		err = hawk_session_types(session, &wish.types);
	if (!err)
		err = hawk_threads_make(&wish, &made->threads);
	err = hawk_session_release(session, err);
	if (!err)
		err = check_tid(&made->threads, &settings->tid);
	if (err)
		return err;
	hawk_threads_resolve(&wish, &made->threads);
	if (made->threads.waits_unknown)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, true,
				  "registers-missing",
				  "the snapshot does not say what threads wait for: it is of an "
				  "older version");
	hawk_session_check(session);
	if (made->threads.deadlocks || made->threads.ended_owners)
		session->code = HAWK_EXIT_CONDITION;
	made->report = (struct hawk_threads_report){
		.target = session->target,
		.heap = session->heap,
		.symbols = session->symbols,
		.threads = &made->threads,
		.findings = &session->findings,
		.next = &session->next,
		.source = session->source,
		.top = (size_t)settings->top,
		.depth = (size_t)settings->depth,
		.tid = settings->tid.given ? (uint32_t)settings->tid.value : 0,
		.partial = hawk_findings_partial(&session->findings),
	};
	return NULL;
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	hawk_threads_report_text(&((struct made *)made)->report, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	hawk_threads_report_json(&((struct made *)made)->report, output);
	return NULL;
}

static void deinit(void *made)
{
	hawk_threads_deinit(&((struct made *)made)->threads);
}

static const struct hawk_answer threads_answer = {
	.name = "threads",
	.bytes = sizeof(struct made),
	.make = make,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static const struct hawk_option options[] = {
	{"tid", 't', HAWK_OPTION_NUMBER, HAWK_AT(tid), "N",
	 "show this thread alone, with the blocks its frames point to"},
	{0},
};

const struct hawk_verb hawk_verb_threads = {
	.name = "threads",
	.arguments = "[options] CORE | --pid PID",
	.summary = "what every thread does, what it waits for, and deadlocks",
	.details = "Prints each thread's stack, the system call or the lock that it waits for, "
		   "and who holds the lock; equal threads once. Threads that wait for each other "
		   "are a deadlock. Frames marked (guess) were searched for behind a damaged part "
		   "of the stack.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TOP | HAWK_TAKES_DEPTH | HAWK_TAKES_FULL |
		  HAWK_TAKES_JSON | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes = "Exit codes: 0 ok, 1 threads are deadlocked, 2 usage, 3 not readable, "
		      "4 the answer is incomplete, and no deadlock is known.",
	.needs = "one core file, or --pid",
	.live = true,
	.prints = &threads_answer,
};
