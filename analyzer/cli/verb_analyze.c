/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core analyze: one screen about a core or a process.
 */
#include "hawk_session.h"

static struct hawk_error *load(struct hawk_session *session)
{
	struct hawk_error *err;

	hawk_session_capture_stacks(session);
	err = hawk_heap_load(session->target, &session->findings, hawk_session_progress, session,
			     &session->heap);
	hawk_target_release(session->target);
	hawk_session_end_progress(session);
	if (!err)
		hawk_session_check(session);
	return err;
}

static struct hawk_site_filter filter_of(const struct hawk_settings *settings)
{
	return (struct hawk_site_filter){
		.focus = settings->focus,
		.ignore = settings->ignore,
		.min_bytes = settings->min_bytes,
	};
}

static struct hawk_error *print(struct hawk_session *session, const struct hawk_settings *settings)
{
	struct hawk_site_filter filter = filter_of(settings);
	struct hawk_site_list list = {0};
	struct hawk_report report = {
		.target = session->target,
		.symbols = session->symbols,
		.heap = &session->heap,
		.findings = &session->findings,
		.source = session->source,
		.filtered = filter.focus || filter.ignore || filter.min_bytes,
		.limited = settings->top,
		.top = (size_t)settings->top,
		.depth = (size_t)settings->depth,
		.sorted = settings->sort,
		.sort = settings->sort ? (enum hawk_site_sort)(settings->sort - 1)
				       : HAWK_SITE_SORT_SIZE,
		.grouped = settings->by > 1,
		.by = (enum hawk_group_by)(settings->by > 1 ? settings->by - 1 : 1),
	};
	struct hawk_error *err = NULL;

	if (session->heap.table) {
		err = hawk_site_list_create(&session->heap, session->symbols, &filter, &list);
		report.list = &list;
	}
	if (!err)
		err = settings->json ? hawk_report_json(&report, session->output)
				     : hawk_report_text(&report, &session->screen);
	hawk_site_list_deinit(&list);
	return err;
}

static struct hawk_error *analyze(struct hawk_session *session,
				  const struct hawk_settings *settings, const char *core)
{
	struct hawk_site_filter filter = filter_of(settings);
	struct hawk_error *err = hawk_site_filter_check(&filter);

	if (!err)
		err = hawk_session_open(session, settings, core);
	if (!err)
		err = load(session);
	if (err)
		return err;
	return print(session, settings);
}

int hawk_verb_analyze(struct hawk_settings *settings, int count, char **operands)
{
	struct hawk_session session = {0};
	struct hawk_error *err;
	int code = HAWK_EXIT_OK;

	if (settings->pid ? count != 0 : count != 1) {
		hawk_complain("analyze needs one core file, or --pid; see hawk-core help analyze");
		return HAWK_EXIT_USAGE;
	}
	err = analyze(&session, settings, settings->pid ? NULL : operands[0]);
	if (err)
		code = hawk_fail(err);
	else if (hawk_findings_partial(&session.findings))
		code = HAWK_EXIT_PARTIAL;
	if (session.output && code != HAWK_EXIT_USAGE)
		code = hawk_session_finish(&session, code);
	hawk_session_deinit(&session);
	return code;
}
