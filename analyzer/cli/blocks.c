/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core blocks: prints every live block, one line each; or the first N by size and age. Blocks
 * of a live process are printed once it runs again, because the reader may be slow.
 */
#include "hawk/base/cleanup.h"
#include "hawk/report/blocks.h"
#include "session.h"

/** Adds all blocks. A process runs on meanwhile. */
static struct hawk_error *add_blocks(const struct hawk_heap *heap, const uint64_t *chosen,
				     struct hawk_report_blocks *report)
{
	struct hawk_near near = {.target = heap->target};
	uint32_t count = heap->index.count;
	struct hawk_error *err = NULL;

	for (uint32_t i = hawk_block_next_chosen(chosen, 0, count); i < count && !err;
	     i = hawk_block_next_chosen(chosen, i + 1, count)) {
		struct hawk_block block;

		hawk_heap_next_block(heap, &near, i, &block);
		err = hawk_report_blocks_add(report, &block, 1);
	}
	return err;
}

static struct hawk_error *print(struct hawk_session *session,
				const struct hawk_block_filter *filter)
{
	const struct hawk_selector *selector = hawk_block_filter_selector(filter);
	CLEANUP(free_ptr) uint64_t *chosen = NULL;
	struct hawk_block_types *types = NULL;
	struct hawk_report_blocks *report;
	struct hawk_error *err = NULL;

	/* A process runs again while its blocks are printed, so their contents may have changed. */
	if (!session->settings->pid)
		err = hawk_session_types(session, &types);
	if (!err && selector)
		err = hawk_selection_bits_make(session->heap, selector, false, &chosen);
	err = hawk_session_release(session, err);
	if (!err)
		err = hawk_report_blocks_create(session->heap, session->settings->json, types,
						(size_t)session->settings->top, session->output,
						&report);
	if (err)
		return err;
	hawk_report_blocks_heading(report);
	err = add_blocks(session->heap, chosen, report);
	if (!err)
		hawk_report_blocks_finish(report);
	hawk_report_blocks_destroy(report);
	if (session->output->errnum) { // reported by hawk_session_finish()
		hawk_error_destroy(err);
		err = NULL;
	}
	return err;
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct hawk_block_filter *filter = NULL;
	struct hawk_error *err = hawk_session_heap(session);

	if (!err && session->settings->pid && !session->settings->type)
		hawk_target_release(session->target);
	if (!err && session->heap->knows)
		err = hawk_session_filter(session, &filter);
	if (!err && session->heap->knows)
		err = print(session, filter);
	hawk_block_filter_destroy(filter);
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
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_NOWHERE,
	.check = hawk_check_query,
	.answer = answer,
};
