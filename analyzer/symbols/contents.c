/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What modules' files hold and a core does not: constants, and the names in type_infos. Names the
 * virtual tables of stripped C++ programs (Itanium C++ ABI):
 *
 *     table - 16: offset to top | table - 8: type_info | table: functions
 *     type_info: its own table | name
 */
#include <string.h>

#include "contents.h"

enum {
	WORD = 8,
	TO_TOP_MIN = -(1 << 20),
	NAME_MAX_BYTES = 4096,
	PREFIX_BYTES = 4, /* "_ZTV" */
};

static const uint8_t *bytes_of(struct hawk_symbols *symbols, const struct hawk_module *module,
			       uint64_t address, uint64_t *available)
{
	struct hawk_symbol_module of = hawk_symbol_module_of(module);
	struct hawk_symbol_file *file;

	if (hawk_error_swallow(hawk_symbols_file(symbols, &of, &file)) || !file->binary)
		return NULL;
	return hawk_elf_bytes(file->binary, address - hawk_symbols_bias(file, &of), available);
}

const uint8_t *hawk_symbols_bytes(struct hawk_symbols *symbols, uint64_t address,
				  uint64_t *available)
{
	const struct hawk_module *module =
		symbols->target ? hawk_target_module_at(symbols->target, address) : NULL;

	return module ? bytes_of(symbols, module, address, available) : NULL;
}

bool hawk_symbols_read_code(struct hawk_symbols *symbols, uint64_t address, void *to, size_t bytes)
{
	uint64_t available;
	const uint8_t *file = hawk_symbols_bytes(symbols, address, &available);

	if (!file || available < bytes)
		return hawk_target_read_some(symbols->target, address, to, bytes) == bytes;
	memcpy(to, file, bytes);
	return true;
}

struct hawk_error *hawk_symbols_each_object(struct hawk_symbols *symbols,
					    const struct hawk_symbol_module *module,
					    const char *prefix, hawk_object_function *take,
					    void *context)
{
	struct hawk_symbol_file *file;
	struct hawk_error *err = hawk_symbols_file(symbols, module, &file);

	for (size_t i = 0; !err && i < file->table.count; i++) {
		const struct hawk_symbol *symbol = &file->table.symbols[i];

		if (!symbol->function && !strncmp(symbol->name, prefix, strlen(prefix)))
			err = take(context, symbol->address + hawk_symbols_bias(file, module),
				   symbol->size);
	}
	return err;
}

/* A file's words are the process's only where nothing is relocated. */
static bool read_word(struct hawk_symbols *symbols, uint64_t address, uint64_t *ret)
{
	const struct hawk_module *module;
	const uint8_t *bytes;
	uint64_t available;

	if (hawk_target_read_some(symbols->target, address, ret, WORD) == WORD)
		return true;
	module = hawk_target_module_at(symbols->target, address);
	if (!module || !hawk_module_is_fixed(module))
		return false;
	bytes = bytes_of(symbols, module, address, &available);
	if (!bytes || available < WORD)
		return false;
	memcpy(ret, bytes, WORD);
	return true;
}

/* Copies the string at `address`, which may end before `size`; false: it is not there. */
static bool read_string(struct hawk_symbols *symbols, uint64_t address, char *ret, size_t size)
{
	size_t got = hawk_target_read_some(symbols->target, address, ret, size);
	const uint8_t *bytes;
	uint64_t available;

	if (got && memchr(ret, '\0', got))
		return true;
	bytes = hawk_symbols_bytes(symbols, address, &available);
	if (!bytes)
		return false;
	if (available > size)
		available = size;
	memcpy(ret, bytes, (size_t)available);
	return memchr(ret, '\0', (size_t)available);
}

/* Classes begin so: "4Node", "N4shop5OrderE", "St9exception", local ones "Z4mainE1A". */
static bool may_be_class(const char *name)
{
	return (name[0] >= '1' && name[0] <= '9') || name[0] == 'N' || name[0] == 'Z' ||
	       (name[0] == 'S' && name[1] == 't');
}

struct hawk_error *hawk_symbols_name_vtable(struct hawk_symbols *symbols, uint64_t table,
					    struct hawk_symbol_place *place)
{
	char symbol[PREFIX_BYTES + NAME_MAX_BYTES] = "_ZTV";
	char *class = symbol + PREFIX_BYTES;
	uint64_t to_top, info, name;
	const char *readable;

	if (!symbols->target || table % WORD || table < 2 * WORD ||
	    !read_word(symbols, table - 2 * WORD, &to_top) || (int64_t)to_top > 0 ||
	    (int64_t)to_top < TO_TOP_MIN || !read_word(symbols, table - WORD, &info) ||
	    info % WORD || !hawk_target_module_at(symbols->target, info) ||
	    !read_word(symbols, info + WORD, &name) ||
	    !hawk_target_module_at(symbols->target, name) ||
	    !read_string(symbols, name, class, NAME_MAX_BYTES))
		return NULL;
	if (class[0] == '*') /* compared by address: the class is local */
		memmove(class, class + 1, strlen(class));
	if (!may_be_class(class))
		return NULL;
	readable = hawk_symbols_readable(symbols, symbol);
	if (!readable)
		return &hawk_enomem;
	if (!strcmp(readable, symbol)) /* is no mangled name */
		return NULL;
	place->name = readable;
	place->offset = 2 * WORD;
	return NULL;
}
