/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core blocks: every live block, one line each, while the sweep finds them, or as they are in
 * the index cache; or the first N by size and age.
 */
#include "hawk_heap_lost.h"
#include "hawk_report_blocks.h"
#include "hawk_session.h"

/** Where the blocks of a sweep go. */
struct stream {
	struct hawk_report_blocks *report;
	struct hawk_heap_lost lost;
};

static struct hawk_error *take_blocks(void *context, const struct hawk_block *blocks, size_t count)
{
	struct stream *stream = context;

	hawk_heap_lost_take(&stream->lost, blocks, count);
	return hawk_report_blocks_add(stream->report, blocks, count);
}

static struct hawk_error *sweep(struct hawk_session *session, struct hawk_report_blocks *report)
{
	struct stream stream = {.report = report, .lost = {.heap = &session->heap}};
	struct hawk_sweep_result result;
	struct hawk_error *err =
		hawk_sweep(session->target, &session->heap.plan, take_blocks, &stream,
			   hawk_session_progress, session, &session->findings, &result);

	if (!err)
		hawk_heap_lost_report(&session->heap, stream.lost.objects, stream.lost.bytes,
				      &session->findings);
	return err;
}

/** `cached`: the graph is there; else from a sweep. */
static struct hawk_error *stream(struct hawk_session *session, const struct hawk_settings *settings,
				 const struct hawk_block_filter *filter, bool cached)
{
	struct hawk_report_blocks *report;
	struct hawk_error *err;

	err = hawk_report_blocks_create(&session->heap, settings->json, filter,
					(size_t)settings->top, session->output, &report);
	if (err)
		return err;
	hawk_report_blocks_heading(report);
	err = cached ? hawk_report_blocks_add_all(report, &session->graph) : sweep(session, report);
	if (!err)
		hawk_report_blocks_finish(report);
	hawk_report_blocks_destroy(report);
	if (session->output->errnum) { // said by hawk_session_finish()
		hawk_error_destroy(err);
		err = NULL;
	}
	return err;
}

static struct hawk_error *check(const struct hawk_settings *settings, int count, char **operands)
{
	struct hawk_block_wish wish = hawk_settings_wish(settings);

	(void)count;
	(void)operands;
	return hawk_block_wish_check(&wish);
}

static struct hawk_error *answer(struct hawk_session *session, const struct hawk_settings *settings,
				 int count, char **operands, int *code)
{
	struct hawk_block_filter *filter = NULL;
	struct hawk_error *err;
	bool cached = hawk_session_load_cached_graph(session, settings, HAWK_PART_INDEX, &err);

	(void)count;
	(void)operands;
	(void)code;
	if (!err && !cached)
		err = hawk_session_load_table(session);
	if (!err && session->heap.table)
		err = hawk_session_filter(session, settings, &filter);
	if (!err && session->heap.table)
		err = stream(session, settings, filter, cached);
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
	.arguments = "[options] CORE",
	.summary = "list every live block",
	.details = "Prints one line for each live block, in ascending order of address, or "
		   "with --top for the N largest.",
	.options = {options, hawk_wish_options, hawk_target_options, hawk_common_options},
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file",
	.findings = HAWK_FINDINGS_NOWHERE,
	.check = check,
	.answer = answer,
};
