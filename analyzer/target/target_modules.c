/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds modules: mapped ELF files, by the ELF header at the start of a mapping. If the core lacks
 * that page, neighbouring mappings of one path form a module if one of them is executable.
 *
 * A file mapped as data only (a debugger's view of a library) is no module: its mappings are not
 * executable where its program headers have code.
 */
#include "target_state.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/target/links.h"

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

/** Returns true if every executable load is mapped at its address in the program headers. */
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
	if (target->auxv.vdso && first->start == target->auxv.vdso) {
		module->vdso = true;
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

enum {
	DYNAMIC_MAX = 1024,
	HEADERS_MAX = 128,
};

static bool read_exactly(const struct hawk_target *target, uint64_t address, void *to, size_t bytes)
{
	return address && hawk_target_read_some(target, address, to, bytes) == bytes;
}

/** Returns the address of the executable's PT_DYNAMIC, or 0. */
static uint64_t find_dynamic(const struct hawk_target *target)
{
	const struct hawk_module *module =
		hawk_target_module_at(target, target->auxv.program_headers);
	uint64_t count = target->auxv.program_header_count;
	uint64_t dynamic = 0;
	uint64_t bias = module && module->has_bias ? module->bias : 0;

	for (uint64_t i = 0; i < count && i < HEADERS_MAX; i++) {
		uint64_t address = target->auxv.program_headers + i * sizeof(Elf64_Phdr);
		Elf64_Phdr header;

		if (!target->auxv.program_headers ||
		    !read_exactly(target, address, &header, sizeof(header)))
			return 0;
		if (header.p_type == PT_PHDR)
			bias = target->auxv.program_headers - header.p_vaddr;
		if (header.p_type == PT_DYNAMIC)
			dynamic = header.p_vaddr;
	}
	return dynamic ? bias + dynamic : 0;
}

/** Returns the address of the first link, or 0. */
static uint64_t find_first_link(const struct hawk_target *target)
{
	uint64_t dynamic = find_dynamic(target);

	for (size_t i = 0; i < DYNAMIC_MAX; i++) {
		Elf64_Dyn entry;

		if (!read_exactly(target, dynamic, &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
			return 0;
		if (entry.d_tag == DT_DEBUG)
			return hawk_links_first(target, entry.d_un.d_ptr);
		dynamic += sizeof(entry);
	}
	return 0;
}

/** Reads the link's name, "" if it cannot be read; NULL = out of memory. */
static const char *read_name(struct hawk_target *target, const struct hawk_link *link)
{
	char name[HAWK_LINK_NAME_BYTES_MAX];
	size_t bytes = hawk_target_read_some(target, link->name, name, sizeof(name));

	if (!link->name || !bytes || !memchr(name, 0, bytes) || !name[0])
		return "";
	return hawk_target_string(target, name, strlen(name));
}

/** Returns the mapping where the image of `link` starts: that of its bias, since libraries are
 * linked at 0. */
static const struct hawk_mapping *first_mapping(const struct hawk_target *target,
						const struct hawk_link *link)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, link->bias);

	if (link->bias && mapping && mapping->start == link->bias && link->bias <= link->dynamic)
		return mapping;
	return hawk_target_mapping_at(target, link->dynamic);
}

/** Adds a module that only the list knows. It must not overlap another one. */
static struct hawk_error *add_module(struct hawk_target *target, const struct hawk_link *link)
{
	const struct hawk_mapping *first = first_mapping(target, link);
	const struct hawk_mapping *last = hawk_target_mapping_at(target, link->dynamic);
	struct hawk_module *module;

	if (!first || !last)
		return NULL;
	for (size_t i = 0; i < target->module_count; i++)
		if (target->modules[i].start < last->end && first->start < target->modules[i].end)
			return NULL;
	module = hawk_target_add_module(target);
	if (!module)
		return &hawk_enomem;
	module->start = first->start;
	module->end = last->end;
	module->bias = link->bias;
	module->has_bias = true;
	module->path = read_name(target, link);
	return module->path ? NULL : &hawk_enomem;
}

/** Uses a link: it completes one of the `known` modules, or adds a new one. Modules added meanwhile
 * follow the sorted ones. */
static struct hawk_error *use_link(struct hawk_target *target, size_t known,
				   const struct hawk_link *link)
{
	struct hawk_module *module = NULL;

	for (size_t i = 0; i < known && !module; i++)
		if (link->dynamic >= target->modules[i].start &&
		    link->dynamic < target->modules[i].end)
			module = &target->modules[i];
	if (!module)
		return target->files_known ? NULL : add_module(target, link);
	if (!module->has_bias) {
		module->bias = link->bias;
		module->has_bias = true;
	}
	if (!module->path[0])
		module->path = read_name(target, link);
	return module->path ? NULL : &hawk_enomem;
}

static int compare_start(const void *left, const void *right)
{
	const struct hawk_module *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static bool links_needed(const struct hawk_target *target)
{
	if (!target->files_known)
		return true;
	for (size_t i = 0; i < target->module_count; i++)
		if (!target->modules[i].has_bias)
			return true;
	return false;
}

/**
 * Adds data from the dynamic linker's list of loaded files (link_map) that mappings lack: names if
 * the core has no NT_FILE, and the bias of a module whose header page is not in the core.
 *
 * Followed only when needed. The list lies in the target's writable memory: it may be garbage or a
 * ring, so its length is limited and a link is used only if it points into a mapping.
 */
static struct hawk_error *follow_links(struct hawk_target *target, struct hawk_findings *findings)
{
	size_t known = target->module_count;
	uint64_t address;
	size_t count = 0;

	if (!links_needed(target))
		return NULL;
	address = find_first_link(target);
	for (; address && count < HAWK_LINKS_MAX; count++) {
		struct hawk_error *error;
		struct hawk_link link;

		if (!hawk_link_read(target, address, &link))
			break;
		error = use_link(target, known, &link);
		if (error)
			return error;
		address = link.next;
	}
	if (count == HAWK_LINKS_MAX)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, false, "link-map-endless",
				  "the list of loaded files has more than %d entries or is a ring",
				  HAWK_LINKS_MAX);
	if (target->module_count)
		qsort(target->modules, target->module_count, sizeof(*target->modules),
		      compare_start);
	return NULL;
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
	return follow_links(target, findings);
}
