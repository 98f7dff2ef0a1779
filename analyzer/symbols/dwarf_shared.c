/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Debug information that dwz moved to a file shared by several programs (.gnu_debugaltlink). Found
 * here and not by libdw, which would open whatever the path names and never look at the build-id.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdwelf.h>

#include "dwarf_units.h"
#include "hawk_cleanup.h"
#include "symbols_find.h"

struct wanted {
	const char *name;
	const uint8_t *id;
	size_t id_bytes;
	bool refused; /**< something unusable lies where libdw would look as well */
};

static struct hawk_elf *try_shared(struct wanted *wanted, const char *path)
{
	CLEANUP(elf) struct hawk_elf *elf = NULL;
	enum hawk_elf_state state;
	const char *why;
	struct hawk_error *err = hawk_elf_open(path, &state, &why, &elf);

	if (err) {
		hawk_enomem_swallow();
		hawk_error_destroy(err);
		return NULL;
	}
	if (elf && elf->build_id_bytes == wanted->id_bytes &&
	    memcmp(elf->build_id, wanted->id, wanted->id_bytes) == 0)
		return take_ptr(&elf);
	if (elf || state == HAWK_ELF_REFUSED)
		wanted->refused = true;
	return NULL;
}

static struct hawk_elf *find_shared(const struct hawk_dwarf *dwarf, struct wanted *wanted)
{
	const char *directories[] = {dwarf->debug_directory, "/usr/lib/debug"};
	const char *slash = strrchr(dwarf->elf->path, '/');
	struct hawk_elf *elf = NULL;
	char path[PATH_MAX];

	for (size_t i = 0; i < 2 && !elf; i++)
		if (directories[i] &&
		    hawk_symbols_build_id_path(directories[i], wanted->id, wanted->id_bytes,
					       ".debug", path, sizeof(path)))
			elf = try_shared(wanted, path);
	if (elf)
		return elf;
	if (wanted->name[0] == '/')
		return try_shared(wanted, wanted->name);
	if (slash && snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - dwarf->elf->path),
			      dwarf->elf->path, wanted->name) < (int)sizeof(path))
		return try_shared(wanted, path);
	return NULL;
}

bool hawk_dwarf_attach_shared(struct hawk_dwarf *dwarf)
{
	struct wanted wanted = {0};
	const void *id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf->dwarf, &wanted.name, &id);

	if (size <= 0)
		return true;
	wanted.id = id;
	wanted.id_bytes = (size_t)size;
	if (size <= HAWK_MODULE_BUILD_ID_MAX)
		dwarf->shared_elf = find_shared(dwarf, &wanted);
	if (dwarf->shared_elf)
		dwarf->shared = dwarf_begin_elf(dwarf->shared_elf->elf, DWARF_C_READ, NULL);
	if (dwarf->shared) {
		dwarf_setalt(dwarf->dwarf, dwarf->shared);
		return true;
	}
	hawk_findings_add(
		dwarf->findings, HAWK_FINDING_MISSING, false, "shared-debug-missing*",
		"%s: the debug information that it shares with others (%s) was not found%s",
		dwarf->elf->path, wanted.name, wanted.refused ? "; there is another file" : "");
	/* libdw would look for itself, in the same places: nothing there does no harm. */
	return !wanted.refused && !dwarf->shared_elf;
}
