/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Unpacks debug sections that are compressed with zstd: elfutils reads them from 0.189 on, and only
 * if it was built so. The copy of the file has their contents at its end, and section headers that
 * say so.
 *
 * Sizes in the file are hostile: the copy is limited, and a section must unpack to the size stated.
 */
#include "elf.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/target/decoder.h"

enum {
	COMPRESSION_ZSTD = 2, /* ELFCOMPRESS_ZSTD; elf.h of glibc 2.36 does not have it */
	SECTIONS_MAX = 1 << 16,
	ALIGNMENT = 16,
};

static const uint64_t COPY_BYTES_MAX = UINT64_C(4) << 30;

/** Returns true if section header `i` is that of a section compressed with zstd. */
static bool read_packed(const struct hawk_elf *elf, size_t i, Elf64_Shdr *section,
			Elf64_Chdr *compression)
{
	Elf64_Ehdr header;
	uint64_t offset;

	memcpy(&header, elf->image, sizeof(header));
	offset = header.e_shoff + i * sizeof(*section);
	if (header.e_shentsize != sizeof(*section) || offset < header.e_shoff ||
	    offset > elf->image_bytes || sizeof(*section) > elf->image_bytes - offset)
		return false;
	memcpy(section, elf->image + offset, sizeof(*section));
	if (!(section->sh_flags & SHF_COMPRESSED) || section->sh_type == SHT_NOBITS ||
	    section->sh_offset > elf->image_bytes ||
	    section->sh_size > elf->image_bytes - section->sh_offset ||
	    section->sh_size < sizeof(*compression))
		return false;
	memcpy(compression, elf->image + section->sh_offset, sizeof(*compression));
	return compression->ch_type == COMPRESSION_ZSTD;
}

static size_t section_count(const struct hawk_elf *elf)
{
	size_t count;

	if (elf_getshdrnum(elf->elf, &count) != 0)
		return 0;
	return count < SECTIONS_MAX ? count : SECTIONS_MAX;
}

static uint64_t align(uint64_t size)
{
	return (size + ALIGNMENT - 1) & -(uint64_t)ALIGNMENT;
}

/** Returns the size of the copy; 0 = nothing is compressed with zstd. */
static uint64_t copy_bytes(const struct hawk_elf *elf, size_t count)
{
	uint64_t bytes = align(elf->image_bytes);
	bool any = false;

	for (size_t i = 0; i < count && bytes <= COPY_BYTES_MAX; i++) {
		Elf64_Chdr compression;
		Elf64_Shdr section;

		if (!read_packed(elf, i, &section, &compression))
			continue;
		if (compression.ch_size > COPY_BYTES_MAX)
			return UINT64_MAX;
		bytes += align(compression.ch_size);
		any = true;
	}
	return any ? bytes : 0;
}

/** Unpacks exactly `to_bytes`; returns NULL or why not. */
static const char *unpack(const uint8_t *from, size_t bytes, uint8_t *to, size_t to_bytes)
{
	struct hawk_decoder *decoder;
	struct hawk_error *err;
	size_t got;

	if (!hawk_decoder_format(from, bytes))
		return "this hawk-core cannot unpack it";
	err = hawk_decoder_create(from, bytes, &decoder);
	if (hawk_error_swallow(err))
		return "there is too little memory to unpack it";
	hawk_decoder_read(decoder, to, to_bytes, &got);
	hawk_decoder_destroy(decoder);
	return got == to_bytes ? NULL : "it is damaged";
}

static const char *unpack_all(const struct hawk_elf *elf, size_t count, uint8_t *copy)
{
	uint64_t at = align(elf->image_bytes);
	const char *why = NULL;
	Elf64_Ehdr header;

	memcpy(copy, elf->image, elf->image_bytes);
	memcpy(&header, elf->image, sizeof(header));
	for (size_t i = 0; i < count && !why; i++) {
		Elf64_Chdr compression;
		Elf64_Shdr section;

		if (!read_packed(elf, i, &section, &compression))
			continue;
		why = unpack(elf->image + section.sh_offset + sizeof(compression),
			     section.sh_size - sizeof(compression), copy + at, compression.ch_size);
		section.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
		section.sh_offset = at;
		section.sh_size = compression.ch_size;
		section.sh_addralign = compression.ch_addralign;
		memcpy(copy + header.e_shoff + i * sizeof(section), &section, sizeof(section));
		at += align(compression.ch_size);
	}
	return why;
}

struct hawk_error *hawk_elf_unpack(const struct hawk_elf *elf, const char **why,
				   struct hawk_elf **ret)
{
	size_t count = section_count(elf);
	uint64_t bytes = copy_bytes(elf, count);

	*why = bytes > COPY_BYTES_MAX ? "it is larger than 4 GiB unpacked" : NULL;
	if (!bytes || *why)
		return NULL;
	CLEANUP(free_ptr) uint8_t *copy = calloc(1, bytes);
	*why = copy ? unpack_all(elf, count, copy) : "there is too little memory to unpack it";
	if (*why)
		return NULL;
	return hawk_elf_from_image(elf->path, take_ptr(&copy), bytes, why, ret);
}
