/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows of a statement as columns for people, as CSV, or as JSON. All of them stream; the widths of
 * columns are those of the first rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/output/json.h"
#include "hawk/base/text.h"
#include "hawk/base/utf8.h"
#include "state.h"

enum {
	ROWS_KEPT = 1001, /**< the heading is one */
	WIDTH_MAX = 60,   /**< a longer text is not cut; it shifts later columns */
	GAP = 2,
};

/** Gets the text of a row, or of the heading (sqlite3_column_name()). */
typedef const char *get_text(sqlite3_stmt *statement, int column);

/** Text of a column, NULL for null. Valid until the next step. */
static const char *text_of(sqlite3_stmt *statement, int column)
{
	return (const char *)sqlite3_column_text(statement, column);
}

/** Makes text safe for a terminal. A `foreign` one gets a quote if a sheet would calculate it. */
static void put_csv_field(struct hawk_output *output, const char *text, bool foreign)
{
	CLEANUP(text) struct hawk_text safe = {0};

	if (!text)
		return;
	if (foreign && *text && strchr("=+-@", *text))
		hawk_text_puts(&safe, "'");
	hawk_utf8_append_safe(&safe, text);
	if (safe.failed)
		output->errnum = output->errnum ? output->errnum : ENOMEM;
	text = hawk_text_string(&safe);
	if (!strpbrk(text, ",\"")) {
		hawk_output_puts(output, text);
		return;
	}
	hawk_output_puts(output, "\"");
	for (; *text; text++) {
		if (*text == '"')
			hawk_output_puts(output, "\"");
		hawk_output_append(output, text, 1);
	}
	hawk_output_puts(output, "\"");
}

static bool is_number(sqlite3_stmt *statement, int column)
{
	int type = sqlite3_column_type(statement, column);

	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static void put_csv_row(sqlite3_stmt *statement, bool heading, struct hawk_output *output)
{
	int columns = sqlite3_column_count(statement);

	for (int i = 0; i < columns; i++) {
		/* The type first: reading a number as text changes it. */
		bool foreign = !heading && !is_number(statement, i);

		if (i)
			hawk_output_puts(output, ",");
		put_csv_field(output,
			      heading ? sqlite3_column_name(statement, i) : text_of(statement, i),
			      foreign);
	}
	if (columns)
		hawk_output_puts(output, "\n");
}

static int print_csv(sqlite3_stmt *statement, struct hawk_output *output)
{
	int code;

	put_csv_row(statement, true, output);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW && !output->errnum)
		put_csv_row(statement, false, output);
	return code;
}

static void put_json_value(sqlite3_stmt *statement, int column, struct hawk_json *json,
			   struct hawk_output *output)
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		hawk_output_printf(output, "%lld",
				   (long long)sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		/* SQLite never gives NaN, and infinity is no JSON. */
		if (__builtin_isinf(sqlite3_column_double(statement, column)))
			hawk_output_puts(output, "null");
		else
			hawk_output_printf(output, "%.17g",
					   sqlite3_column_double(statement, column));
		break;
	case SQLITE_NULL:
		hawk_output_puts(output, "null");
		break;
	default:
		hawk_json_string(json, text_of(statement, column));
		break;
	}
}

static int print_json(sqlite3_stmt *statement, struct hawk_output *output)
{
	int columns = sqlite3_column_count(statement);
	struct hawk_json scalar;
	bool first = true;
	int code;

	hawk_output_puts(output, "[");
	while ((code = sqlite3_step(statement)) == SQLITE_ROW && !output->errnum) {
		hawk_output_puts(output, first ? "\n{" : ",\n{");
		first = false;
		for (int i = 0; i < columns; i++) {
			if (i)
				hawk_output_puts(output, ",");
			hawk_json_init(&scalar, output, 0);
			hawk_json_string(&scalar, sqlite3_column_name(statement, i));
			hawk_output_puts(output, ":");
			hawk_json_init(&scalar, output, 0);
			put_json_value(statement, i, &scalar, output);
		}
		hawk_output_puts(output, "}");
	}
	hawk_output_puts(output, first ? "]\n" : "\n]\n");
	return code;
}

/** Rows not printed yet. The heading and the first rows determine the widths. */
struct sheet {
	int columns;
	size_t rows;
	char **cells; /**< by row, then column; owned */
	size_t *widths;
	bool *textual; /**< not every value was a number: to the left */
	bool measured;
};

static void clear_sheet(struct sheet *sheet)
{
	for (size_t i = 0; i < sheet->rows * (size_t)sheet->columns; i++)
		free(sheet->cells[i]);
	sheet->rows = 0;
}

static void free_sheet(struct sheet *sheet)
{
	clear_sheet(sheet);
	free(sheet->cells);
	free(sheet->widths);
	free(sheet->textual);
}

static bool make_sheet(sqlite3_stmt *statement, struct sheet *sheet)
{
	size_t columns = (size_t)sqlite3_column_count(statement);

	sheet->columns = (int)columns;
	sheet->widths = calloc(columns + 1, sizeof(*sheet->widths));
	sheet->textual = calloc(columns + 1, sizeof(*sheet->textual));
	sheet->cells = calloc(ROWS_KEPT * columns + 1, sizeof(*sheet->cells));
	return sheet->widths && sheet->textual && sheet->cells;
}

static void measure(sqlite3_stmt *statement, int column, const char *cell, struct sheet *sheet)
{
	size_t width = hawk_utf8_width(cell);
	int type;

	if (!sheet->rows) {
		sheet->widths[column] = width;
		return;
	}
	if (width > sheet->widths[column])
		sheet->widths[column] = width < WIDTH_MAX ? width : WIDTH_MAX;
	type = sqlite3_column_type(statement, column);
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT && type != SQLITE_NULL)
		sheet->textual[column] = true;
}

/** Keeps a row. Returns false without memory. */
static bool keep_row(sqlite3_stmt *statement, get_text *get, struct sheet *sheet)
{
	char **cells = sheet->cells + sheet->rows * (size_t)sheet->columns;
	bool kept = true;

	for (int i = 0; i < sheet->columns; i++) {
		const char *text = get(statement, i);
		struct hawk_text safe = {0};

		hawk_text_puts(&safe, "");
		hawk_utf8_append_safe(&safe, text ? text : "");
		cells[i] = safe.bytes;
		kept &= !safe.failed;
		if (kept && !sheet->measured)
			measure(statement, i, cells[i], sheet);
	}
	sheet->rows++;
	return kept;
}

static void put_cell(const struct sheet *sheet, int column, const char *text,
		     struct hawk_output *output)
{
	size_t width = hawk_utf8_width(text);
	size_t fill = width < sheet->widths[column] ? sheet->widths[column] - width : 0;

	if (column)
		hawk_output_fill(output, ' ', GAP);
	if (!sheet->textual[column])
		hawk_output_fill(output, ' ', fill);
	hawk_output_puts(output, text);
	if (sheet->textual[column] && column + 1 < sheet->columns)
		hawk_output_fill(output, ' ', fill);
}

/** Prints the rows, and forgets them. */
static void put_sheet(struct sheet *sheet, struct hawk_output *output)
{
	for (size_t row = 0; row < sheet->rows && sheet->columns; row++) {
		for (int i = 0; i < sheet->columns; i++)
			put_cell(sheet, i, sheet->cells[row * (size_t)sheet->columns + (size_t)i],
				 output);
		hawk_output_puts(output, "\n");
	}
	clear_sheet(sheet);
	sheet->measured = true;
}

static int print_table(sqlite3_stmt *statement, struct hawk_output *output)
{
	struct sheet sheet = {0};
	bool memory =
		make_sheet(statement, &sheet) && keep_row(statement, sqlite3_column_name, &sheet);
	int code = SQLITE_ROW;

	while (memory && !output->errnum && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		if (sheet.rows == ROWS_KEPT)
			put_sheet(&sheet, output);
		memory = keep_row(statement, text_of, &sheet);
	}
	if (memory && (code == SQLITE_DONE || code == SQLITE_ROW || sheet.measured))
		put_sheet(&sheet, output);
	free_sheet(&sheet);
	return memory ? code : SQLITE_NOMEM;
}

void hawk_sql_print_unknown(const struct hawk_sql *sql, enum hawk_sql_format format,
			    struct hawk_output *output)
{
	if (format == HAWK_SQL_JSON)
		hawk_output_puts(output, "null\n");
	else if (format == HAWK_SQL_TABLE)
		hawk_output_printf(output, "unknown: %s\n",
				   hawk_heap_unknown_text(sql->source.heap));
}

struct hawk_error *hawk_sql_print(struct hawk_sql *sql, sqlite3_stmt *statement,
				  enum hawk_sql_format format, struct hawk_output *output)
{
	int code;

	if (format == HAWK_SQL_CSV)
		code = print_csv(statement, output);
	else if (format == HAWK_SQL_JSON)
		code = print_json(statement, output);
	else
		code = print_table(statement, output);
	if (code == SQLITE_NOMEM && sqlite3_errcode(sql->database) != SQLITE_NOMEM) // ours
		return &hawk_enomem;
	if (code == SQLITE_DONE || code == SQLITE_ROW) // or the reader has gone
		return NULL;
	return hawk_sql_error(sql);
}
