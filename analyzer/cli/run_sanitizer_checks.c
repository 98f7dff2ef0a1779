/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Does a sanitizer allocate for the program? Its runtime is a library (gcc's way) or in the program
 * itself (clang's); either way there is a symbol of its start.
 */
#include <gelf.h>
#include <string.h>

#include "hawk_run_checks.h"

static const struct sanitizer {
	const char *symbol;
	const char *name;
	const char *library; /**< part of the name of its runtime; NULL = it may be any in order */
} sanitizers[] = {
	{"__asan_init", "AddressSanitizer", "asan"},
	{"__hwasan_init", "HWAddressSanitizer", NULL},
	{"__tsan_init", "ThreadSanitizer", NULL},
	{"__msan_init", "MemorySanitizer", NULL},
};

enum { SANITIZERS = sizeof(sanitizers) / sizeof(sanitizers[0]) };

/** The section of this type, of whole entries; NULL: none that can be read. */
static Elf_Data *find_section(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, header) && header->sh_type == type && header->sh_entsize)
			return elf_getdata(section, NULL);
	return NULL;
}

/** gcc does not export the symbols of a runtime that is in the program: those of a file that is not
 * stripped tell. */
static const struct sanitizer *find_sanitizer(Elf *elf, GElf_Word type)
{
	GElf_Shdr header;
	Elf_Data *data = find_section(elf, type, &header);

	for (size_t i = 0; data && i < data->d_size / header.sh_entsize && i <= INT32_MAX; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			continue;
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		for (unsigned k = 0; name && k < SANITIZERS; k++)
			if (!strcmp(name, sanitizers[k].symbol))
				return &sanitizers[k];
	}
	return NULL;
}

/** The needed library with `part` in its name, in memory of `elf`; NULL: none. */
static const char *find_library(Elf *elf, const char *part)
{
	GElf_Shdr header;
	Elf_Data *data = find_section(elf, SHT_DYNAMIC, &header);

	for (size_t i = 0; data && i < data->d_size / header.sh_entsize && i <= INT32_MAX; i++) {
		const char *name;
		GElf_Dyn entry;

		if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag != DT_NEEDED)
			continue;
		name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
		if (name && strstr(name, part) && !strpbrk(name, " :"))
			return name;
	}
	return NULL;
}

void hawk_run_check_sanitizer(const char *path, int fd, struct hawk_text *warnings, char **first)
{
	const struct sanitizer *sanitizer;
	const char *library = NULL;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return;
	sanitizer = find_sanitizer(elf, SHT_DYNSYM);
	if (!sanitizer)
		sanitizer = find_sanitizer(elf, SHT_SYMTAB);
	if (sanitizer) {
		hawk_text_printf(warnings,
				 "%s is built with %s, which has an allocator of its own: the "
				 "tracer stands aside and sees no block; build it without\n",
				 path, sanitizer->name);
		if (sanitizer->library)
			library = find_library(elf, sanitizer->library);
	}
	if (library && !*first)
		*first = strdup(library);
	elf_end(elf);
}
