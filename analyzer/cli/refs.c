/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core refs: the pointers to a block.
 */
#include "hawk/analysis/refs.h"
#include "hawk/base/cleanup.h"
#include "session.h"

/** Prints the pointers to one address: as text, or into `json`. */
static struct hawk_error *print(struct hawk_session *session, const uint64_t *chosen,
				const char *operand, struct hawk_json *json)
{
	const struct hawk_pointer_report *report = &session->report;
	struct hawk_refs refs = {0};
	struct hawk_error *err;
	uint64_t address;
	uint32_t block;

	hawk_quantity_parse_hex(operand, &address);
	err = hawk_report_find_block(report, address, &block);
	if (!err)
		err = hawk_refs_find(session->graph, chosen, block, &refs);
	if (!err && json)
		hawk_report_refs_json(report, &refs, address, json);
	else if (!err)
		hawk_report_refs(report, &refs, address, &session->screen);
	hawk_refs_deinit(&refs);
	return err;
}

static struct hawk_error *print_all(struct hawk_session *session, const uint64_t *chosen)
{
	const struct hawk_settings *settings = session->settings;
	struct hawk_error *err = NULL;
	struct hawk_json json;

	if (settings->json) {
		hawk_report_json_begin(&session->report, &json, session->output, "hawk-core/refs",
				       4);
		hawk_json_put_array(&json, "addresses");
	}
	for (int i = 0; i < settings->count && !err; i++) {
		if (i && !settings->json)
			hawk_output_puts(session->output, "\n");
		err = print(session, chosen, settings->operands[i], settings->json ? &json : NULL);
	}
	if (settings->json) {
		hawk_json_array_end(&json);
		hawk_report_json_end(&session->report, &json);
	}
	return err;
}

static struct hawk_error *answer(struct hawk_session *session)
{
	CLEANUP(free_ptr) uint64_t *chosen = NULL;
	const struct hawk_selector *selector;
	struct hawk_error *err = hawk_session_graph(session);

	if (!err)
		err = hawk_session_report(session);
	selector = hawk_block_filter_selector(session->report.filter);
	if (!err && selector)
		err = hawk_selection_bits_make(session->heap, selector, false, &chosen);
	return err ? err : print_all(session, chosen);
}

const struct hawk_verb hawk_verb_refs = {
	.name = "refs",
	.arguments = "[options] CORE ADDRESS... | --pid PID ADDRESS...",
	.summary = "who points at a block",
	.details = "Lists the pointers to the block at each hexadecimal ADDRESS: roots by name, "
		   "and pointers in other blocks by the site that allocated those and the offset "
		   "in them. Filters choose the blocks that point.",
	.shared = HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_address_exit_codes,
	.needs = "a core file (or --pid) and addresses",
	.live = true,
	.operands_min = 1,
	.operands_max = -1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_addresses,
	.answer = answer,
};
