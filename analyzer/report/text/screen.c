/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The text screen.
 */
#include "hawk/report/screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/base/quantity.h"
#include "hawk/base/utf8.h"

void hawk_screen_style(const struct hawk_screen *screen, enum hawk_style style)
{
	static const char *const codes[] = {
		[HAWK_STYLE_HEADING] = "\033[1m",
		[HAWK_STYLE_ALERT] = "\033[1;31m",
		[HAWK_STYLE_FAINT] = "\033[2m",
	};

	if (screen->color)
		hawk_output_puts(screen->output, codes[style]);
}

void hawk_screen_plain(const struct hawk_screen *screen)
{
	if (screen->color)
		hawk_output_puts(screen->output, "\033[0m");
}

/** Prints `format` in `style`. */
static void put_styled(const struct hawk_screen *screen, enum hawk_style style, const char *format,
		       va_list arguments)
{
	char *text = NULL;

	if (vasprintf(&text, format, arguments) < 0) {
		hawk_enomem_swallow();
		return;
	}
	hawk_screen_style(screen, style);
	hawk_output_puts(screen->output, text);
	hawk_screen_plain(screen);
	free(text);
}

void hawk_screen_faint(const struct hawk_screen *screen, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put_styled(screen, HAWK_STYLE_FAINT, format, arguments);
	va_end(arguments);
}

void hawk_screen_heading(const struct hawk_screen *screen, const char *format, ...)
{
	va_list arguments;

	hawk_output_puts(screen->output, "\n");
	va_start(arguments, format);
	put_styled(screen, HAWK_STYLE_HEADING, format, arguments);
	va_end(arguments);
	hawk_output_puts(screen->output, "\n");
}

void hawk_screen_foreign(const struct hawk_screen *screen, const char *string)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_utf8_append_safe(&text, string);
	hawk_output_append(screen->output, text.bytes, text.size);
}

void hawk_screen_wrapped(const struct hawk_screen *screen, const char *text, unsigned column,
			 unsigned indent)
{
	CLEANUP(text) struct hawk_text safe = {0};
	const char *word;

	hawk_utf8_append_safe(&safe, text);
	word = hawk_text_string(&safe);
	for (bool first = true; *word; first = false) {
		size_t length = strcspn(word, " ");
		CLEANUP(text) struct hawk_text piece = {0};
		unsigned width;

		hawk_text_append(&piece, word, length);
		width = (unsigned)hawk_utf8_width(hawk_text_string(&piece));
		if (!first && column + 1 + width > screen->width) {
			hawk_output_puts(screen->output, "\n");
			hawk_output_fill(screen->output, ' ', indent);
			column = indent;
		} else if (!first) {
			hawk_output_puts(screen->output, " ");
			column++;
		}
		hawk_output_append(screen->output, piece.bytes, piece.size);
		column += width;
		word += length;
		word += strspn(word, " ");
	}
	hawk_output_puts(screen->output, "\n");
}

void hawk_screen_paragraph(const struct hawk_screen *screen, const char *text, unsigned first,
			   unsigned indent)
{
	hawk_output_fill(screen->output, ' ', first);
	hawk_screen_wrapped(screen, text, first, indent);
}

void hawk_screen_line(const struct hawk_screen *screen, const struct hawk_text *text)
{
	hawk_output_append(screen->output, text->bytes, text->size);
	hawk_output_puts(screen->output, "\n");
}

/** Prints `text`, padded to `width` columns if anything follows. */
static void put_column(const struct hawk_screen *screen, const struct hawk_text *text, size_t width,
		       bool followed)
{
	size_t used = hawk_utf8_width(hawk_text_string(text));

	hawk_output_append(screen->output, text->bytes, text->size);
	if (!followed)
		return;
	hawk_output_fill(screen->output, ' ', used < width ? width - used : 0);
	hawk_output_puts(screen->output, "  ");
}

/** Additions to a stack line. */
struct beside {
	size_t skipped; /**< functions that only pass the allocation on to it */
	bool address;
};

static void append_offset(struct hawk_text *text, const struct hawk_stack_line *line)
{
	if (line->has_module)
		hawk_text_printf(text, "+0x%llx",
				 (unsigned long long)(line->pc - line->module.bias));
	else
		hawk_text_printf(text, "0x%llx", (unsigned long long)line->pc);
}

/** Appends "file.c:12", or nothing in a module without debug information, or the address if wanted.
 */
static void append_place(struct hawk_text *text, const struct hawk_screen *screen,
			 const struct hawk_stack_line *line, const struct beside *beside,
			 size_t width)
{
	CLEANUP(text) struct hawk_text place = {0};

	if (line->name.file)
		hawk_text_puts(&place,
			       screen->full ? line->name.file : hawk_path_base(line->name.file));
	if (line->name.file && line->name.line)
		hawk_text_printf(&place, ":%u", line->name.line);
	if (beside->address && line->name.function) {
		hawk_text_puts(&place, place.size ? " " : "");
		append_offset(&place, line);
	}
	if (place.size)
		hawk_utf8_append_middle_cut(text, place.bytes, width);
}

/** " (+2 wrappers)", " (+2)", " (guess)" */
static void append_skipped(struct hawk_text *text, const struct hawk_stack_line *line,
			   const struct beside *beside, bool is_short)
{
	if (line->confidence == HAWK_FRAME_GUESS)
		hawk_text_puts(text, " (guess)");
	if (beside->skipped && is_short)
		hawk_text_printf(text, " (+%zu)", beside->skipped);
	else if (beside->skipped)
		hawk_text_printf(text, " (+%zu wrapper%s)", beside->skipped,
				 beside->skipped == 1 ? "" : "s");
}

static void append_name(struct hawk_text *text, const struct hawk_stack_line *line, size_t width)
{
	if (line->name.function)
		hawk_function_name_append(text, line->name.function, width);
	else
		append_offset(text, line);
}

/** Shortens the words beside the name before the name. */
static void append_function(struct hawk_text *text, const struct hawk_stack_line *line,
			    const struct beside *beside, size_t width)
{
	CLEANUP(text) struct hawk_text name = {0}, skipped = {0};

	append_name(&name, line, width);
	append_skipped(&skipped, line, beside, false);
	if (width != SIZE_MAX && name.size + skipped.size > width) {
		hawk_text_clear(&name);
		hawk_text_clear(&skipped);
		append_skipped(&skipped, line, beside, true);
		append_name(&name, line, width > skipped.size ? width - skipped.size : 0);
	}
	hawk_text_append(text, name.bytes, name.size);
	hawk_text_append(text, skipped.bytes, skipped.size);
}

static void append_module(struct hawk_text *text, const struct hawk_screen *screen,
			  const struct hawk_stack_line *line, size_t width)
{
	const char *path = line->has_module ? line->module.path : NULL;

	if (!path || !*path)
		path = line->has_module ? "[unnamed module]" : "[no module]";
	hawk_utf8_append_middle_cut(text, screen->full ? path : hawk_path_base(path), width);
}

/** Prints everything in one line of any width, for --full. */
static void put_full_line(const struct hawk_screen *screen, const struct hawk_stack_line *line)
{
	static const struct beside nothing;
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "0x%016llx  ", (unsigned long long)line->pc);
	append_function(&text, line, &nothing, SIZE_MAX);
	if (line->name.inlined)
		hawk_text_puts(&text, " [inlined]");
	hawk_text_puts(&text, "  ");
	if (line->name.file) {
		append_place(&text, screen, line, &nothing, SIZE_MAX);
		hawk_text_puts(&text, "  ");
	}
	append_module(&text, screen, line, SIZE_MAX);
	hawk_text_puts(&text, "\n");
	hawk_output_append(screen->output, text.bytes, text.size);
}

/** scope "tag" */
static void put_scope_line(const struct hawk_screen *screen, const struct hawk_stack_line *line,
			   size_t width)
{
	static const char unplaced[] = " (entered somewhere in this stack)";
	CLEANUP(text) struct hawk_text tag = {0};
	size_t taken = sizeof("scope \"\"") - 1 + (line->unplaced ? sizeof(unplaced) - 1 : 0);

	hawk_utf8_append_middle_cut(&tag, line->name.function,
				    screen->full || width < taken ? SIZE_MAX : width - taken);
	hawk_screen_faint(screen, "scope \"%s\"%s", hawk_text_string(&tag),
			  line->unplaced ? unplaced : "");
	hawk_output_puts(screen->output, "\n");
}

static void put_class_line(const struct hawk_screen *screen, const struct hawk_stack_line *line,
			   size_t width)
{
	CLEANUP(text) struct hawk_text name = {0};

	hawk_function_name_append(&name, line->name.function, screen->full ? SIZE_MAX : width);
	hawk_screen_line(screen, &name);
}

static void put_left_out(const struct hawk_screen *screen, const struct hawk_stack_line *line)
{
	if (line->kind == HAWK_LINE_CUT)
		hawk_screen_faint(screen, "(%s frames not shown)",
				  hawk_quantity_count(line->left_out).text);
	else if (line->period == 1)
		hawk_screen_faint(screen, "(this frame repeats %s times)",
				  hawk_quantity_count(line->times).text);
	else
		hawk_screen_faint(screen, "(these %u frames repeat %s times)", line->period,
				  hawk_quantity_count(line->times).text);
	hawk_output_puts(screen->output, "\n");
}

struct columns {
	size_t function, place, module;
};

/** Lends unused columns as far as they are needed elsewhere. */
static void lend(size_t *from, size_t used, size_t *to, size_t needed)
{
	size_t spare = *from > used ? *from - used : 0;
	size_t wanted = needed > *to ? needed - *to : 0;
	size_t lent = spare < wanted ? spare : wanted;

	*from -= lent;
	*to += lent;
}

static size_t width_of(const struct hawk_text *text)
{
	return hawk_utf8_width(hawk_text_string(text));
}

/** Divides the columns so that lines align, but nothing is cut while neighbours have room. */
static struct columns share_columns(const struct hawk_screen *screen,
				    const struct hawk_stack_line *line, const struct beside *beside,
				    size_t room)
{
	struct columns columns = {.place = room * 27 / 100, .module = room * 21 / 100};
	CLEANUP(text) struct hawk_text function = {0}, place = {0}, module = {0};

	columns.function = room - columns.place - columns.module;
	append_function(&function, line, beside, columns.function);
	append_place(&place, screen, line, beside, SIZE_MAX);
	append_module(&module, screen, line, SIZE_MAX);
	lend(&columns.place, width_of(&place), &columns.module, width_of(&module));
	lend(&columns.function, width_of(&function), &columns.place, width_of(&place));
	lend(&columns.function, width_of(&function), &columns.module, width_of(&module));
	if (!place.size)
		lend(&columns.place, 0, &columns.function, SIZE_MAX);
	lend(&columns.place, width_of(&place), &columns.function, width_of(&function));
	lend(&columns.module, width_of(&module), &columns.function, width_of(&function));
	return columns;
}

/** A line to show: its columns and their texts. */
struct fitted {
	struct columns columns;
	struct hawk_text function, place, module;
};

static inline void hawk_cleanup_fitted(struct fitted *fitted)
{
	hawk_text_deinit(&fitted->function);
	hawk_text_deinit(&fitted->place);
	hawk_text_deinit(&fitted->module);
}

static size_t room_for(const struct hawk_screen *screen, unsigned indent)
{
	return (screen->width > 60 ? screen->width : 60) - indent - 4;
}

static void fit(const struct hawk_screen *screen, const struct hawk_stack_line *line,
		const struct beside *beside, unsigned indent, struct fitted *ret)
{
	ret->columns = share_columns(screen, line, beside, room_for(screen, indent));
	append_function(&ret->function, line, beside, ret->columns.function);
	append_place(&ret->place, screen, line, beside, ret->columns.place);
	append_module(&ret->module, screen, line, ret->columns.module);
}

static void put_line(const struct hawk_screen *screen, const struct hawk_stack_line *line,
		     const struct beside *beside, unsigned indent)
{
	CLEANUP(fitted) struct fitted fitted = {0};

	hawk_output_fill(screen->output, ' ', indent);
	if (line->kind == HAWK_LINE_SCOPE) {
		put_scope_line(screen, line, room_for(screen, indent));
		return;
	}
	if (line->kind == HAWK_LINE_CLASS) {
		put_class_line(screen, line, room_for(screen, indent));
		return;
	}
	if (line->left_out) {
		put_left_out(screen, line);
		return;
	}
	if (screen->full) {
		put_full_line(screen, line);
		return;
	}
	fit(screen, line, beside, indent, &fitted);
	put_column(screen, &fitted.function, fitted.columns.function, true);
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	put_column(screen, &fitted.place, fitted.columns.place, true);
	put_column(screen, &fitted.module, fitted.columns.module, false);
	hawk_screen_plain(screen);
	hawk_output_puts(screen->output, "\n");
}

void hawk_screen_stack_line(const struct hawk_screen *screen, const struct hawk_stack_line *line,
			    unsigned indent)
{
	static const struct beside nothing;

	put_line(screen, line, &nothing, indent);
}

uint64_t hawk_screen_line_look(const struct hawk_screen *screen, const struct hawk_stack_line *line,
			       unsigned indent)
{
	static const struct beside nothing;
	CLEANUP(fitted) struct fitted fitted = {0};
	const char *function = line->name.function ? line->name.function : "";
	uint64_t hash;

	if (line->kind == HAWK_LINE_SCOPE || line->kind == HAWK_LINE_CLASS)
		return XXH3_64bits_withSeed(function, strlen(function), line->unplaced);
	fit(screen, line, &nothing, indent, &fitted);
	hash = XXH3_64bits(fitted.function.bytes, fitted.function.size);
	hash = XXH3_64bits_withSeed(fitted.place.bytes, fitted.place.size, hash);
	return XXH3_64bits_withSeed(fitted.module.bytes, fitted.module.size, hash);
}

static void put_remark(const struct hawk_screen *screen, unsigned indent, const char *remark)
{
	hawk_output_fill(screen->output, ' ', indent);
	hawk_screen_faint(screen, "%s", remark);
	hawk_output_puts(screen->output, "\n");
}

/** Prints the reason why the stack ends. */
static void put_end(const struct hawk_screen *screen, const struct hawk_stack *stack,
		    unsigned indent)
{
	if (stack->trace_flags & HAWK_TRACE_COLLAPSED)
		put_remark(screen, indent, "(repeated recursion left out by the tracer)");
	if (stack->trace_flags & HAWK_TRACE_TRUNCATED)
		put_remark(screen, indent, "(outer frames beyond the tracer's depth limit)");
	if (stack->trace_flags & HAWK_TRACE_INCOMPLETE)
		put_remark(screen, indent, "(the tracer could not unwind further)");
	if (stack->trace_flags & HAWK_TRACE_GUESSED)
		put_remark(screen, indent,
			   "(frames may be missing: code without unwind information was passed)");
}

static void put_stack(const struct hawk_screen *screen, const struct hawk_stack *stack,
		      const struct hawk_stack_cut *cut, size_t skipped, unsigned indent)
{
	size_t end = cut->end && cut->end < stack->count ? cut->end : stack->count;
	size_t first = cut->first, mark = 0, at;

	if (stack->type) {
		hawk_output_fill(screen->output, ' ', indent);
		hawk_output_puts(screen->output, "type ");
		hawk_screen_foreign(screen, stack->type);
		hawk_output_puts(screen->output, "\n");
	}
	/* Scopes around the first frame shown lie before it. */
	while (first && stack->lines[first - 1].kind == HAWK_LINE_SCOPE)
		first--;
	for (at = first; at < stack->count; at++) {
		struct beside beside = {.skipped = at == cut->first ? skipped : 0};

		if (at >= end && mark == cut->mark_count)
			break;
		/* A gap of one line would take as much room as the line. */
		if (at >= end && cut->marks[mark].line > at + 1) {
			hawk_output_fill(screen->output, ' ', indent);
			hawk_screen_faint(screen, "... %zu frames ...", cut->marks[mark].line - at);
			hawk_output_puts(screen->output, "\n");
			at = cut->marks[mark].line;
		}
		if (mark < cut->mark_count && cut->marks[mark].line == at)
			beside.address = cut->marks[mark++].address;
		put_line(screen, &stack->lines[at], &beside, indent);
	}
	if (at == stack->count)
		put_end(screen, stack, indent);
}

void hawk_screen_stack(const struct hawk_screen *screen, const struct hawk_stack *stack,
		       size_t first, size_t depth, unsigned indent)
{
	struct hawk_stack_cut cut = {.first = first, .end = depth ? first + depth : 0};

	put_stack(screen, stack, &cut, 0, indent);
}

void hawk_screen_stack_cut(const struct hawk_screen *screen, const struct hawk_stack *stack,
			   const struct hawk_stack_cut *cut, unsigned indent)
{
	size_t skipped = 0;

	for (size_t i = 0; i < cut->first; i++)
		skipped += stack->lines[i].kind == HAWK_LINE_FUNCTION;
	put_stack(screen, stack, cut, skipped, indent);
}
