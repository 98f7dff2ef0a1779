/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the list of program headers. Counts beyond 16 bits are in the first section header, which
 * many writers put at the end of the file, where it is lost first.
 */
#include "hawk/target/core_headers.h"

#include "hawk/base/cursor.h"

/** Returns the real number of program headers if the 16-bit field overflowed; 0 = unknown. */
static uint64_t read_extended_count(const uint8_t *bytes, size_t size, uint64_t section_offset)
{
	struct hawk_cursor cursor = hawk_cursor_over(bytes, size);

	if (!section_offset)
		return 0;
	hawk_cursor_seek(&cursor, section_offset);
	hawk_cursor_skip(&cursor, offsetof(Elf64_Shdr, sh_info));
	return hawk_cursor_u32(&cursor);
}

/** Infers the number of headers if it is lost, at most `held`: the first data ends the list, since
 * no writer puts data before it. */
static uint64_t infer_count(const uint8_t *bytes, size_t size, uint64_t offset, uint64_t held)
{
	struct hawk_cursor cursor = hawk_cursor_over(bytes, size);
	uint64_t count = held;

	hawk_cursor_seek(&cursor, offset);
	for (uint64_t i = 0; i < count && i < HAWK_CORE_SEGMENTS_MAX; i++) {
		Elf64_Phdr header;
		uint64_t fit;

		hawk_cursor_copy(&cursor, &header, sizeof(header));
		if (header.p_offset <= offset)
			continue;
		fit = (header.p_offset - offset) / sizeof(header);
		if (fit < count)
			count = fit > i ? fit : i + 1;
	}
	return count;
}

struct hawk_error *hawk_core_headers_locate(const uint8_t *bytes, size_t size,
					    struct hawk_core_headers *ret)
{
	struct hawk_cursor cursor = hawk_cursor_over(bytes, size);
	uint64_t held = 0;
	Elf64_Ehdr header;

	hawk_cursor_copy(&cursor, &header, sizeof(header));
	if (!header.e_phnum)
		return hawk_error_create(HAWK_ERROR_FORMAT, "is a core without program headers");
	if (header.e_phentsize != sizeof(Elf64_Phdr))
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "is damaged: program headers of %u bytes",
					 header.e_phentsize);
	if (header.e_phoff < size)
		held = (size - header.e_phoff) / sizeof(Elf64_Phdr);
	if (!held)
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "is cut off before its first program header (%zu bytes)",
					 size);
	ret->offset = header.e_phoff;
	ret->listed = header.e_phnum;
	if (header.e_phnum == PN_XNUM)
		ret->listed = read_extended_count(bytes, size, header.e_shoff);
	ret->count = ret->listed && ret->listed < held ? ret->listed : held;
	if (!ret->listed)
		ret->count = infer_count(bytes, size, ret->offset, held);
	return NULL;
}

bool hawk_core_headers_state(uint64_t count, uint64_t section_offset, Elf64_Ehdr *header,
			     Elf64_Shdr *section)
{
	const bool extended = count >= PN_XNUM;

	header->e_phnum = extended ? PN_XNUM : (Elf64_Half)count;
	header->e_shoff = extended ? section_offset : 0;
	header->e_shnum = extended;
	header->e_shentsize = extended ? sizeof(*section) : 0;
	header->e_shstrndx = SHN_UNDEF;
	*section = (Elf64_Shdr){.sh_type = SHT_NULL, .sh_size = 1, .sh_info = (Elf64_Word)count};
	return extended;
}
