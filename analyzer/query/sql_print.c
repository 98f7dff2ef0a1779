/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows of a statement as columns for people, as CSV, or as JSON. All of them stream; the widths of
 * columns are those of the first rows.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_json.h"
#include "hawk_text.h"
#include "hawk_utf8.h"
#include "sql_state.h"

enum {
	ROWS_MEASURED = 1000,
	WIDTH_MAX = 60, /**< a longer text is not cut; it only moves what follows */
	GAP = 2,
};

/** Text of a column, NULL for null. Valid until the next step. */
static const char *text_of(sqlite3_stmt *statement, int column)
{
	return (const char *)sqlite3_column_text(statement, column);
}

/** Data as it is, where no terminal would obey it. */
static void put_csv_field(struct hawk_output *output, const char *text)
{
	CLEANUP(text) struct hawk_text safe = {0};

	if (!text)
		return;
	if (output->terminal) {
		hawk_text_puts(&safe, "");
		hawk_utf8_append_safe(&safe, text);
		text = safe.bytes ? safe.bytes : "";
	}
	if (!strpbrk(text, ",\"\r\n")) {
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

static void put_csv_row(sqlite3_stmt *statement, int columns, struct hawk_output *output)
{
	for (int i = 0; i < columns; i++) {
		if (i)
			hawk_output_puts(output, ",");
		put_csv_field(output, text_of(statement, i));
	}
	hawk_output_puts(output, "\n");
}

static int print_csv(sqlite3_stmt *statement, struct hawk_output *output)
{
	int columns = sqlite3_column_count(statement);
	int code;

	for (int i = 0; i < columns; i++) {
		if (i)
			hawk_output_puts(output, ",");
		put_csv_field(output, sqlite3_column_name(statement, i));
	}
	if (columns)
		hawk_output_puts(output, "\n");
	while ((code = sqlite3_step(statement)) == SQLITE_ROW && !output->errnum)
		put_csv_row(statement, columns, output);
	return code;
}

/** A string as JSON; names of columns are the user's. */
static void put_json_name(struct hawk_output *output, struct hawk_json *json, const char *name)
{
	hawk_json_string(json, name);
	hawk_output_puts(output, ":");
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
			put_json_name(output, &scalar, sqlite3_column_name(statement, i));
			hawk_json_init(&scalar, output, 0);
			put_json_value(statement, i, &scalar, output);
		}
		hawk_output_puts(output, "}");
	}
	hawk_output_puts(output, first ? "]\n" : "\n]\n");
	return code;
}

/** The first rows, kept to be measured. */
struct sheet {
	int columns;
	size_t rows;
	size_t capacity; /**< of cells, in cells */
	char **cells;    /**< by row, then column; owned */
	char **names;    /**< of columns; owned */
	size_t *widths;
	bool *numeric; /**< every value was a number: to the right */
};

static void free_sheet(struct sheet *sheet)
{
	for (size_t i = 0; sheet->cells && i < sheet->rows * (size_t)sheet->columns; i++)
		free(sheet->cells[i]);
	for (int i = 0; sheet->names && i < sheet->columns; i++)
		free(sheet->names[i]);
	free(sheet->names);
	free(sheet->cells);
	free(sheet->widths);
	free(sheet->numeric);
}

static char *safe_cell(const char *text)
{
	struct hawk_text safe = {0};

	hawk_utf8_append_safe(&safe, text ? text : "");
	return safe.bytes ? safe.bytes : strdup("");
}

static bool make_sheet(sqlite3_stmt *statement, struct sheet *sheet)
{
	sheet->columns = sqlite3_column_count(statement);
	sheet->names = calloc((size_t)sheet->columns + 1, sizeof(*sheet->names));
	sheet->widths = calloc((size_t)sheet->columns + 1, sizeof(*sheet->widths));
	sheet->numeric = calloc((size_t)sheet->columns + 1, sizeof(*sheet->numeric));
	sheet->cells = calloc(ROWS_MEASURED * (size_t)sheet->columns + 1, sizeof(*sheet->cells));
	if (!sheet->names || !sheet->widths || !sheet->numeric || !sheet->cells)
		return false;
	for (int i = 0; i < sheet->columns; i++) {
		sheet->names[i] = safe_cell(sqlite3_column_name(statement, i));
		if (!sheet->names[i])
			return false;
		sheet->widths[i] = hawk_utf8_width(sheet->names[i]);
		sheet->numeric[i] = true;
	}
	return true;
}

static bool keep_row(sqlite3_stmt *statement, struct sheet *sheet)
{
	char **cells = sheet->cells + sheet->rows * (size_t)sheet->columns;

	sheet->rows++;
	for (int i = 0; i < sheet->columns; i++) {
		int type = sqlite3_column_type(statement, i);
		size_t width;

		cells[i] = safe_cell(text_of(statement, i));
		if (!cells[i])
			return false;
		width = hawk_utf8_width(cells[i]);
		if (width > sheet->widths[i])
			sheet->widths[i] = width < WIDTH_MAX ? width : WIDTH_MAX;
		if (type != SQLITE_INTEGER && type != SQLITE_FLOAT && type != SQLITE_NULL)
			sheet->numeric[i] = false;
	}
	return true;
}

static void put_cell(const struct sheet *sheet, int column, const char *text,
		     struct hawk_output *output)
{
	size_t width = hawk_utf8_width(text);
	size_t fill = width < sheet->widths[column] ? sheet->widths[column] - width : 0;

	if (column)
		hawk_output_fill(output, ' ', GAP);
	if (sheet->numeric[column])
		hawk_output_fill(output, ' ', fill);
	hawk_output_puts(output, text);
	if (!sheet->numeric[column] && column + 1 < sheet->columns)
		hawk_output_fill(output, ' ', fill);
}

static void put_sheet(const struct sheet *sheet, struct hawk_output *output)
{
	for (int i = 0; i < sheet->columns; i++)
		put_cell(sheet, i, sheet->names[i], output);
	hawk_output_puts(output, "\n");
	for (size_t row = 0; row < sheet->rows; row++) {
		for (int i = 0; i < sheet->columns; i++)
			put_cell(sheet, i, sheet->cells[row * (size_t)sheet->columns + (size_t)i],
				 output);
		hawk_output_puts(output, "\n");
	}
}

static bool put_row(sqlite3_stmt *statement, const struct sheet *sheet, struct hawk_output *output)
{
	for (int i = 0; i < sheet->columns; i++) {
		CLEANUP(free_ptr) char *text = safe_cell(text_of(statement, i));

		if (!text)
			return false;
		put_cell(sheet, i, text, output);
	}
	hawk_output_puts(output, "\n");
	return true;
}

static int print_table(sqlite3_stmt *statement, struct hawk_output *output)
{
	struct sheet sheet = {0};
	bool memory = make_sheet(statement, &sheet);
	int code = SQLITE_ROW;

	while (memory && sheet.rows < ROWS_MEASURED &&
	       (code = sqlite3_step(statement)) == SQLITE_ROW)
		memory = keep_row(statement, &sheet);
	if (memory && sheet.columns && (code == SQLITE_DONE || code == SQLITE_ROW))
		put_sheet(&sheet, output);
	while (memory && code == SQLITE_ROW && !output->errnum &&
	       (code = sqlite3_step(statement)) == SQLITE_ROW)
		memory = put_row(statement, &sheet, output);
	free_sheet(&sheet);
	return memory ? code : SQLITE_NOMEM;
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
	if (code == SQLITE_NOMEM)
		return &hawk_enomem;
	if (code == SQLITE_DONE || code == SQLITE_ROW) // or the reader has gone
		return NULL;
	return hawk_sql_error(sql);
}
