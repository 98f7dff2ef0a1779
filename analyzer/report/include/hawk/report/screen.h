/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What text reports need to know about where they go: how wide it is, whether it takes colour, how
 * much detail is wanted. Also the one way to print a stack line and a foreign string.
 */
#ifndef HAWK_ANALYZER_REPORT_SCREEN_H
#define HAWK_ANALYZER_REPORT_SCREEN_H

#include <stdbool.h>

#include "hawk/report/output.h"
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

/** Everything printed until hawk_screen_plain() has that style, if the screen takes colour. */
void hawk_screen_style(const struct hawk_screen *screen, enum hawk_style style);
void hawk_screen_plain(const struct hawk_screen *screen);

/** Faint text: the names of columns, a remark. */
void hawk_screen_faint(const struct hawk_screen *screen, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** "Heading" on a line of its own, with an empty line in front. */
void hawk_screen_heading(const struct hawk_screen *screen, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** A string from the target, made safe for a terminal. */
void hawk_screen_foreign(const struct hawk_screen *screen, const char *string);

/** `text` broken into lines at spaces: `indent` columns in front of each but the first. */
void hawk_screen_wrapped(const struct hawk_screen *screen, const char *text, unsigned column,
			 unsigned indent);

/** The same with `first` blanks in front of it. */
void hawk_screen_paragraph(const struct hawk_screen *screen, const char *text, unsigned first,
			   unsigned indent);

/** `text` as it is, safe already, and the end of the line. */
void hawk_screen_line(const struct hawk_screen *screen, const struct hawk_text *text);

/** One line of a stack in columns: function, file:line, module; what is longer takes what others do
 * not need. `indent` columns in front. */
void hawk_screen_stack_line(const struct hawk_screen *screen, const struct hawk_stack_line *line,
			    unsigned indent);

/** A hash of what hawk_screen_stack_line() shows: the same for lines that look the same. */
uint64_t hawk_screen_line_look(const struct hawk_screen *screen, const struct hawk_stack_line *line,
			       unsigned indent);

/**
 * Lines `first` ... of `stack`, at most `depth` of them (0 = all), and a remark if frames are left
 * out here or were not recorded.
 */
void hawk_screen_stack(const struct hawk_screen *screen, const struct hawk_stack *stack,
		       size_t first, size_t depth, unsigned indent);

/** A line that tells a stack from another one. */
struct hawk_stack_mark {
	uint32_t line;
	bool address; /**< what tells is where in its module it is: names are the same */
};

/** What is shown of a stack. */
struct hawk_stack_cut {
	size_t first; /**< how many functions lie before it is said */
	size_t end;   /**< of the lines that are shown in any case; 0 = all */
	const struct hawk_stack_mark *marks; /**< also shown; ascending */
	size_t mark_count;
};

/** As hawk_screen_stack(); lines left out before a mark are counted. */
void hawk_screen_stack_cut(const struct hawk_screen *screen, const struct hawk_stack *stack,
			   const struct hawk_stack_cut *cut, unsigned indent);

#endif
