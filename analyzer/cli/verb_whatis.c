/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core whatis: what lies at an address.
 */
#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_report_whatis.h"
#include "hawk_session.h"

static bool read_addresses(char **texts, int count, struct hawk_whatis *whatis)
{
	for (int i = 0; i < count; i++) {
		if (hawk_quantity_parse_hex(texts[i], &whatis[i].address))
			continue;
		hawk_complain("'%s' is no hexadecimal address", texts[i]);
		return false;
	}
	return true;
}

static struct hawk_error *print(struct hawk_session *session, const struct hawk_settings *settings,
				const struct hawk_report *report, struct hawk_whatis *whatis,
				size_t count)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++)
		err = hawk_whatis_resolve(report, &whatis[i]);
	if (err)
		return err;
	if (settings->json)
		return hawk_report_whatis_json(report, whatis, count, session->output);
	for (size_t i = 0; i < count && !err; i++) {
		if (i)
			hawk_output_puts(session->output, "\n");
		err = hawk_report_whatis_text(report, &whatis[i], &session->screen);
	}
	return err;
}

static struct hawk_error *find_and_print(struct hawk_session *session,
					 const struct hawk_settings *settings, const char *core,
					 struct hawk_whatis *whatis, size_t count)
{
	struct hawk_report report;
	struct hawk_error *err = hawk_session_open(session, settings, core);

	if (err)
		return err;
	report = (struct hawk_report){
		.target = session->target,
		.symbols = session->symbols,
		.heap = &session->heap,
		.findings = &session->findings,
		.source = session->source,
		.depth = (size_t)settings->depth,
	};
	hawk_session_capture_stacks(session);
	err = hawk_heap_load_table(session->target, &session->findings, &session->heap);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		hawk_whatis_find(&report, whatis[i].address, &whatis[i]);
	hawk_target_release(session->target);
	hawk_session_check(session);
	return print(session, settings, &report, whatis, count);
}

int hawk_verb_whatis(struct hawk_settings *settings, int count, char **operands)
{
	int skip = settings->pid ? 0 : 1;
	struct hawk_session session = {0};
	struct hawk_error *err;
	int code = HAWK_EXIT_OK;

	if (count < skip + 1) {
		hawk_complain("whatis needs a core file (or --pid) and addresses; "
			      "see hawk-core help whatis");
		return HAWK_EXIT_USAGE;
	}
	CLEANUP(free_ptr) struct hawk_whatis *whatis = calloc((size_t)count, sizeof(*whatis));
	if (!whatis)
		return hawk_fail(&hawk_enomem);
	if (!read_addresses(operands + skip, count - skip, whatis))
		return HAWK_EXIT_USAGE;
	err = find_and_print(&session, settings, skip ? operands[0] : NULL, whatis,
			     (size_t)(count - skip));
	if (err)
		code = hawk_fail(err);
	else if (hawk_findings_partial(&session.findings))
		code = HAWK_EXIT_PARTIAL;
	if (!settings->json && !err)
		hawk_session_print_partial(&session);
	if (session.output)
		code = hawk_session_finish(&session, code);
	hawk_session_deinit(&session);
	return code;
}
