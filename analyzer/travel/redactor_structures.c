/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Structures in memory that answers, or gdb, read numbers and names from. Everything found is of
 * the core, and may be damaged: it is kept as far as it lies in memory, and lists are followed so
 * far.
 */
#include "redactor.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/libc/chunk.h"
#include "hawk/libc/stacks.h"
#include "hawk/target/extent.h"
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

/* A damaged length must not keep what lies behind the tracer's memory. */
static bool is_mapped(const struct hawk_redactor *redactor, const struct hawk_table_extent *extent)
{
	struct hawk_extent memory;

	return hawk_extent_at(redactor->target, extent->address, &memory) &&
	       extent->bytes <= memory.end - extent->address;
}

/* The table whole: names in it (paths, scopes, types, options) are those of the program. */
static struct hawk_error *add_table(struct hawk_redactor *redactor)
{
	const struct hawk_table *table = redactor->heap->table;
	size_t count = 0;
	const struct hawk_table_extent *extents = table ? hawk_table_extents(table, &count) : NULL;
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		if (extents[i].kind != HAWK_EXTENT_PRIVATE &&
		    extents[i].kind != HAWK_EXTENT_BOOTSTRAP && is_mapped(redactor, &extents[i]))
			err = add_bytes(redactor, extents[i].address, extents[i].bytes);
	return err;
}

static struct hawk_error *add_name(struct hawk_redactor *redactor, uint64_t address)
{
	char name[HAWK_LINK_NAME_BYTES_MAX];
	size_t size = hawk_target_read_some(redactor->target, address, name, sizeof(name));

	return add_bytes(redactor, address, strnlen(name, size));
}

/* The loader's list of modules, by which gdb finds them. */
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

/* The sizes by which hawk_heap_source.extent knows where the block's heap begins and ends. */
static struct hawk_error *add_part(struct hawk_redactor *redactor, uint64_t start)
{
	struct hawk_span numbers[HAWK_CHUNK_NUMBERS];
	uint64_t word, log2;
	struct hawk_error *err = NULL;
	size_t count;

	if (!read_exactly(redactor, start - HAWK_HEADER_BYTES, &word, sizeof(word)))
		return NULL;
	log2 = 4 + hawk_header_offset_code(word);
	if (log2 == 4 + HAWK_OFFSET_LARGE &&
	    !read_exactly(redactor, start - HAWK_HEADER_BYTES - sizeof(log2), &log2, sizeof(log2)))
		return NULL;
	count = hawk_chunk_numbers(redactor->target, start - (UINT64_C(1) << log2 % 64), numbers);
	for (size_t i = 0; !err && i < count; i++)
		err = hawk_redactor_add_span(redactor, numbers[i].start, numbers[i].end);
	return err;
}

/* Only the first block of a heap is asked. */
static struct hawk_error *add_heaps(struct hawk_redactor *redactor)
{
	const struct hawk_heap_source *source = redactor->heap->source;
	const struct hawk_block_index *index = &redactor->heap->index;
	const struct hawk_mapping *mapping = NULL;
	struct hawk_span part = {0};
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; !err && i < index->count; i++) {
		const struct hawk_block block = {.start = hawk_block_start(index, i),
						 .size = hawk_block_size(index, i)};
		uint64_t start = block.start;
		bool same = mapping && start < mapping->end;

		if (same && start < part.end)
			continue;
		if (!same)
			mapping = hawk_target_mapping_at(redactor->target, start);
		if (source->extent(redactor->target, &block, &part))
			err = add_part(redactor, start);
		else
			part.end = 0;
	}
	return err;
}

struct hawk_error *hawk_redactor_find_structures(struct hawk_redactor *redactor)
{
	struct hawk_error *err = add_table(redactor);

	if (!err)
		err = add_modules(redactor);
	if (!err)
		err = add_descriptors(redactor);
	if (!err && redactor->heap->knows && redactor->heap->source->extent)
		err = add_heaps(redactor);
	if (!err)
		hawk_redactor_finish_spans(redactor);
	return err;
}
