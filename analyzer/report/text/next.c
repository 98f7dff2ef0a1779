/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The commands to type next.
 */
#include "hawk/report/next.h"

#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/report/screen.h"

enum { SHOWN = 2, INDENT = 2, BREAK = 2 /* columns of " \\" */ };

void hawk_report_next_command(const struct hawk_next_command *command, unsigned indent,
			      const struct hawk_screen *screen)
{
	const char *word = command->words.bytes, *end = word + command->words.size;
	size_t column = 0;

	for (; word < end; word += strlen(word) + 1) {
		CLEANUP(text) struct hawk_text quoted = {0};
		bool is_last = word + strlen(word) + 1 == end;

		hawk_append_shell_word(&quoted, word);
		if (!column) {
			hawk_output_fill(screen->output, ' ', indent);
			column = indent;
		} else if (column + 1 + quoted.size + (is_last ? 0 : BREAK) > screen->width) {
			hawk_output_printf(screen->output, " \\\n%*s", (int)indent + 2, "");
			column = indent + 2;
		} else {
			hawk_output_puts(screen->output, " ");
			column++;
		}
		hawk_output_puts(screen->output, hawk_text_string(&quoted));
		column += quoted.size;
	}
	hawk_output_puts(screen->output, "\n");
}

void hawk_report_next(const struct hawk_next *next, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text whys = {0};

	if (!next->count)
		return;
	for (size_t i = 0; i < next->count && i < SHOWN; i++)
		hawk_text_printf(&whys, "%s%s", i ? "; " : "Next: ", next->items[i].why);
	hawk_screen_heading(screen, "%s", hawk_text_string(&whys));
	for (size_t i = 0; i < next->count && i < SHOWN; i++)
		hawk_report_next_command(&next->items[i], INDENT, screen);
}
