/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Modules: mapped ELF files, found by the ELF header at the start of a mapping, or, when the core
 * does not hold that page, by neighbouring mappings of one path of which one is executable.
 *
 * A file that is merely mapped as data (a debugger's view of a library) is no module: none of its
 * mappings is executable where its program headers want code.
 */
#include "target_state.h"

#include <stdlib.h>
#include <string.h>

#include "elf_image.h"

/* Far above any real process, whose mappings the kernel limits to 65530. */
enum {
	MODULES_MAX = 16384,
	REMAPPED_MAX = 64, /* pieces of files that are mapped a second time */
};

/** Rights are unknown where only NT_FILE tells of a mapping. */
static bool flags_unknown(const struct hawk_target *target, const struct hawk_mapping *mapping)
{
	return !target->live && !mapping->flags && !mapping->core_offset && mapping->path;
}

static bool same_path(const char *left, const char *right)
{
	return left == right || (left && right && !strcmp(left, right));
}

/** Does `mapping` hold code of the file at `path`? Some programs move theirs to huge pages, which
 * are anonymous. */
static bool holds_code(const struct hawk_target *target, const struct hawk_mapping *mapping,
		       const char *path)
{
	if (mapping->path && !same_path(mapping->path, path))
		return false;
	return mapping->flags & HAWK_MAPPING_EXEC || flags_unknown(target, mapping);
}

/** Every executable load is mapped where the program headers say. */
static bool is_loaded(const struct hawk_target *target, const struct hawk_mapping *first,
		      const struct hawk_elf_image *image)
{
	if (!target->files_known)
		return true;
	for (uint32_t i = 0; i < image->load_count; i++) {
		const struct hawk_elf_load *load = &image->loads[i];
		const struct hawk_mapping *mapping;

		if (!(load->flags & HAWK_MAPPING_EXEC))
			continue;
		mapping = hawk_target_mapping_at(target, load->start);
		if (!mapping || !holds_code(target, mapping, first->path))
			return false;
	}
	return true;
}

/** Rights that only the program headers tell, and what is data by them. */
static void settle_flags(struct hawk_target *target, size_t index, uint64_t end,
			 const struct hawk_elf_image *image)
{
	for (; index < target->mapping_count && target->mappings[index].start < end; index++) {
		struct hawk_mapping *mapping = &target->mappings[index];
		bool unknown = flags_unknown(target, mapping);

		for (uint32_t i = 0; i < image->load_count; i++) {
			const struct hawk_elf_load *load = &image->loads[i];

			if (mapping->start < load->start || mapping->start >= load->end)
				continue;
			mapping->data |= (load->flags & HAWK_MAPPING_WRITE) != 0;
			if (unknown)
				mapping->flags = load->flags;
		}
	}
}

static struct hawk_error *set_path(struct hawk_target *target, struct hawk_module *module,
				   const char *path)
{
	size_t length;

	module->path = "";
	if (!path)
		return NULL;
	length = hawk_path_length(path, &module->deleted);
	module->path = module->deleted ? hawk_target_string(target, path, length) : path;
	return module->path ? NULL : &hawk_enomem;
}

/** Where another file begins, or `end`. */
static uint64_t clip_to_file(const struct hawk_target *target, size_t index, uint64_t end)
{
	const char *path = target->mappings[index].path;

	for (size_t i = index + 1; i < target->mapping_count; i++) {
		const struct hawk_mapping *mapping = &target->mappings[i];

		if (mapping->start >= end)
			break;
		if (mapping->path && !same_path(mapping->path, path))
			return mapping->start;
	}
	return end;
}

static struct hawk_error *add_image(struct hawk_target *target, size_t index,
				    const struct hawk_elf_image *image)
{
	const struct hawk_mapping *first = &target->mappings[index];
	struct hawk_module *module = hawk_target_add_module(target);

	if (!module)
		return &hawk_enomem;
	module->start = first->start;
	module->end = clip_to_file(target, index, image->end);
	module->bias = image->bias;
	module->has_bias = true;
	memcpy(module->build_id, image->build_id, sizeof(module->build_id));
	module->build_id_bytes = image->build_id_bytes;
	settle_flags(target, index, module->end, image);
	if (target->auxv.vdso && first->start == target->auxv.vdso) {
		module->vdso = true;
		module->path = "[vdso]";
		return NULL;
	}
	return set_path(target, module, first->path);
}

/**
 * Neighbouring mappings of one path without a readable header: a module if one of them can be
 * executed. `*next` is the first mapping behind them.
 */
static struct hawk_error *add_group(struct hawk_target *target, size_t index, size_t *next)
{
	const struct hawk_mapping *mappings = target->mappings;
	bool executable = false, writable = false, unknown = false;
	struct hawk_module *module;
	size_t end = index;

	do {
		executable |= mappings[end].flags & HAWK_MAPPING_EXEC;
		writable |= mappings[end].flags & HAWK_MAPPING_WRITE;
		unknown |= flags_unknown(target, &mappings[end]);
		end++;
	} while (end < target->mapping_count && mappings[end].file_offset &&
		 mappings[end].file_offset >= mappings[end - 1].file_offset &&
		 same_path(mappings[end].path, mappings[index].path));
	*next = end;
	if (!executable && !(unknown && writable))
		return NULL;
	if (end < target->mapping_count && !mappings[end].path && writable &&
	    mappings[end].start == mappings[end - 1].end &&
	    mappings[end].flags & HAWK_MAPPING_WRITE)
		*next = ++end; /* .bss */
	module = hawk_target_add_module(target);
	if (!module)
		return &hawk_enomem;
	module->start = mappings[index].start;
	module->end = mappings[end - 1].end;
	return set_path(target, module, mappings[index].path);
}

/** Could an ELF file be loaded at the start of this mapping? Anonymous memory that only contains a
 * copy of one is not taken for it where the mapped files are known. */
static bool may_start_module(const struct hawk_target *target, const struct hawk_mapping *mapping)
{
	if (mapping->path)
		return mapping->file_offset == 0;
	return !target->files_known || (target->auxv.vdso && mapping->start == target->auxv.vdso);
}

static struct hawk_error *add_module_at(struct hawk_target *target, size_t index, size_t *next)
{
	const struct hawk_mapping *mapping = &target->mappings[index];
	struct hawk_elf_image image;
	struct hawk_error *error;

	*next = index + 1;
	if (may_start_module(target, mapping) &&
	    hawk_elf_image_read(target, mapping->start, &image)) {
		if (!is_loaded(target, mapping, &image))
			return NULL;
		error = add_image(target, index, &image);
		while (!error && *next < target->mapping_count &&
		       target->mappings[*next].start <
			       target->modules[target->module_count - 1].end)
			++*next;
		return error;
	}
	return mapping->path ? add_group(target, index, next) : NULL;
}

/** The bias that puts the page at `file_offset` of the file of `image` at `address`. */
static bool find_bias(const struct hawk_elf_image *image, uint64_t file_offset, uint64_t address,
		      uint64_t *bias)
{
	for (uint32_t i = 0; i < image->load_count; i++) {
		const struct hawk_elf_load *load = &image->loads[i];

		if (file_offset < load->file_offset ||
		    file_offset - load->file_offset >= load->end - load->start)
			continue;
		*bias = address - (load->start - image->bias + file_offset - load->file_offset);
		return true;
	}
	return false;
}

/**
 * A piece of a file that is mapped a second time, away from the rest, takes build-id and layout
 * from there (V8 does so with its built-in functions).
 */
static void settle_remapped(struct hawk_target *target, struct hawk_module *piece)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, piece->start);
	struct hawk_elf_image image;

	for (size_t i = 0; mapping && i < target->module_count; i++) {
		const struct hawk_module *whole = &target->modules[i];

		if (!whole->has_bias || whole == piece || !same_path(whole->path, piece->path) ||
		    !hawk_elf_image_read(target, whole->start, &image))
			continue;
		piece->has_bias =
			find_bias(&image, mapping->file_offset, piece->start, &piece->bias);
		memcpy(piece->build_id, whole->build_id, sizeof(piece->build_id));
		piece->build_id_bytes = whole->build_id_bytes;
		return;
	}
}

static void settle_all_remapped(struct hawk_target *target)
{
	size_t count = 0;

	for (size_t i = 0; i < target->module_count && count < REMAPPED_MAX; i++) {
		struct hawk_module *module = &target->modules[i];

		if (module->has_bias || !module->path[0])
			continue;
		settle_remapped(target, module);
		count++;
	}
}

static struct hawk_module *module_with(struct hawk_target *target, uint64_t address)
{
	return address ? (struct hawk_module *)hawk_target_module_at(target, address) : NULL;
}

static void mark_main(struct hawk_target *target)
{
	struct hawk_module *module = module_with(target, target->auxv.program_headers);
	bool deleted;
	size_t length;

	if (!module)
		module = module_with(target, target->auxv.entry);
	for (size_t i = 0; !module && i < target->module_count; i++)
		if (target->process.program[0] &&
		    !strcmp(target->modules[i].path, target->process.program))
			module = &target->modules[i];
	if (!module)
		return;
	module->main = true;
	length = hawk_path_length(target->process.program, &deleted);
	if (!module->path[0] && length)
		module->path = target->process.program;
}

struct hawk_error *hawk_target_find_modules(struct hawk_target *target,
					    struct hawk_findings *findings)
{
	struct hawk_error *error = NULL;
	size_t next;

	for (size_t i = 0; !error && i < target->mapping_count; i = next) {
		if (target->module_count == MODULES_MAX) {
			hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "modules-many",
					  "more than %d modules; the others are left out",
					  MODULES_MAX);
			break;
		}
		error = add_module_at(target, i, &next);
	}
	if (error)
		return error;
	settle_all_remapped(target);
	mark_main(target);
	return hawk_target_follow_links(target, findings);
}
