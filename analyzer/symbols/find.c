/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The search itself: a list of candidate paths, tried in order until one opens and has the wanted
 * build-id. Refused files determine the module's status.
 */
#include "find.h"

#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "debuginfod.h"
#include "module_tree.h"
#include "package_note.h"
#include "hawk/target/decoder.h"
#include "hawk/base/cleanup.h"

enum {
	EMBEDDED_BYTES_FIRST = 1 << 20,
	EMBEDDED_BYTES_MAX = 256 << 20,
};

struct finder {
	const struct hawk_symbols_search *search;
	const struct hawk_symbol_module *module;
	const char *mapped;
	enum hawk_symbol_status status;     /**< the worst result so far */
	char refused[PATH_MAX];             /**< the path of an unusable file */
	char found[HAWK_BUILD_ID_TEXT_MAX]; /**< its build-id, if that was the reason */
	const char *why;                    /**< else the reason */
	bool told;                          /**< a finding reports that it was not used */
	/* Files found; owned. */
	struct hawk_elf *binary;
	struct hawk_elf *debug;
	struct hawk_elf *debug_only; /**< in the binary's place */
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

static uint32_t wanted_bytes(const struct hawk_symbol_module *module)
{
	if (!module->build_id || module->build_id_bytes > HAWK_MODULE_BUILD_ID_MAX)
		return 0;
	return module->build_id_bytes;
}

static bool has_id(const struct hawk_elf *elf, const uint8_t *id, size_t bytes)
{
	return elf->build_id_bytes == bytes && memcmp(elf->build_id, id, bytes) == 0;
}

/** Remembers the first mismatch, which is reported only if no other file is found. */
static void note_mismatch(struct finder *finder, const struct hawk_elf *elf)
{
	if (finder->status == HAWK_SYMBOL_MISMATCH)
		return;
	finder->status = HAWK_SYMBOL_MISMATCH;
	snprintf(finder->refused, sizeof(finder->refused), "%s", elf->path);
	hawk_symbols_build_id_text(elf->build_id, elf->build_id_bytes, finder->found);
}

/** Opens `path` if it is the module's file; else leaves `*ret` unchanged. */
static struct hawk_error *try_binary(struct finder *finder, const char *path, struct hawk_elf **ret)
{
	CLEANUP(elf) struct hawk_elf *elf = NULL;
	uint32_t wanted = wanted_bytes(finder->module);
	struct hawk_error *err;
	const char *why;

	err = hawk_elf_open(path, &why, &elf);
	if (err)
		return err;
	if (elf && elf->relocatable)
		why = "is neither a program nor a shared object";
	if (elf && finder->search->target && elf->arch != hawk_target_arch(finder->search->target))
		why = "is an ELF file of another architecture";
	if (why && finder->status != HAWK_SYMBOL_MISMATCH) {
		finder->status = HAWK_SYMBOL_REFUSED;
		snprintf(finder->refused, sizeof(finder->refused), "%s", path);
		finder->why = why;
	}
	if (why || !elf)
		return NULL;
	if (wanted && !has_id(elf, finder->module->build_id, wanted)) {
		note_mismatch(finder, elf);
		return NULL;
	}
	if (!hawk_elf_is_debug_only(elf))
		*ret = take_ptr(&elf);
	else if (!finder->debug_only)
		finder->debug_only = take_ptr(&elf);
	return NULL;
}

/** Reports the unusable file and the reason, once. Returns false if none was met. */
static bool tell_refused(struct finder *finder)
{
	struct hawk_findings *findings = finder->search->findings;
	const struct hawk_symbol_module *module = finder->module;
	char wanted[HAWK_BUILD_ID_TEXT_MAX];

	if (finder->told || !finder->refused[0])
		return finder->told;
	finder->told = true;
	hawk_symbols_build_id_text(module->build_id, wanted_bytes(module), wanted);
	if (finder->status == HAWK_SYMBOL_MISMATCH)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "module-mismatch*",
				  "%s is not the file that the process used (build-id wanted %s, "
				  "found %s) and was not used",
				  finder->refused, wanted, finder->found);
	else
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "module-refused*",
				  "%s %s and was not used", finder->refused, finder->why);
	return true;
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
	tell_refused(finder); /* report it in any case: --exe was given */
	if (!err && !*ret && finder->mapped)
		err = try_binary(finder, finder->mapped, ret);
	if (path[0] != '/')
		return err; /* another process's relative path is meaningless here */
	if (!err && search->sysroot)
		err = try_binary_below(finder, search->sysroot, path, ret);
	if (!err && search->root)
		err = try_binary_below(finder, search->root, path, ret);
	if (!err)
		err = try_binary_below(finder, "", path, ret);
	return err;
}

static void note_debug_mismatch(struct hawk_findings *findings, const struct hawk_elf *elf,
				const uint8_t *id, size_t bytes)
{
	char wanted[HAWK_BUILD_ID_TEXT_MAX], found[HAWK_BUILD_ID_TEXT_MAX];

	hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "debug-mismatch*",
			  "%s is of another build (build-id wanted %s, found %s) and was not used",
			  elf->path, hawk_symbols_build_id_text(id, bytes, wanted),
			  hawk_symbols_build_id_text(elf->build_id, elf->build_id_bytes, found));
}

/** Opens `path` if it has the build-id. Another file there sets `*refused` and is reported in
 * `findings` (may be NULL). */
static struct hawk_error *try_id(const char *path, const uint8_t *id, size_t bytes,
				 struct hawk_findings *findings, bool *refused,
				 struct hawk_elf **ret)
{
	CLEANUP(elf) struct hawk_elf *elf = NULL;
	const char *why;
	struct hawk_error *err = hawk_elf_open(path, &why, &elf);

	if (elf && has_id(elf, id, bytes)) {
		*ret = take_ptr(&elf);
		return err;
	}
	*refused |= elf || why;
	if (elf)
		note_debug_mismatch(findings, elf, id, bytes);
	return err;
}

/** DIRECTORY/.build-id/xx/yyyy + `suffix`: ".debug", or "" for the binary itself. */
static struct hawk_error *find_by_id(const char *directory, const uint8_t *id, size_t bytes,
				     const char *suffix, struct hawk_findings *findings,
				     bool *refused, struct hawk_elf **ret)
{
	char hex[HAWK_BUILD_ID_TEXT_MAX], path[PATH_MAX];

	if (*ret || !directory || bytes < 2 || bytes > HAWK_MODULE_BUILD_ID_MAX)
		return NULL;
	hawk_symbols_build_id_text(id, bytes, hex);
	if (snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", directory, hex, hex + 2,
		     suffix) >= (int)sizeof(path))
		return NULL;
	return try_id(path, id, bytes, findings, refused, ret);
}

static struct hawk_error *find_in_directories(const struct hawk_symbols_search *search,
					      const uint8_t *id, uint32_t bytes, const char *suffix,
					      struct hawk_elf **ret)
{
	struct hawk_findings *findings = search->findings;
	char below[PATH_MAX];
	bool refused = false; /* not used */
	struct hawk_error *err =
		find_by_id(search->debug_directory, id, bytes, suffix, findings, &refused, ret);

	if (!err && search->sysroot &&
	    snprintf(below, sizeof(below), "%s%s", search->sysroot,
		     search->system_debug_directory) < (int)sizeof(below))
		err = find_by_id(below, id, bytes, suffix, findings, &refused, ret);
	if (!err)
		err = find_by_id(search->system_debug_directory, id, bytes, suffix, findings,
				 &refused, ret);
	return err;
}

/** Tries a file that .gnu_debuglink names: it must have the binary's build-id, or else the CRC. */
static struct hawk_error *try_link(const struct hawk_elf *binary, const char *path, uint32_t crc,
				   struct hawk_findings *findings, struct hawk_elf **ret)
{
	CLEANUP(elf) struct hawk_elf *elf = NULL;
	struct hawk_error *err;
	const char *why;

	if (*ret || strcmp(path, binary->path) == 0)
		return NULL;
	err = hawk_elf_open(path, &why, &elf);
	if (err || !elf)
		return err;
	if (elf->build_id_bytes && binary->build_id_bytes) {
		if (!has_id(elf, binary->build_id, binary->build_id_bytes)) {
			note_debug_mismatch(findings, elf, binary->build_id,
					    binary->build_id_bytes);
			return NULL;
		}
	} else if (crc32_z(0, elf->image, elf->image_bytes) != crc) {
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "debug-mismatch*",
				  "%s is of another build (its checksum differs) and was not used",
				  elf->path);
		return NULL;
	}
	*ret = take_ptr(&elf);
	return NULL;
}

/** Searches by .gnu_debuglink. `location` is the binary's real place; its own path may lead through
 * /proc. */
static struct hawk_error *find_by_link(const struct hawk_symbols_search *search,
				       const struct hawk_elf *binary, const char *location,
				       struct hawk_elf **ret)
{
	const char *roots[] = {"", search->debug_directory, search->system_debug_directory};
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
			err = try_link(binary, path, crc, search->findings, ret);
		if (!err && i == 0 &&
		    snprintf(path, sizeof(path), "%.*s/.debug/%s", directory, location, name) <
			    (int)sizeof(path))
			err = try_link(binary, path, crc, search->findings, ret);
	}
	return err;
}

static bool has_own_debug_info(const struct hawk_elf *elf)
{
	GElf_Shdr header;

	return hawk_elf_section(elf, ".debug_info", &header) ||
	       hawk_elf_section(elf, ".zdebug_info", &header);
}

/**
 * Opens the symbols inside a stripped program, as in Fedora: .gnu_debugdata ("MiniDebugInfo"), an
 * ELF file with a symbol table, compressed with xz. Its size is unknown beforehand, and bounded. A
 * damaged one is ignored.
 */
static struct hawk_error *open_embedded(const struct hawk_elf *binary, struct hawk_elf **ret)
{
	GElf_Shdr header;
	Elf_Scn *section = hawk_elf_section(binary, ".gnu_debugdata", &header);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	enum hawk_decoder_state state = HAWK_DECODER_MORE;
	CLEANUP(free_ptr) uint8_t *image = NULL;
	size_t bytes = 0, capacity = 0, got;
	struct hawk_decoder *decoder;
	struct hawk_error *err;
	const char *why;

	if (!data || !data->d_buf || !hawk_decoder_format(data->d_buf, data->d_size))
		return NULL;
	err = hawk_decoder_create(data->d_buf, data->d_size, &decoder);
	if (err)
		return err;
	while (state == HAWK_DECODER_MORE && capacity < EMBEDDED_BYTES_MAX) {
		uint8_t *bigger;

		capacity = capacity ? 2 * capacity : EMBEDDED_BYTES_FIRST;
		bigger = realloc(image, capacity);
		if (!bigger)
			break;
		image = bigger;
		state = hawk_decoder_read(decoder, image + bytes, capacity - bytes, &got);
		bytes += got;
	}
	hawk_decoder_destroy(decoder);
	if (state != HAWK_DECODER_END || !bytes)
		return NULL;
	return hawk_elf_from_image(binary->path, take_ptr(&image), bytes, &why, ret);
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

/** Appends what would help: the package to fetch, the option. */
static void append_remedy(const struct finder *finder, struct hawk_text *to)
{
	CLEANUP(text) struct hawk_text package = {0};

	if (hawk_package_note_append(finder->search->target, finder->module, &package))
		hawk_text_printf(to, "; it is part of the package %s", hawk_text_string(&package));
	if (finder->module->main && !finder->search->executable)
		hawk_text_puts(to, "; --exe=FILE names it");
}

/** Reports a missing or unusable binary, once for each module. */
static void note_absence(struct finder *finder)
{
	struct hawk_findings *findings = finder->search->findings;
	const struct hawk_symbol_module *module = finder->module;
	CLEANUP(text) struct hawk_text remedy = {0};
	char wanted[HAWK_BUILD_ID_TEXT_MAX];

	if (tell_refused(finder))
		return;
	finder->status = HAWK_SYMBOL_NOT_FOUND;
	hawk_symbols_build_id_text(module->build_id, wanted_bytes(module), wanted);
	append_remedy(finder, &remedy);
	hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "module-not-found*",
			  "no file was found for %s (build-id %s)%s",
			  module->path && module->path[0] ? module->path
							  : "a module without a name",
			  wanted, hawk_text_string(&remedy));
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

/** Uses a debug-only file found in the binary's place as the debug file. */
static void take_debug_only(struct finder *finder)
{
	if (!finder->debug_only || (finder->binary && has_own_debug_info(finder->binary)))
		return;
	if (!finder->binary)
		hawk_findings_add(
			finder->search->findings, HAWK_FINDING_MISSING, false, "module-debug-only*",
			"%s holds debug information only: names come from it, but without "
			"the program or library itself stacks of threads may end early",
			finder->debug_only->path);
	finder->debug = take_ptr(&finder->debug_only);
}

/** Takes the module's program or library, and its debug file, from the tree of --module-dir. */
static struct hawk_error *find_in_tree(struct finder *finder)
{
	const struct hawk_symbols_search *search = finder->search;
	const struct hawk_module_file *files = NULL;
	struct hawk_error *err;
	size_t count = 0;

	if (!search->modules || !wanted_bytes(finder->module))
		return NULL;
	err = hawk_module_tree_find(search->modules, finder->module->build_id,
				    wanted_bytes(finder->module), search->findings, &files, &count);
	for (size_t i = 0; i < count && !err && !(finder->binary && finder->debug_only); i++) {
		CLEANUP(elf) struct hawk_elf *elf = NULL;

		err = try_binary(finder, files[i].path, &elf);
		if (!finder->binary)
			finder->binary = take_ptr(&elf);
	}
	return err;
}

/** Fetches a file from debuginfod servers, and checks it. */
static struct hawk_error *fetch(const struct finder *finder, const uint8_t *id, size_t bytes,
				bool debug, struct hawk_elf **ret)
{
	struct hawk_findings *findings = finder->search->findings;
	char hex[HAWK_BUILD_ID_TEXT_MAX];
	bool refused = false;
	struct hawk_error *err;

	if (*ret || !finder->search->debuginfod || !bytes)
		return NULL;
	CLEANUP(free_ptr)
	char *path = hawk_debuginfod_fetch(finder->search->debuginfod, id, bytes, debug, findings);
	if (!path)
		return NULL;
	err = try_id(path, id, bytes, NULL, &refused, ret);
	if (refused)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "debuginfod*",
				  "%s, which a debuginfod server sent, is not the file with "
				  "build-id %s, and was not used",
				  path, hawk_symbols_build_id_text(id, bytes, hex));
	return err;
}

static struct hawk_error *find_debug(struct finder *finder)
{
	const struct hawk_symbols_search *search = finder->search;
	const struct hawk_elf *binary = finder->binary;
	const uint8_t *id = binary ? binary->build_id : finder->module->build_id;
	uint32_t wanted = binary ? binary->build_id_bytes : wanted_bytes(finder->module);
	struct hawk_error *err = NULL;

	if (finder->debug || (binary && has_own_debug_info(binary)))
		return NULL;
	if (wanted)
		err = find_in_directories(search, id, wanted, ".debug", &finder->debug);
	if (!err && binary && !finder->debug)
		err = find_by_link(search, binary, location_of(finder, binary), &finder->debug);
	if (!err)
		err = fetch(finder, id, wanted, true, &finder->debug);
	if (!err && binary && !finder->debug)
		err = open_embedded(binary, &finder->debug);
	return err;
}

static struct hawk_error *find_files(struct finder *finder)
{
	const struct hawk_symbol_module *module = finder->module;
	struct hawk_error *err = find_binary(finder, &finder->binary);

	if (!err && !finder->binary && wanted_bytes(module))
		err = find_in_directories(finder->search, module->build_id, wanted_bytes(module),
					  "", &finder->binary);
	if (!err)
		err = find_in_tree(finder);
	if (!err)
		err = fetch(finder, module->build_id, wanted_bytes(module), false, &finder->binary);
	if (err)
		return err;
	take_debug_only(finder);
	return find_debug(finder);
}

static void hawk_cleanup_finder(struct finder *finder)
{
	hawk_elf_close(finder->binary);
	hawk_elf_close(finder->debug);
	hawk_elf_close(finder->debug_only);
}

struct hawk_error *hawk_symbols_tell_unread(const struct hawk_symbols_search *search,
					    struct hawk_error *err, bool *told)
{
	if (!err || hawk_error_code(err) != HAWK_ERROR_OS)
		return err;
	hawk_findings_add(search->findings, HAWK_FINDING_MISSING, true, "file-unread*",
			  "%s: names and lines may be missing", hawk_error_message(err));
	hawk_error_destroy(err);
	*told = true;
	return NULL;
}

struct hawk_error *hawk_symbols_find(const struct hawk_symbols_search *search,
				     const struct hawk_symbol_module *module, const char *mapped,
				     struct hawk_symbols_files *ret)
{
	CLEANUP(finder)
	struct finder finder = {.search = search, .module = module, .mapped = mapped};
	struct hawk_error *err =
		hawk_symbols_tell_unread(search, find_files(&finder), &finder.told);

	if (err)
		return err;
	if (finder.told && !finder.binary && !finder.status)
		finder.status = HAWK_SYMBOL_REFUSED;
	if (finder.binary)
		note_unverified(&finder, finder.binary);
	else if (!finder.debug || !hawk_elf_is_debug_only(finder.debug))
		note_absence(&finder);
	ret->status = finder.binary || finder.debug ? HAWK_SYMBOL_UNUSED : finder.status;
	ret->binary = take_ptr(&finder.binary);
	ret->debug = take_ptr(&finder.debug);
	return NULL;
}

struct hawk_error *hawk_symbols_find_shared(const struct hawk_symbols_search *search,
					    const char *beside, const char *name, const uint8_t *id,
					    size_t bytes, bool *refused, struct hawk_elf **ret)
{
	const char *slash = strrchr(beside, '/');
	char path[PATH_MAX];
	struct hawk_error *err;

	if (bytes > HAWK_MODULE_BUILD_ID_MAX)
		return NULL;
	err = find_by_id(search->debug_directory, id, bytes, ".debug", NULL, refused, ret);
	if (!err)
		err = find_by_id(search->system_debug_directory, id, bytes, ".debug", NULL, refused,
				 ret);
	if (err || *ret)
		return err;
	if (name[0] == '/')
		return try_id(name, id, bytes, NULL, refused, ret);
	if (slash && snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - beside), beside, name) <
			     (int)sizeof(path))
		return try_id(path, id, bytes, NULL, refused, ret);
	return NULL;
}
