/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finding the section and unpacking it. The size of the result is not known beforehand and the
 * input is foreign, so that the memory of the decoder and of its output are bounded.
 */
#include "symbols_embedded.h"

#include <stdlib.h>
#include <string.h>

#include <gelf.h>
#include <lzma.h>

enum {
	FIRST_BYTES = 1 << 20,
	OUTPUT_BYTES_MAX = 256 << 20,
	DECODER_BYTES_MAX = 128 << 20,
};

/** The whole of `input` into a growing buffer; false = damaged, too large, or out of memory. */
static bool decode(lzma_stream *stream, uint8_t **output, size_t *bytes)
{
	size_t capacity = 0;
	lzma_ret result = LZMA_OK;

	while (result == LZMA_OK) {
		uint8_t *bigger;

		if (capacity >= OUTPUT_BYTES_MAX)
			return false;
		capacity = capacity ? 2 * capacity : FIRST_BYTES;
		bigger = realloc(*output, capacity);
		if (!bigger)
			return false;
		*output = bigger;
		stream->next_out = bigger + stream->total_out;
		stream->avail_out = capacity - (size_t)stream->total_out;
		while (result == LZMA_OK && stream->avail_out)
			result = lzma_code(stream, LZMA_FINISH);
	}
	*bytes = (size_t)stream->total_out;
	return result == LZMA_STREAM_END && *bytes;
}

static uint8_t *unpack(const uint8_t *packed, size_t packed_bytes, size_t *bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *output = NULL;
	bool ok;

	if (lzma_stream_decoder(&stream, DECODER_BYTES_MAX, 0) != LZMA_OK)
		return NULL;
	stream.next_in = packed;
	stream.avail_in = packed_bytes;
	ok = decode(&stream, &output, bytes);
	lzma_end(&stream);
	if (ok)
		return output;
	free(output);
	return NULL;
}

static Elf_Data *find_section(const struct hawk_elf *binary)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(binary->elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(binary->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(binary->elf, names, header.sh_name);
		if (name && strcmp(name, ".gnu_debugdata") == 0)
			return elf_rawdata(section, NULL);
	}
	return NULL;
}

struct hawk_error *hawk_elf_open_embedded(const struct hawk_elf *binary, struct hawk_elf **ret)
{
	Elf_Data *data = find_section(binary);
	enum hawk_elf_state state;
	const char *why;
	uint8_t *image;
	size_t bytes;

	if (!data || !data->d_buf)
		return NULL;
	image = unpack(data->d_buf, data->d_size, &bytes);
	if (!image)
		return NULL;
	return hawk_elf_from_image(binary->path, image, bytes, &state, &why, ret);
}
