/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core sql: a query in SQL over all that is known about a core.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session_sql.h"

static enum hawk_sql_format format_of(const struct hawk_settings *settings)
{
	if (settings->json)
		return HAWK_SQL_JSON;
	return settings->rows ? (enum hawk_sql_format)settings->rows : HAWK_SQL_TABLE;
}

enum { TIMEOUT_SECONDS = 60 };

/** Returns the timeout: none on a terminal, where a bar is shown and the user can press Ctrl-C. */
static uint64_t timeout_of(const struct hawk_settings *settings)
{
	if (settings->timeout.given)
		return settings->timeout.value;
	return isatty(STDERR_FILENO) ? 0 : TIMEOUT_SECONDS;
}

static struct hawk_error *print_schema(struct hawk_output *output)
{
	const char *schema;

	for (size_t i = 0; (schema = hawk_sql_schema(i)); i++)
		hawk_output_printf(output, "%s;\n", schema);
	return NULL;
}

static struct hawk_error *print_names(struct hawk_output *output)
{
	const char *name;

	for (size_t i = 0; (name = hawk_sql_name(i)); i++)
		hawk_output_printf(output, "%s\n", name);
	return NULL;
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct hawk_error *err;
	struct hawk_sql *sql;

	if (!strcmp(session->settings->operands[0], ".schema"))
		return print_schema(session->output);
	if (!strcmp(session->settings->operands[0], ".tables"))
		return print_names(session->output);
	err = hawk_session_sql(session, &sql);
	if (err)
		return err;
	err = hawk_sql_run(sql, session->settings->operands[0], format_of(session->settings),
			   timeout_of(session->settings), session->output);
	hawk_sql_close(sql);
	hawk_session_check(session);
	return err;
}

static const struct hawk_option options[] = {
	{"format", 'F', HAWK_OPTION_CHOICE, HAWK_AT(rows), "table|csv|json",
	 "how rows are written"},
	{"timeout", '\0', HAWK_OPTION_NUMBER, HAWK_AT(timeout), "SECONDS",
	 "give up then; 0: never (60, or never where standard error is a terminal)"},
	{"json", 'j', HAWK_OPTION_FLAG, HAWK_AT(json), NULL, "the same as --format=json"},
	{0},
};

const struct hawk_verb hawk_verb_sql = {
	.name = "sql",
	.arguments = "[options] CORE QUERY",
	.summary = "ask in SQL: blocks, sites, edges, roots, leaks ...",
	.details = "Runs QUERY over the tables blocks, sites, frames, edges, roots, leaks, "
		   "retained, sums, pins, threads, mappings and modules; \".tables\" as QUERY "
		   "lists them, \".schema\" their columns. Addresses are integers: addr(x) writes "
		   "one as 0x...; short(x) shortens names and types.",
	.options = options,
	.shared = HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT,
	.types = true,
	.exit_codes =
		"Exit codes: 0 ok, 2 usage, 3 not readable, 4 the answer is incomplete: parts "
		"of the core are missing, or the query took too long or too much memory.",
	.needs = "a core file and a query",
	.operands_min = 1,
	.operands_max = 1,
	.findings = HAWK_FINDINGS_NOWHERE,
	.answer = answer,
};
