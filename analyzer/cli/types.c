/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core types: the heap by types.
 */
#include <stdlib.h>

#include "answer.h"
#include "hawk/report/types.h"

enum { CONTAINERS_SPLIT = 2 };

struct types {
	struct hawk_types_report report;
	struct hawk_selection selection;
	uint64_t *retained; /**< by type */
	struct hawk_type_list list;
};

static void deinit(void *made)
{
	struct types *types = made;

	hawk_type_list_deinit(&types->list);
	hawk_selection_deinit(&types->selection);
	free(types->retained);
}

/* Makes all that reads memory. */
static struct hawk_error *read_types(struct hawk_session *session, struct types *ret)
{
	const struct hawk_types_wish wish = {
		.flows = true, .folds = session->settings->containers != CONTAINERS_SPLIT};
	struct hawk_error *err =
		ret->report.retained ? hawk_session_graph(session) : hawk_session_heap(session);

	if (!err && session->heap->knows)
		err = hawk_session_type_table(session, &wish, &ret->report.types);
	if (!err)
		err = hawk_session_report(session);
	if (!err)
		err = hawk_session_choose(session, session->report.filter, &ret->selection);
	return hawk_session_release(session, err);
}

static void report_unread(struct hawk_session *session)
{
	if (hawk_target_snapshot(session->target) && session->heap->knows & HAWK_HEAP_STACKS)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, false, "types-unread",
				  "a snapshot does not keep types that flow from variables: ask "
				  "the core for these");
}

static struct hawk_error *retain(struct hawk_session *session, struct types *ret)
{
	const struct hawk_types *types = ret->report.types;
	struct hawk_block_groups groups = {.keys = types->of_block, .count = types->count};

	return hawk_session_retained_by(session, &groups, ret->selection.blocks, &ret->retained);
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	int sort = session->settings->sort;
	struct types *types = ret;
	struct hawk_error *err;

	types->report = (struct hawk_types_report){
		.pointers = &session->report,
		.list = &types->list,
		.retained = !session->settings->no_graph,
	};
	err = read_types(session, types);
	if (err || !session->heap->knows)
		return err;
	report_unread(session);
	if (types->report.retained)
		err = retain(session, types);
	return err ? err
		   : hawk_type_list_make(
			     types->report.types, types->selection.blocks, types->retained,
			     sort ? (enum hawk_type_sort)(sort - 1) : HAWK_TYPES_BY_SIZE,
			     &types->list);
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct types *types = made;

	hawk_next_of_types(&types->report, ret);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	const struct hawk_types_report *report = &((struct types *)made)->report;

	if (report->types)
		hawk_report_types(report, screen);
	else
		hawk_report_put_unknown(report->pointers->heap, screen, "Types",
					"see what the objects are");
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	const struct hawk_types_report *report = &((struct types *)made)->report;
	struct hawk_json json;

	hawk_report_json_begin(report->pointers, &json, output, "hawk-core/types", 2);
	hawk_report_types_json(report, &json);
	hawk_report_json_end(report->pointers, &json);
	return NULL;
}

static struct hawk_error *check(struct hawk_settings *settings)
{
	if (settings->no_graph && settings->sort == 1 + HAWK_TYPES_BY_RETAINED)
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "--sort retained needs what --no-graph leaves out");
	return hawk_check_query(settings);
}

const struct hawk_answer hawk_answer_types = {
	.name = "types",
	.bytes = sizeof(struct types),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static const struct hawk_option options[] = {
	{"sort", 's', HAWK_OPTION_CHOICE, HAWK_AT(sort), "size|count|retained",
	 "order by live bytes, live blocks, retained bytes"},
	{"containers", '\0', HAWK_OPTION_CHOICE, HAWK_AT(containers), "fold|split",
	 "count a container's nodes and buffers as the container, or by their own types"},
	{"no-graph", '\0', HAWK_OPTION_FLAG, HAWK_AT(no_graph), NULL,
	 "leave out retained bytes, which take most of the time and memory"},
	{0},
};

const struct hawk_verb hawk_verb_types = {
	.name = "types",
	.arguments = "[options] CORE | --pid PID",
	.summary = "what the live blocks are: the heap by type",
	.details = "Lists the types of live blocks with their number, size, retained size and "
		   "oldest block. Types are annotated ones, C++ classes with virtual functions, "
		   "objects of interpreters, and what debug information tells; blocks of an "
		   "untraced process without one are "
		   "grouped by size. A ? marks a guess. Retained sizes are lower bounds.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TOP | HAWK_TAKES_FULL | HAWK_TAKES_THREADS |
		  HAWK_TAKES_JSON | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = check,
	.prints = &hawk_answer_types,
};
