/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core refs: who points at a block.
 */
#include "session.h"

static struct hawk_error *print_text(struct hawk_session *session)
{
	const struct hawk_settings *settings = session->settings;
	struct hawk_error *err = NULL;
	uint64_t address;

	for (int i = 0; i < settings->count && !err; i++) {
		if (i)
			hawk_output_puts(session->output, "\n");
		hawk_quantity_parse_hex(settings->operands[i], &address);
		err = hawk_report_refs(&session->report, address, &session->screen);
	}
	return err;
}

static struct hawk_error *print_json(struct hawk_session *session)
{
	const struct hawk_settings *settings = session->settings;
	struct hawk_error *err = NULL;
	struct hawk_json json;
	uint64_t address;

	hawk_report_json_begin(&session->report, &json, session->output, "hawk-core/refs", 4);
	hawk_json_put_array(&json, "addresses");
	for (int i = 0; i < settings->count && !err; i++) {
		hawk_quantity_parse_hex(settings->operands[i], &address);
		err = hawk_report_refs_json(&session->report, address, &json);
	}
	hawk_json_array_end(&json);
	hawk_report_json_end(&session->report, &json);
	return err;
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct hawk_error *err = hawk_session_graph(session);

	if (!err)
		err = hawk_session_report(session);
	if (!err)
		err = session->settings->json ? print_json(session) : print_text(session);
	return err;
}

const struct hawk_verb hawk_verb_refs = {
	.name = "refs",
	.arguments = "[options] CORE ADDRESS... | --pid PID ADDRESS...",
	.summary = "who points at a block",
	.details = "Lists the pointers to the block at each hexadecimal ADDRESS: roots by name, "
		   "and pointers in other blocks by the site that allocated those and the offset "
		   "in them. Filters choose the blocks that point.",
	.options = {hawk_pointer_options, hawk_query_options, hawk_target_options,
		    hawk_output_options, hawk_color_options, hawk_common_options},
	.exit_codes = hawk_verb_address_exit_codes,
	.needs = "a core file (or --pid) and addresses",
	.live = true,
	.operands_min = 1,
	.operands_max = -1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_addresses,
	.answer = answer,
};
