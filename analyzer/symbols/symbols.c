/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The symbols object: its files, opened on first use, and their status.
 */
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "debuginfod.h"
#include "dwarf_cfi.h"
#include "hawk/base/cleanup.h"
#include "module_tree.h"
#include "state.h"

enum {
	VDSO_BYTES_MAX = 256 * 1024,
	MAPPED_PATH_MAX = 128,
};

/* Servers that unpack a large package first are silent for some seconds. */
static const uint64_t DOWNLOAD_PATIENCE_NS = UINT64_C(30000000000);

static void destroy_file(void *opaque)
{
	struct hawk_symbol_file *file = opaque;

	if (!file)
		return;
	hawk_cfi_destroy(file->cfi);
	hawk_dwarf_destroy(file->dwarf);
	hawk_symbol_table_deinit(&file->table);
	hawk_elf_close(file->debug);
	hawk_elf_close(file->binary);
	hawk_findings_deinit(&file->said);
	free(file);
}

static void cleanup_file(struct hawk_symbol_file **file)
{
	destroy_file(*file);
}

static void keep_item(void *item)
{
	(void)item; /* belongs to the strings */
}

void hawk_symbols_destroy(struct hawk_symbols *symbols)
{
	if (!symbols)
		return;
	hawk_dwarf_store_destroy(&symbols->types);
	tdestroy(symbols->coroutines, keep_item);
	hawk_module_tree_destroy(symbols->search.modules);
	hawk_debuginfod_destroy(symbols->search.debuginfod);
	tdestroy(symbols->files, destroy_file);
	hawk_answers_destroy(symbols->answers);
	hawk_questions_destroy(symbols->questions);
	free(symbols->noted_threads);
	free(symbols->cache);
	hawk_text_deinit(&symbols->scratch);
	hawk_strings_deinit(&symbols->strings);
	free(symbols);
}

static void cleanup_symbols(struct hawk_symbols **symbols)
{
	hawk_symbols_destroy(*symbols);
}

struct hawk_symbol_module hawk_symbol_module_of(const struct hawk_module *module)
{
	return (struct hawk_symbol_module){
		.path = module->path,
		.bias = module->has_bias ? module->bias : HAWK_SYMBOL_BIAS_UNKNOWN,
		.start = module->start,
		.end = module->end,
		.build_id = module->build_id,
		.build_id_bytes = module->build_id_bytes,
		.main = module->main,
	};
}

/** Returns a module with this path other than `copy`. */
static const struct hawk_module *module_with_path(const struct hawk_target *target,
						  const char *path, const struct hawk_module *copy)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);

	for (size_t i = 0; i < count; i++)
		if (&modules[i] != copy && !strcmp(modules[i].path, path))
			return &modules[i];
	return NULL;
}

/** Returns the address at which the module has the file's byte at `offset` as code, 0 = none. */
static uint64_t own_address(const struct hawk_target *target, const struct hawk_module *module,
			    uint64_t offset)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = hawk_target_mapping_index(target, module->start);
	     i < count && mappings[i].start < module->end; i++) {
		const struct hawk_mapping *mapping = &mappings[i];

		if (mapping->path && !strcmp(mapping->path, module->path) &&
		    !(mapping->flags & HAWK_MAPPING_WRITE) && offset >= mapping->file_offset &&
		    offset - mapping->file_offset < mapping->end - mapping->start)
			return mapping->start + (offset - mapping->file_offset);
	}
	return 0;
}

bool hawk_symbols_copy_at(const struct hawk_symbols *symbols, uint64_t address,
			  struct hawk_symbol_module *ret)
{
	const struct hawk_target *target = symbols->target;
	const struct hawk_mapping *mapping =
		target ? hawk_target_mapping_at(target, address) : NULL;
	const struct hawk_module *module;
	uint64_t own;

	if (!mapping || !mapping->path || !mapping->path[0] || mapping->flags & HAWK_MAPPING_WRITE)
		return false;
	/* Without the loader's list a copy may look like a module of its own. */
	module = module_with_path(target, mapping->path, hawk_target_module_at(target, address));
	if (!module || !module->has_bias)
		return false;
	own = own_address(target, module, mapping->file_offset + (address - mapping->start));
	if (!own)
		return false;
	*ret = hawk_symbol_module_of(module);
	ret->bias += address - own;
	ret->start = mapping->start;
	ret->end = mapping->end;
	return true;
}

bool hawk_symbols_module_at(const struct hawk_symbols *symbols, uint64_t address,
			    struct hawk_symbol_module *ret)
{
	const struct hawk_module *module =
		symbols->target ? hawk_target_module_at(symbols->target, address) : NULL;

	if (!module)
		return hawk_symbols_copy_at(symbols, address, ret);
	*ret = hawk_symbol_module_of(module);
	return true;
}

/** Returns the start of `module` if it is the vdso, else 0. */
static uint64_t vdso_start(const struct hawk_symbols *symbols,
			   const struct hawk_symbol_module *module)
{
	const struct hawk_module *known =
		symbols->target ? hawk_target_module_at(symbols->target, module->start) : NULL;

	return known && known->vdso && known->start == module->start ? known->start : 0;
}

/**
 * Gives a library one name. The trace table has the loader's path (/lib/...), the core the real one
 * (/usr/lib/...). The same build-id at the same place is one file, to be opened and reported once.
 */
static struct hawk_symbol_module one_name(const struct hawk_symbols *symbols,
					  const struct hawk_symbol_module *module)
{
	const struct hawk_module *known =
		symbols->target ? hawk_target_module_at(symbols->target, module->start) : NULL;
	struct hawk_symbol_module named = *module;

	if (!known || !known->path || !known->path[0] || !module->build_id_bytes ||
	    known->build_id_bytes != module->build_id_bytes ||
	    memcmp(known->build_id, module->build_id, known->build_id_bytes) != 0)
		return named;
	named.path = known->path;
	named.main = known->main;
	return named;
}

static struct hawk_symbol_file key_of(const struct hawk_symbols *symbols,
				      const struct hawk_symbol_module *module)
{
	struct hawk_symbol_file key = {.path = module->path ? module->path : "",
				       .main = module->main,
				       .vdso_start = vdso_start(symbols, module)};

	if (module->build_id && module->build_id_bytes <= HAWK_MODULE_BUILD_ID_MAX) {
		key.build_id_bytes = module->build_id_bytes;
		memcpy(key.build_id, module->build_id, key.build_id_bytes);
	}
	return key;
}

int hawk_symbols_compare_files(const void *left, const void *right)
{
	const struct hawk_symbol_file *a = left, *b = right;

	if (a->build_id_bytes != b->build_id_bytes)
		return a->build_id_bytes < b->build_id_bytes ? -1 : 1;
	if (memcmp(a->build_id, b->build_id, a->build_id_bytes))
		return memcmp(a->build_id, b->build_id, a->build_id_bytes);
	if (a->vdso_start != b->vdso_start)
		return a->vdso_start < b->vdso_start ? -1 : 1;
	if (a->main != b->main)
		return a->main ? 1 : -1;
	return strcmp(a->path, b->path);
}

static struct hawk_symbol_file *find_file(const struct hawk_symbols *symbols,
					  const struct hawk_symbol_file *key)
{
	void *const *node = tfind(key, &symbols->files, hawk_symbols_compare_files);

	return node ? *node : NULL;
}

/** The vdso has no file: its image is in the target's memory. */
static struct hawk_error *open_vdso(struct hawk_symbols *symbols,
				    const struct hawk_symbol_module *module,
				    struct hawk_symbol_file *file)
{
	uint64_t bytes = module->end - module->start;
	const char *why;
	uint8_t *image;

	file->status = HAWK_SYMBOL_NOT_FOUND;
	if (module->end <= module->start || bytes > VDSO_BYTES_MAX)
		return NULL;
	image = malloc((size_t)bytes);
	if (!image)
		return &hawk_enomem;
	if (hawk_target_read_some(symbols->target, module->start, image, (size_t)bytes) != bytes) {
		free(image);
		return NULL;
	}
	return hawk_elf_from_image("[vdso]", image, (size_t)bytes, &why, &file->binary);
}

/** Returns a path to a live process's mapped file, which works even if the file was deleted or
 * replaced. */
static const char *mapped_path(const struct hawk_symbols *symbols,
			       const struct hawk_symbol_module *module, char path[MAPPED_PATH_MAX])
{
	const struct hawk_target *target = symbols->target;
	const struct hawk_process *process = target ? hawk_target_process(target) : NULL;
	const struct hawk_mapping *mapping;

	if (!process || !process->live)
		return NULL;
	mapping = hawk_target_mapping_at(target, module->start);
	if (module->main)
		snprintf(path, MAPPED_PATH_MAX, "/proc/%u/exe", process->pid);
	else if (mapping && mapping->path)
		snprintf(path, MAPPED_PATH_MAX, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64,
			 process->pid, mapping->start, mapping->end);
	else
		return NULL;
	return path;
}

static struct hawk_error *open_files(struct hawk_symbols *symbols,
				     const struct hawk_symbol_module *module,
				     struct hawk_symbol_file *file)
{
	struct hawk_symbols_files found = {0};
	char mapped[MAPPED_PATH_MAX];
	struct hawk_error *err;

	if (file->vdso_start)
		return open_vdso(symbols, module, file);
	err = hawk_symbols_find(&symbols->search, module, mapped_path(symbols, module, mapped),
				&found);
	if (err)
		return err;
	file->binary = found.binary;
	file->debug = found.debug;
	file->status = found.status;
	return NULL;
}

static struct hawk_error *load(struct hawk_symbols *symbols,
			       const struct hawk_symbol_module *module,
			       struct hawk_symbol_file *file)
{
	const struct hawk_elf *layout;
	struct hawk_error *err = open_files(symbols, module, file);

	if (err || (!file->binary && !file->debug))
		return err;
	layout = file->binary ? file->binary : file->debug;
	file->status = HAWK_SYMBOL_SYMTAB;
	err = hawk_symbol_table_build(&file->table, file->binary, file->debug);
	if (!err && file->debug)
		err = hawk_dwarf_create(file->debug, layout, &symbols->search, &symbols->strings,
					&file->dwarf);
	if (!err && file->binary && !file->dwarf)
		err = hawk_dwarf_create(file->binary, layout, &symbols->search, &symbols->strings,
					&file->dwarf);
	if (file->dwarf)
		file->status = HAWK_SYMBOL_DWARF;
	return err;
}

/** Loads a file, and keeps its findings for a snapshot. */
static struct hawk_error *load_and_note(struct hawk_symbols *symbols,
					const struct hawk_symbol_module *module,
					struct hawk_symbol_file *file)
{
	struct hawk_findings *findings = symbols->search.findings;
	const struct hawk_elf *layout;
	struct hawk_error *err;

	hawk_findings_init(&file->said);
	symbols->search.findings = &file->said;
	err = load(symbols, module, file);
	symbols->search.findings = findings;
	hawk_findings_add_all(findings, &file->said);
	layout = file->binary ? file->binary : file->debug;
	file->has_layout = layout != NULL;
	file->first_page = layout ? hawk_elf_first_page(layout) : 0;
	return err;
}

/** Opens a file. `named` is the module to open; NULL = from answers. */
static struct hawk_error *open_file(struct hawk_symbols *symbols,
				    const struct hawk_symbol_module *named,
				    const struct hawk_symbol_file *key,
				    struct hawk_symbol_file **ret)
{
	struct hawk_error *err = NULL;

	*ret = find_file(symbols, key);
	if (*ret)
		return NULL;
	__attribute__((cleanup(cleanup_file))) struct hawk_symbol_file *file =
		calloc(1, sizeof(*file));
	if (!file)
		return &hawk_enomem;
	file->vdso_start = key->vdso_start;
	file->main = key->main;
	file->build_id_bytes = key->build_id_bytes;
	memcpy(file->build_id, key->build_id, key->build_id_bytes);
	file->path = hawk_strings_intern(&symbols->strings, key->path, strlen(key->path));
	if (!file->path)
		return &hawk_enomem;
	if (symbols->answers)
		hawk_answers_load(symbols, file);
	else
		err = load_and_note(symbols, named, file);
	if (err)
		return err;
	if (!tsearch(file, &symbols->files, hawk_symbols_compare_files))
		return &hawk_enomem;
	*ret = take_ptr(&file);
	return NULL;
}

struct hawk_error *hawk_symbols_file(struct hawk_symbols *symbols,
				     const struct hawk_symbol_module *module,
				     struct hawk_symbol_file **ret)
{
	struct hawk_symbol_module named = one_name(symbols, module);
	struct hawk_symbol_file key = key_of(symbols, &named);

	return open_file(symbols, &named, &key, ret);
}

struct hawk_error *hawk_symbols_open_answers(struct hawk_symbols *symbols,
					     const struct hawk_symbol_file *key)
{
	struct hawk_symbol_file *file;

	return open_file(symbols, NULL, key, &file);
}

uint64_t hawk_symbols_bias(const struct hawk_symbol_file *file,
			   const struct hawk_symbol_module *module)
{
	if (module->bias != HAWK_SYMBOL_BIAS_UNKNOWN)
		return module->bias;
	return file->has_layout ? module->start - file->first_page : module->start;
}

const struct hawk_cfi *hawk_symbols_file_cfi(struct hawk_symbol_file *file)
{
	if (!file->cfi_tried)
		file->cfi = hawk_cfi_create(file->binary, file->debug);
	file->cfi_tried = true;
	return file->cfi;
}

enum hawk_symbol_status hawk_symbols_status(const struct hawk_symbols *symbols,
					    const struct hawk_symbol_module *module)
{
	struct hawk_symbol_module named = one_name(symbols, module);
	struct hawk_symbol_file key = key_of(symbols, &named);
	const struct hawk_symbol_file *file = find_file(symbols, &key);

	return file ? file->status : HAWK_SYMBOL_UNUSED;
}

/** Makes an interned copy; NULL stays NULL. Returns false if memory runs out. */
static bool copy_string(struct hawk_symbols *symbols, const char *from, const char **to)
{
	*to = from && from[0] ? hawk_strings_intern(&symbols->strings, from, strlen(from)) : NULL;
	return *to || !from || !from[0];
}

static bool copy_options(struct hawk_symbols *symbols, const struct hawk_symbols_options *options)
{
	const char *system = options->system_debug_directory;

	return copy_string(symbols, options->sysroot, &symbols->search.sysroot) &&
	       copy_string(symbols, system ? system : "/usr/lib/debug",
			   &symbols->search.system_debug_directory) &&
	       copy_string(symbols, options->debug_directory, &symbols->search.debug_directory) &&
	       copy_string(symbols, options->executable, &symbols->search.executable);
}

static bool add_far_places(struct hawk_symbols *symbols, const struct hawk_symbols_options *options)
{
	const struct hawk_debuginfod_settings settings = {
		.bytes_max = options->download_bytes_max,
		.patience_ns = DOWNLOAD_PATIENCE_NS,
	};
	struct hawk_symbols_search *search = &symbols->search;
	const char *directory;

	if (!copy_string(symbols, options->module_directory, &directory))
		return false;
	if (directory)
		search->modules = hawk_module_tree_create(directory);
	if (settings.bytes_max)
		search->debuginfod = hawk_debuginfod_create(&settings);
	return (!directory || search->modules) && (!settings.bytes_max || search->debuginfod);
}

/** Takes file data from the target. Reads a live process's vdso now, before it may run on. */
static struct hawk_error *use_target(struct hawk_symbols *symbols)
{
	const struct hawk_process *process = hawk_target_process(symbols->target);
	const struct hawk_module *modules;
	char root[64];
	size_t count;

	if (!copy_string(symbols, process->program, &symbols->search.program))
		return &hawk_enomem;
	if (!process->live)
		return NULL;
	snprintf(root, sizeof(root), "/proc/%u/root", process->pid);
	if (!symbols->search.sysroot && !copy_string(symbols, root, &symbols->search.root))
		return &hawk_enomem;
	modules = hawk_target_modules(symbols->target, &count);
	for (size_t i = 0; i < count; i++) {
		struct hawk_symbol_module module = hawk_symbol_module_of(&modules[i]);
		struct hawk_symbol_file *file;
		struct hawk_error *err;

		err = modules[i].vdso ? hawk_symbols_file(symbols, &module, &file) : NULL;
		if (err)
			return err;
	}
	return NULL;
}

struct hawk_error *hawk_symbols_create(const struct hawk_target *target,
				       const struct hawk_symbols_options *options,
				       struct hawk_findings *findings, struct hawk_symbols **ret)
{
	struct hawk_error *err;

	hawk_dwarf_reserve_stack();
	elf_version(EV_CURRENT);
	__attribute__((cleanup(cleanup_symbols))) struct hawk_symbols *symbols =
		calloc(1, sizeof(*symbols));
	if (!symbols)
		return &hawk_enomem;
	symbols->target = target;
	symbols->search.target = target;
	symbols->search.findings = findings;
	hawk_strings_init(&symbols->strings);
	hawk_text_init(&symbols->scratch);
	if (options && !(copy_options(symbols, options) && add_far_places(symbols, options)))
		return &hawk_enomem;
	if (target && hawk_target_snapshot(target))
		err = hawk_answers_read(hawk_target_snapshot(target), symbols);
	else
		err = target ? use_target(symbols) : NULL;
	if (err)
		return err;
	*ret = take_ptr(&symbols);
	return NULL;
}

const char *hawk_symbols_intern(struct hawk_symbols *symbols, const char *string)
{
	return hawk_strings_intern(&symbols->strings, string, strlen(string));
}

void hawk_symbols_each_string(const struct hawk_symbols *symbols,
			      hawk_symbols_string_function *take, void *context)
{
	for (size_t i = 0; i < symbols->strings.slot_count; i++)
		if (symbols->strings.slots[i])
			take(context, symbols->strings.slots[i]);
}
