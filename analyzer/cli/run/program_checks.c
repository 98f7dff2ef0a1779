/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Checks that a preloaded library can reach the program. It cannot if the program is static,
 * 32-bit, or set-user-id. musl's loader ends a program when it cannot load a library. A sanitizer
 * has its own allocator.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "checks.h"

enum { SCRIPT_LINE_MAX = 256, LOADER_MAX = 256 };

/** Returns the file that execvp(`name`) would try first, or NULL. Caller frees. */
static char *find_in_path(const char *name)
{
	const char *path = getenv("PATH");
	struct stat info;

	if (strchr(name, '/'))
		return strdup(name);
	for (path = path ? path : "/bin:/usr/bin";; path++) {
		size_t length = strcspn(path, ":");
		char *file = NULL;

		if (asprintf(&file, "%.*s%s%s", (int)length, path, length ? "/" : "", name) < 0)
			return NULL;
		if (access(file, X_OK) == 0 && stat(file, &info) == 0 && S_ISREG(info.st_mode))
			return file;
		free(file);
		path += length;
		if (!*path)
			return NULL;
	}
}

static void check_privileges(const char *path, int fd, struct hawk_text *warnings,
			     struct hawk_run_program *ret)
{
	struct stat info;

	if (fstat(fd, &info) != 0)
		return;
	if ((info.st_mode & S_ISUID && info.st_uid != geteuid()) ||
	    (info.st_mode & S_ISGID && info.st_gid != getegid()))
		hawk_text_printf(
			warnings,
			"%s is set-user-id or set-group-id: the system will not preload "
			"the tracer into it, nor into what it starts (sudo, su); run it as "
			"its owner, or put hawk-core run behind it\n",
			path);
	else if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		hawk_text_printf(warnings,
				 "%s has file capabilities: the system will not preload the tracer "
				 "into it; run it as root\n",
				 path);
	else
		return;
	if (geteuid() != 0)
		ret->unwatched = "it would lose its privileges; run it as its owner";
}

/** Reads the name of the dynamic loader unless it is too long; returns false if the program has
 * none. */
static bool read_loader(Elf *elf, int fd, char loader[LOADER_MAX])
{
	size_t count;

	if (elf_getphdrnum(elf, &count) != 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment))
			return true; // perhaps
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz < LOADER_MAX &&
		    pread(fd, loader, segment.p_filesz, (off_t)segment.p_offset) < 0)
			loader[0] = '\0';
		return true;
	}
	return false;
}

static bool is_musl(const char *loader)
{
	return strstr(loader, "/ld-musl-");
}

static void check_loader(const char *path, Elf *elf, int fd, struct hawk_text *warnings,
			 struct hawk_run_program *ret)
{
	char loader[LOADER_MAX] = "";
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return;
	if (header.e_ident[EI_CLASS] == ELFCLASS32)
		hawk_text_printf(warnings,
				 "%s is a 32-bit program and runs without the tracer, which its "
				 "loader reports (wrong ELF class); build it for x86-64\n",
				 path);
	else if (header.e_machine != EM_X86_64)
		hawk_text_printf(warnings,
				 "%s is not an x86-64 program: the tracer cannot be preloaded into "
				 "it\n",
				 path);
	else if (!read_loader(elf, fd, loader))
		hawk_text_printf(warnings,
				 "%s is statically linked: the tracer cannot be preloaded into it; "
				 "link it dynamically\n",
				 path);
	ret->refuses = is_musl(loader);
	if (ret->refuses)
		hawk_text_printf(warnings,
				 "%s is linked to musl, whose loader cannot load the tracer: it "
				 "runs without; link it to glibc\n",
				 path);
}

static const struct sanitizer {
	const char *symbol;
	const char *name;
	const char *library; /**< part of its runtime's name; NULL = need not be preloaded first */
} sanitizers[] = {
	{"__asan_init", "AddressSanitizer", "asan"},
	{"__hwasan_init", "HWAddressSanitizer", NULL},
	{"__tsan_init", "ThreadSanitizer", NULL},
	{"__msan_init", "MemorySanitizer", NULL},
};

enum { SANITIZERS = sizeof(sanitizers) / sizeof(sanitizers[0]) };

/** Returns the section of this type if its entries are whole; NULL = no readable one. */
static Elf_Data *find_section(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, header) && header->sh_type == type && header->sh_entsize)
			return elf_getdata(section, NULL);
	return NULL;
}

/** Finds the sanitizer. gcc does not export the symbols of a runtime inside the program; an
 * unstripped file still has them. */
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

/** Returns the needed library with `part` in its name, in memory of `elf`; NULL = none. */
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

/** Checks for a sanitizer. Its runtime is a library (gcc) or inside the program (clang); in both
 * cases the symbol of its start exists. */
static void check_sanitizer(const char *path, Elf *elf, struct hawk_text *warnings,
			    struct hawk_run_program *ret)
{
	const struct sanitizer *sanitizer = find_sanitizer(elf, SHT_DYNSYM);
	const char *library = NULL;

	if (!sanitizer)
		sanitizer = find_sanitizer(elf, SHT_SYMTAB);
	if (!sanitizer)
		return;
	hawk_text_printf(warnings,
			 "%s is built with %s, which has an allocator of its own: the "
			 "tracer stands aside and sees no block; build it without\n",
			 path, sanitizer->name);
	ret->unwatched = "a sanitizer is built in, which has its own leak check, or none";
	if (sanitizer->library)
		library = find_library(elf, sanitizer->library);
	if (library)
		ret->first = strdup(library);
}

static void check_elf(const char *path, int fd, struct hawk_text *warnings,
		      struct hawk_run_program *ret)
{
	Elf *elf;

	check_privileges(path, fd, warnings, ret);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return;
	check_loader(path, elf, fd, warnings, ret);
	check_sanitizer(path, elf, warnings, ret);
	elf_end(elf);
}

/** Returns the interpreter of a script: the word behind "#!", or the program that env would start.
 * Caller frees. */
static char *script_interpreter(char line[SCRIPT_LINE_MAX])
{
	char *rest = NULL;
	char *word;

	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &rest);
	if (!word)
		return NULL;
	if (!strcmp(word, "/usr/bin/env") || !strcmp(word, "/bin/env")) {
		do
			word = strtok_r(NULL, " \t", &rest);
		while (word && (*word == '-' || strchr(word, '=')));
		return word ? find_in_path(word) : NULL;
	}
	return strdup(word);
}

static void check_file(const char *path, bool follow_script, struct hawk_text *warnings,
		       struct hawk_run_program *ret)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	CLEANUP(free_ptr) char *interpreter = NULL;
	char start[SCRIPT_LINE_MAX] = "";

	if (fd < 0)
		return;
	if (pread(fd, start, sizeof(start) - 1, 0) < 4)
		return;
	if (start[0] == '#' && start[1] == '!') {
		interpreter = follow_script ? script_interpreter(start) : NULL;
		if (interpreter)
			check_file(interpreter, false, warnings, ret);
		return;
	}
	if (!memcmp(start, ELFMAG, SELFMAG))
		check_elf(path, fd, warnings, ret);
}

static void check_starter(const char *path, struct hawk_text *warnings)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (!strcmp(name, "sudo") || !strcmp(name, "doas"))
		hawk_text_printf(warnings,
				 "%s removes LD_PRELOAD: what it starts runs untraced; put "
				 "hawk-core run behind it\n",
				 path);
}

/** Checks a program that the started one will probably start: `env`, `nice`, `su -c` and the like.
 */
static void check_argument(const char *path, struct hawk_text *warnings)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char loader[LOADER_MAX] = "";
	struct stat info;
	Elf *elf;

	if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || access(path, X_OK) != 0)
		return;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && read_loader(elf, fd, loader) && is_musl(loader))
		hawk_text_printf(warnings,
				 "%s is linked to musl: if it is started, its loader cannot load "
				 "the tracer and ends it with code 127; start it without "
				 "LD_PRELOAD, or link it to glibc\n",
				 path);
	elf_end(elf);
}

void hawk_run_check_program(char *const *arguments, struct hawk_text *warnings,
			    struct hawk_run_program *ret)
{
	CLEANUP(free_ptr) char *path = find_in_path(arguments[0]);

	*ret = (struct hawk_run_program){0};
	if (!path)
		return;
	check_file(path, true, warnings, ret);
	check_starter(path, warnings);
	for (size_t i = 1; arguments[i] && !ret->refuses; i++)
		if (strchr(arguments[i], '/'))
			check_argument(arguments[i], warnings);
}
