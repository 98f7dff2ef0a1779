/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading ELF images out of a target's memory.
 */
#include "target_state.h"

#include <elf.h>
#include <string.h>

#include "hawk/base/cursor.h"

enum { NOTE_BYTES_MAX = 4096 };

static uint64_t page_start(const struct hawk_target *target, uint64_t address)
{
	return address & -target->process.page_bytes;
}

static uint64_t page_end(const struct hawk_target *target, uint64_t address)
{
	return page_start(target, address + target->process.page_bytes - 1);
}

static bool header_fits(const struct hawk_target *target, const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == target->arch->machine &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
	       header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum &&
	       header->e_phnum <= HAWK_ELF_IMAGE_HEADERS_MAX && header->e_phoff < UINT64_C(1) << 32;
}

/** Returns the load that maps the file's first page, and so the header, else the first load. */
static const Elf64_Phdr *header_load(const struct hawk_target *target, const Elf64_Phdr *programs,
				     size_t count)
{
	const Elf64_Phdr *first = NULL;

	for (size_t i = 0; i < count; i++) {
		if (programs[i].p_type != PT_LOAD)
			continue;
		if (page_start(target, programs[i].p_offset) == 0)
			return &programs[i];
		if (!first)
			first = &programs[i];
	}
	return first;
}

static bool add_load(const struct hawk_target *target, struct hawk_elf_image *image,
		     const Elf64_Phdr *program)
{
	const uint64_t bytes_max = hawk_arch_address_end(target->arch); /* the kernel lies beyond */
	struct hawk_elf_load *load = &image->loads[image->load_count];

	if (!program->p_memsz)
		return true;
	if (program->p_vaddr > bytes_max || program->p_memsz > bytes_max ||
	    program->p_filesz > program->p_memsz)
		return false;
	load->start = image->bias + page_start(target, program->p_vaddr);
	load->end = image->bias + page_end(target, program->p_vaddr + program->p_memsz);
	load->file_end = image->bias + page_end(target, program->p_vaddr + program->p_filesz);
	load->file_offset = page_start(target, program->p_offset);
	load->flags = (program->p_flags & PF_R ? HAWK_MAPPING_READ : 0u) |
		      (program->p_flags & PF_W ? HAWK_MAPPING_WRITE : 0u) |
		      (program->p_flags & PF_X ? HAWK_MAPPING_EXEC : 0u);
	if (load->start >= load->end)
		return false;
	if (!image->load_count || load->start < image->start)
		image->start = load->start;
	if (load->end > image->end)
		image->end = load->end;
	image->load_count++;
	return true;
}

static bool find_build_id(struct hawk_elf_image *image, const void *bytes, size_t size,
			  size_t alignment)
{
	struct hawk_cursor cursor = hawk_cursor_over(bytes, size);

	while (hawk_cursor_left(&cursor) >= sizeof(Elf64_Nhdr)) {
		uint32_t owner_bytes = hawk_cursor_u32(&cursor);
		uint32_t note_bytes = hawk_cursor_u32(&cursor);
		uint32_t type = hawk_cursor_u32(&cursor);
		const char *owner = hawk_cursor_bytes(&cursor, owner_bytes);
		const void *note;

		hawk_cursor_align(&cursor, alignment);
		note = hawk_cursor_bytes(&cursor, note_bytes);
		if (!owner || !note)
			return false;
		if (type == NT_GNU_BUILD_ID && owner_bytes == 4 && !memcmp(owner, "GNU", 4) &&
		    note_bytes && note_bytes <= sizeof(image->build_id)) {
			memcpy(image->build_id, note, note_bytes);
			image->build_id_bytes = note_bytes;
			return true;
		}
		hawk_cursor_align(&cursor, alignment);
	}
	return false;
}

static void read_notes(const struct hawk_target *target, struct hawk_elf_image *image,
		       const Elf64_Phdr *program)
{
	uint8_t bytes[NOTE_BYTES_MAX];
	size_t size = program->p_memsz < sizeof(bytes) ? program->p_memsz : sizeof(bytes);

	size = hawk_target_read_some(target, image->bias + program->p_vaddr, bytes, size);
	find_build_id(image, bytes, size, program->p_align == 8 ? 8 : 4);
}

bool hawk_elf_image_read(const struct hawk_target *target, uint64_t address,
			 struct hawk_elf_image *ret)
{
	Elf64_Phdr programs[HAWK_ELF_IMAGE_HEADERS_MAX];
	const Elf64_Phdr *first;
	Elf64_Ehdr header;
	size_t bytes;

	if (hawk_target_read_some(target, address, &header, sizeof(header)) != sizeof(header) ||
	    !header_fits(target, &header))
		return false;
	bytes = header.e_phnum * sizeof(*programs);
	if (hawk_target_read_some(target, address + header.e_phoff, programs, bytes) != bytes)
		return false;
	first = header_load(target, programs, header.e_phnum);
	if (!first)
		return false;
	*ret = (struct hawk_elf_image){.bias = address - page_start(target, first->p_vaddr)};
	if (header.e_type == ET_EXEC && ret->bias)
		return false;
	for (size_t i = 0; i < header.e_phnum; i++) {
		const Elf64_Phdr *program = &programs[i];

		if (program->p_type == PT_LOAD && !add_load(target, ret, program))
			return false;
		if (program->p_type == PT_DYNAMIC)
			ret->dynamic = ret->bias + program->p_vaddr;
		if (program->p_type == PT_NOTE && !ret->build_id_bytes)
			read_notes(target, ret, program);
	}
	return ret->load_count && ret->start <= address && address < ret->end;
}
