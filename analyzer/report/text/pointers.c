/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shared code of the pointer reports: blocks on one line, the start and end of documents.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/base/quantity.h"
#include "hawk/report/pointers.h"
#include "hawk/base/utf8.h"

enum { NAME_WIDTH_MIN = 8, TYPE_WIDTH_MAX = 24 };

size_t hawk_report_limit(const struct hawk_pointer_report *report, size_t usual, size_t count,
			 bool full)
{
	size_t most = report->top ? report->top : full ? count : usual;

	return most < count ? most : count;
}

size_t hawk_report_depth(const struct hawk_pointer_report *report, size_t usual, bool full)
{
	return full ? 0 : report->depth ? report->depth : usual;
}

void hawk_report_put_none(const struct hawk_pointer_report *report,
			  const struct hawk_screen *screen)
{
	hawk_output_puts(screen->output, report->filter ? "  no block matches\n" : "  none\n");
}

/** Returns the columns for a type, without brackets, if `left` are for name and type; 0 = too few.
 */
static size_t type_room(const struct hawk_screen *screen, size_t left)
{
	size_t half = left > 4 ? (left - 4) / 2 : 0;

	if (screen->full)
		return SIZE_MAX;
	if (half < NAME_WIDTH_MIN)
		return 0;
	return half < TYPE_WIDTH_MAX ? half : TYPE_WIDTH_MAX;
}

bool hawk_report_append_member(const struct hawk_pointer_report *report, uint32_t holder,
			       uint32_t block, uint64_t offset, struct hawk_text *text)
{
	return report->path_types && offset != HAWK_OFFSET_UNKNOWN &&
	       hawk_types_append_member(report->path_types, holder, block, offset, text);
}

const char *hawk_report_type(const struct hawk_pointer_report *report, uint32_t number,
			     const struct hawk_block *block, bool *is_guess)
{
	const char *name = report->types ? hawk_block_type(report->types, block) : NULL;
	const struct hawk_type *type;

	*is_guess = false;
	if (name || !report->path_types)
		return name;
	type = hawk_types_at(report->path_types, hawk_types_of(report->path_types, number));
	*is_guess = type->is_guess;
	return type->layout ? type->name : NULL;
}

static void append_type(const char *type, bool is_guess, size_t width, struct hawk_text *text)
{
	hawk_function_name_append(text, type, width == SIZE_MAX ? width : width - is_guess);
	hawk_text_puts(text, is_guess ? "?" : "");
}

/* Appends the site, and the type in brackets. */
static void append_site(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
			uint32_t number, const char *type, size_t room, struct hawk_text *text)
{
	size_t used = type ? hawk_utf8_width(type) + 4 : 0;

	room -= used < room ? used : room;
	room = room > NAME_WIDTH_MIN ? room : NAME_WIDTH_MIN;
	hawk_site_name_append(
		text, hawk_site_name(report->names, hawk_heap_site_at(report->heap, number)),
		screen->full ? SIZE_MAX : room);
	if (type)
		hawk_text_printf(text, "  [%s]", type);
}

void hawk_report_put_block(const struct hawk_pointer_report *report,
			   const struct hawk_screen *screen, uint32_t number, unsigned column)
{
	CLEANUP(text) struct hawk_text text = {0}, type_text = {0};
	const struct hawk_class *class;
	const char *type = NULL;
	struct hawk_block block;
	bool is_guess = false;
	size_t used, room;

	hawk_heap_block(report->heap, number, &block);
	class = hawk_heap_class(report->heap, block.trace);
	if (!(class && class->kind == HAWK_CLASS_TYPE)) /* its class names it */
		type = hawk_report_type(report, number, &block, &is_guess);
	hawk_text_printf(&text, "0x%llx  %s  ", (unsigned long long)block.start,
			 hawk_quantity_bytes(block.size).text);
	used = column + hawk_utf8_width(hawk_text_string(&text));
	room = screen->width > used ? screen->width - used : 0;
	if (type && class && class->kind != HAWK_CLASS_SAMPLE) /* which tells less */
		append_type(type, is_guess, screen->full ? SIZE_MAX : room, &text);
	else if (type && type_room(screen, room))
		append_type(type, is_guess, type_room(screen, room), &type_text);
	if (!type || !class || class->kind == HAWK_CLASS_SAMPLE)
		append_site(report, screen, number, type_text.bytes, room, &text);
	hawk_screen_line(screen, &text);
}

const struct hawk_site *hawk_report_not_sampled(const struct hawk_heap *heap)
{
	for (size_t i = 0; heap->sample_mean && i < heap->site_count; i++)
		if (heap->sites[i].id == HAWK_SITE_NOT_SAMPLED)
			return &heap->sites[i];
	return NULL;
}

void hawk_report_put_sampling(const struct hawk_pointer_report *report,
			      const struct hawk_screen *screen)
{
	const struct hawk_heap *heap = report->heap;
	const struct hawk_site *others = hawk_report_not_sampled(heap);

	if (!heap->sample_mean)
		return;
	hawk_output_printf(screen->output,
			   "  Stacks are sampled, one for %s on average: figures are those of the\n"
			   "  blocks that have one, no estimates; %s more (%s) have none.\n",
			   hawk_quantity_bytes(heap->sample_mean).text,
			   hawk_quantity_count(others ? others->inuse_objects : 0).text,
			   hawk_quantity_bytes(others ? others->inuse_bytes : 0).text);
}

void hawk_report_put_rows(const struct hawk_pointer_report *report,
			  const struct hawk_screen *screen, hawk_rows_function *put,
			  const void *context)
{
	CLEANUP(free_ptr) struct hawk_output *nowhere = malloc(sizeof(*nowhere));
	struct hawk_screen rehearsal = *screen;

	if (nowhere) {
		hawk_output_init(nowhere, -1);
		rehearsal.output = nowhere;
		hawk_site_names_mode(report->names, HAWK_NAMES_LEARN);
		put(context, &rehearsal);
		hawk_site_names_mode(report->names, HAWK_NAMES_TELL);
	} else {
		hawk_enomem_swallow();
	}
	put(context, screen);
	hawk_site_names_mode(report->names, HAWK_NAMES_PLAIN);
}
