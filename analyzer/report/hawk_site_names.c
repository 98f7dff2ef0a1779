/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of sites, by index; those not asked for yet are all zero.
 */
#include "hawk_site_names.h"

#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_function_name.h"
#include "hawk_utf8.h"

enum {
	PLACE_SHARE = 3,      /**< of the width, a third at most is for file and line */
	PLACE_WIDTH_MIN = 30, /**< in less, there is room for the function only */
	CALLERS_MAX = 8,      /**< looked at for a name */
	CALLER_WIDTH_MIN = 8,
};

struct entry {
	bool known;
	struct hawk_site_name name;
};

struct hawk_site_names {
	const struct hawk_heap *heap;
	struct hawk_symbols *symbols;
	struct entry *entries;
	struct hawk_stack stack;
};

static const struct hawk_site_name nameless = {.instead = "(no stack)"};

const char *hawk_site_no_stack(const struct hawk_heap *heap, uint32_t site)
{
	uint64_t id = site < heap->site_count ? heap->sites[site].id : (uint64_t)HAWK_SITE_NO_STACK;

	return id == HAWK_SITE_NOT_SAMPLED ? "(not sampled)"
	       : id == HAWK_SITE_LOST      ? "(stack lost)"
					   : nameless.instead;
}

struct hawk_error *hawk_site_names_create(const struct hawk_heap *heap,
					  struct hawk_symbols *symbols,
					  struct hawk_site_names **ret)
{
	struct hawk_site_names *names = calloc(1, sizeof(*names));

	if (!names)
		return &hawk_enomem;
	names->heap = heap;
	names->symbols = symbols;
	hawk_stack_init(&names->stack);
	names->entries = calloc(heap->site_count + 1, sizeof(*names->entries));
	if (!names->entries) {
		hawk_site_names_destroy(names);
		return &hawk_enomem;
	}
	*ret = names;
	return NULL;
}

void hawk_site_names_destroy(struct hawk_site_names *names)
{
	if (!names)
		return;
	hawk_stack_deinit(&names->stack);
	free(names->entries);
	free(names);
}

/** The first function with a name behind `line`, not far from it; NULL = there is none. */
static const char *named_caller(const struct hawk_stack *stack, const struct hawk_stack_line *line)
{
	const struct hawk_stack_line *end = stack->lines + stack->count;

	if (end - line > CALLERS_MAX)
		end = line + CALLERS_MAX;
	for (line++; line < end; line++)
		if (line->kind == HAWK_LINE_FUNCTION && line->name.function)
			return line->name.function;
	return NULL;
}

static struct hawk_site_name name_of(const struct hawk_stack *stack)
{
	const struct hawk_stack_line *line;

	if (!stack->count)
		return nameless;
	line = &stack->lines[hawk_stack_telling_line(stack)];
	return (struct hawk_site_name){
		.function = line->name.function,
		.file = line->name.file ? hawk_path_base(line->name.file) : NULL,
		.line = line->name.line,
		.module = line->has_module && line->module.path ? hawk_path_base(line->module.path)
								: NULL,
		.offset = line->has_module ? line->pc - line->module.bias : line->pc,
		.caller = line->name.function ? NULL : named_caller(stack, line),
		.has_stack = true,
	};
}

struct hawk_error *hawk_site_name(struct hawk_site_names *names, uint32_t site,
				  const struct hawk_site_name **ret)
{
	struct hawk_error *err;
	struct entry *entry;

	*ret = &nameless;
	if (site >= names->heap->site_count)
		return NULL;
	entry = &names->entries[site];
	*ret = &entry->name;
	if (entry->known)
		return NULL;
	err = hawk_stack_of_trace(names->symbols, names->heap->table,
				  names->heap->sites[site].trace, &names->stack);
	if (err)
		return err;
	entry->name = name_of(&names->stack);
	if (!entry->name.has_stack)
		entry->name.instead = hawk_site_no_stack(names->heap, site);
	entry->known = true;
	return NULL;
}

static void append_offset(struct hawk_text *text, const struct hawk_site_name *name)
{
	if (name->module)
		hawk_utf8_append_safe(text, name->module);
	hawk_text_printf(text, "+0x%llx", (unsigned long long)name->offset);
}

/** "libz.so.1+0x4712 < inflate", the caller only if there is room. */
static void append_nameless(struct hawk_text *text, const struct hawk_site_name *name, size_t width)
{
	CLEANUP(text) struct hawk_text offset = {0};
	size_t used;

	append_offset(&offset, name);
	if (!offset.bytes)
		return;
	if (hawk_utf8_width(offset.bytes) > width) { /* the offset says more than the module */
		hawk_utf8_append_end(text, offset.bytes, width);
		return;
	}
	hawk_text_puts(text, offset.bytes);
	used = hawk_utf8_width(offset.bytes) + 3;
	if (!name->caller || (width != SIZE_MAX && width < used + CALLER_WIDTH_MIN))
		return;
	hawk_text_puts(text, " < ");
	hawk_function_name_append(text, name->caller, width == SIZE_MAX ? width : width - used);
}

void hawk_site_name_append(struct hawk_text *text, const struct hawk_site_name *name, size_t width)
{
	CLEANUP(text) struct hawk_text place = {0}, shown = {0};
	size_t place_width;

	if (!name->has_stack) {
		hawk_text_puts(text, name->instead);
		return;
	}
	if (!name->function) {
		append_nameless(text, name, width);
		return;
	}
	if (width < PLACE_WIDTH_MIN)
		; /* the function alone */
	else if (name->file)
		hawk_text_printf(&place, "%s:%u", name->file, name->line);
	else if (name->module &&
		 (width == SIZE_MAX || hawk_utf8_width(name->module) <= width / PLACE_SHARE))
		hawk_text_puts(&place, name->module); /* half of it would say nothing */
	if (place.bytes)
		hawk_utf8_append_end(&shown, place.bytes,
				     width == SIZE_MAX ? width : width / PLACE_SHARE);
	place_width = shown.bytes ? hawk_utf8_width(shown.bytes) + 2 : 0;
	hawk_function_name_append(text, name->function,
				  width == SIZE_MAX ? width : width - place_width);
	if (!shown.bytes)
		return;
	hawk_text_puts(text, "  ");
	hawk_text_puts(text, shown.bytes);
}

void hawk_site_name_append_folded(struct hawk_text *text, const struct hawk_site_name *name)
{
	size_t start = text->size;

	if (!name->has_stack)
		hawk_text_puts(text, name->instead);
	else if (name->function)
		hawk_function_name_append(text, name->function, SIZE_MAX);
	else
		append_offset(text, name);
	for (size_t i = start; text->bytes && i < text->size; i++)
		if (text->bytes[i] == ';')
			text->bytes[i] = ':';
}
