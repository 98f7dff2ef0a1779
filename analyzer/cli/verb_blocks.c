/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core blocks: every live block, one line each, while the sweep finds them; or the first N by
 * size and age.
 */
#include "hawk_report_blocks.h"
#include "hawk_session.h"

static struct hawk_error *stream(struct hawk_session *session, const struct hawk_settings *settings,
				 const struct hawk_block_filter *filter)
{
	struct hawk_report_blocks *report;
	struct hawk_sweep_result result;
	struct hawk_error *err;

	err = hawk_report_blocks_create(&session->heap, settings->json, filter,
					(size_t)settings->top, session->output, &report);
	if (err)
		return err;
	hawk_report_blocks_heading(report);
	err = hawk_sweep(session->target, &session->heap.plan, hawk_report_blocks_add, report,
			 hawk_session_progress, session, &session->findings, &result);
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
	struct hawk_error *err = hawk_session_load_table(session);
	struct hawk_block_filter *filter = NULL;

	(void)count;
	(void)operands;
	(void)code;
	if (!err && session->heap.table)
		err = hawk_session_filter(session, settings, &filter);
	if (!err && session->heap.table)
		err = stream(session, settings, filter);
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
