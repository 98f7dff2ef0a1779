/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Variables at fixed places, and classes by name.
 */
#include <stdlib.h>

#include <dwarf.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "state.h"

/** Upper limit on variables' bytes while their types are not known. */
static const uint64_t UNTYPED_BYTES_MAX = 1 << 20;

/* Fills `ret` with the variable of `die`, which lies at `address`; false = it has no type. */
static bool make_static(struct hawk_symbols *symbols, struct hawk_dwarf *dwarf, Dwarf_Die *die,
			uint64_t address, struct hawk_dwarf_variable *ret)
{
	const char *name = hawk_dwarf_qualified(dwarf, die);

	*ret = (struct hawk_dwarf_variable){
		.name = name ? name : "",
		.type = hawk_dwarf_type_attribute(symbols, dwarf, die),
		.address = address,
		.is_static = true,
	};
	return ret->type;
}

/* Returns the module's file if it has debug information; NULL = none. */
static struct hawk_symbol_file *file_of(struct hawk_symbols *symbols,
					const struct hawk_symbol_module *module)
{
	struct hawk_symbol_file *file;

	if (hawk_error_swallow(hawk_symbols_file(symbols, module, &file)) || !file->dwarf)
		return NULL;
	return file;
}

static bool find_static(struct hawk_symbols *symbols, struct hawk_dwarf *dwarf,
			const struct hawk_dwarf_statics *statics, uint64_t address,
			struct hawk_dwarf_variable *ret)
{
	const struct hawk_dwarf_static *found = hawk_dwarf_statics_find(statics, address);
	Dwarf_Die die;

	if (!found)
		return false;
	die = found->die;
	return make_static(symbols, dwarf, &die, found->address, ret) &&
	       address - ret->address < ret->type->bytes;
}

bool hawk_dwarf_static_at(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
			  uint64_t address, struct hawk_dwarf_variable *ret)
{
	struct hawk_symbol_file *file = file_of(symbols, module);
	const struct hawk_dwarf_index *index = file ? hawk_dwarf_index_of(file->dwarf) : NULL;
	uint64_t bias = file ? hawk_symbols_bias(file, module) : 0;

	if (!index || !find_static(symbols, file->dwarf, &index->globals, address - bias, ret))
		return false;
	ret->address += bias;
	return true;
}

bool hawk_dwarf_thread_local_at(struct hawk_symbols *symbols,
				const struct hawk_symbol_module *module, uint64_t address,
				uint64_t thread_pointer, struct hawk_dwarf_variable *ret)
{
	struct hawk_symbol_file *file = file_of(symbols, module);
	const struct hawk_dwarf_index *index = file ? hawk_dwarf_index_of(file->dwarf) : NULL;
	struct hawk_span block;

	if (!index || !file->binary || !hawk_elf_tls_block(file->binary, thread_pointer, &block) ||
	    address < block.start ||
	    !find_static(symbols, file->dwarf, &index->thread_locals, address - block.start, ret))
		return false;
	ret->address += block.start;
	return true;
}

/* Adds the variables of a list at addresses from `start` on. */
static void add_statics(struct hawk_symbols *symbols, struct hawk_dwarf *dwarf,
			const struct hawk_dwarf_statics *statics, uint64_t start,
			hawk_dwarf_wants_function *wants, void *context,
			struct hawk_dwarf_variables *ret)
{
	for (size_t i = 0; i < statics->count; i++) {
		uint64_t at = statics->items[i].address;
		uint64_t bytes =
			i + 1 < statics->count ? statics->items[i + 1].address - at : UINT64_MAX;
		Dwarf_Die die = statics->items[i].die;

		bytes = bytes < UNTYPED_BYTES_MAX ? bytes : UNTYPED_BYTES_MAX;
		if (wants(context, start + at, start + at + bytes) &&
		    hawk_array_reserve(&ret->items, ret->count, &ret->capacity,
				       sizeof(*ret->items)))
			ret->count += make_static(symbols, dwarf, &die, start + at,
						  &ret->items[ret->count]);
	}
}

bool hawk_dwarf_is_c_library(const struct hawk_symbol_module *module)
{
	const char *name = hawk_path_base(module->path);

	return !strncmp(name, "libc.so", strlen("libc.so")) ||
	       !strncmp(name, "ld-linux", strlen("ld-linux"));
}

bool hawk_dwarf_is_there(struct hawk_symbols *symbols)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(symbols->target, &count);

	for (size_t i = 0; i < count; i++) {
		struct hawk_symbol_module module = hawk_symbol_module_of(&modules[i]);

		if (!modules[i].vdso && !hawk_dwarf_is_c_library(&module) &&
		    file_of(symbols, &module))
			return true;
	}
	return false;
}

void hawk_dwarf_statics(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
			const struct hawk_thread *thread, hawk_dwarf_wants_function *wants,
			void *context, struct hawk_dwarf_variables *ret)
{
	struct hawk_symbol_file *file = file_of(symbols, module);
	const struct hawk_dwarf_index *index = file ? hawk_dwarf_index_of(file->dwarf) : NULL;
	struct hawk_span block;

	if (!index)
		return;
	if (!thread)
		add_statics(symbols, file->dwarf, &index->globals, hawk_symbols_bias(file, module),
			    wants, context, ret);
	else if (file->binary && module->main && index->thread_locals.count &&
		 hawk_elf_tls_block(file->binary, thread->thread_pointer, &block))
		add_statics(symbols, file->dwarf, &index->thread_locals, block.start, wants,
			    context, ret);
}

/* Appends the name as clang spells it in debug information, if that differs: enumerators have
 * names there, but numbers in symbols. */
static void append_as_clang(const char *name, struct hawk_text *text)
{
	static const char symbol[] = "(__gnu_cxx::_Lock_policy)2";
	const char *at = strstr(name, symbol);

	if (!at)
		return;
	hawk_text_append(text, name, (size_t)(at - name));
	hawk_text_printf(text, "__gnu_cxx::_S_atomic%s", at + sizeof(symbol) - 1);
}

const struct hawk_dwarf_type *hawk_dwarf_class(struct hawk_symbols *symbols, uint64_t address,
					       const char *name)
{
	CLEANUP(text) struct hawk_text other = {0};
	struct hawk_symbol_module module;
	const struct hawk_dwarf_index *index;
	struct hawk_symbol_file *file;
	Dwarf_Die die;

	if (!hawk_symbols_module_at(symbols, address, &module))
		return NULL;
	file = file_of(symbols, &module);
	index = file ? hawk_dwarf_index_of(file->dwarf) : NULL;
	append_as_clang(name, &other);
	return index && (hawk_dwarf_index_definition(index, name, &die) ||
			 (other.bytes && hawk_dwarf_index_definition(index, other.bytes, &die)))
		       ? hawk_dwarf_type_of(symbols, file->dwarf, &die)
		       : NULL;
}

void hawk_dwarf_variables_deinit(struct hawk_dwarf_variables *variables)
{
	free(variables->items);
	*variables = (struct hawk_dwarf_variables){0};
}
