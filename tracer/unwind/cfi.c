/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * LEB128 numbers and encoded pointers (Linux Standard Base, "DWARF Exception Header Encoding"), and
 * finding a function's description: .eh_frame_hdr's binary search table, then FDE and CIE.
 *
 * Reads only the table's usual form (datarel, sdata4), which every linker writes; without it the
 * module counts as having no information. Never searches .eh_frame linearly.
 */
#include "cfi.h"

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

enum {
	HDR_VERSION = 1,
	HDR_TABLE_DATAREL_SDATA4 = 0x3b,
	ENCODING_OMIT = 0xff,
	ENCODING_INDIRECT = 0x80,
	AUGMENTATION_MAX = 16,
};

static bool contains(const struct hawk_code_range *module, uint64_t address)
{
	return address >= module->start && address < module->end;
}

/** Returns a reader from `address` to the end of the module, or to `limit` if that is closer. */
static struct hawk_cfi_reader read_from(const struct hawk_code_range *module, uint64_t address)
{
	if (!contains(module, address))
		return (struct hawk_cfi_reader){.failed = true};
	return (struct hawk_cfi_reader){.at = (const uint8_t *)address,
					.end = (const uint8_t *)module->end};
}

static int32_t table_word(const uint8_t *table, uint64_t index)
{
	int32_t word;

	__builtin_memcpy(&word, table + 4 * index, sizeof(word));
	return word;
}

bool hawk_cfi_find_table(const struct hawk_code_range *module, struct hawk_cfi_table *ret)
{
	struct hawk_cfi_reader reader = read_from(module, module->eh_frame_hdr);
	uint64_t hdr = module->eh_frame_hdr;
	uint8_t version = (uint8_t)hawk_cfi_number(&reader, 1);
	uint8_t frame_encoding = (uint8_t)hawk_cfi_number(&reader, 1);
	uint8_t count_encoding = (uint8_t)hawk_cfi_number(&reader, 1);
	uint8_t table_encoding = (uint8_t)hawk_cfi_number(&reader, 1);

	if (reader.failed || version != HDR_VERSION || count_encoding == ENCODING_OMIT ||
	    table_encoding != HDR_TABLE_DATAREL_SDATA4)
		return false;
	if (frame_encoding != ENCODING_OMIT)
		hawk_cfi_pointer(&reader, frame_encoding, hdr);
	ret->count = hawk_cfi_pointer(&reader, count_encoding, hdr);
	ret->entries = reader.at;
	return !reader.failed && ret->count <= (uint64_t)(reader.end - reader.at) / 8;
}

/** Returns the address of the FDE that may cover `pc`; 0 if none. */
static uint64_t search_table(const struct hawk_code_range *module, uint64_t pc)
{
	struct hawk_cfi_table table;
	uint64_t hdr = module->eh_frame_hdr;
	uint64_t low = 0, count;

	if (!hawk_cfi_find_table(module, &table))
		return 0;
	count = table.count;
	while (low < count) {
		uint64_t middle = low + (count - low) / 2;

		if (hdr + (uint64_t)(int64_t)table_word(table.entries, 2 * middle) <= pc)
			low = middle + 1;
		else
			count = middle;
	}
	return low ? hdr + (uint64_t)(int64_t)table_word(table.entries, 2 * low - 1) : 0;
}

/**
 * Sets `reader` on the contents of the CIE or FDE at `address`, after its length. Refuses 64-bit
 * lengths, as libgcc does.
 */
static bool enter_record(const struct hawk_code_range *module, uint64_t address,
			 struct hawk_cfi_reader *reader)
{
	uint64_t length;

	*reader = read_from(module, address);
	length = hawk_cfi_number(reader, 4);
	if (reader->failed || !length || length > (uint64_t)(reader->end - reader->at))
		return false;
	reader->end = reader->at + length;
	return true;
}

/** Reads the augmentation data announced by the string, letter by letter. */
static bool read_augmentation(struct hawk_cfi_reader *reader, const char *letters,
			      struct hawk_cfi_function *function)
{
	struct hawk_cfi_reader data = *reader;
	uint64_t size = hawk_cfi_uleb(&data);

	*reader = data;
	hawk_cfi_skip(reader, size);
	if (reader->failed)
		return false;
	data.end = reader->at;
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'L':
			hawk_cfi_skip(&data, 1);
			break;
		case 'P':
			encoding = (uint8_t)hawk_cfi_number(&data, 1);
			if (encoding != ENCODING_OMIT)
				hawk_cfi_pointer(&data, encoding & (uint8_t)~ENCODING_INDIRECT, 0);
			break;
		case 'R':
			function->pointer_encoding = (uint8_t)hawk_cfi_number(&data, 1);
			break;
		case 'S':
			function->signal = true;
			break;
		case 'B': /* pointer authentication and tagged frames: no data */
		case 'G':
			break;
		default:
			return false;
		}
	}
	return !data.failed;
}

static bool read_cie(const struct hawk_code_range *module, uint64_t address,
		     struct hawk_cfi_function *function, bool *sized)
{
	char letters[AUGMENTATION_MAX];
	struct hawk_cfi_reader reader;
	unsigned count = 0;
	uint8_t version;

	if (!enter_record(module, address, &reader) || hawk_cfi_number(&reader, 4) != 0)
		return false;
	version = (uint8_t)hawk_cfi_number(&reader, 1);
	if (version != 1 && version != 3)
		return false;
	do {
		if (count == sizeof(letters))
			return false;
		letters[count] = (char)hawk_cfi_number(&reader, 1);
	} while (letters[count++]);
	function->code_alignment = hawk_cfi_uleb(&reader);
	function->data_alignment = hawk_cfi_sleb(&reader);
	function->return_register =
		(uint8_t)(version == 1 ? hawk_cfi_number(&reader, 1) : hawk_cfi_uleb(&reader));
	*sized = letters[0] == 'z';
	if (letters[0] && !*sized)
		return false;
	if (*sized && !read_augmentation(&reader, letters + 1, function))
		return false;
	function->initial_program = reader.at;
	function->initial_program_end = reader.end;
	return !reader.failed && function->return_register == HAWK_CFI_RIP;
}

bool hawk_cfi_find(const struct hawk_code_range *module, uint64_t pc, struct hawk_cfi_function *ret)
{
	struct hawk_cfi_function function = {0};
	struct hawk_cfi_reader reader;
	uint64_t fde, cie_field, cie_distance, size;
	bool sized;

	if (!module->eh_frame_hdr || module->end <= module->start)
		return false;
	fde = search_table(module, pc);
	if (!fde || !enter_record(module, fde, &reader))
		return false;
	cie_field = (uint64_t)reader.at;
	cie_distance = hawk_cfi_number(&reader, 4);
	if (!cie_distance || !read_cie(module, cie_field - cie_distance, &function, &sized))
		return false;
	function.start = hawk_cfi_pointer(&reader, function.pointer_encoding, 0);
	size = hawk_cfi_pointer(&reader, function.pointer_encoding & 0x0f, 0);
	if (sized)
		hawk_cfi_skip(&reader, hawk_cfi_uleb(&reader));
	if (reader.failed || pc < function.start || pc - function.start >= size)
		return false;
	function.end = function.start + size;
	function.program = reader.at;
	function.program_end = reader.end;
	*ret = function;
	return true;
}
