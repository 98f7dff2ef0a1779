/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints types with the sums of their blocks.
 */
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/names/function_name.h"
#include "hawk/report/types.h"

enum { DEFAULT_TOP = 20, CONTAINERS_COLUMN = 25 };

static const char *oldest_text(const struct hawk_types_report *report,
			       const struct hawk_type_sum *sum, struct hawk_quantity *text)
{
	if (sum->oldest_units == UINT64_MAX)
		return "-";
	*text = hawk_quantity_seconds(
		hawk_heap_age_seconds(report->pointers->heap, sum->oldest_units));
	return text->text;
}

/* "Session", "Session?", "(not known)". hawk_function_name_append() reduces the block in which
 * make_shared() puts an object to the object. */
static void append_name(const struct hawk_type *type, size_t width, struct hawk_text *text)
{
	const char *end;

	if (!type->name) {
		hawk_text_puts(text, "(not known)");
		return;
	}
	end = type->is_guess                                                         ? "?"
	      : !strncmp(type->name, "std::_Sp_counted", strlen("std::_Sp_counted")) ? " (shared)"
										     : "";
	hawk_function_name_append(text, type->name, width - strlen(end));
	hawk_text_puts(text, end);
}

/* Prints "12 containers, 40,319 entries in room for 65,536, 2 empty". */
static void put_containers(const struct hawk_types_report *report, const struct hawk_screen *screen,
			   const struct hawk_type_containers *of)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (!of->count || report->pointers->filter)
		return;
	hawk_text_printf(&text, "%s container%s", hawk_quantity_count(of->count).text,
			 of->count == 1 ? "" : "s");
	if (of->entries || of->room)
		hawk_text_printf(&text, ", %s entr%s", hawk_quantity_count(of->entries).text,
				 of->entries == 1 ? "y" : "ies");
	if (of->room)
		hawk_text_printf(&text, " in room for %s", hawk_quantity_count(of->room).text);
	if (of->empty)
		hawk_text_printf(&text, ", %s empty", hawk_quantity_count(of->empty).text);
	hawk_screen_paragraph(screen, hawk_text_string(&text), CONTAINERS_COLUMN,
			      CONTAINERS_COLUMN);
}

static void put_type(const struct hawk_types_report *report, const struct hawk_screen *screen,
		     const struct hawk_type_sum *sum)
{
	const struct hawk_type *type = hawk_types_at(report->types, sum->type);
	struct hawk_quantity bytes = screen->full ? hawk_quantity_count(sum->blocks.bytes)
						  : hawk_quantity_bytes(sum->blocks.bytes);
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_quantity age;

	hawk_text_printf(&text, "%*s %12s ", screen->full ? 18 : 10, bytes.text,
			 hawk_quantity_count(sum->blocks.objects).text);
	if (report->retained)
		hawk_text_printf(&text, "%10s ", hawk_quantity_bytes(sum->retained).text);
	if (report->pointers->heap->knows & HAWK_HEAP_AGES)
		hawk_text_printf(&text, "%9s ", oldest_text(report, sum, &age));
	if (screen->full)
		hawk_text_printf(&text, "%-10s ",
				 hawk_type_origin_name((enum hawk_type_origin)type->origin));
	hawk_text_puts(&text, " ");
	append_name(type, screen->full ? SIZE_MAX : screen->width - text.size, &text);
	hawk_screen_line(screen, &text);
	put_containers(report, screen, &type->containers);
}

/* Prints how much of the heap has a type. */
static void put_known(const struct hawk_type_list *list, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "%s of %s blocks have a known type, %s of %s",
			 hawk_quantity_count(list->known.objects).text,
			 hawk_quantity_count(list->all.objects).text,
			 hawk_quantity_bytes(list->known.bytes).text,
			 hawk_quantity_bytes(list->all.bytes).text);
	if (list->guessed.objects)
		hawk_text_printf(&text, "; types with ? are guesses: %s blocks",
				 hawk_quantity_count(list->guessed.objects).text);
	hawk_text_puts(&text, ".");
	hawk_output_puts(screen->output, "\n");
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

void hawk_report_types(const struct hawk_types_report *report, const struct hawk_screen *screen)
{
	const struct hawk_type_list *list = report->list;
	const struct hawk_heap *heap = report->pointers->heap;
	size_t end = hawk_report_limit(report->pointers, DEFAULT_TOP, list->count, screen->full);

	hawk_screen_heading(screen, "Types (%s of %s)", hawk_quantity_count(end).text,
			    hawk_quantity_count(list->count).text);
	if (!list->count) {
		hawk_report_put_none(report->pointers, screen);
		return;
	}
	hawk_screen_faint(screen, "%*s %12s %s%s%s type\n", screen->full ? 18 : 10, "size",
			  "blocks", report->retained ? "  retained " : "",
			  heap->knows & HAWK_HEAP_AGES ? "   oldest " : "",
			  screen->full ? "known by   " : "");
	for (size_t i = 0; i < end; i++)
		put_type(report, screen, &list->items[i]);
	put_known(list, screen);
}
