/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The search itself: a list of candidate paths, tried in order until one opens and has the wanted
 * build-id. What was refused on the way is remembered for the module's status.
 */
#include "symbols_find.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf_units.h"
#include "hawk_cleanup.h"
#include "symbols_embedded.h"

static const char default_debug_directory[] = "/usr/lib/debug";

struct finder {
	const struct hawk_symbols_search *search;
	const struct hawk_symbol_module *module;
	const char *mapped;
	enum hawk_symbol_status status;     /**< the worst thing met so far */
	char refused[PATH_MAX];             /**< the path that was there and could not be used */
	char found[HAWK_BUILD_ID_TEXT_MAX]; /**< its build-id, if that was why */
	const char *why;                    /**< else the reason */
};

const char *hawk_symbols_build_id_text(const uint8_t *id, size_t bytes,
				       char text[HAWK_BUILD_ID_TEXT_MAX])
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;

	if (!bytes)
		return strcpy(text, "none");
	for (size_t i = 0; i < bytes && i < HAWK_MODULE_BUILD_ID_MAX; i++) {
		text[at++] = digits[id[i] >> 4];
		text[at++] = digits[id[i] & 15];
	}
	text[at] = '\0';
	return text;
}

bool hawk_symbols_build_id_path(const char *directory, const uint8_t *id, size_t bytes,
				const char *suffix, char *path, size_t size)
{
	char hex[HAWK_BUILD_ID_TEXT_MAX];
	int length;

	if (bytes < 2 || bytes > HAWK_MODULE_BUILD_ID_MAX)
		return false;
	hawk_symbols_build_id_text(id, bytes, hex);
	length = snprintf(path, size, "%s/.build-id/%.2s/%s%s", directory, hex, hex + 2, suffix);
	return length > 0 && (size_t)length < size;
}

static uint32_t wanted_bytes(const struct hawk_symbol_module *module)
{
	if (!module->build_id || module->build_id_bytes > HAWK_MODULE_BUILD_ID_MAX)
		return 0;
	return module->build_id_bytes;
}

static bool has_id(const struct hawk_elf *elf, const uint8_t *id, uint32_t bytes)
{
	return elf->build_id_bytes == bytes && memcmp(elf->build_id, id, bytes) == 0;
}

/** Only the first one is told, and only if no other file is found. */
static void note_mismatch(struct finder *finder, const struct hawk_elf *elf)
{
	if (finder->status == HAWK_SYMBOL_MISMATCH)
		return;
	finder->status = HAWK_SYMBOL_MISMATCH;
	snprintf(finder->refused, sizeof(finder->refused), "%s", elf->path);
	hawk_symbols_build_id_text(elf->build_id, elf->build_id_bytes, finder->found);
}

/** Opens `path` if it is the module's file; `*ret` stays as it is if not. */
static struct hawk_error *try_binary(struct finder *finder, const char *path, struct hawk_elf **ret)
{
	CLEANUP(elf) struct hawk_elf *elf = NULL;
	uint32_t wanted = wanted_bytes(finder->module);
	enum hawk_elf_state state;
	struct hawk_error *err;
	const char *why;

	err = hawk_elf_open(path, &state, &why, &elf);
	if (err)
		return err;
	if (elf && elf->relocatable) {
		state = HAWK_ELF_REFUSED;
		why = "is neither a program nor a shared object";
	}
	if (state == HAWK_ELF_REFUSED && finder->status != HAWK_SYMBOL_MISMATCH) {
		finder->status = HAWK_SYMBOL_REFUSED;
		snprintf(finder->refused, sizeof(finder->refused), "%s", path);
		finder->why = why;
	}
	if (state != HAWK_ELF_OPENED)
		return NULL;
	if (wanted && !has_id(elf, finder->module->build_id, wanted)) {
		note_mismatch(finder, elf);
		return NULL;
	}
	*ret = take_ptr(&elf);
	return NULL;
}

static struct hawk_error *try_binary_below(struct finder *finder, const char *root,
					   const char *path, struct hawk_elf **ret)
{
	char joined[PATH_MAX];
	int length = snprintf(joined, sizeof(joined), "%s%s", root, path);

	if (*ret || length <= 0 || (size_t)length >= sizeof(joined))
		return NULL;
	return try_binary(finder, joined, ret);
}

static struct hawk_error *find_binary(struct finder *finder, struct hawk_elf **ret)
{
	const struct hawk_symbols_search *search = finder->search;
	const struct hawk_symbol_module *module = finder->module;
	const char *path = module->path ? module->path : "";
	struct hawk_error *err = NULL;

	if (module->main && !path[0] && search->program)
		path = search->program;
	if (module->main && search->executable)
		err = try_binary(finder, search->executable, ret);
	if (!err && !*ret && finder->mapped)
		err = try_binary(finder, finder->mapped, ret);
	if (path[0] != '/')
		return err; /* a relative path of another process means nothing here */
	if (!err && search->sysroot)
		err = try_binary_below(finder, search->sysroot, path, ret);
	if (!err && search->root)
		err = try_binary_below(finder, search->root, path, ret);
	if (!err)
		err = try_binary_below(finder, "", path, ret);
	return err;
}

/** By build-id in one debug directory; `suffix` is ".debug", or "" for the binary itself. */
static struct hawk_error *find_by_id(const char *directory, const uint8_t *id, uint32_t bytes,
				     const char *suffix, struct hawk_elf **ret)
{
	CLEANUP(elf) struct hawk_elf *elf = NULL;
	enum hawk_elf_state state;
	struct hawk_error *err;
	char path[PATH_MAX];
	const char *why;

	if (*ret || !directory ||
	    !hawk_symbols_build_id_path(directory, id, bytes, suffix, path, sizeof(path)))
		return NULL;
	err = hawk_elf_open(path, &state, &why, &elf);
	if (!err && state == HAWK_ELF_OPENED && has_id(elf, id, bytes))
		*ret = take_ptr(&elf);
	return err;
}

static struct hawk_error *find_in_directories(const struct hawk_symbols_search *search,
					      const uint8_t *id, uint32_t bytes, const char *suffix,
					      struct hawk_elf **ret)
{
	char below[PATH_MAX];
	struct hawk_error *err = find_by_id(search->debug_directory, id, bytes, suffix, ret);

	if (!err && search->sysroot &&
	    snprintf(below, sizeof(below), "%s%s", search->sysroot, default_debug_directory) <
		    (int)sizeof(below))
		err = find_by_id(below, id, bytes, suffix, ret);
	if (!err)
		err = find_by_id(default_debug_directory, id, bytes, suffix, ret);
	return err;
}

/** A file that .gnu_debuglink names: it must have the binary's build-id, or else the CRC. */
static struct hawk_error *try_link(const struct hawk_elf *binary, const char *path, uint32_t crc,
				   struct hawk_elf **ret)
{
	CLEANUP(elf) struct hawk_elf *elf = NULL;
	enum hawk_elf_state state;
	struct hawk_error *err;
	const char *why;

	if (*ret || strcmp(path, binary->path) == 0)
		return NULL;
	err = hawk_elf_open(path, &state, &why, &elf);
	if (err || state != HAWK_ELF_OPENED)
		return err;
	if (elf->build_id_bytes && binary->build_id_bytes) {
		if (!has_id(elf, binary->build_id, binary->build_id_bytes))
			return NULL;
	} else if (hawk_elf_crc(elf) != crc) {
		return NULL;
	}
	*ret = take_ptr(&elf);
	return NULL;
}

/** `location` is where the binary lies; its own path may lead through /proc. */
static struct hawk_error *find_by_link(const struct hawk_symbols_search *search,
				       const struct hawk_elf *binary, const char *location,
				       struct hawk_elf **ret)
{
	const char *roots[] = {"", search->debug_directory, default_debug_directory};
	GElf_Word crc = 0;
	const char *name = dwelf_elf_gnu_debuglink(binary->elf, &crc);
	const char *slash = strrchr(location, '/');
	int directory = slash ? (int)(slash - location) : 0;
	struct hawk_error *err = NULL;
	char path[PATH_MAX];

	if (!name || !name[0] || strchr(name, '/') || !slash)
		return NULL;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && !err; i++) {
		if (!roots[i])
			continue;
		if (snprintf(path, sizeof(path), "%s%.*s/%s", roots[i], directory, location, name) <
		    (int)sizeof(path))
			err = try_link(binary, path, crc, ret);
		if (!err && i == 0 &&
		    snprintf(path, sizeof(path), "%.*s/.debug/%s", directory, location, name) <
			    (int)sizeof(path))
			err = try_link(binary, path, crc, ret);
	}
	return err;
}

static bool has_own_debug_info(const struct hawk_elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf->elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf->elf, names, header.sh_name);
		if (name && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0))
			return true;
	}
	return false;
}

static const char *location_of(const struct finder *finder, const struct hawk_elf *binary)
{
	const struct hawk_symbol_module *module = finder->module;
	const char *program = finder->search->program;

	if (!finder->mapped || strcmp(finder->mapped, binary->path) != 0)
		return binary->path;
	if (module->path && module->path[0])
		return module->path;
	return module->main && program ? program : binary->path;
}

/** There is no binary, or none that may be used: says so, once for each module. */
static void note_absence(struct finder *finder)
{
	struct hawk_findings *findings = finder->search->findings;
	const struct hawk_symbol_module *module = finder->module;
	char wanted[HAWK_BUILD_ID_TEXT_MAX];

	hawk_symbols_build_id_text(module->build_id, wanted_bytes(module), wanted);
	switch (finder->status) {
	case HAWK_SYMBOL_MISMATCH:
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "module-mismatch*",
				  "%s is not the file that the process used (build-id wanted %s, "
				  "found %s) and was not used",
				  finder->refused, wanted, finder->found);
		return;
	case HAWK_SYMBOL_REFUSED:
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "module-refused*",
				  "%s %s and was not used", finder->refused, finder->why);
		return;
	default:
		finder->status = HAWK_SYMBOL_NOT_FOUND;
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "module-not-found*",
				  "no file was found for %s (build-id %s)",
				  module->path && module->path[0] ? module->path
								  : "a module without a name",
				  wanted);
	}
}

static void note_unverified(const struct finder *finder, const struct hawk_elf *binary)
{
	if (!wanted_bytes(finder->module) && binary->build_id_bytes)
		hawk_findings_add(finder->search->findings, HAWK_FINDING_MISSING, false,
				  "module-unverified*",
				  "cannot tell whether %s is the file that the process used: its "
				  "build-id is not in memory",
				  binary->path);
}

struct hawk_error *hawk_symbols_find(const struct hawk_symbols_search *search,
				     const struct hawk_symbol_module *module, const char *mapped,
				     struct hawk_symbols_files *ret)
{
	struct finder finder = {.search = search, .module = module, .mapped = mapped};
	CLEANUP(elf) struct hawk_elf *binary = NULL;
	CLEANUP(elf) struct hawk_elf *debug = NULL;
	uint32_t wanted = wanted_bytes(module);
	const uint8_t *id = module->build_id;
	struct hawk_error *err;

	err = find_binary(&finder, &binary);
	if (!err && !binary && wanted)
		err = find_in_directories(search, id, wanted, "", &binary);
	if (err)
		return err;
	if (binary) {
		id = binary->build_id;
		wanted = binary->build_id_bytes;
	}
	if (wanted && !(binary && has_own_debug_info(binary)))
		err = find_in_directories(search, id, wanted, ".debug", &debug);
	if (!err && binary && !debug && !has_own_debug_info(binary))
		err = find_by_link(search, binary, location_of(&finder, binary), &debug);
	if (!err && binary && !debug && !has_own_debug_info(binary))
		err = hawk_elf_open_embedded(binary, &debug);
	if (err)
		return err;
	if (!binary)
		note_absence(&finder);
	else
		note_unverified(&finder, binary);
	ret->status = binary || debug ? HAWK_SYMBOL_UNUSED : finder.status;
	ret->binary = take_ptr(&binary);
	ret->debug = take_ptr(&debug);
	return NULL;
}

enum {
	FIRST_BYTES = 1 << 20,
	OUTPUT_BYTES_MAX = 256 << 20,
	DECODER_BYTES_MAX = 128 << 20,
};

/** The whole of `input` into a growing buffer; false = damaged, too large, or out of memory. */
static bool decode(lzma_stream *stream, uint8_t **output, size_t *bytes)
{
	size_t capacity = 0;
	lzma_ret result = LZMA_OK;

	while (result == LZMA_OK) {
		uint8_t *bigger;

		if (capacity >= OUTPUT_BYTES_MAX)
			return false;
		capacity = capacity ? 2 * capacity : FIRST_BYTES;
		bigger = realloc(*output, capacity);
		if (!bigger)
			return false;
		*output = bigger;
		stream->next_out = bigger + stream->total_out;
		stream->avail_out = capacity - (size_t)stream->total_out;
		while (result == LZMA_OK && stream->avail_out)
			result = lzma_code(stream, LZMA_FINISH);
	}
	*bytes = (size_t)stream->total_out;
	return result == LZMA_STREAM_END && *bytes;
}

static uint8_t *unpack(const uint8_t *packed, size_t packed_bytes, size_t *bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *output = NULL;
	bool ok;

	if (lzma_stream_decoder(&stream, DECODER_BYTES_MAX, 0) != LZMA_OK)
		return NULL;
	stream.next_in = packed;
	stream.avail_in = packed_bytes;
	ok = decode(&stream, &output, bytes);
	lzma_end(&stream);
	if (ok)
		return output;
	free(output);
	return NULL;
}

static Elf_Data *find_section(const struct hawk_elf *binary)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(binary->elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(binary->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(binary->elf, names, header.sh_name);
		if (name && strcmp(name, ".gnu_debugdata") == 0)
			return elf_rawdata(section, NULL);
	}
	return NULL;
}

struct hawk_error *hawk_elf_open_embedded(const struct hawk_elf *binary, struct hawk_elf **ret)
{
	Elf_Data *data = find_section(binary);
	enum hawk_elf_state state;
	const char *why;
	uint8_t *image;
	size_t bytes;

	if (!data || !data->d_buf)
		return NULL;
	image = unpack(data->d_buf, data->d_size, &bytes);
	if (!image)
		return NULL;
	return hawk_elf_from_image(binary->path, image, bytes, &state, &why, ret);
}

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
