/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core heap: what the memory is used for, to the byte.
 */
#include "answer.h"
#include "hawk/report/balance.h"

struct answer {
	struct hawk_balance balance;
	struct hawk_fragmentation fragmentation;
	struct hawk_balance_report report;
};

static void deinit(void *made)
{
	struct answer *answer = made;

	hawk_balance_deinit(&answer->balance);
	hawk_fragmentation_deinit(&answer->fragmentation);
}

/** Adds findings about what cannot be told apart. */
static void report_gaps(struct hawk_session *session, const struct hawk_balance *balance)
{
	bool is_traced = session->heap->knows & HAWK_HEAP_HEADERS;

	for (size_t i = 0; is_traced && i < balance->allocator_count; i++)
		hawk_allocator_report(&balance->allocators[i].allocator, &session->findings);
	if (!balance->allocator_count)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, true,
				  "allocators-unknown", "%s",
				  "no structures of an allocator were found: what is free, and "
				  "where, is not known");
	if (balance->excess)
		hawk_findings_add(&session->findings, HAWK_FINDING_DAMAGE, true, "heap-exceeds",
				  "parts of allocators' memory are %s larger than the whole",
				  hawk_quantity_bytes(balance->excess).text);
}

static struct hawk_error *make_balance(struct hawk_session *session, struct answer *answer)
{
	struct hawk_error *err =
		hawk_session_balance(session, &answer->balance, &answer->fragmentation);

	if (!err)
		report_gaps(session, &answer->balance);
	return err;
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	struct answer *answer = ret;
	struct hawk_error *err = hawk_session_has_blocks(session) ? hawk_session_sites(session)
								  : hawk_session_heap(session);

	/* Blocks of a traced heap must have numbers, to be looked up in chunks. */
	if (!err && session->heap->knows & HAWK_HEAP_HEADERS)
		err = hawk_session_heap(session);
	if (!err && session->heap->knows)
		err = make_balance(session, answer);
	err = hawk_session_release(session, err);
	if (!err)
		err = hawk_session_report(session);
	answer->report = (struct hawk_balance_report){
		.pointers = &session->report,
		.balance = &answer->balance,
		.fragmentation = &answer->fragmentation,
	};
	return err;
}

static void add_next(void *made, struct hawk_next *ret)
{
	hawk_next_of_heap(&((struct answer *)made)->report, ret);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct answer *answer = made;

	hawk_report_balance(&answer->report, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct answer *answer = made;
	struct hawk_json json;

	hawk_report_json_begin(answer->report.pointers, &json, output, "hawk-core/heap", 2);
	hawk_report_balance_json(&answer->report, &json);
	hawk_report_json_end(answer->report.pointers, &json);
	return NULL;
}

static const struct hawk_answer heap_answer = {
	.name = "heap",
	.bytes = sizeof(struct answer),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

const struct hawk_verb hawk_verb_heap = {
	.name = "heap",
	.arguments = "[options] CORE | --pid PID",
	.summary = "what the memory is used for, to the byte, and where free memory hides",
	.details = "Divides all memory of a core or process by use: live blocks, free memory by "
		   "kind, what allocators, the tracer, stacks and modules need. Then says why free "
		   "memory is not given back, and which blocks pin it; and shows allocators with "
		   "their arenas and settings, caches of threads, and sizes.",
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TOP | HAWK_TAKES_FULL | HAWK_TAKES_THREADS |
		  HAWK_TAKES_JSON | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.prints = &heap_answer,
};
