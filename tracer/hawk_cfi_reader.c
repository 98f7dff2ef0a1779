/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * LEB128 numbers and encoded pointers (Linux Standard Base, "DWARF Exception Header Encoding").
 */
#include "hawk_cfi_reader.h"

enum pointer_encoding {
	ENCODING_ULEB = 0x01,
	ENCODING_UDATA2 = 0x02,
	ENCODING_UDATA4 = 0x03,
	ENCODING_UDATA8 = 0x04,
	ENCODING_SLEB = 0x09,
	ENCODING_SDATA2 = 0x0a,
	ENCODING_SDATA4 = 0x0b,
	ENCODING_SDATA8 = 0x0c,
	ENCODING_ABSOLUTE = 0x00,
	ENCODING_FORMAT_MASK = 0x0f,
	ENCODING_PC_RELATIVE = 0x10,
	ENCODING_DATA_RELATIVE = 0x30,
	ENCODING_BASE_MASK = 0xf0, /**< includes DW_EH_PE_indirect, 0x80 */
};

uint64_t hawk_cfi_uleb(struct hawk_cfi_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint64_t byte = hawk_cfi_number(reader, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

int64_t hawk_cfi_sleb(struct hawk_cfi_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0;;) {
		uint64_t byte = hawk_cfi_number(reader, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (shift < 64 && (byte & 0x40))
			value |= -UINT64_C(1) << shift;
		return (int64_t)value;
	}
}

static uint64_t read_format(struct hawk_cfi_reader *reader, uint8_t format)
{
	switch (format) {
	case ENCODING_ABSOLUTE:
	case ENCODING_UDATA8:
	case ENCODING_SDATA8:
		return hawk_cfi_number(reader, 8);
	case ENCODING_ULEB:
		return hawk_cfi_uleb(reader);
	case ENCODING_SLEB:
		return (uint64_t)hawk_cfi_sleb(reader);
	case ENCODING_UDATA2:
		return hawk_cfi_number(reader, 2);
	case ENCODING_UDATA4:
		return hawk_cfi_number(reader, 4);
	case ENCODING_SDATA2:
		return (uint64_t)hawk_cfi_signed_number(reader, 2);
	case ENCODING_SDATA4:
		return (uint64_t)hawk_cfi_signed_number(reader, 4);
	default:
		reader->failed = true;
		return 0;
	}
}

uint64_t hawk_cfi_pointer(struct hawk_cfi_reader *reader, uint8_t encoding, uint64_t data_base)
{
	uint64_t here = (uint64_t)reader->at;
	uint64_t value = read_format(reader, encoding & ENCODING_FORMAT_MASK);

	switch (encoding & ENCODING_BASE_MASK) {
	case ENCODING_ABSOLUTE:
		return value;
	case ENCODING_PC_RELATIVE:
		return here + value;
	case ENCODING_DATA_RELATIVE:
		return data_base + value;
	default:
		reader->failed = true;
		return 0;
	}
}
