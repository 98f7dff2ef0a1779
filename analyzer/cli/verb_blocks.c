/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core blocks: every live block, one line each, while the sweep finds them.
 */
#include <math.h>

#include "hawk_report_blocks.h"
#include "hawk_session.h"

static struct hawk_error *stream(struct hawk_session *session, const struct hawk_settings *settings,
				 const struct hawk_site_list *sites)
{
	struct hawk_report_blocks_options options = {
		.json = settings->json,
		.size = {0, UINT64_MAX},
		.age = {0, INFINITY},
		.site = settings->site.given ? &settings->site.value : NULL,
		.sites = sites,
	};
	struct hawk_report_blocks *report;
	struct hawk_sweep_result result;
	struct hawk_error *err;

	if (settings->size.given)
		options.size = settings->size.range;
	if (settings->age.given)
		options.age = settings->age.range;
	err = hawk_report_blocks_create(&session->heap, &options, session->output, &report);
	if (err)
		return err;
	hawk_report_blocks_heading(report);
	err = hawk_sweep(session->target, &session->heap.plan, hawk_report_blocks_add, report,
			 hawk_session_progress, session, &session->findings, &result);
	hawk_report_blocks_destroy(report);
	hawk_session_end_progress(session);
	if (session->output->errnum) { // said by hawk_session_finish()
		hawk_error_destroy(err);
		err = NULL;
	}
	return err;
}

static struct hawk_site_filter filter_of(const struct hawk_settings *settings)
{
	return (struct hawk_site_filter){
		.module = settings->module,
		.function = settings->function,
	};
}

/** Names are looked up once for each site, and only if a filter asks for them. */
static struct hawk_error *list_blocks(struct hawk_session *session,
				      const struct hawk_settings *settings)
{
	struct hawk_site_filter filter = filter_of(settings);
	struct hawk_site_list list = {0};
	struct hawk_error *err;

	if (!filter.module && !filter.function)
		return stream(session, settings, NULL);
	err = hawk_site_list_create(&session->heap, session->symbols, &filter, &list);
	if (!err)
		err = stream(session, settings, &list);
	hawk_site_list_deinit(&list);
	return err;
}

static struct hawk_error *open_and_list(struct hawk_session *session,
					const struct hawk_settings *settings, const char *core)
{
	struct hawk_site_filter filter = filter_of(settings);
	struct hawk_error *err = hawk_site_filter_check(&filter);

	if (!err)
		err = hawk_session_open(session, settings, core);
	if (!err)
		err = hawk_heap_load_table(session->target, &session->findings, &session->heap);
	if (err)
		return err;
	if (session->heap.table)
		err = list_blocks(session, settings);
	hawk_session_check(session);
	return err;
}

int hawk_verb_blocks(struct hawk_settings *settings, int count, char **operands)
{
	struct hawk_session session = {0};
	struct hawk_error *err;
	int code = HAWK_EXIT_OK;

	if (count != 1) {
		hawk_complain("blocks needs one core file; see hawk-core help blocks");
		return HAWK_EXIT_USAGE;
	}
	err = open_and_list(&session, settings, operands[0]);
	if (err)
		code = hawk_fail(err);
	else if (hawk_findings_partial(&session.findings))
		code = HAWK_EXIT_PARTIAL;
	hawk_session_print_partial(&session);
	if (session.output)
		code = hawk_session_finish(&session, code);
	hawk_session_deinit(&session);
	return code;
}
