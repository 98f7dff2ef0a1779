/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The destination of text reports: width, colour and level of detail. Also the only way to print a
 * stack line or a foreign string.
 */
#ifndef HAWK_ANALYZER_REPORT_SCREEN_H
#define HAWK_ANALYZER_REPORT_SCREEN_H

#include <stdbool.h>

#include "hawk/output/output.h"
#include "hawk/names/stack.h"
#include "hawk/base/text.h"

struct hawk_screen {
	struct hawk_output *output;
	unsigned width; /**< columns; stack lines are fitted into them unless `full` */
	bool color;
	bool full; /**< everything, exact, nothing shortened */
};

enum hawk_style {
	HAWK_STYLE_HEADING,
	HAWK_STYLE_ALERT,
	HAWK_STYLE_FAINT,
};

/** Applies a style until hawk_screen_plain(), if the screen has colour. */
void hawk_screen_style(const struct hawk_screen *screen, enum hawk_style style);
void hawk_screen_plain(const struct hawk_screen *screen);

/** Prints faint text: the names of columns, a remark. */
void hawk_screen_faint(const struct hawk_screen *screen, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Prints "Heading" on a line of its own, after an empty line. */
void hawk_screen_heading(const struct hawk_screen *screen, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Prints a string from the target, made safe for a terminal. */
void hawk_screen_foreign(const struct hawk_screen *screen, const char *string);

/** Prints `text` wrapped at spaces; all lines but the first are indented by `indent` columns. */
void hawk_screen_wrapped(const struct hawk_screen *screen, const char *text, unsigned column,
			 unsigned indent);

/** As hawk_screen_wrapped(), after `first` blanks. */
void hawk_screen_paragraph(const struct hawk_screen *screen, const char *text, unsigned first,
			   unsigned indent);

/** Prints `text`, which must be safe already, and ends the line. */
void hawk_screen_line(const struct hawk_screen *screen, const struct hawk_text *text);

/** Prints one stack line in columns: function, file:line, module. Long columns use space that
 * others leave free. Indented by `indent` columns. */
void hawk_screen_stack_line(const struct hawk_screen *screen, const struct hawk_stack_line *line,
			    unsigned indent);

/** Returns a hash of the text that hawk_screen_stack_line() shows: equal for lines that look the
 * same. */
uint64_t hawk_screen_line_look(const struct hawk_screen *screen, const struct hawk_stack_line *line,
			       unsigned indent);

/**
 * Prints the lines of `stack` from `first` on, at most `depth` (0 = all), and a remark if frames
 * are left out or were not recorded.
 */
void hawk_screen_stack(const struct hawk_screen *screen, const struct hawk_stack *stack,
		       size_t first, size_t depth, unsigned indent);

/** A line that distinguishes a stack from another. */
struct hawk_stack_mark {
	uint32_t line;
	bool address; /**< names are equal; only the address in the module differs */
};

/** The part of a stack that is shown. */
struct hawk_stack_cut {
	size_t first; /**< first line shown; the functions before it are counted */
	size_t end;   /**< end of the lines always shown; 0 = all */
	const struct hawk_stack_mark *marks; /**< also shown; ascending */
	size_t mark_count;
};

/** As hawk_screen_stack(); lines left out before a mark are counted. */
void hawk_screen_stack_cut(const struct hawk_screen *screen, const struct hawk_stack *stack,
			   const struct hawk_stack_cut *cut, unsigned indent);

#endif
