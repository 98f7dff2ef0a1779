/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core whatis: what lies at an address.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "session.h"
#include "hawk/report/whatis.h"

static void print(struct hawk_session *session, const struct hawk_report *report,
		  struct hawk_block_types *types, struct hawk_whatis *whatis, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hawk_whatis_resolve(report->symbols, types, &whatis[i]);
	if (session->settings->json) {
		hawk_report_whatis_json(report, whatis, count, session->output);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (i)
			hawk_output_puts(session->output, "\n");
		hawk_report_whatis_text(report, &whatis[i], &session->screen);
	}
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct hawk_report report = {
		.target = session->target,
		.symbols = session->symbols,
		.findings = &session->findings,
		.source = session->source,
		.depth = (size_t)session->settings->depth,
	};
	size_t count = (size_t)session->settings->count;
	CLEANUP(free_ptr) struct hawk_whatis *whatis = calloc(count, sizeof(*whatis));
	struct hawk_block_types *types;
	struct hawk_error *err;

	if (!whatis)
		return &hawk_enomem;
	err = hawk_session_heap(session);
	if (!err)
		err = hawk_session_types(session, &types);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		hawk_quantity_parse_hex(session->settings->operands[i], &whatis[i].address);
		hawk_whatis_find(session->heap, types, whatis[i].address, &whatis[i]);
	}
	report.heap = session->heap;
	err = hawk_session_release(session, NULL);
	if (err)
		return err;
	hawk_session_check(session);
	print(session, &report, types, whatis, count);
	return NULL;
}

const struct hawk_verb hawk_verb_whatis = {
	.name = "whatis",
	.arguments = "[options] CORE ADDRESS... | --pid PID ADDRESS...",
	.summary = "what lies at an address",
	.details = "Says for each hexadecimal ADDRESS which block, stack, symbol or mapping "
		   "it lies in.",
	.shared = HAWK_TAKES_PID | HAWK_TAKES_DEPTH | HAWK_TAKES_FULL | HAWK_TAKES_JSON |
		  HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "a core file (or --pid) and addresses",
	.live = true,
	.operands_min = 1,
	.operands_max = -1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_addresses,
	.answer = answer,
};
