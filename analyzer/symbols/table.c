/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Merges the symbols of both tables, sorts them, keeps the best one per address and cuts them into
 * disjoint ranges. Symbols without a size (assembler labels) extend to the next symbol, but never
 * into a sized function.
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "hawk/base/array.h"

enum {
	/* The parts of a score; a higher one outweighs all lower ones. */
	SCORE_SIZED = 1u << 8,
	SCORE_TYPED = 1u << 7,
	SCORE_GLOBAL = 2u << 5,
	SCORE_WEAK = 1u << 5,
	SCORE_UNVERSIONED = 1u << 4,
	SCORE_UNDERSCORES_MAX = 3,
};

struct source {
	struct hawk_symbol_table *table;
	const struct hawk_elf *layout; /**< its segments distinguish code from data */
	Elf *elf;
	size_t names; /**< section index of the strings */
};

void hawk_symbol_table_deinit(struct hawk_symbol_table *table)
{
	free(table->symbols);
	free(table->aliases);
	hawk_ranges_deinit(&table->functions);
	hawk_ranges_deinit(&table->objects);
	memset(table, 0, sizeof(*table));
}

size_t hawk_symbol_name_length(const char *name)
{
	const char *at = name[0] ? strchr(name + 1, '@') : NULL;

	return at ? (size_t)(at - name) : strlen(name);
}

static uint32_t score_of(const GElf_Sym *symbol, const char *name)
{
	uint32_t score = 0;
	uint32_t underscores = 0;

	if (symbol->st_size)
		score |= SCORE_SIZED;
	if (GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE)
		score |= SCORE_TYPED;
	if (GELF_ST_BIND(symbol->st_info) == STB_GLOBAL)
		score |= SCORE_GLOBAL;
	else if (GELF_ST_BIND(symbol->st_info) == STB_WEAK)
		score |= SCORE_WEAK;
	if (!strchr(name, '@'))
		score |= SCORE_UNVERSIONED;
	while (underscores < SCORE_UNDERSCORES_MAX && name[underscores] == '_')
		underscores++;
	return score | (SCORE_UNDERSCORES_MAX - underscores);
}

/** Returns true if the symbol names code (`*function`) or data with an address of its own. */
static bool is_wanted(const struct source *source, const GElf_Sym *symbol, bool *function)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !symbol->st_name)
		return false;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		*function = true;
		return true;
	case STT_NOTYPE:
		*function = true;
		return hawk_elf_is_code(source->layout, symbol->st_value);
	case STT_OBJECT:
		*function = false;
		return symbol->st_size != 0;
	default: /* sections, files, thread-local variables (offsets) */
		return false;
	}
}

static uint64_t section_end(const struct source *source, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(source->elf, symbol->st_shndx);
	GElf_Shdr header;

	if (symbol->st_shndx >= SHN_LORESERVE || !section || !gelf_getshdr(section, &header) ||
	    symbol->st_value < header.sh_addr ||
	    symbol->st_value - header.sh_addr >= header.sh_size)
		return symbol->st_value + 1;
	return header.sh_addr + header.sh_size;
}

static bool add_symbol(const struct source *source, const GElf_Sym *symbol)
{
	struct hawk_symbol copy = {.address = symbol->st_value, .size = symbol->st_size};
	struct hawk_symbol_table *table = source->table;

	if (!is_wanted(source, symbol, &copy.function))
		return true;
	copy.name = elf_strptr(source->elf, source->names, symbol->st_name);
	/* Mapping symbols and assembler-local labels. */
	if (!copy.name || !copy.name[0] || copy.name[0] == '$' || strncmp(copy.name, ".L", 2) == 0)
		return true;
	copy.limit = copy.size ? 0 : section_end(source, symbol);
	copy.score = score_of(symbol, copy.name);
	if (!hawk_array_reserve(&table->symbols, table->count, &table->capacity, sizeof(copy)))
		return false;
	table->symbols[table->count++] = copy;
	return true;
}

static bool add_section(struct source *source, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && data->d_buf ? data->d_size / sizeof(Elf64_Sym) : 0;

	source->names = header->sh_link;
	for (size_t i = 1; i < count && i <= INT32_MAX; i++) {
		GElf_Sym symbol;

		if (gelf_getsym(data, (int)i, &symbol) && !add_symbol(source, &symbol))
			return false;
	}
	return true;
}

static bool add_file(struct hawk_symbol_table *table, const struct hawk_elf *elf,
		     const struct hawk_elf *layout)
{
	struct source source = {.table = table, .layout = layout, .elf = elf->elf};
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		if (header.sh_type == SHT_SYMTAB)
			table->complete = true;
		if (!add_section(&source, section, &header))
			return false;
	}
	return true;
}

/** Compares by kind, address, then the best first. The order is total, so that equal files give
 * equal names. */
static int compare_symbols(const void *left, const void *right)
{
	const struct hawk_symbol *a = left;
	const struct hawk_symbol *b = right;
	size_t a_length, b_length;

	if (a->function != b->function)
		return a->function ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	a_length = strlen(a->name);
	b_length = strlen(b->name);
	if (a_length != b_length)
		return a_length < b_length ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Keeps another name of a function. Most symbols are in both tables of a file. */
static void keep_alias(struct hawk_symbol_table *table, const struct hawk_symbol *best,
		       const struct hawk_symbol *symbol)
{
	const struct hawk_symbol_alias *last =
		table->alias_count ? &table->aliases[table->alias_count - 1] : NULL;

	if (!symbol->function || !strcmp(symbol->name, best->name) ||
	    (last && last->address == symbol->address && !strcmp(symbol->name, last->name)))
		return;
	table->aliases[table->alias_count++] =
		(struct hawk_symbol_alias){symbol->address, symbol->name};
}

static bool keep_best(struct hawk_symbol_table *table)
{
	size_t kept = 0;
	void *moved;

	qsort(table->symbols, table->count, sizeof(*table->symbols), compare_symbols);
	table->aliases = calloc(table->count, sizeof(*table->aliases));
	if (!table->aliases)
		return false;
	for (size_t i = 0; i < table->count; i++) {
		const struct hawk_symbol *last = kept ? &table->symbols[kept - 1] : NULL;

		if (last && last->function == table->symbols[i].function &&
		    last->address == table->symbols[i].address)
			keep_alias(table, last, &table->symbols[i]);
		else
			table->symbols[kept++] = table->symbols[i];
	}
	table->count = kept;
	moved = reallocarray(table->aliases, table->alias_count + 1, sizeof(*table->aliases));
	if (moved)
		table->aliases = moved;
	return true;
}

static bool add_sized(struct hawk_symbol_table *table)
{
	for (size_t i = 0; i < table->count && i < UINT32_MAX; i++) {
		const struct hawk_symbol *symbol = &table->symbols[i];
		uint64_t end = symbol->address + symbol->size;

		if (end < symbol->address)
			end = UINT64_MAX;
		if (!hawk_ranges_add(symbol->function ? &table->functions : &table->objects,
				     symbol->address, end, 0, (uint32_t)i))
			return false;
	}
	return hawk_ranges_freeze(&table->functions) && hawk_ranges_freeze(&table->objects);
}

/** Adds functions without a size where no sized function lies. */
static bool add_unsized(struct hawk_symbol_table *table)
{
	struct hawk_ranges all = {0};
	bool ok = true;

	for (size_t i = 0; ok && i < table->functions.count; i++) {
		const struct hawk_range *range = &table->functions.items[i];

		ok = hawk_ranges_add(&all, range->start, range->end, 1, range->id);
	}
	for (size_t i = 0; ok && i < table->count && table->symbols[i].function; i++) {
		uint64_t address = table->symbols[i].address;
		uint64_t end = table->symbols[i].limit;

		if (table->symbols[i].size || hawk_ranges_find(&table->functions, address))
			continue;
		if (i + 1 < table->count && table->symbols[i + 1].function &&
		    table->symbols[i + 1].address < end)
			end = table->symbols[i + 1].address;
		ok = hawk_ranges_add(&all, address, end, 0, (uint32_t)i);
	}
	ok = ok && hawk_ranges_freeze(&all);
	if (!ok) {
		hawk_ranges_deinit(&all);
		return false;
	}
	hawk_ranges_deinit(&table->functions);
	table->functions = all;
	return true;
}

struct hawk_error *hawk_symbol_table_build(struct hawk_symbol_table *table,
					   const struct hawk_elf *binary,
					   const struct hawk_elf *debug)
{
	const struct hawk_elf *layout = binary ? binary : debug;

	if (debug && !add_file(table, debug, layout))
		return &hawk_enomem;
	if (binary && !add_file(table, binary, layout))
		return &hawk_enomem;
	if (!table->count)
		return NULL;
	if (!keep_best(table) || !add_sized(table) || !add_unsized(table))
		return &hawk_enomem;
	return NULL;
}

const struct hawk_symbol *hawk_symbol_table_function(const struct hawk_symbol_table *table,
						     uint64_t address)
{
	const struct hawk_range *range = hawk_ranges_find(&table->functions, address);

	return range ? &table->symbols[range->id] : NULL;
}

size_t hawk_symbol_table_aliases(const struct hawk_symbol_table *table, uint64_t address)
{
	if (!address)
		return 0;
	return hawk_array_first_above(table->aliases, table->alias_count, sizeof(*table->aliases),
				      offsetof(struct hawk_symbol_alias, address), address - 1);
}
