/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Spells a path as an expression of the program: the variable, then the member in each block. What
 * containers use to find an element is "[...]", once for any number of nodes.
 */
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/report/pointers.h"

enum { EXPRESSION_BYTES_MAX = 240, FUNCTION_WIDTH_MAX = 40 };

static const char element[] = "[...]";

static bool ends_with_element(const struct hawk_text *text)
{
	size_t size = sizeof(element) - 1;

	return text->size >= size && !memcmp(text->bytes + text->size - size, element, size);
}

/* Appends the member behind a pointer; takes a "?" off it. */
static bool append_member(const struct hawk_text *member, struct hawk_text *text)
{
	bool is_guess = member->size && member->bytes[member->size - 1] == '?';
	size_t size = member->size - is_guess;
	const char *from = hawk_text_string(member);

	if (!size) {
		hawk_text_puts(text, "[0]");
	} else if (from[0] == '.') {
		hawk_text_puts(text, "->");
		hawk_text_append(text, from + 1, size - 1);
	} else {
		size_t known = sizeof(element) - 1;
		bool again = ends_with_element(text) && !strncmp(from, element, known);

		hawk_text_append(text, from + (again ? known : 0), size - (again ? known : 0));
	}
	return is_guess;
}

bool hawk_report_append_expression(const struct hawk_pointer_report *report,
				   const struct hawk_path *path, struct hawk_text *text)
{
	struct hawk_root_name root = hawk_root_find(report->roots, path->root);
	size_t before = text->size;
	bool is_guess = false;

	if (!root.variable)
		return false;
	if (root.kind == HAWK_ROOT_STACK && root.function)
		hawk_function_name_append(text, root.function, FUNCTION_WIDTH_MAX);
	if (text->size > before)
		hawk_text_puts(text, ": ");
	hawk_text_puts(text, root.variable);
	for (uint32_t i = 1; i < path->count; i++) {
		CLEANUP(text) struct hawk_text member = {0};
		uint32_t holder = i > 1 ? path->blocks[i - 2] : HAWK_BLOCK_NOWHERE;
		struct hawk_referrer pointer;

		hawk_referrer_between(report->graph, path->blocks[i - 1], path->blocks[i],
				      &pointer);
		if ((pointer.interior && pointer.inside) ||
		    text->size - before > EXPRESSION_BYTES_MAX ||
		    !hawk_report_append_member(report, holder, path->blocks[i - 1], pointer.offset,
					       &member))
			return false;
		is_guess |= append_member(&member, text);
	}
	hawk_text_puts(text, is_guess ? "?" : "");
	return true;
}
