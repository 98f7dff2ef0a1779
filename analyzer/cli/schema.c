/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core schema: the layout of a site's blocks, without debug information.
 */
#include "hawk/base/cleanup.h"
#include "answer.h"
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

struct answer {
	const struct hawk_heap *heap; /**< if its `knows` is 0, the rest is zeros */
	const struct hawk_pointer_report *pointers;
	const struct hawk_site_query *site;
	struct hawk_schema schema;
	struct hawk_schema_report report;
	bool redacted;
};

static void deinit(void *made)
{
	struct answer *answer = made;

	hawk_schema_deinit(&answer->schema);
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct answer *answer = made;

	hawk_next_of_schema(&answer->report, ret);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct answer *answer = made;

	if (!answer->heap->knows) {
		hawk_report_put_unknown(answer->heap, screen, "Schema",
					"see what blocks look like");
		return NULL;
	}
	hawk_report_schema(&answer->report, screen);
	if (answer->redacted)
		hawk_output_puts(screen->output, "\nThe core was redacted: numbers and text in "
						 "blocks are zeros.\n");
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct answer *answer = made;
	struct hawk_json json;

	hawk_report_json_begin(answer->pointers, &json, output, "hawk-core/schema", 3);
	if (answer->heap->knows) {
		hawk_report_schema_json(&answer->report, &json);
	} else if (answer->site->given) {
		hawk_json_put_id(&json, "site", answer->site->prefix.value);
	} else {
		hawk_json_put_null(&json, "site");
	}
	hawk_report_json_end(answer->pointers, &json);
	return NULL;
}

static struct hawk_error *make_schema(struct hawk_session *session, struct answer *ret)
{
	const struct hawk_selector *blocks = hawk_block_filter_selector(session->report.filter);
	CLEANUP(free_ptr) uint64_t *chosen = NULL;
	struct hawk_schema_query query = {
		.groups = (size_t)session->settings->top,
		.site = HAWK_SCHEMA_ANY_SITE,
	};
	struct hawk_block_types *types;
	struct hawk_error *err = hawk_session_types(session, &types);

	if (!err && ret->site->given)
		err = hawk_site_prefix_find(session->heap, &ret->site->prefix, &query.site);
	if (!err && blocks)
		err = hawk_selection_bits_make(session->heap, blocks, false, &chosen);
	query.chosen = chosen;
	if (!err)
		err = hawk_session_readable(session);
	if (!err)
		err = hawk_schema_make(session->heap, &query, types, &session->findings,
				       &ret->schema);
	ret->report = (struct hawk_schema_report){
		.pointers = &session->report,
		.schema = &ret->schema,
		.site = query.site,
		.type = session->settings->type,
	};
	return hawk_session_release(session, err);
}

/** Reports a redacted core, whose numbers and text are zeros. */
static void report_redacted(struct hawk_session *session)
{
	if (hawk_target_process(session->target)->redacted)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, false, "redacted",
				  "the core was redacted: of what blocks hold, pointers are left; "
				  "numbers and text are zeros");
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	struct answer *answer = ret;
	struct hawk_error *err = hawk_session_heap(session);

	if (!err)
		err = hawk_session_contents(session);
	if (!err)
		err = hawk_session_report(session);
	report_redacted(session);
	answer->heap = session->heap;
	answer->pointers = &session->report;
	answer->site = &session->settings->site;
	answer->redacted = hawk_target_process(session->target)->redacted;
	return !err && session->heap->knows ? make_schema(session, answer) : err;
}

const struct hawk_answer hawk_answer_schema = {
	.name = "schema",
	.bytes = sizeof(struct answer),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

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
	.prints = &hawk_answer_schema,
};
