/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Looks imports up in .dynsym of modules' files.
 */
#include "hawk/symbols/imports.h"

#include <string.h>

#include "hawk/symbols/dwarf_types.h"
#include "state.h"

static bool has_import(const struct hawk_elf *elf, Elf_Scn *section, const GElf_Shdr *header,
		       const char *function)
{
	Elf_Data *data = elf_getdata(section, NULL);

	for (size_t i = 0; data && i < data->d_size / header->sh_entsize && i <= INT32_MAX; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx != SHN_UNDEF)
			continue;
		name = elf_strptr(elf->elf, header->sh_link, symbol.st_name);
		if (name && !strcmp(name, function))
			return true;
	}
	return false;
}

static bool imports(const struct hawk_elf *elf, const char *function)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf->elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM &&
		    header.sh_entsize && has_import(elf, section, &header, function))
			return true;
	}
	return false;
}

bool hawk_symbols_never_import(struct hawk_symbols *symbols, const char *function)
{
	bool has_c_library = false;
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(symbols->target, &count);

	for (size_t i = 0; i < count; i++) {
		struct hawk_symbol_module module = hawk_symbol_module_of(&modules[i]);
		struct hawk_symbol_file *file;

		if (modules[i].vdso)
			continue;
		if (hawk_error_swallow(hawk_symbols_file(symbols, &module, &file)) ||
		    !file->binary || imports(file->binary, function))
			return false;
		has_c_library |= hawk_dwarf_is_c_library(&module);
	}
	return has_c_library;
}
