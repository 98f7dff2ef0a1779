/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of sites, by index; those not asked for yet are all zero.
 */
#include "hawk/names/site_names.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/names/site_prefix.h"
#include "hawk/base/utf8.h"
#include "name_tree.h"

enum {
	PLACE_SHARE = 3,      /**< of the width, a third is for file and line, or what is left */
	PLACE_WIDTH_MIN = 30, /**< in less, there is room for the function only */
	CALLERS_MAX = 8,      /**< looked at for a name */
	CALLER_WIDTH_MIN = 8,
	NAME_WIDTH_MIN = 8, /**< beside an id */
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
	enum hawk_names_mode mode;
	void *learned;                  /**< texts that stand for a site */
	uint64_t *ids;                  /**< ascending; NULL before an id is to be shortened */
	struct hawk_site_name nameless; /**< of blocks without a site */
};

const char *hawk_site_no_stack(const struct hawk_heap *heap, uint32_t site)
{
	uint64_t id = site < heap->site_count ? heap->sites[site].id : (uint64_t)HAWK_SITE_NO_STACK;

	if (!(heap->knows & HAWK_HEAP_STACKS))
		return "(class unknown)";
	return id == HAWK_SITE_NOT_SAMPLED ? "(not sampled)"
	       : id == HAWK_SITE_LOST      ? "(stack lost)"
					   : "(no stack)";
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
	names->nameless.instead = hawk_site_no_stack(heap, UINT32_MAX);
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
	hawk_name_tree_clear(&names->learned);
	free(names->ids);
	free(names);
}

/** Returns the first function with a name behind `line`, not far from it; NULL = there is none, or
 * only of the C library, which calls every program. */
static const char *named_caller(const struct hawk_stack *stack, const struct hawk_stack_line *line)
{
	const struct hawk_stack_line *end = stack->lines + stack->count;

	if (end - line > CALLERS_MAX)
		end = line + CALLERS_MAX;
	for (line++; line < end; line++)
		if (line->kind == HAWK_LINE_FUNCTION && line->name.function &&
		    !hawk_stack_is_c_library(line))
			return line->name.function;
	return NULL;
}

/** Makes the place that of who called a runtime. */
static void set_caller(const struct hawk_stack_line *line, struct hawk_site_name *name)
{
	const char *module = hawk_path_base(line->module.path);

	name->runtime = true;
	name->caller = line->name.function ? line->name.function : module;
	name->caller_offset = line->name.function ? 0 : line->pc - line->module.bias;
	name->file = line->name.file ? hawk_path_base(line->name.file) : NULL;
	name->line = line->name.line;
	if (name->function)
		name->module = line->name.function ? module : NULL;
}

static struct hawk_site_name name_of(const struct hawk_stack *stack)
{
	const struct hawk_stack_line *line;
	struct hawk_site_name name;
	size_t telling, caller;

	if (!stack->count)
		return (struct hawk_site_name){0};
	telling = hawk_stack_telling_line(stack);
	caller = hawk_stack_runtime_caller(stack, telling);
	line = &stack->lines[telling];
	name = (struct hawk_site_name){
		.function = line->name.function,
		.file = line->name.file ? hawk_path_base(line->name.file) : NULL,
		.line = line->name.line,
		.module = line->has_module && line->module.path ? hawk_path_base(line->module.path)
								: NULL,
		.offset = line->has_module ? line->pc - line->module.bias : line->pc,
		.caller = line->name.function ? NULL : named_caller(stack, line),
		.callee = telling ? line[-1].name.function : NULL,
		.has_stack = true,
	};
	if (caller < stack->count)
		set_caller(&stack->lines[caller], &name);
	return name;
}

const struct hawk_site_name *hawk_site_name(struct hawk_site_names *names, uint32_t site)
{
	struct entry *entry;

	if (site >= names->heap->site_count)
		return &names->nameless;
	entry = &names->entries[site];
	if (entry->known)
		return &entry->name;
	hawk_stack_of_blocks(names->symbols, names->heap, names->heap->sites[site].trace,
			     &names->stack);
	entry->name = name_of(&names->stack);
	if (!entry->name.has_stack)
		entry->name.instead = hawk_site_no_stack(names->heap, site);
	entry->known = true;
	return &entry->name;
}

static void append_offset(struct hawk_text *text, const struct hawk_site_name *name)
{
	if (name->module)
		hawk_utf8_append_safe(text, name->module);
	hawk_text_printf(text, "+0x%llx", (unsigned long long)name->offset);
}

/** The function, or its offset; of that, the digits say more than the module. */
static void append_function(struct hawk_text *text, const struct hawk_site_name *name, size_t width)
{
	CLEANUP(text) struct hawk_text offset = {0};

	if (name->function) {
		hawk_function_name_append(text, name->function, width);
		return;
	}
	append_offset(&offset, name);
	hawk_utf8_append_middle_cut(text, hawk_text_string(&offset), width);
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
		hawk_utf8_append_middle_cut(text, offset.bytes, width);
		return;
	}
	hawk_text_puts(text, offset.bytes);
	used = hawk_utf8_width(offset.bytes) + 3;
	if (!name->caller || (width != SIZE_MAX && width < used + CALLER_WIDTH_MIN))
		return;
	hawk_text_puts(text, " < ");
	hawk_function_name_append(text, name->caller, width == SIZE_MAX ? width : width - used);
}

/** Appends who called a runtime: a function, or "server+0x4712". */
static void append_caller(struct hawk_text *text, const struct hawk_site_name *name, size_t width)
{
	CLEANUP(text) struct hawk_text place = {0};

	if (!name->caller_offset) {
		hawk_function_name_append(text, name->caller, width);
		return;
	}
	hawk_text_printf(&place, "%s+0x%llx", name->caller,
			 (unsigned long long)name->caller_offset);
	hawk_utf8_append_middle_cut(text, hawk_text_string(&place), width);
}

/** "list_resize < parse": if they do not fit, both keep half of the width. */
static void append_functions(struct hawk_text *text, const struct hawk_site_name *name,
			     size_t width)
{
	CLEANUP(text) struct hawk_text function = {0}, caller = {0};
	size_t room = width == SIZE_MAX ? width : width - 3, used;

	if (!name->runtime || width < 2 * CALLER_WIDTH_MIN) {
		append_function(text, name, width);
		return;
	}
	append_caller(&caller, name, SIZE_MAX);
	used = hawk_utf8_width(hawk_text_string(&caller));
	append_function(&function, name, used < room / 2 ? room - used : room / 2);
	hawk_text_printf(text, "%s < ", hawk_text_string(&function));
	append_caller(text, name, room - hawk_utf8_width(hawk_text_string(&function)));
}

/** Columns of a name without its place. */
static size_t bare_width(const struct hawk_site_name *name)
{
	CLEANUP(text) struct hawk_text text = {0};

	append_functions(&text, name, SIZE_MAX);
	return text.bytes ? hawk_utf8_width(text.bytes) : 0;
}

/** For file and line: what the function leaves, and a share at least. */
static size_t place_room(const struct hawk_site_name *name, size_t width)
{
	size_t used = bare_width(name) + 2;

	if (width == SIZE_MAX || used + width / PLACE_SHARE > width)
		return width == SIZE_MAX ? width : width / PLACE_SHARE;
	return width - used;
}

void hawk_site_name_append(struct hawk_text *text, const struct hawk_site_name *name, size_t width)
{
	CLEANUP(text) struct hawk_text place = {0}, shown = {0};
	size_t place_width;

	if (!name->has_stack) {
		hawk_text_puts(text, name->instead);
		return;
	}
	if (!name->function && !name->runtime) {
		append_nameless(text, name, width);
		return;
	}
	if (width < PLACE_WIDTH_MIN)
		; /* the function alone */
	else if (name->file)
		hawk_text_printf(&place, "%s:%u", name->file, name->line);
	else if (name->function && name->module &&
		 (width == SIZE_MAX || hawk_utf8_width(name->module) <= width / PLACE_SHARE))
		hawk_text_puts(&place, name->module); /* half of it would say nothing */
	if (place.bytes)
		hawk_utf8_append_middle_cut(&shown, place.bytes, place_room(name, width));
	place_width = shown.bytes ? hawk_utf8_width(shown.bytes) + 2 : 0;
	append_functions(text, name, width == SIZE_MAX ? width : width - place_width);
	if (!shown.bytes)
		return;
	hawk_text_puts(text, "  ");
	hawk_text_puts(text, shown.bytes);
}

void hawk_site_names_mode(struct hawk_site_names *names, enum hawk_names_mode mode)
{
	names->mode = mode;
	if (mode == HAWK_NAMES_LEARN)
		hawk_name_tree_clear(&names->learned);
}

static void learn_text(struct hawk_site_names *names, uint32_t site, const struct hawk_text *text)
{
	struct hawk_name_node *node = hawk_name_tree_node(&names->learned, hawk_text_string(text));

	if (node && node->noted) {
		node->several |= node->number != site;
	} else if (node) {
		node->noted = true;
		node->number = site;
	}
}

void hawk_site_name_learn(struct hawk_site_names *names, uint32_t site)
{
	CLEANUP(text) struct hawk_text whole = {0};

	if (names->mode != HAWK_NAMES_LEARN)
		return;
	hawk_site_name_append(&whole, hawk_site_name(names, site), SIZE_MAX);
	learn_text(names, site, &whole);
}

static bool is_several(const struct hawk_site_names *names, const struct hawk_text *text)
{
	const struct hawk_name_node *node =
		hawk_name_tree_find(&names->learned, hawk_text_string(text));

	return node && node->several;
}

/** Returns true if another site looks like `name`, which is displayed as `shown`. */
static bool has_alike(const struct hawk_site_names *names, const struct hawk_site_name *name,
		      const struct hawk_text *shown)
{
	CLEANUP(text) struct hawk_text whole = {0};

	hawk_site_name_append(&whole, name, SIZE_MAX);
	return is_several(names, shown) || is_several(names, &whole);
}

static int compare_ids(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/** How many digits tell `id` from those of all other sites. */
static unsigned telling_digits(struct hawk_site_names *names, uint64_t id)
{
	const struct hawk_heap *heap = names->heap;

	if (!names->ids) {
		names->ids = malloc((heap->site_count + 1) * sizeof(*names->ids));
		if (!names->ids) {
			hawk_enomem_swallow();
			return HAWK_SITE_DIGITS;
		}
		for (size_t i = 0; i < heap->site_count; i++)
			names->ids[i] = heap->sites[i].id;
		qsort(names->ids, heap->site_count, sizeof(*names->ids), compare_ids);
	}
	return hawk_site_prefix_digits(names->ids, heap->site_count, id);
}

/** The name says more than an id: of that no more digits than needed, where it would be cut. */
static void append_with_id(struct hawk_site_names *names, uint32_t site,
			   const struct hawk_site_name *name, size_t width, struct hawk_text *text)
{
	uint64_t id = names->heap->sites[site].id;
	unsigned digits = HAWK_SITE_DIGITS;

	if (width != SIZE_MAX && bare_width(name) + 2 + HAWK_SITE_DIGITS > width)
		digits = telling_digits(names, id);
	if (width >= NAME_WIDTH_MIN + 2 + digits) {
		hawk_site_name_append(text, name, width == SIZE_MAX ? width : width - digits - 2);
		hawk_text_puts(text, "  ");
	}
	hawk_text_printf(text, "%0*llx", (int)digits,
			 (unsigned long long)(id >> 4 * (HAWK_SITE_DIGITS - digits)));
}

void hawk_site_name_tell(struct hawk_site_names *names, uint32_t site, size_t width,
			 struct hawk_text *text)
{
	CLEANUP(text) struct hawk_text shown = {0};
	const struct hawk_site_name *name = hawk_site_name(names, site);

	hawk_site_name_learn(names, site);
	hawk_site_name_append(&shown, name, width);
	if (names->mode == HAWK_NAMES_LEARN)
		learn_text(names, site, &shown);
	if (names->mode == HAWK_NAMES_TELL && name->has_stack && width >= HAWK_SITE_DIGITS &&
	    has_alike(names, name, &shown))
		append_with_id(names, site, name, width, text);
	else
		hawk_text_append(text, shown.bytes, shown.size);
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
