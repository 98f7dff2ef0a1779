/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of data places: the section that an address lies in, and the thread-local variable at an
 * offset. Asked for the few places that are printed, so section headers and symbols are walked each
 * time.
 */
#include <gelf.h>

#include "symbols_state.h"

/* The name of the section of `elf` that covers `address`; NULL = none says so. */
static const char *section_at(const struct hawk_elf *elf, uint64_t address)
{
	size_t names;
	Elf_Scn *section = NULL;

	if (!elf || elf_getshdrstrndx(elf->elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf->elf, section)) != NULL) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    header.sh_flags & SHF_TLS)
			continue;
		if (address >= header.sh_addr && address - header.sh_addr < header.sh_size)
			return elf_strptr(elf->elf, names, header.sh_name);
	}
	return NULL;
}

struct hawk_error *hawk_symbols_section(struct hawk_symbols *symbols,
					const struct hawk_symbol_module *module, uint64_t address,
					const char **ret)
{
	struct hawk_symbol_file *file;
	struct hawk_error *err = hawk_symbols_file(symbols, module, &file);

	*ret = NULL;
	if (err)
		return err;
	address -= hawk_symbols_bias(file, module);
	*ret = section_at(file->binary, address);
	if (!*ret)
		*ret = section_at(file->debug, address);
	return NULL;
}

static bool find_tls_segment(const struct hawk_elf *elf, GElf_Phdr *ret)
{
	size_t count;

	if (!elf || elf_getphdrnum(elf->elf, &count))
		return false;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++)
		if (gelf_getphdr(elf->elf, (int)i, ret) && ret->p_type == PT_TLS)
			return true;
	return false;
}

static bool covers(const GElf_Sym *symbol, uint64_t offset)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_TLS && symbol->st_shndx != SHN_UNDEF &&
	       offset >= symbol->st_value && offset - symbol->st_value < symbol->st_size;
}

/* The thread-local symbol of one file that covers `offset` in the segment. */
static const char *find_tls_symbol(const struct hawk_elf *elf, uint64_t *offset)
{
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf->elf, section)) != NULL) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || !header.sh_entsize ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(section, NULL);
		for (size_t i = 0; data && i < data->d_size / header.sh_entsize && i <= INT32_MAX;
		     i++) {
			GElf_Sym symbol;

			if (!gelf_getsym(data, (int)i, &symbol) || !covers(&symbol, *offset))
				continue;
			*offset -= symbol.st_value;
			return elf_strptr(elf->elf, header.sh_link, symbol.st_name);
		}
	}
	return NULL;
}

struct hawk_error *hawk_symbols_tls_name(struct hawk_symbols *symbols,
					 const struct hawk_symbol_module *module,
					 uint64_t below_thread_pointer, const char **name,
					 uint64_t *offset)
{
	struct hawk_symbol_file *file;
	struct hawk_error *err = hawk_symbols_file(symbols, module, &file);
	const char *found;
	GElf_Phdr segment;
	uint64_t size;

	*name = NULL;
	if (err || !find_tls_segment(file->binary, &segment))
		return err;
	if (!segment.p_align)
		segment.p_align = 1;
	/* The first block of static TLS: ends at the thread pointer, aligned (variant II). */
	if (segment.p_align & (segment.p_align - 1) || segment.p_memsz > INT32_MAX ||
	    segment.p_align > INT32_MAX)
		return NULL;
	size = (segment.p_memsz + segment.p_align - 1) & -segment.p_align;
	if (!below_thread_pointer || below_thread_pointer > size)
		return NULL;
	*offset = size - below_thread_pointer;
	found = find_tls_symbol(file->binary, offset);
	if (!found)
		found = find_tls_symbol(file->debug, offset);
	if (!found)
		return NULL;
	*name = hawk_symbols_readable(symbols, found);
	return *name ? NULL : &hawk_enomem;
}
