/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core strings and hawk-core duplicates: what blocks hold, and what several hold. Not of a
 * process: it would stand still while the answer is printed.
 */
#include "answer.h"
#include "hawk/report/contents.h"

struct contents {
	struct hawk_contents_report report;
	struct hawk_selection selection;
	struct hawk_contents found;
	struct hawk_wasting_sites sites, holders;
};

static void deinit(void *made)
{
	struct contents *contents = made;

	hawk_wasting_sites_deinit(&contents->sites);
	hawk_wasting_sites_deinit(&contents->holders);
	hawk_contents_deinit(&contents->found);
	hawk_selection_deinit(&contents->selection);
}

static struct hawk_error *check_redacted(const struct hawk_session *session)
{
	if (!hawk_target_process(session->target)->redacted)
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "%s: the core was redacted: numbers and text in blocks are zeros",
				 session->source);
}

static struct hawk_error *find(struct hawk_session *session, enum hawk_contents_of what,
			       struct contents *ret)
{
	bool only_repeated = what == HAWK_CONTENTS_BLOCKS || session->settings->only_repeated;
	struct hawk_error *err = hawk_session_heap(session);

	if (!err)
		err = hawk_session_contents(session);
	if (!err)
		err = check_redacted(session);
	if (!err)
		err = hawk_session_report(session);
	ret->report = (struct hawk_contents_report){.pointers = &session->report,
						    .contents = &ret->found,
						    .only_repeated = only_repeated};
	if (err || !session->heap->knows)
		return err;
	err = hawk_session_choose(session, session->report.filter, &ret->selection);
	return err ? err
		   : hawk_contents_make(session->heap, ret->selection.blocks, what, only_repeated,
					&ret->found);
}

static struct hawk_error *make_strings(struct hawk_session *session, void *ret)
{
	return find(session, HAWK_CONTENTS_STRINGS, ret);
}

static struct hawk_error *make_holders(struct hawk_session *session, struct contents *ret)
{
	struct hawk_error *err = hawk_session_dominators(session);

	if (err)
		return err;
	ret->report.holders = &ret->holders;
	return hawk_wasting_sites_make(session->heap, &ret->found, session->dominators,
				       &ret->holders);
}

static struct hawk_error *make_duplicates(struct hawk_session *session, void *ret)
{
	struct contents *contents = ret;
	struct hawk_error *err = find(session, HAWK_CONTENTS_BLOCKS, contents);

	if (err || !session->heap->knows)
		return err;
	contents->report.sites = &contents->sites;
	err = hawk_wasting_sites_make(session->heap, &contents->found, NULL, &contents->sites);
	return err || session->settings->no_graph ? err : make_holders(session, contents);
}

static void add_next(void *made, struct hawk_next *ret)
{
	const struct contents *contents = made;
	const struct hawk_block_index *index;

	if (!contents->found.group_count)
		return;
	index = &contents->report.pointers->heap->index;
	hawk_next_add_address(ret, "refs",
			      hawk_block_start(index, contents->found.groups[0].first->block),
			      "who points at the first block");
}

static struct hawk_error *
print_text(void *made, const struct hawk_screen *screen, const char *section,
	   void (*print)(const struct hawk_contents_report *, const struct hawk_screen *))
{
	const struct hawk_contents_report *report = &((struct contents *)made)->report;

	if (report->pointers->heap->knows)
		print(report, screen);
	else
		hawk_report_put_unknown(report->pointers->heap, screen, section,
					"see what blocks hold");
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output, const char *schema,
				     void (*print)(const struct hawk_contents_report *,
						   struct hawk_json *))
{
	const struct hawk_contents_report *report = &((struct contents *)made)->report;
	struct hawk_json json;

	hawk_report_json_begin(report->pointers, &json, output, schema, 2);
	print(report, &json);
	hawk_report_json_end(report->pointers, &json);
	return NULL;
}

static struct hawk_error *print_strings(void *made, const struct hawk_screen *screen)
{
	return print_text(made, screen, "Strings", hawk_report_strings);
}

static struct hawk_error *print_strings_json(void *made, struct hawk_output *output)
{
	return print_json(made, output, "hawk-core/strings", hawk_report_strings_json);
}

static struct hawk_error *print_duplicates(void *made, const struct hawk_screen *screen)
{
	return print_text(made, screen, "Duplicates", hawk_report_duplicates);
}

static struct hawk_error *print_duplicates_json(void *made, struct hawk_output *output)
{
	return print_json(made, output, "hawk-core/duplicates", hawk_report_duplicates_json);
}

static const struct hawk_answer strings = {
	.name = "strings",
	.bytes = sizeof(struct contents),
	.make = make_strings,
	.next = add_next,
	.text = print_strings,
	.json = print_strings_json,
	.deinit = deinit,
};

static const struct hawk_answer duplicates = {
	.name = "duplicates",
	.bytes = sizeof(struct contents),
	.make = make_duplicates,
	.next = add_next,
	.text = print_duplicates,
	.json = print_duplicates_json,
	.deinit = deinit,
};

static const struct hawk_option strings_options[] = {
	{"duplicates", '\0', HAWK_OPTION_FLAG, HAWK_AT(only_repeated), NULL,
	 "only strings that occur more than once, by the bytes that the copies take"},
	{0},
};

static const struct hawk_option duplicates_options[] = {
	{"no-graph", '\0', HAWK_OPTION_FLAG, HAWK_AT(no_graph), NULL,
	 "leave out who holds the copies, which takes most of the time and memory"},
	{0},
};

enum {
	SHARED = HAWK_TAKES_TOP | HAWK_TAKES_FULL | HAWK_TAKES_THREADS | HAWK_TAKES_JSON |
		 HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
};

const struct hawk_verb hawk_verb_strings = {
	.name = "strings",
	.arguments = "[options] CORE",
	.summary = "the strings in live blocks, and how often each occurs",
	.details = "Lists strings of at least 4 bytes by the memory that they take: text at the "
		   "start of a block, and short texts that a std::string (libstdc++) keeps in "
		   "itself.",
	.options = strings_options,
	.shared = SHARED,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file",
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_query,
	.prints = &strings,
};

const struct hawk_verb hawk_verb_duplicates = {
	.name = "duplicates",
	.arguments = "[options] CORE",
	.summary = "blocks with equal contents, and the memory they waste",
	.details = "Lists contents that several live blocks hold, byte for byte, by the memory of "
		   "all but one of them; and the sites that allocate or hold these copies. Blocks "
		   "of zeros are counted apart. Untraced blocks are compared in their usable "
		   "size, so rests of earlier contents can hide copies.",
	.options = duplicates_options,
	.shared = SHARED,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file",
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_query,
	.prints = &duplicates,
};
