/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of places in memory: the symbol and the section that an address lies in, and the
 * thread-local variable at an offset. Section headers and thread-local symbols are walked each
 * time: who has many addresses asks once for all that have the same names.
 */
#include <gelf.h>

#include "symbols_state.h"

/* The name of the section of `elf` that covers `address`, and where it lies; NULL = none says so.
 */
static const char *section_at(const struct hawk_elf *elf, uint64_t address, GElf_Shdr *ret)
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
		if (address >= header.sh_addr && address - header.sh_addr < header.sh_size) {
			*ret = header;
			return elf_strptr(elf->elf, names, header.sh_name);
		}
	}
	return NULL;
}

/* Leaves of the place's addresses those from `start` to before `end`. */
static void narrow(struct hawk_symbol_place *place, uint64_t start, uint64_t end)
{
	if (place->start < start)
		place->start = start;
	if (place->end > end)
		place->end = end;
}

/* All addresses as in the file. */
static void find_section(const struct hawk_symbol_file *file, uint64_t address,
			 struct hawk_symbol_place *place)
{
	GElf_Shdr header;

	place->section = section_at(file->binary, address, &header);
	if (!place->section)
		place->section = section_at(file->debug, address, &header);
	if (!place->section || header.sh_size > UINT64_MAX - header.sh_addr)
		narrow(place, address, address + 1);
	else
		narrow(place, header.sh_addr, header.sh_addr + header.sh_size);
}

static const struct hawk_symbol *find_symbol(const struct hawk_symbol_table *table,
					     uint64_t address, struct hawk_symbol_place *place)
{
	struct hawk_range around;

	if (hawk_ranges_around(&table->objects, address, &around)) {
		narrow(place, around.start, around.end);
		return &table->symbols[around.id];
	}
	narrow(place, around.start, around.end);
	if (hawk_ranges_around(&table->functions, address, &around)) {
		narrow(place, around.start, around.end);
		return &table->symbols[around.id];
	}
	narrow(place, around.start, around.end);
	return NULL;
}

/* As in the file, too. */
static struct hawk_error *name_place(struct hawk_symbols *symbols,
				     const struct hawk_symbol_file *file, uint64_t address,
				     struct hawk_symbol_place *place)
{
	const struct hawk_symbol *symbol = find_symbol(&file->table, address, place);

	if (!symbol)
		return NULL;
	place->name = hawk_symbols_readable(symbols, symbol->name);
	place->offset = address - symbol->address;
	return place->name ? NULL : &hawk_enomem;
}

struct hawk_error *hawk_symbols_name(struct hawk_symbols *symbols,
				     const struct hawk_symbol_module *module, uint64_t address,
				     const char **name, uint64_t *offset)
{
	struct hawk_symbol_place place = {.end = UINT64_MAX};
	struct hawk_symbol_file *file;
	struct hawk_error *err = NULL;

	if (module) {
		err = hawk_symbols_file(symbols, module, &file);
		if (!err)
			err = name_place(symbols, file, address - hawk_symbols_bias(file, module),
					 &place);
	}
	*name = place.name;
	*offset = place.offset;
	return err;
}

struct hawk_error *hawk_symbols_place(struct hawk_symbols *symbols,
				      const struct hawk_symbol_module *module, uint64_t address,
				      struct hawk_symbol_place *ret)
{
	struct hawk_symbol_place place = {.end = UINT64_MAX};
	struct hawk_symbol_file *file;
	struct hawk_error *err = hawk_symbols_file(symbols, module, &file);
	uint64_t bias;

	if (err)
		return err;
	bias = hawk_symbols_bias(file, module);
	err = name_place(symbols, file, address - bias, &place);
	if (err)
		return err;
	find_section(file, address - bias, &place);
	place.start += bias;
	place.end += bias;
	*ret = place;
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

/* The name of the first thread-local symbol of one file that covers `offset` in the segment. The
 * place's addresses (here offsets) are narrowed to those that it, or none, covers, too. */
static const char *find_tls_symbol(const struct hawk_elf *elf, uint64_t offset,
				   struct hawk_symbol_place *place)
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
			uint64_t end;

			if (!gelf_getsym(data, (int)i, &symbol) ||
			    GELF_ST_TYPE(symbol.st_info) != STT_TLS ||
			    symbol.st_shndx == SHN_UNDEF ||
			    __builtin_add_overflow(symbol.st_value, symbol.st_size, &end))
				continue;
			if (offset < symbol.st_value) {
				narrow(place, 0, symbol.st_value);
			} else if (offset >= end) {
				narrow(place, end, UINT64_MAX);
			} else {
				narrow(place, symbol.st_value, end);
				place->offset = offset - symbol.st_value;
				return elf_strptr(elf->elf, header.sh_link, symbol.st_name);
			}
		}
	}
	return NULL;
}

struct hawk_error *hawk_symbols_tls_place(struct hawk_symbols *symbols,
					  const struct hawk_symbol_module *module, uint64_t address,
					  uint64_t thread_pointer, struct hawk_symbol_place *ret)
{
	struct hawk_symbol_file *file;
	struct hawk_error *err = hawk_symbols_file(symbols, module, &file);
	struct hawk_symbol_place place = {0};
	const char *found;
	GElf_Phdr segment;

	*ret = (struct hawk_symbol_place){.start = address, .end = address + 1};
	if (err || !find_tls_segment(file->binary, &segment))
		return err;
	if (!segment.p_align)
		segment.p_align = 1;
	/* The first block of static TLS: ends at the thread pointer, aligned (variant II). */
	if (segment.p_align & (segment.p_align - 1) || segment.p_memsz > INT32_MAX ||
	    segment.p_align > INT32_MAX)
		return NULL;
	place.end = (segment.p_memsz + segment.p_align - 1) & -segment.p_align;
	thread_pointer -= place.end; /* where it begins */
	if (address - thread_pointer >= place.end)
		return NULL;
	address -= thread_pointer;
	found = find_tls_symbol(file->binary, address, &place);
	if (!found)
		found = find_tls_symbol(file->debug, address, &place);
	if (found) {
		place.name = hawk_symbols_readable(symbols, found);
		if (!place.name)
			return &hawk_enomem;
	}
	place.start += thread_pointer;
	place.end += thread_pointer;
	*ret = place;
	return NULL;
}
