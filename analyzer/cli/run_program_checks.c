/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Can a preloaded library reach the program? Not if it is static, 32-bit, or set-user-id; and
 * musl's loader ends a program when it cannot load one.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "hawk_cleanup.h"
#include "hawk_run_checks.h"

enum { HEADERS_MAX = 256, SCRIPT_LINE_MAX = 256, LOADER_MAX = 256 };

/** The file that execvp(`name`) would try first, or NULL. Caller frees. */
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

static void check_privileges(const char *path, int fd, struct hawk_text *warnings)
{
	struct stat info;

	if (fstat(fd, &info) != 0)
		return;
	if ((info.st_mode & S_ISUID && info.st_uid != geteuid()) ||
	    (info.st_mode & S_ISGID && info.st_gid != getegid()))
		hawk_text_printf(warnings,
				 "%s is set-user-id or set-group-id: the system will not preload "
				 "the tracer into it; run it as its owner\n",
				 path);
	else if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		hawk_text_printf(warnings,
				 "%s has file capabilities: the system will not preload the tracer "
				 "into it; run it as root\n",
				 path);
}

/** Whether the program headers name a dynamic loader, in `loader` if it is not too long; true if
 * they cannot be read. */
static bool has_interpreter(int fd, const Elf64_Ehdr *header, char loader[LOADER_MAX])
{
	for (unsigned i = 0; i < header->e_phnum && i < HEADERS_MAX; i++) {
		Elf64_Phdr segment;
		off_t at = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);

		if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
			return true;
		if (segment.p_type == PT_INTERP) {
			if (segment.p_filesz < LOADER_MAX &&
			    pread(fd, loader, segment.p_filesz, (off_t)segment.p_offset) < 0)
				loader[0] = '\0';
			return true;
		}
	}
	return header->e_phnum > HEADERS_MAX;
}

static void check_elf(const char *path, int fd, struct hawk_text *warnings, bool *refuses)
{
	char loader[LOADER_MAX] = "";
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
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
	else if (!has_interpreter(fd, &header, loader))
		hawk_text_printf(warnings,
				 "%s is statically linked: the tracer cannot be preloaded into it; "
				 "link it dynamically\n",
				 path);
	*refuses = strstr(loader, "/ld-musl-");
	if (*refuses)
		hawk_text_printf(warnings,
				 "%s is linked to musl, whose loader cannot load the tracer: it "
				 "runs without; link it to glibc\n",
				 path);
}

/** The interpreter of a script: the word behind "#!", or what env would start. Caller frees. */
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
		       char **first, bool *refuses)
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
			check_file(interpreter, false, warnings, first, refuses);
		return;
	}
	if (memcmp(start, ELFMAG, SELFMAG) != 0)
		return;
	check_privileges(path, fd, warnings);
	check_elf(path, fd, warnings, refuses);
	hawk_run_check_sanitizer(path, fd, warnings, first);
}

void hawk_run_check_program(const char *name, struct hawk_text *warnings, char **first,
			    bool *refuses)
{
	CLEANUP(free_ptr) char *path = find_in_path(name);

	*first = NULL;
	*refuses = false;
	if (path)
		check_file(path, true, warnings, first, refuses);
}
