/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Completes the modules by the dynamic linker's list of loaded files (link_map): names and further
 * modules if the core has no NT_FILE, and the bias of a module whose header page is not in the
 * core.
 *
 * Followed only when needed. The list lies in the target's writable memory: it may be garbage or a
 * ring, so its length is limited and a link is used only if it points into a mapping.
 */
#include "target_state.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/target/links.h"
#include "hawk/target/words.h"

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

/** Searches writable memory for struct r_debug by its last word, the dynamic linker's start: for
 * cores that lack the executable's headers. Returns the first link, or 0. */
static uint64_t search_first_link(const struct hawk_target *target)
{
	enum { VERSION_MAX = 2, LINKER = HAWK_LINKS_HEAD_BYTES - HAWK_WORD_BYTES };
	struct hawk_word_range range;
	struct hawk_words words;
	uint64_t found = 0;

	hawk_words_init(&words, target);
	for (uint64_t at = 0;
	     target->auxv.linker && !found && hawk_words_next(&words, at, UINT64_MAX, &range);
	     at = range.start + range.words * HAWK_WORD_BYTES)
		for (size_t i = 0; !found && i < range.words; i++) {
			uint64_t head = range.start + i * HAWK_WORD_BYTES - LINKER, version, word;

			memcpy(&word, range.bytes + i * HAWK_WORD_BYTES, sizeof(word));
			if (word == target->auxv.linker &&
			    read_exactly(target, head, &version, sizeof(version)) && version &&
			    version <= VERSION_MAX)
				found = hawk_links_first(target, head);
		}
	hawk_words_deinit(&words);
	return found;
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
	uint64_t end = hawk_target_image_end(target, link->dynamic);
	struct hawk_module *module;

	if (!first || !end)
		return NULL;
	for (size_t i = 0; i < target->module_count; i++)
		if (target->modules[i].start < end && first->start < target->modules[i].end)
			return NULL;
	module = hawk_target_add_module(target);
	if (!module)
		return &hawk_enomem;
	module->start = first->start;
	module->end = end;
	module->bias = link->bias;
	module->has_bias = true;
	module->path = read_name(target, link);
	module->origin = HAWK_MODULE_BY_LINK;
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
	if (module->origin == HAWK_MODULE_BY_HEADER)
		module->origin = HAWK_MODULE_BY_LINK;
	if (!module->path[0])
		module->path = read_name(target, link);
	return module->path ? NULL : &hawk_enomem;
}

static int compare_start(const void *left, const void *right)
{
	const struct hawk_module *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

void hawk_target_sort_modules(struct hawk_target *target)
{
	if (target->module_count)
		qsort(target->modules, target->module_count, sizeof(*target->modules),
		      compare_start);
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

struct hawk_error *hawk_target_follow_links(struct hawk_target *target,
					    struct hawk_findings *findings)
{
	size_t known = target->module_count;
	uint64_t address;
	size_t count = 0;

	if (!links_needed(target))
		return NULL;
	address = find_first_link(target);
	if (!address && !target->files_known)
		address = search_first_link(target);
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
	hawk_target_sort_modules(target);
	return NULL;
}
