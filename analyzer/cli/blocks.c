/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core blocks: prints every live block, one line each; or the first N by size and age. Blocks
 * of a live process are printed once it runs again, because the reader may be slow.
 */
#include <stdlib.h>

#include "answer.h"
#include "hawk/report/blocks.h"

struct blocks {
	struct hawk_blocks_report report;
	uint64_t *chosen;
};

static struct hawk_error *choose(struct hawk_session *session, struct blocks *blocks)
{
	struct hawk_block_filter *filter = NULL;
	struct hawk_error *err = hawk_session_filter(session, &filter);

	/* A process runs again while its blocks are printed, so their contents may have changed. */
	if (!err && !session->settings->pid)
		err = hawk_session_types(session, &blocks->report.types);
	if (!err && filter)
		err = hawk_selection_bits_make(session->heap, hawk_block_filter_selector(filter),
					       false, &blocks->chosen);
	hawk_block_filter_destroy(filter);
	return err;
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	struct blocks *blocks = ret;
	struct hawk_error *err = hawk_session_heap(session);

	if (!err && session->settings->pid && !session->settings->type)
		hawk_target_release(session->target);
	if (!err && session->heap->knows)
		err = choose(session, blocks);
	err = hawk_session_release(session, err);
	blocks->report.heap = session->heap;
	blocks->report.chosen = blocks->chosen;
	blocks->report.top = (size_t)session->settings->top;
	return err;
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	return hawk_report_blocks(&((struct blocks *)made)->report, screen);
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	return hawk_report_blocks_json(&((struct blocks *)made)->report, output);
}

static void deinit(void *made)
{
	free(((struct blocks *)made)->chosen);
}

/** Checks last: printing reads the blocks' first words. */
static struct hawk_error *answer(struct hawk_session *session)
{
	static const struct hawk_answer blocks = {
		.name = "blocks",
		.bytes = sizeof(struct blocks),
		.make = make,
		.text = print_text,
		.json = print_json,
		.deinit = deinit,
	};
	struct hawk_error *err = hawk_answer_print(session, &blocks);

	hawk_session_check(session);
	return err;
}

static const struct hawk_option options[] = {
	{"top", 'n', HAWK_OPTION_COUNT, HAWK_AT(top), "N",
	 "only the N largest, the largest first, of one size the oldest"},
	{"json", 'j', HAWK_OPTION_FLAG, HAWK_AT(json), NULL, "one JSON object a line"},
	{0},
};

const struct hawk_verb hawk_verb_blocks = {
	.name = "blocks",
	.arguments = "[options] CORE | --pid PID",
	.summary = "list every live block",
	.details = "Prints one line for each live block, in ascending order of address, or "
		   "with --top for the N largest.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_NOWHERE,
	.check = hawk_check_query,
	.answer = answer,
};
