/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The front of a core: ELF header, program headers and notes.
 *
 *     | ELF header | PT_NOTE, PT_LOAD ... | section header if 65,535 or more | notes | 0 ... 0 |
 */
#include "dump.h"

#include <elf.h>

#include "hawk/base/cleanup.h"
#include "hawk/target/core_headers.h"

#include <stdlib.h>
#include <string.h>

static Elf64_Ehdr make_header(const struct hawk_arch *arch)
{
	return (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = arch->machine,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
	};
}

static Elf64_Word segment_rights(uint32_t flags)
{
	return (flags & HAWK_MAPPING_READ ? PF_R : 0u) | (flags & HAWK_MAPPING_WRITE ? PF_W : 0u) |
	       (flags & HAWK_MAPPING_EXEC ? PF_X : 0u);
}

static void put_loads(const struct hawk_dump_segment *segments, size_t count, uint64_t page_bytes,
		      uint64_t offset, Elf64_Phdr *to)
{
	for (size_t i = 0; i < count; i++) {
		to[i] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_offset = offset,
			.p_vaddr = segments[i].start,
			.p_filesz = segments[i].bytes,
			.p_memsz = segments[i].end - segments[i].start,
			.p_flags = segment_rights(segments[i].flags),
			.p_align = page_bytes,
		};
		offset += segments[i].bytes;
	}
}

struct hawk_error *hawk_dump_headers(const struct hawk_arch *arch, uint64_t page_bytes,
				     const struct hawk_dump_segment *segments, size_t count,
				     const struct hawk_text *notes, struct hawk_file_sink *sink)
{
	CLEANUP(free_ptr) Elf64_Phdr *programs = calloc(count + 1, sizeof(*programs));
	Elf64_Ehdr header = make_header(arch);
	const uint64_t end = sizeof(header) + (count + 1) * sizeof(*programs);
	Elf64_Shdr section;
	uint64_t at = end, data;
	struct hawk_error *err;

	if (!programs)
		return &hawk_enomem;
	if (hawk_core_headers_state(count + 1, end, &header, &section))
		at += sizeof(section);
	data = (at + notes->size + page_bytes - 1) & -page_bytes;
	programs[0] = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_offset = at, .p_filesz = notes->size, .p_align = 4};
	put_loads(segments, count, page_bytes, data, programs + 1);
	err = hawk_file_sink_write(sink, &header, sizeof(header));
	if (!err)
		err = hawk_file_sink_write(sink, programs, (count + 1) * sizeof(*programs));
	if (!err && at > end)
		err = hawk_file_sink_write(sink, &section, sizeof(section));
	if (!err)
		err = hawk_file_sink_write(sink, notes->bytes, notes->size);
	return err ? err : hawk_file_sink_skip(sink, data - at - notes->size);
}
