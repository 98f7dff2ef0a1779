/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Source lines with the memory that they allocate.
 */
#include "hawk/report/source.h"

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/base/utf8.h"
#include "hawk/names/function_name.h"

enum {
	DEFAULT_TOP = 10,
	COLUMN = 9,
	EXACT_COLUMN = 16,
	TAB = 2,
	CODE_MIN = 20, /**< least columns of source text, even on a narrow screen */
	ELLIPSIS = 3,
};

/** A function that is printed. */
struct function {
	const struct hawk_source_listing *listing;
	const struct hawk_source_unit *unit;
	struct hawk_source_text text;
	uint32_t context;
};

static uint64_t value(const struct hawk_profile *profile, const int64_t *values, const char *column)
{
	uint32_t number = hawk_profile_column(profile, column);

	return number == UINT32_MAX || values[number] < 0 ? 0 : (uint64_t)values[number];
}

struct hawk_source_sums hawk_source_sums_of(const struct hawk_profile *profile,
					    const struct hawk_source_values *values)
{
	return (struct hawk_source_sums){
		.flat_bytes = value(profile, values->flat, "inuse_space"),
		.flat_objects = value(profile, values->flat, "inuse_objects"),
		.cum_bytes = value(profile, values->cum, "inuse_space"),
		.cum_objects = value(profile, values->cum, "inuse_objects"),
		.flat_alloc_bytes = value(profile, values->flat, "alloc_space"),
		.flat_alloc_objects = value(profile, values->flat, "alloc_objects"),
		.cum_alloc_bytes = value(profile, values->cum, "alloc_space"),
		.cum_alloc_objects = value(profile, values->cum, "alloc_objects"),
		.has_alloc = hawk_profile_column(profile, "alloc_space") != UINT32_MAX,
	};
}

static struct hawk_quantity bytes_text(const struct hawk_screen *screen, uint64_t bytes)
{
	static const struct hawk_quantity none = {"."};

	if (!bytes)
		return none;
	return screen->full ? hawk_quantity_count(bytes) : hawk_quantity_bytes(bytes);
}

static unsigned column_width(const struct hawk_screen *screen)
{
	return screen->full ? EXACT_COLUMN : COLUMN;
}

static void put_column(const struct hawk_screen *screen, const char *text)
{
	hawk_output_printf(screen->output, " %*s", (int)column_width(screen), text);
}

/** Prints the columns before a line: flat, cum, blocks, allocated. Returns their width. */
static unsigned put_values(const struct hawk_screen *screen, const struct hawk_source_sums *values)
{
	put_column(screen, bytes_text(screen, values->flat_bytes).text);
	put_column(screen, bytes_text(screen, values->cum_bytes).text);
	put_column(screen,
		   values->cum_objects ? hawk_quantity_count(values->cum_objects).text : ".");
	put_column(screen,
		   values->has_alloc ? bytes_text(screen, values->cum_alloc_bytes).text : "-");
	return 4 * (column_width(screen) + 1);
}

static void put_heads(const struct hawk_screen *screen)
{
	unsigned width = column_width(screen);

	hawk_screen_faint(screen, " %*s %*s %*s %*s   line\n", (int)width, "flat", (int)width,
			  "cum", (int)width, "blocks", (int)width, "allocated");
}

/** Appends `code` with its tabs spread out, safe, and cut to `width` columns. */
static void append_code(struct hawk_text *text, const char *code, size_t bytes, size_t width)
{
	CLEANUP(text) struct hawk_text spread = {0};
	CLEANUP(text) struct hawk_text safe = {0};
	size_t column = 0;
	const char *end;

	/* A character takes 4 bytes at most; one more shows that the line goes on. */
	for (size_t i = 0; i < bytes && (width == SIZE_MAX || spread.size <= 4 * width); i++) {
		size_t blanks = TAB - spread.size % TAB;

		if (code[i] == '\t')
			hawk_text_append(&spread, "  ", blanks);
		else
			hawk_text_append(&spread, &code[i], 1);
	}
	hawk_utf8_append_safe(&safe, hawk_text_string(&spread));
	end = hawk_text_string(&safe);
	if (hawk_utf8_width(end) <= width) {
		hawk_text_puts(text, end);
		return;
	}
	for (; column + ELLIPSIS < width; column++)
		end += hawk_utf8_length(end);
	hawk_text_append(text, safe.bytes, (size_t)(end - safe.bytes));
	hawk_text_puts(text, "...");
}

static void put_code(struct function *function, const struct hawk_screen *screen, uint32_t number,
		     unsigned used)
{
	CLEANUP(text) struct hawk_text text = {0};
	size_t bytes, room = SIZE_MAX;
	const char *code = hawk_source_file_line(&function->text.file, number, &bytes);

	hawk_text_printf(&text, number ? " %6u" : "      ?", number);
	used += (unsigned)text.size + 2;
	if (!screen->full)
		room = screen->width > used + CODE_MIN ? screen->width - used : CODE_MIN;
	if (code && bytes)
		hawk_text_puts(&text, "  ");
	if (code)
		append_code(&text, code, bytes, room);
	hawk_screen_line(screen, &text);
}

static void put_context(struct function *function, const struct hawk_screen *screen, uint32_t first,
			uint32_t end)
{
	unsigned blank = 4 * (column_width(screen) + 1);

	for (uint32_t number = first; number < end && number <= function->text.file.line_count;
	     number++) {
		hawk_output_fill(screen->output, ' ', blank);
		put_code(function, screen, number, blank);
	}
}

static uint32_t plus(uint32_t number, uint32_t more)
{
	return number > UINT32_MAX - more ? UINT32_MAX : number + more;
}

/** Prints the lines with values, and the lines near them without gaps. */
static void put_lines(struct function *function, const struct hawk_screen *screen)
{
	const struct hawk_source_line *lines =
		function->listing->lines->lines + function->unit->first;
	uint32_t shown = 0; /* the end of what was shown */

	for (size_t i = 0; i < function->unit->count; i++) {
		uint32_t number = lines[i].number, context = function->context;
		uint32_t first = number > context ? number - context : 1;
		uint32_t next = i + 1 < function->unit->count ? lines[i + 1].number : UINT32_MAX;
		uint32_t end = plus(number, plus(context, 1));
		struct hawk_source_sums values =
			hawk_source_sums_of(function->listing->profile, &lines[i].values);

		if (shown && first > shown)
			hawk_screen_faint(screen, "%*s\n", (int)(4 * column_width(screen) + 10),
					  "...");
		if (number)
			put_context(function, screen, first > shown ? first : shown, number);
		put_code(function, screen, number, put_values(screen, &values));
		if (number)
			put_context(function, screen, number + 1, end < next ? end : next);
		shown = end < next ? end : next;
	}
}

static void put_remarks(struct function *function, const struct hawk_screen *screen)
{
	const struct hawk_source_text *text = &function->text;
	CLEANUP(text) struct hawk_text remark = {0};
	CLEANUP(text) struct hawk_text path = {0};

	hawk_source_append_path(function->listing->profile, function->unit, &path);
	if (!function->unit->file) {
		hawk_text_puts(&remark, "No debug information: the source file is not known.");
	} else if (!text->file.path) {
		hawk_text_puts(&remark, "Source not found: ");
		hawk_utf8_append_safe(&remark, text->file.refused ? text->file.refused
								  : hawk_text_string(&path));
		if (text->file.why)
			hawk_text_printf(&remark, " %s", text->file.why);
		hawk_text_puts(&remark, "; --source-dir=DIR says where else to look");
	} else if (strcmp(hawk_text_string(&path), text->file.path) != 0) {
		hawk_text_puts(&remark, "Source found at ");
		hawk_utf8_append_safe(&remark, text->file.path);
	}
	if (remark.size)
		hawk_screen_paragraph(screen, remark.bytes, 2, 4);
	if (text->newer)
		hawk_screen_paragraph(screen,
				      "The source is newer than the program: lines may have moved.",
				      2, 4);
	if (text->too_short)
		hawk_screen_paragraph(screen,
				      "The source ends before the last line below: the program was "
				      "made of another file.",
				      2, 4);
}

/** Prints function, module, file, then the sums. */
static void put_title(struct function *function, const struct hawk_screen *screen)
{
	const struct hawk_source_unit *unit = function->unit;
	const struct hawk_profile *profile = function->listing->profile;
	size_t width = screen->full ? SIZE_MAX : screen->width - 2;
	struct hawk_source_sums values = hawk_source_sums_of(profile, &unit->values);
	CLEANUP(text) struct hawk_text name = {0};
	CLEANUP(text) struct hawk_text place = {0};

	hawk_function_name_append(&name, hawk_profile_text(profile, unit->function), width);
	hawk_screen_heading(screen, "%s", hawk_text_string(&name));
	hawk_utf8_append_middle_cut(
		&place,
		unit->file ? hawk_profile_text(profile, unit->file)
			   : hawk_profile_text(profile, profile->modules[unit->module].path),
		width);
	hawk_output_puts(screen->output, "  ");
	hawk_screen_line(screen, &place);
	put_remarks(function, screen);
	put_heads(screen);
	put_values(screen, &values);
	hawk_output_puts(screen->output, "  total\n");
}

static struct hawk_error *put_function(const struct hawk_source_report *report, size_t number,
				       const struct hawk_screen *screen)
{
	struct function function = {
		.listing = &report->listing,
		.unit = &report->listing.lines->units[number],
		.context = report->context,
	};
	struct hawk_error *err =
		hawk_source_text_open(&report->listing, function.unit, &function.text);

	if (err)
		return err;
	put_title(&function, screen);
	put_lines(&function, screen);
	hawk_source_file_deinit(&function.text.file);
	return NULL;
}

struct hawk_error *hawk_report_source(const struct hawk_source_report *report,
				      const struct hawk_screen *screen)
{
	const struct hawk_pointer_report *pointers = report->pointers;
	size_t count = report->listing.lines->unit_count;
	size_t end = hawk_report_limit(pointers, DEFAULT_TOP, count, screen->full);
	struct hawk_error *err = NULL;

	if (!pointers->heap->knows) {
		hawk_report_put_unknown(pointers->heap, screen, "Source",
					"see which lines allocate");
		return NULL;
	}
	hawk_report_put_sampling(pointers, screen);
	if (!count)
		hawk_output_puts(screen->output,
				 "No function that matches is in a stack of an allocation.\n");
	for (size_t i = 0; i < end && !err; i++)
		err = put_function(report, i, screen);
	if (end < count)
		hawk_screen_heading(screen, "%s more functions match; --top=N shows them",
				    hawk_quantity_count(count - end).text);
	return err;
}
