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

static struct hawk_error *check(const struct hawk_settings *settings, int count, char **operands)
{
	struct hawk_site_filter filter = filter_of(settings);

	(void)count;
	(void)operands;
	return hawk_site_filter_check(&filter);
}

static struct hawk_error *answer(struct hawk_session *session, const struct hawk_settings *settings,
				 int count, char **operands, int *code)
{
	struct hawk_error *err = hawk_session_load_table(session);

	(void)count;
	(void)operands;
	(void)code;
	if (!err && session->heap.table)
		err = list_blocks(session, settings);
	hawk_session_check(session);
	return err;
}

static const struct hawk_option options[] = {
	{"site", '\0', HAWK_OPTION_HEX, HAWK_AT(site), "HEX", "only blocks of this site"},
	{"size", '\0', HAWK_OPTION_SIZES, HAWK_AT(size), "MIN[-MAX]",
	 "only blocks of so many requested bytes (10k, 1M-4M, -64)"},
	{"age", '\0', HAWK_OPTION_AGES, HAWK_AT(age), "MIN[-MAX]",
	 "only blocks of such an age (30, 10m, 1h-2h)"},
	{"module", '\0', HAWK_OPTION_STRING, HAWK_AT(module), "REGEX",
	 "only blocks with a matching module in their stack"},
	{"function", '\0', HAWK_OPTION_STRING, HAWK_AT(function), "REGEX",
	 "only blocks with a matching function in their stack"},
	{"json", 'j', HAWK_OPTION_FLAG, HAWK_AT(json), NULL, "one JSON object a line"},
	{0},
};

const struct hawk_verb hawk_verb_blocks = {
	.name = "blocks",
	.arguments = "[options] CORE",
	.summary = "list every live block",
	.details = "Prints one line for each live block, in ascending order of address.",
	.options = {options, hawk_target_options, hawk_common_options},
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file",
	.findings = HAWK_FINDINGS_NOWHERE,
	.check = check,
	.answer = answer,
};
