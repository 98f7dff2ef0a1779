/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds modules: mapped ELF files, by the ELF header at the start of a mapping. If the core lacks
 * that page, neighbouring mappings of one path form a module if one of them is executable.
 *
 * A file mapped as data only (a debugger's view of a library) is no module: its mappings are not
 * executable where its program headers have code.
 *
 * If the mapped files are unknown (no NT_FILE), the dynamic linker's list names the modules, and
 * their program headers tell which mappings are theirs.
 */
#include "target_state.h"

#include <stdlib.h>
#include <string.h>

/* Far above any real process, whose mappings the kernel limits to 65530. */
enum {
	MODULES_MAX = 16384,
	REMAPPED_MAX = 64, /* pieces of files mapped a second time */
};

/** Returns true if rights are unknown: only NT_FILE lists the mapping. */
static bool flags_unknown(const struct hawk_target *target, const struct hawk_mapping *mapping)
{
	return !target->live && !mapping->flags && !mapping->core_offset && mapping->path;
}

static bool same_path(const char *left, const char *right)
{
	return left == right || (left && right && !strcmp(left, right));
}

/** Returns true if `mapping` holds code of the file at `path`. Some programs move their code to
 * huge pages, which are anonymous. */
static bool holds_code(const struct hawk_target *target, const struct hawk_mapping *mapping,
		       const char *path)
{
	if (mapping->path && !same_path(mapping->path, path))
		return false;
	return mapping->flags & HAWK_MAPPING_EXEC || flags_unknown(target, mapping);
}

/** Returns true if every executable load is mapped at its address in the program headers. Dumpers
 * that do not name files may leave out mappings of code. */
static bool is_loaded(const struct hawk_target *target, const struct hawk_mapping *first,
		      const struct hawk_elf_image *image)
{
	for (uint32_t i = 0; i < image->load_count; i++) {
		const struct hawk_elf_load *load = &image->loads[i];
		const struct hawk_mapping *mapping;

		if (!(load->flags & HAWK_MAPPING_EXEC))
			continue;
		mapping = hawk_target_mapping_at(target, load->start);
		if (!mapping && !target->files_known)
			continue;
		if (!mapping || !holds_code(target, mapping, first->path))
			return false;
	}
	return true;
}

/** Sets unknown rights and the data flag from the program headers. */
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

/** Returns the start of the next file, or `end`. */
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
	module->origin = first->path ? HAWK_MODULE_BY_MAPPING : HAWK_MODULE_BY_HEADER;
	if (target->auxv.vdso && first->start == target->auxv.vdso) {
		module->vdso = true;
		module->origin = HAWK_MODULE_BY_AUXV;
		module->path = "[vdso]";
		return NULL;
	}
	return set_path(target, module, first->path);
}

/**
 * Adds neighbouring mappings of one path without a readable header as a module if one of them is
 * executable. `*next` is the first mapping behind them.
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

/** Returns true if an ELF file may be loaded at the start of this mapping. If the mapped files are
 * known, a copy in anonymous memory does not count. */
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

/** Finds the bias that puts the page at `file_offset` of the file of `image` at `address`. */
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
 * Gives a piece of a file that is mapped a second time the build-id and layout of the first mapping
 * (V8 maps its built-in functions so).
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

uint64_t hawk_target_image_end(const struct hawk_target *target, uint64_t address)
{
	size_t i = hawk_target_mapping_index(target, address);
	uint64_t end = address;

	/* What follows the first writable mapping may be .bss, or the heap. */
	for (; i < target->mapping_count && target->mappings[i].start <= end; i++) {
		end = target->mappings[i].end;
		if (target->mappings[i].flags & HAWK_MAPPING_WRITE)
			break;
	}
	return end > address ? end : 0;
}

/** Adds the executable by the address of its program headers, which the core lacks. */
static struct hawk_error *add_main(struct hawk_target *target)
{
	uint64_t address = target->auxv.program_headers;
	const struct hawk_mapping *first = hawk_target_mapping_at(target, address);
	struct hawk_module *module;

	if (!address || !first || target->files_known || module_with(target, address))
		return NULL;
	module = hawk_target_add_module(target);
	if (!module)
		return &hawk_enomem;
	module->start = first->start;
	module->end = hawk_target_image_end(target, address);
	module->path = "";
	module->origin = HAWK_MODULE_BY_AUXV;
	hawk_target_sort_modules(target);
	return NULL;
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
	if (module->origin == HAWK_MODULE_BY_HEADER)
		module->origin = HAWK_MODULE_BY_AUXV;
	length = hawk_path_length(target->process.program, &deleted);
	if (!module->path[0] && length)
		module->path = target->process.program;
}

/** Gives the mappings of a module the path and offset that NT_FILE would give them. */
static void name_mappings(struct hawk_target *target, const struct hawk_module *module)
{
	struct hawk_elf_image image;

	if (module->vdso || !module->path[0] || !hawk_elf_image_read(target, module->start, &image))
		return;
	for (uint32_t i = 0; i < image.load_count; i++) {
		const struct hawk_elf_load *load = &image.loads[i];
		size_t at = hawk_target_mapping_index(target, load->start);

		for (; at < target->mapping_count; at++) {
			struct hawk_mapping *mapping = &target->mappings[at];

			if (mapping->start >= load->file_end || mapping->start >= module->end)
				break;
			if (mapping->start < load->start)
				continue;
			mapping->path = module->path;
			mapping->file_offset = load->file_offset + mapping->start - load->start;
		}
	}
}

static void name_all_mappings(struct hawk_target *target)
{
	for (size_t i = 0; i < target->module_count; i++)
		name_mappings(target, &target->modules[i]);
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
	error = add_main(target);
	if (error)
		return error;
	mark_main(target);
	error = hawk_target_follow_links(target, findings);
	if (!error && !target->files_known)
		name_all_mappings(target);
	return error;
}
