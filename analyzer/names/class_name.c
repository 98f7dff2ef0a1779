/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes a class's name from its identity.
 */
#include "hawk/names/class_name.h"

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/base/text.h"

#include <string.h>

/* Appends the class of the virtual table: from its symbol or type_info, else from its place. */
static void append_vtable(struct hawk_symbols *symbols, const struct hawk_class *class,
			  struct hawk_text *text)
{
	static const char prefix[] = "vtable for ";
	struct hawk_symbol_module module = hawk_symbol_module_of(class->module);
	const char *symbol = NULL, *base = strrchr(class->module->path, '/');
	uint64_t offset;

	if (!hawk_error_swallow(hawk_symbols_name(
		    symbols, &module, class->module->bias + class->offset, &symbol, &offset)) &&
	    symbol && !strncmp(symbol, prefix, sizeof(prefix) - 1))
		hawk_text_puts(text, symbol + sizeof(prefix) - 1);
	else
		hawk_text_printf(text, "%s+0x%llx", base ? base + 1 : class->module->path,
				 (unsigned long long)class->offset);
}

const char *hawk_class_name(struct hawk_symbols *symbols, const struct hawk_class *class)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (class->kind == HAWK_CLASS_UNKNOWN)
		return NULL;
	if (class->kind == HAWK_CLASS_TYPE && class->name)
		return class->name;
	if (class->kind == HAWK_CLASS_SIZE)
		hawk_text_printf(&text, "malloc, %s bytes", hawk_quantity_count(class->size).text);
	else if (class->kind == HAWK_CLASS_RANGE)
		hawk_text_printf(&text, "malloc, from %s", hawk_quantity_bytes(class->size).text);
	else if (class->kind == HAWK_CLASS_VTABLE && class->module)
		append_vtable(symbols, class, &text);
	else if (class->kind == HAWK_CLASS_SAMPLE)
		hawk_text_printf(&text, "(sampled by %s)", class->name ? class->name : "malloc");
	else if (class->kind == HAWK_CLASS_SHAPE)
		hawk_text_printf(&text, "shape %016llx", (unsigned long long)class->offset);
	else
		hawk_text_printf(&text, "(internal: %s)", class->name ? class->name : "allocator");
	return text.bytes ? hawk_symbols_intern(symbols, text.bytes) : NULL;
}
