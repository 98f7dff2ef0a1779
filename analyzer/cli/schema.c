/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core schema: what a site's blocks look like, without debug information.
 */
#include <stdio.h>

#include "hawk/base/cleanup.h"
#include "session.h"
#include "hawk/report/schema.h"

static struct hawk_error *check(struct hawk_settings *settings)
{
	if (!settings->count && !settings->site.given && !settings->type)
		return hawk_error_create(
			HAWK_ERROR_USAGE,
			"schema needs a site, or --type; see hawk-core help schema");
	if (settings->top > HAWK_SCHEMA_GROUPS_MAX)
		return hawk_error_create(HAWK_ERROR_USAGE, "--top: at most %d sizes",
					 (int)HAWK_SCHEMA_GROUPS_MAX);
	return hawk_check_site(settings);
}

static void print(struct hawk_session *session, const struct hawk_schema_report *report)
{
	struct hawk_json json;

	if (!session->settings->json) {
		hawk_report_schema(report, &session->screen);
		if (hawk_target_process(session->target)->redacted)
			hawk_output_puts(session->output,
					 "\nThe core was redacted: numbers and text in blocks are "
					 "zeros.\n");
		return;
	}
	hawk_report_json_begin(report->pointers, &json, session->output, "hawk-core/schema", 3);
	hawk_report_schema_json(report, &json);
	hawk_report_json_end(report->pointers, &json);
}

/** Of a process that was not traced. */
static void print_unknown(struct hawk_session *session, const struct hawk_site_prefix *site)
{
	struct hawk_json json;
	char text[17] = "";

	if (!session->settings->json) {
		hawk_report_put_unknown(session->heap, &session->screen, "Schema",
					"see what blocks look like");
		return;
	}
	if (site)
		snprintf(text, sizeof(text), "%016llx", (unsigned long long)site->value);
	hawk_report_json_begin(&session->report, &json, session->output, "hawk-core/schema", 3);
	hawk_json_put_string(&json, "site", site ? text : NULL);
	hawk_report_json_end(&session->report, &json);
}

static struct hawk_error *make(struct hawk_session *session, const struct hawk_site_prefix *site)
{
	struct hawk_schema_report report = {.pointers = &session->report,
					    .type = session->settings->type};
	const struct hawk_selector *blocks = hawk_block_filter_selector(session->report.filter);
	CLEANUP(free_ptr) uint64_t *chosen = NULL;
	struct hawk_schema_query query = {
		.groups = (size_t)session->settings->top,
		.site = HAWK_SCHEMA_ANY_SITE,
	};
	struct hawk_schema schema;
	struct hawk_error *err =
		site ? hawk_site_prefix_find(session->heap, site, &query.site) : NULL;

	if (err)
		return err;
	report.site = query.site;
	report.schema = &schema;
	if (blocks)
		err = hawk_selection_bits_make(session->heap, blocks, false, &chosen);
	query.chosen = chosen;
	if (!err)
		err = hawk_session_readable(session);
	if (!err)
		err = hawk_schema_make(session->heap, &query, &session->vtables, &session->findings,
				       &schema);
	if (err)
		return err;
	err = hawk_session_release(session, NULL);
	if (!err)
		print(session, &report);
	hawk_schema_deinit(&schema);
	return err;
}

/** Numbers and text that blocks held are zeros now. */
static void report_redacted(struct hawk_session *session)
{
	if (hawk_target_process(session->target)->redacted)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, false, "redacted",
				  "the core was redacted: of what blocks hold, pointers are left; "
				  "numbers and text are zeros");
}

static struct hawk_error *answer(struct hawk_session *session)
{
	const struct hawk_site_query *query = &session->settings->site;
	const struct hawk_site_prefix *site = query->given ? &query->prefix : NULL;
	struct hawk_error *err = hawk_session_heap(session);

	if (!err)
		err = hawk_session_contents(session);
	if (!err)
		err = hawk_session_report(session);
	report_redacted(session);
	if (!err && session->heap->knows)
		err = make(session, site);
	else if (!err)
		print_unknown(session, site);
	return err;
}

static const struct hawk_option options[] = {
	{"top", 'n', HAWK_OPTION_COUNT, HAWK_AT(top), "N", "look at up to N sizes of blocks apart"},
	{0},
};

const struct hawk_verb hawk_verb_schema = {
	.name = "schema",
	.arguments = "[options] CORE [SITE] | --pid PID [SITE]",
	.summary = "what a site's blocks look like, and which do not fit",
	.details =
		"Treats the blocks of SITE as objects of one type, and shows what each of their "
		"words holds: pointers to blocks of which site, virtual tables, code, text, "
		"numbers, with shares; a struct without debug information. Lists blocks that do "
		"not fit: they may have been overwritten, or be stale. With --type and without a "
		"site, looks at all blocks of that type, whichever site made them.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_FULL | HAWK_TAKES_THREADS | HAWK_TAKES_JSON |
		  HAWK_TAKES_SITE | HAWK_TAKES_SIZE | HAWK_TAKES_AGE | HAWK_TAKES_TYPE |
		  HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file (or --pid) and a site, or --type",
	.live = true,
	.operands_max = 1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = check,
	.answer = answer,
};
