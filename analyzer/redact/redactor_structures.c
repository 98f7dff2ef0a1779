/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds structures in memory from which answers, or gdb, read numbers and names. They come from the
 * core and may be damaged: parts outside memory are dropped, and lists are followed up to there.
 */
#include "redactor.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/libc/stacks.h"
#include "hawk/target/links.h"

enum {
	HEADERS_MAX = 128,           /* program headers of a module */
	SECTION_BYTES_MAX = 1 << 16, /* of notes, of a dynamic section */
	VDSO_BYTES_MAX = 1 << 16,
};

static bool read_exactly(const struct hawk_redactor *redactor, uint64_t address, void *to,
			 size_t bytes)
{
	return address && hawk_target_read_some(redactor->target, address, to, bytes) == bytes;
}

static struct hawk_error *add_bytes(struct hawk_redactor *redactor, uint64_t start, uint64_t bytes)
{
	return hawk_redactor_add_span(redactor, start,
				      bytes < UINT64_MAX - start ? start + bytes : UINT64_MAX);
}

static struct hawk_error *add_name(struct hawk_redactor *redactor, uint64_t address)
{
	char name[HAWK_LINK_NAME_BYTES_MAX];
	size_t size = hawk_target_read_some(redactor->target, address, name, sizeof(name));

	return add_bytes(redactor, address, strnlen(name, size));
}

/* Adds the loader's list of modules, by which gdb finds them. */
static struct hawk_error *add_links(struct hawk_redactor *redactor, uint64_t head)
{
	struct hawk_error *err = add_bytes(redactor, head, HAWK_LINKS_HEAD_BYTES);
	uint64_t at = hawk_links_first(redactor->target, head);
	struct hawk_link link;

	for (unsigned i = 0; !err && i < HAWK_LINKS_MAX; i++) {
		if (!hawk_link_read(redactor->target, at, &link))
			break;
		err = add_bytes(redactor, at, sizeof(link));
		if (!err)
			err = add_name(redactor, link.name);
		at = link.next;
	}
	return err;
}

static struct hawk_error *add_dynamic(struct hawk_redactor *redactor, uint64_t start,
				      uint64_t bytes)
{
	struct hawk_error *err;
	Elf64_Dyn entry;

	if (bytes > SECTION_BYTES_MAX)
		bytes = SECTION_BYTES_MAX;
	err = add_bytes(redactor, start, bytes);
	for (uint64_t at = 0; !err && at + sizeof(entry) <= bytes; at += sizeof(entry)) {
		if (!read_exactly(redactor, start + at, &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_DEBUG && entry.d_un.d_ptr)
			err = add_links(redactor, entry.d_un.d_ptr);
	}
	return err;
}

static struct hawk_error *add_segment(struct hawk_redactor *redactor,
				      const struct hawk_module *module, const Elf64_Phdr *program)
{
	uint64_t start = module->bias + program->p_vaddr;
	uint64_t bytes = program->p_memsz;

	if (program->p_type == PT_DYNAMIC)
		return add_dynamic(redactor, start, bytes);
	if (program->p_type != PT_NOTE)
		return NULL;
	return add_bytes(redactor, start, bytes < SECTION_BYTES_MAX ? bytes : SECTION_BYTES_MAX);
}

static struct hawk_error *add_module(struct hawk_redactor *redactor,
				     const struct hawk_module *module)
{
	Elf64_Phdr programs[HEADERS_MAX];
	struct hawk_error *err;
	Elf64_Ehdr header;
	size_t bytes;

	if (module->vdso && module->end - module->start <= VDSO_BYTES_MAX)
		return hawk_redactor_add_span(redactor, module->start, module->end);
	if (!read_exactly(redactor, module->start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum > HEADERS_MAX ||
	    header.e_phentsize != sizeof(*programs))
		return NULL;
	bytes = header.e_phnum * sizeof(*programs);
	if (!read_exactly(redactor, module->start + header.e_phoff, programs, bytes))
		return NULL;
	err = add_bytes(redactor, module->start, sizeof(header));
	if (!err)
		err = add_bytes(redactor, module->start + header.e_phoff, bytes);
	for (size_t i = 0; !err && module->has_bias && i < header.e_phnum; i++)
		err = add_segment(redactor, module, &programs[i]);
	return err;
}

static struct hawk_error *add_modules(struct hawk_redactor *redactor)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(redactor->target, &count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		err = add_module(redactor, &modules[i]);
	return err;
}

static struct hawk_error *add_descriptors(struct hawk_redactor *redactor)
{
	CLEANUP(free_ptr) struct hawk_span *spans = NULL;
	size_t count = 0;
	struct hawk_error *err = hawk_stacks_numbers(redactor->target, &spans, &count);

	for (size_t i = 0; !err && i < count; i++)
		err = hawk_redactor_add_span(redactor, spans[i].start, spans[i].end);
	return err;
}

static struct hawk_error *keep(void *context, uint64_t start, uint64_t end)
{
	return hawk_redactor_add_span(context, start, end);
}

struct hawk_error *hawk_redactor_find_structures(struct hawk_redactor *redactor)
{
	struct hawk_error *err = hawk_heap_keep(redactor->heap, keep, redactor);

	if (!err)
		err = add_modules(redactor);
	if (!err)
		err = add_descriptors(redactor);
	if (!err)
		hawk_redactor_finish_spans(redactor);
	return err;
}
