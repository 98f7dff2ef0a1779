/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opens DWARF and indexes its units. Debug files are foreign: counts are bounded, and an attribute
 * that libdw cannot read counts as absent.
 */
#include "dwarf_store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <dwarf.h>
#include <elfutils/libdwelf.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"

enum {
	UNITS_MAX = 4000000,
	INDEX_RANGES_MAX = 64000000,
	DIE_RANGES_MAX = 1000000,
#ifdef HAWK_SANITIZED
	ROOM_BYTES = 4 << 10, /**< AddressSanitizer maps and poisons every large block anew */
#else
	ROOM_BYTES = 4 << 20, /**< a table of 100,000 abbreviations; stays in the heap's top */
#endif
	STACK_BYTES = 256 << 10, /**< reading a line table takes 150 KiB */
};

void hawk_dwarf_reserve_stack(void)
{
	volatile char room[STACK_BYTES];

	room[0] = 0;
	(void)room[0];
}

bool hawk_dwarf_has_room(void)
{
	void *volatile room = malloc(ROOM_BYTES); /* volatile keeps the compiler from removing it */

	free(room);
	return room;
}

void hawk_dwarf_destroy(struct hawk_dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < dwarf->unit_count; i++) {
		free(dwarf->units[i].nodes);
		free(dwarf->units[i].scopes);
		hawk_ranges_deinit(&dwarf->units[i].scope_ranges);
		hawk_ranges_deinit(&dwarf->units[i].ranges);
	}
	free(dwarf->units);
	hawk_dwarf_index_destroy(dwarf->index);
	hawk_ranges_deinit(&dwarf->ranges);
	if (dwarf->dwarf)
		dwarf_end(dwarf->dwarf);
	if (dwarf->shared)
		dwarf_end(dwarf->shared);
	hawk_elf_close(dwarf->shared_unpacked);
	hawk_elf_close(dwarf->shared_elf);
	hawk_elf_close(dwarf->unpacked);
	free(dwarf);
}

static void cleanup_dwarf(struct hawk_dwarf **dwarf)
{
	hawk_dwarf_destroy(*dwarf);
}

const char *hawk_dwarf_intern(struct hawk_dwarf *dwarf, const char *string)
{
	return string ? hawk_strings_intern(dwarf->strings, string, strlen(string)) : NULL;
}

bool hawk_dwarf_add_ranges(const struct hawk_dwarf *dwarf, Dwarf_Die *die, uint32_t rank,
			   uint32_t id, struct hawk_ranges *ranges, uint64_t *lowest,
			   size_t *budget)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	*lowest = UINT64_MAX;
	for (size_t i = 0; i < DIE_RANGES_MAX && *budget; i++, (*budget)--) {
		offset = dwarf_ranges(die, offset, &base, &start, &end);
		if (offset <= 0)
			break;
		/* The linker puts discarded functions at address 0, or near it. */
		if (start >= end || !hawk_elf_is_code(dwarf->layout, start))
			continue;
		if (start < *lowest)
			*lowest = start;
		if (!hawk_ranges_add(ranges, start, end, rank, id))
			return false;
	}
	return true;
}

/** Returns true if `path` is absent or a regular file: libdw would open anything, and hang on a
 * FIFO. */
static bool is_harmless(const char *path)
{
	struct stat status;

	return stat(path, &status) != 0 || S_ISREG(status.st_mode);
}

/** Returns true if a split unit may be opened; notes a missing file. */
static bool split_file_ok(struct hawk_dwarf *dwarf, Dwarf_Die *skeleton)
{
	Dwarf_Attribute memory;
	const char *directory = dwarf_formstring(dwarf_attr(skeleton, DW_AT_comp_dir, &memory));
	const char *name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_dwo_name, &memory));
	char path[PATH_MAX];

	if (!name)
		name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &memory));
	if (!name)
		return false;
	if (name[0] == '/' || !directory)
		directory = "";
	if (snprintf(path, sizeof(path), "%s%s%s", directory, directory[0] ? "/" : "", name) >=
	    (int)sizeof(path))
		return false;
	if (!is_harmless(path) || !is_harmless(name))
		return false;
	if (access(path, R_OK) != 0) {
		hawk_findings_add(dwarf->search->findings, HAWK_FINDING_MISSING, false,
				  "split-debug-missing",
				  "%s, split debug information of %s, cannot be read: functions "
				  "there have no inlined frames",
				  path, dwarf->elf->path);
		return false;
	}
	return true;
}

/** Replaces `die` by the split unit's, if any. */
static void follow_split(struct hawk_dwarf *dwarf, struct hawk_dwarf_unit *unit)
{
	Dwarf_Die split = {0};
	uint8_t type = 0;
	Dwarf_Half version;

	if (dwarf_cu_info(unit->skeleton.cu, &version, &type, NULL, NULL, NULL, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton || !split_file_ok(dwarf, &unit->skeleton))
		return;
	if (dwarf_cu_info(unit->skeleton.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 &&
	    split.addr) {
		unit->die = split;
		dwarf_new_oom_handler(dwarf_cu_getdwarf(split.cu), hawk_enomem_end);
	}
}

static struct hawk_error *prepare(struct hawk_dwarf *dwarf, struct hawk_dwarf_unit *unit)
{
	if (unit->prepared)
		return NULL;
	unit->prepared = true;
	if (!hawk_dwarf_has_room())
		return &hawk_enomem;
	follow_split(dwarf, unit);
	if (dwarf_getsrcfiles(&unit->die, &unit->files, &unit->file_count) != 0) {
		unit->files = NULL;
		unit->file_count = 0;
	}
	return hawk_dwarf_read_functions(dwarf, unit);
}

struct hawk_error *hawk_dwarf_unit_at(struct hawk_dwarf *dwarf, uint64_t address,
				      struct hawk_dwarf_unit **ret)
{
	const struct hawk_range *range = hawk_ranges_find(&dwarf->ranges, address);
	struct hawk_error *err;

	*ret = NULL;
	if (!range)
		return NULL;
	err = prepare(dwarf, &dwarf->units[range->id]);
	if (err)
		return err;
	*ret = &dwarf->units[range->id];
	return NULL;
}

struct hawk_dwarf_unit *hawk_dwarf_unit_of(struct hawk_dwarf *dwarf, Dwarf_Die *die)
{
	size_t count = dwarf->unit_count;

	for (size_t i = 0; i < count; i++) {
		struct hawk_dwarf_unit *unit = &dwarf->units[(dwarf->last_unit + i) % count];

		if (unit->die.cu != die->cu && unit->skeleton.cu != die->cu)
			continue;
		dwarf->last_unit = (size_t)(unit - dwarf->units);
		return hawk_error_swallow(prepare(dwarf, unit)) ? NULL : unit;
	}
	return NULL;
}

/** Adds the ranges of a unit's functions if it has none of its own (some assemblers and linkers).
 */
static bool add_function_ranges(struct hawk_dwarf *dwarf, Dwarf_Die *unit, uint32_t id,
				size_t *budget)
{
	Dwarf_Die die;
	uint64_t lowest;

	if (dwarf_child(unit, &die) != 0)
		return true;
	for (Dwarf_Off last = 0; dwarf_dieoffset(&die) > last && *budget;) {
		last = dwarf_dieoffset(&die);
		if (!hawk_dwarf_has_room())
			return false;
		if (dwarf_tag(&die) == DW_TAG_subprogram &&
		    !hawk_dwarf_add_ranges(dwarf, &die, 0, id, &dwarf->ranges, &lowest, budget))
			return false;
		if (dwarf_siblingof(&die, &die) != 0)
			break;
	}
	return true;
}

static struct hawk_error *add_unit(struct hawk_dwarf *dwarf, Dwarf_Die *die, size_t *budget)
{
	uint32_t id = (uint32_t)dwarf->unit_count;
	size_t before = dwarf->ranges.count;
	uint64_t lowest;

	if (!hawk_array_reserve(&dwarf->units, dwarf->unit_count, &dwarf->unit_capacity,
				sizeof(*dwarf->units)))
		return &hawk_enomem;
	if (!hawk_dwarf_add_ranges(dwarf, die, 0, id, &dwarf->ranges, &lowest, budget))
		return &hawk_enomem;
	if (dwarf->ranges.count == before && !dwarf_hasattr(die, DW_AT_ranges) &&
	    !dwarf_hasattr(die, DW_AT_low_pc) && !add_function_ranges(dwarf, die, id, budget))
		return &hawk_enomem;
	if (dwarf->ranges.count == before)
		return NULL;
	dwarf->units[dwarf->unit_count++] = (struct hawk_dwarf_unit){.skeleton = *die, .die = *die};
	return NULL;
}

static struct hawk_error *index_units(struct hawk_dwarf *dwarf)
{
	size_t budget = INDEX_RANGES_MAX;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	for (size_t i = 0; i < UNITS_MAX; i++) {
		struct hawk_error *err;

		if (!hawk_dwarf_has_room())
			return &hawk_enomem;
		if (dwarf_get_units(dwarf->dwarf, unit, &unit, NULL, &type, &die, NULL) != 0)
			break;
		if (die.addr)
			dwarf->info_bytes = dwarf_dieoffset(&die);
		if ((type != DW_UT_compile && type != DW_UT_skeleton) || !die.addr)
			continue;
		err = add_unit(dwarf, &die, &budget);
		if (err)
			return err;
	}
	return hawk_ranges_freeze(&dwarf->ranges) ? NULL : &hawk_enomem;
}

/** Opens the DWARF of `elf`, or of a copy that is unpacked. NULL = it has none that can be read. */
static struct hawk_error *open_dwarf(const struct hawk_elf *elf, struct hawk_findings *findings,
				     struct hawk_elf **unpacked, Dwarf **ret)
{
	const char *why;
	struct hawk_error *err = hawk_elf_unpack(elf, &why, unpacked);

	if (why)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "debug-zstd*",
				  "%s: its debug information is compressed with zstd; %s",
				  elf->path, why);
	*ret = err ? NULL
		   : dwarf_begin_elf(*unpacked ? (*unpacked)->elf : elf->elf, DWARF_C_READ, NULL);
	if (*ret)
		dwarf_new_oom_handler(*ret, hawk_enomem_end);
	return err;
}

/**
 * Finds and attaches the file of .gnu_debugaltlink. libdw would open any file at the path and
 * ignore the build-id. `*usable` becomes false if the DWARF cannot be used.
 */
static struct hawk_error *attach_shared(struct hawk_dwarf *dwarf, bool *usable)
{
	bool refused = false;
	struct hawk_error *err;
	const char *name;
	const void *id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf->dwarf, &name, &id);

	*usable = true;
	if (size <= 0)
		return NULL;
	err = hawk_symbols_find_shared(dwarf->search, dwarf->elf->path, name, id, (size_t)size,
				       &refused, &dwarf->shared_elf);
	err = hawk_symbols_tell_unread(dwarf->search, err, &refused);
	if (!err && dwarf->shared_elf)
		err = open_dwarf(dwarf->shared_elf, dwarf->search->findings,
				 &dwarf->shared_unpacked, &dwarf->shared);
	if (err)
		return err;
	if (dwarf->shared) {
		dwarf_setalt(dwarf->dwarf, dwarf->shared);
		return NULL;
	}
	hawk_findings_add(
		dwarf->search->findings, HAWK_FINDING_MISSING, false, "shared-debug-missing*",
		"%s: the debug information that it shares with others (%s) was not found%s",
		dwarf->elf->path, name, refused ? "; there is another file" : "");
	/* libdw would search the same places itself: harmless if nothing lies there. */
	*usable = !refused && !dwarf->shared_elf;
	return NULL;
}

struct hawk_error *hawk_dwarf_create(const struct hawk_elf *elf, const struct hawk_elf *layout,
				     const struct hawk_symbols_search *search,
				     struct hawk_strings *strings, struct hawk_dwarf **ret)
{
	struct hawk_error *err;
	bool usable;

	*ret = NULL;
	if (!hawk_dwarf_has_room())
		return &hawk_enomem;
	__attribute__((cleanup(cleanup_dwarf))) struct hawk_dwarf *dwarf =
		calloc(1, sizeof(*dwarf));
	if (!dwarf)
		return &hawk_enomem;
	err = open_dwarf(elf, search->findings, &dwarf->unpacked, &dwarf->dwarf);
	if (err || !dwarf->dwarf)
		return err;
	dwarf->elf = elf;
	dwarf->layout = layout;
	dwarf->search = search;
	dwarf->strings = strings;
	err = attach_shared(dwarf, &usable);
	if (err || !usable)
		return err;
	err = index_units(dwarf);
	if (err)
		return err;
	if (dwarf->unit_count)
		*ret = take_ptr(&dwarf);
	return NULL;
}
