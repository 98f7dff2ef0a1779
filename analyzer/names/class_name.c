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

/** Itanium C++ ABI: the address point lies behind the offset to top and the type_info. */
enum { VTABLE_PREFIX_BYTES = 16 };

const char *hawk_vtable_class(struct hawk_symbols *symbols, const struct hawk_module *module,
			      uint64_t address)
{
	static const char prefix[] = "vtable for ";
	struct hawk_symbol_module of = hawk_symbol_module_of(module);
	const char *symbol;
	uint64_t offset;

	return !hawk_error_swallow(hawk_symbols_name(symbols, &of, address, &symbol, &offset)) &&
			       symbol && offset >= VTABLE_PREFIX_BYTES &&
			       !strncmp(symbol, prefix, sizeof(prefix) - 1)
		       ? symbol + sizeof(prefix) - 1
		       : NULL;
}

const char *hawk_vtable_place(struct hawk_symbols *symbols, const struct hawk_module *module,
			      uint64_t address)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "%s+0x%llx", hawk_path_base(module->path),
			 (unsigned long long)(address - module->bias));
	return text.bytes ? hawk_symbols_intern(symbols, text.bytes) : NULL;
}

static const char *name_vtable(struct hawk_symbols *symbols, const struct hawk_class *class)
{
	uint64_t address = class->module->bias + class->offset;
	const char *name = hawk_vtable_class(symbols, class->module, address);

	return name ? name : hawk_vtable_place(symbols, class->module, address);
}

const char *hawk_class_name(struct hawk_symbols *symbols, const struct hawk_class *class)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (class->kind == HAWK_CLASS_UNKNOWN)
		return NULL;
	if ((class->kind == HAWK_CLASS_TYPE || class->kind == HAWK_CLASS_FLOW) && class->name)
		return class->name;
	if (class->kind == HAWK_CLASS_VTABLE && class->module)
		return name_vtable(symbols, class);
	if (class->kind == HAWK_CLASS_SIZE)
		hawk_text_printf(&text, "malloc, %s bytes", hawk_quantity_count(class->size).text);
	else if (class->kind == HAWK_CLASS_RANGE)
		hawk_text_printf(&text, "malloc, from %s", hawk_quantity_bytes(class->size).text);
	else if (class->kind == HAWK_CLASS_SAMPLE)
		hawk_text_printf(&text, "(sampled by %s)", class->name ? class->name : "malloc");
	else if (class->kind == HAWK_CLASS_SHAPE)
		hawk_text_printf(&text, "shape %016llx", (unsigned long long)class->offset);
	else
		hawk_text_printf(&text, "(internal: %s)", class->name ? class->name : "allocator");
	return text.bytes ? hawk_symbols_intern(symbols, text.bytes) : NULL;
}
