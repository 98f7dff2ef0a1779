/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Looks up frames by address, through a cache: a heap's traces repeat the same program counters
 * many times.
 */
#include "demangle.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "answers.h"
#include "contents.h"
#include "hawk/base/cleanup.h"
#include "state.h"

enum {
	FIRST_CACHE_SLOTS = 1024,
	INLINED_MAX = 64, /**< frames at one address */
};

struct lookup {
	struct hawk_symbols *symbols;
	struct hawk_symbol_file *file;
	uint64_t address; /**< link-time pc */
	uint64_t at;      /**< the address looked up: `address` or the byte before it */
	struct hawk_frame frames[INLINED_MAX];
	size_t count;
};

static const struct hawk_frame unknown_frame;

const char *hawk_symbols_readable(struct hawk_symbols *symbols, const char *name)
{
	size_t length = hawk_symbol_name_length(name);
	const char *plain = hawk_strings_intern(&symbols->strings, name, length);

	if (!plain || !hawk_demangle(plain, &symbols->scratch))
		return plain;
	return hawk_strings_intern(&symbols->strings, symbols->scratch.bytes,
				   symbols->scratch.size);
}

/** Adds frames of the functions around the address, names only; returns their number. */
static size_t add_functions(struct lookup *lookup, struct hawk_dwarf_unit *unit, uint32_t node,
			    struct hawk_dwarf_node **chain)
{
	size_t count = 0;

	while (node != HAWK_DWARF_NO_NODE && count < INLINED_MAX) {
		struct hawk_dwarf_node *one = &unit->nodes[node];

		hawk_dwarf_name(lookup->file->dwarf, unit, one);
		chain[count] = one;
		lookup->frames[count++] = (struct hawk_frame){
			.function = one->function,
			.symbol = one->symbol,
			.plain = one->plain,
			.inlined = one->inlined,
		};
		node = one->parent;
	}
	return count;
}

/** Returns the file's name; libdw names the absent file (index 0 of DWARF 4) "???". */
static const char *file_name(struct lookup *lookup, const char *name)
{
	return name && strcmp(name, "???") != 0 ? hawk_dwarf_intern(lookup->file->dwarf, name)
						: NULL;
}

static const char *call_file(struct lookup *lookup, const struct hawk_dwarf_unit *unit,
			     uint64_t index)
{
	if (!unit->files || index >= unit->file_count)
		return NULL;
	return file_name(lookup, dwarf_filesrc(unit->files, (size_t)index, NULL, NULL));
}

static void add_line(struct lookup *lookup, struct hawk_dwarf_unit *unit)
{
	struct hawk_frame *frame = &lookup->frames[0];
	Dwarf_Line *line;
	int number = 0;

	if (!hawk_dwarf_has_room()) {
		hawk_enomem_swallow();
		return;
	}
	line = dwarf_getsrc_die(&unit->skeleton, lookup->at);
	if (!line)
		return;
	frame->file = file_name(lookup, dwarf_linesrc(line, NULL, NULL));
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

/** Adds the unit's directory, for relative files. */
static void add_directory(struct lookup *lookup, struct hawk_dwarf_unit *unit)
{
	Dwarf_Attribute memory;
	const char *directory =
		dwarf_formstring(dwarf_attr_integrate(&unit->skeleton, DW_AT_comp_dir, &memory));

	for (size_t i = 0; directory && (!i || i < lookup->count); i++)
		if (lookup->frames[i].file && lookup->frames[i].file[0] != '/')
			lookup->frames[i].directory =
				hawk_dwarf_intern(lookup->file->dwarf, directory);
}

/** Adds the frames from DWARF. The innermost has the line table's file:line, outer ones the place
 * of the inner call. */
static struct hawk_error *add_dwarf(struct lookup *lookup)
{
	struct hawk_dwarf_node *chain[INLINED_MAX];
	const struct hawk_range *range;
	struct hawk_dwarf_unit *unit;
	struct hawk_error *err;

	err = hawk_dwarf_unit_at(lookup->file->dwarf, lookup->at, &unit);
	if (err || !unit)
		return err;
	range = hawk_ranges_find(&unit->ranges, lookup->at);
	if (range)
		lookup->count = add_functions(lookup, unit, range->id, chain);
	add_line(lookup, unit);
	for (size_t i = 1; i < lookup->count; i++) {
		lookup->frames[i].file = call_file(lookup, unit, chain[i - 1]->call_file);
		lookup->frames[i].line = chain[i - 1]->call_line;
	}
	add_directory(lookup, unit);
	if (lookup->count && !chain[lookup->count - 1]->inlined)
		lookup->frames[lookup->count - 1].function_offset =
			lookup->address - chain[lookup->count - 1]->start;
	return NULL;
}

static bool is_mangled(const char *name)
{
	return name && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/** Names a frame by its mangled symbol, which has scopes and parameters that DWARF without linkage
 * names lacks. */
static void name_by_symbol(struct lookup *lookup, struct hawk_frame *frame, const char *symbol)
{
	const char *suffix = frame->function ? strchr(symbol, '.') : NULL;
	const char *name = symbol;

	if (frame->function && (is_mangled(frame->symbol) || !is_mangled(symbol)))
		return;
	if (suffix) /* ".constprop.0", ".cold": DWARF omits them too */
		name = hawk_strings_intern(&lookup->symbols->strings, symbol,
					   (size_t)(suffix - symbol));
	name = name ? hawk_symbols_readable(lookup->symbols, name) : NULL;
	if (name && !(frame->function && is_mangled(name)))
		frame->function = name;
}

/** Names the outermost frame by the symbol table, if that has the function. */
static void add_symbol(struct lookup *lookup)
{
	const struct hawk_symbol *symbol =
		hawk_symbol_table_function(&lookup->file->table, lookup->at);
	struct hawk_frame *frame;

	if (!lookup->count)
		lookup->count = 1;
	frame = &lookup->frames[lookup->count - 1];
	frame->inlined = false;
	if (!symbol)
		return;
	name_by_symbol(lookup, frame, symbol->name);
	frame->function_offset = lookup->address - symbol->address;
	frame->symbol = hawk_strings_intern(&lookup->symbols->strings, symbol->name,
					    hawk_symbol_name_length(symbol->name));
}

/** Returns true for a stripped file that could not name the function. */
static bool is_nameless(const struct hawk_symbol_file *file, uint64_t address,
			const struct hawk_frame *frame)
{
	return file->binary && !frame->function && !file->vdso_start && !file->dwarf &&
	       !file->table.complete && hawk_elf_is_code(file->binary, address);
}

/** Reports the remedy once. */
static void say_nameless(struct hawk_symbols *symbols, struct hawk_symbol_file *file)
{
	const char *slash = strrchr(file->path, '/');
	CLEANUP(text) struct hawk_text text = {0};
	char id[HAWK_BUILD_ID_TEXT_MAX];

	if (file->names_missing)
		return;
	file->names_missing = true;
	if (!file->nameless) {
		hawk_text_printf(&text,
				 "only exported functions of %s have names: no debug file with "
				 "build-id %s was found (--debug-dir, or a -dbg package)",
				 slash ? slash + 1 : file->path,
				 hawk_symbols_build_id_text(file->binary->build_id,
							    file->binary->build_id_bytes, id));
		file->nameless =
			hawk_strings_intern(&symbols->strings, hawk_text_string(&text), text.size);
	}
	if (file->nameless)
		hawk_findings_add(symbols->search.findings, HAWK_FINDING_MISSING, false,
				  "names-missing*", "%s", file->nameless);
}

static struct hawk_error *compute(struct hawk_symbols *symbols, struct hawk_symbol_file *file,
				  struct hawk_symbols_cached *entry)
{
	struct lookup lookup = {.symbols = symbols,
				.file = file,
				.address = entry->address,
				.at = entry->exact ? entry->address : entry->address - 1};
	struct hawk_error *err = file->dwarf ? add_dwarf(&lookup) : NULL;
	struct hawk_frame *frames;

	if (err)
		return err;
	add_symbol(&lookup);
	entry->nameless = is_nameless(file, lookup.at, &lookup.frames[lookup.count - 1]);
	frames = hawk_strings_alloc(&symbols->strings, lookup.count * sizeof(*frames));
	if (!frames)
		return &hawk_enomem;
	memcpy(frames, lookup.frames, lookup.count * sizeof(*frames));
	entry->frames = frames;
	entry->count = (uint32_t)lookup.count;
	return NULL;
}

static size_t cache_slot(const struct hawk_symbols_cached *cache, size_t slots,
			 const struct hawk_symbols_cached *key)
{
	uint64_t words[2] = {(uint64_t)(uintptr_t)key->file, key->address};
	size_t slot = XXH3_64bits_withSeed(words, sizeof(words), key->exact) & (slots - 1);

	while (cache[slot].file &&
	       (cache[slot].file != key->file || cache[slot].address != key->address ||
		cache[slot].exact != key->exact))
		slot = (slot + 1) & (slots - 1);
	return slot;
}

static bool grow_cache(struct hawk_symbols *symbols)
{
	size_t slots = symbols->cache_slots ? 2 * symbols->cache_slots : FIRST_CACHE_SLOTS;
	struct hawk_symbols_cached *cache = calloc(slots, sizeof(*cache));

	if (!cache)
		return false;
	for (size_t i = 0; i < symbols->cache_slots; i++)
		if (symbols->cache[i].file)
			cache[cache_slot(cache, slots, &symbols->cache[i])] = symbols->cache[i];
	free(symbols->cache);
	symbols->cache = cache;
	symbols->cache_slots = slots;
	return true;
}

struct hawk_error *hawk_symbols_lookup(struct hawk_symbols *symbols,
				       const struct hawk_symbol_module *module, uint64_t pc,
				       bool exact, const struct hawk_frame **ret, size_t *count)
{
	struct hawk_symbols_cached key = {.exact = exact};
	struct hawk_symbol_file *file;
	struct hawk_error *err;
	size_t slot;

	if (!module) {
		*ret = &unknown_frame;
		*count = 1;
		return NULL;
	}
	err = hawk_symbols_file(symbols, module, &file);
	if (err)
		return err;
	if (2 * symbols->cache_count >= symbols->cache_slots && !grow_cache(symbols))
		return &hawk_enomem;
	key.file = file;
	key.address = pc - hawk_symbols_bias(file, module);
	slot = cache_slot(symbols->cache, symbols->cache_slots, &key);
	if (!symbols->cache[slot].file) {
		if (file->answers)
			hawk_answers_lookup(file->answers, &key);
		else
			err = compute(symbols, file, &key);
		if (err)
			return err;
		if (key.nameless)
			say_nameless(symbols, file);
		symbols->cache[slot] = key;
		symbols->cache_count++;
	}
	*ret = symbols->cache[slot].frames;
	*count = symbols->cache[slot].count;
	return NULL;
}

struct hawk_error *hawk_symbols_aliases(struct hawk_symbols *symbols,
					const struct hawk_symbol_module *module, uint64_t pc,
					bool exact, const char **names, size_t max, size_t *count)
{
	struct hawk_symbol_file *file;
	struct hawk_error *err = hawk_symbols_file(symbols, module, &file);

	*count = 0;
	if (err)
		return err;
	if (file->answers) {
		*count = hawk_answers_aliases(file->answers, pc - hawk_symbols_bias(file, module),
					      exact, names, max);
		return NULL;
	}
	*count = hawk_symbols_file_aliases(file, pc - hawk_symbols_bias(file, module) - !exact,
					   names, max);
	return NULL;
}

size_t hawk_symbols_file_aliases(const struct hawk_symbol_file *file, uint64_t address,
				 const char **names, size_t max)
{
	const struct hawk_symbol *symbol = hawk_symbol_table_function(&file->table, address);
	size_t count = 0;

	if (!symbol)
		return 0;
	if (max)
		names[count++] = symbol->name;
	for (size_t i = hawk_symbol_table_aliases(&file->table, symbol->address);
	     i < file->table.alias_count && file->table.aliases[i].address == symbol->address &&
	     count < max;
	     i++)
		names[count++] = file->table.aliases[i].name;
	return count;
}

/* Returns the name of the section of `elf` that covers `address`, and its header; NULL = none. */
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

/* Narrows the place's addresses to [start, end). */
static void narrow(struct hawk_symbol_place *place, uint64_t start, uint64_t end)
{
	if (place->start < start)
		place->start = start;
	if (place->end > end)
		place->end = end;
}

/* Finds the section; all addresses are link-time. */
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

/* Names a place; addresses are link-time. */
static struct hawk_error *name_place(struct hawk_symbols *symbols,
				     const struct hawk_symbol_file *file, uint64_t address,
				     uint64_t bias, struct hawk_symbol_place *place)
{
	const struct hawk_symbol *symbol = find_symbol(&file->table, address, place);

	if (!symbol) {
		struct hawk_error *err = hawk_symbols_name_vtable(symbols, address + bias, place);

		if (place->name)
			narrow(place, address, address + 1);
		return err;
	}
	place->name = hawk_symbols_readable(symbols, symbol->name);
	place->offset = address - symbol->address;
	return place->name ? NULL : &hawk_enomem;
}

/* Names a place with its section, and keeps it for a snapshot. */
static struct hawk_error *find_place(struct hawk_symbols *symbols,
				     const struct hawk_symbol_file *file, uint64_t address,
				     uint64_t bias, struct hawk_symbol_place *ret)
{
	struct hawk_symbol_place place = {.end = UINT64_MAX};
	struct hawk_error *err;

	if (file->answers) {
		*ret = hawk_answers_place(file->answers, address);
		return NULL;
	}
	err = name_place(symbols, file, address, bias, &place);
	if (err)
		return err;
	find_section(file, address, &place);
	*ret = place;
	return symbols->questions
		       ? hawk_questions_add_place(symbols->questions, file, address, &place)
		       : NULL;
}

struct hawk_error *hawk_symbols_name(struct hawk_symbols *symbols,
				     const struct hawk_symbol_module *module, uint64_t address,
				     const char **name, uint64_t *offset)
{
	struct hawk_symbol_place place = {.end = UINT64_MAX};
	struct hawk_symbol_file *file;
	struct hawk_error *err = NULL;

	if (module) {
		uint64_t bias;

		err = hawk_symbols_file(symbols, module, &file);
		if (err)
			return err;
		bias = hawk_symbols_bias(file, module);
		address -= bias;
		if (file->answers || symbols->questions)
			err = find_place(symbols, file, address, bias, &place);
		else
			err = name_place(symbols, file, address, bias, &place);
	}
	*name = place.name;
	*offset = place.offset;
	return err;
}

struct hawk_error *hawk_symbols_place(struct hawk_symbols *symbols,
				      const struct hawk_symbol_module *module, uint64_t address,
				      struct hawk_symbol_place *ret)
{
	struct hawk_symbol_place place;
	struct hawk_symbol_file *file;
	struct hawk_error *err = hawk_symbols_file(symbols, module, &file);
	uint64_t bias;

	if (err)
		return err;
	bias = hawk_symbols_bias(file, module);
	err = find_place(symbols, file, address - bias, bias, &place);
	if (err)
		return err;
	place.start += bias;
	place.end += bias;
	*ret = place;
	return NULL;
}

/* Returns the name of the first thread-local symbol of one file that covers `offset` in the
 * segment. Narrows the place's addresses (here offsets) to the range that it, or no symbol, covers.
 */
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

/* Finds the thread-local place in `file`, which must be present. */
static struct hawk_error *find_tls_place(struct hawk_symbols *symbols,
					 const struct hawk_symbol_file *file, uint64_t address,
					 uint64_t thread_pointer, struct hawk_symbol_place *ret)
{
	struct hawk_symbol_place place = {0};
	struct hawk_span block;
	const char *found;

	if (!hawk_elf_tls_block(file->binary, thread_pointer, &block) || address < block.start ||
	    address >= block.end)
		return NULL;
	place.end = block.end - block.start;
	address -= block.start;
	found = find_tls_symbol(file->binary, address, &place);
	if (!found)
		found = find_tls_symbol(file->debug, address, &place);
	if (found) {
		place.name = hawk_symbols_readable(symbols, found);
		if (!place.name)
			return &hawk_enomem;
	}
	place.start += block.start;
	place.end += block.start;
	*ret = place;
	return NULL;
}

struct hawk_error *hawk_symbols_tls_place(struct hawk_symbols *symbols,
					  const struct hawk_symbol_module *module, uint64_t address,
					  uint64_t thread_pointer, struct hawk_symbol_place *ret)
{
	struct hawk_symbol_file *file;
	struct hawk_error *err = hawk_symbols_file(symbols, module, &file);

	*ret = (struct hawk_symbol_place){.start = address, .end = address + 1};
	if (!err && file->answers)
		hawk_answers_tls_place(file->answers, address, ret);
	if (err || !file->binary)
		return err;
	err = find_tls_place(symbols, file, address, thread_pointer, ret);
	return !err && symbols->questions
		       ? hawk_questions_add_tls(symbols->questions, file, address, ret)
		       : err;
}
