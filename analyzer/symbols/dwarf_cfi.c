/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds and parses the entry (FDE) for an address, and its common part (CIE). Uses the binary
 * search table of .eh_frame_hdr if present; other tables are indexed by one scan.
 */
#include "dwarf_cfi.h"

#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <gelf.h>

#include "hawk/base/array.h"
#include "hawk/base/cursor.h"
#include "ranges.h"

enum {
	/* Pointer encodings of .eh_frame (Linux Standard Base, "DWARF Exception Header Encoding").
	 */
	PE_OMIT = 0xff,
	PE_FORMAT = 0x0f,
	PE_WIDTH = 0x07,
	PE_RELATIVE = 0x70,
	PE_PC_RELATIVE = 0x10,
	PE_INDIRECT = 0x80,
	PE_TABLE = 0x3b, /**< 4 signed bytes, relative to the header: what every linker writes */
	TABLE_ENTRY_BYTES = 8,
	ENTRY_BYTES_MIN = 4, /**< bytes of its length */
	FDES_MAX = 16000000,
};

/** .eh_frame or .debug_frame, with an index for fast search. */
struct section {
	const uint8_t *bytes; /**< NULL = none */
	size_t size;
	uint64_t address;
	bool eh;
	const uint8_t *table; /**< of .eh_frame_hdr; NULL = `index` is used */
	size_t table_count;
	uint64_t table_base;
	struct hawk_ranges index; /**< ids are indices of `entries` */
	uint64_t *entries;        /**< offsets of FDEs */
	size_t entry_count;
	size_t entry_capacity;
};

struct hawk_cfi {
	struct section eh_frame;
	struct section debug_frame;
};

/** Reads the CIE or FDE at `offset`; `*next` is the offset of the next entry. */
static bool read_entry(const struct section *section, uint64_t offset, Dwarf_CFI_Entry *ret,
		       uint64_t *next)
{
	static const unsigned char ident[EI_NIDENT] = {
		[EI_CLASS] = ELFCLASS64, [EI_DATA] = ELFDATA2LSB};
	Elf_Data data = {.d_buf = (void *)section->bytes, .d_size = section->size};

	return offset < section->size && section->size - offset > ENTRY_BYTES_MIN &&
	       dwarf_next_cfi(ident, &data, section->eh, offset, next, ret) == 0;
}

/** Returns a cursor over [start, end) of the section; its position is an offset in the section. */
static struct hawk_cursor cursor_over(const struct section *section, const uint8_t *start,
				      const uint8_t *end)
{
	return (struct hawk_cursor){.bytes = section->bytes,
				    .at = (size_t)(start - section->bytes),
				    .size = (size_t)(end - section->bytes)};
}

/** Reads a pointer in `encoding`; the cursor's position in the section is an address. */
static uint64_t read_encoded(const struct section *section, struct hawk_cursor *cursor,
			     uint8_t encoding)
{
	uint8_t format = encoding & PE_FORMAT, width = format & PE_WIDTH;
	uint64_t base = 0;

	if (encoding == PE_OMIT)
		return 0;
	if ((encoding & PE_RELATIVE) == PE_PC_RELATIVE)
		base = section->address + cursor->at;
	else if ((encoding & PE_RELATIVE) != 0)
		cursor->failed = true;
	if (format == DW_EH_PE_uleb128)
		return base + hawk_cfi_uleb(cursor);
	if (format == DW_EH_PE_sleb128)
		return base + (uint64_t)hawk_cfi_sleb(cursor);
	if (format == DW_EH_PE_absptr)
		return base + hawk_cursor_u64(cursor);
	if (width >= DW_EH_PE_udata2 && width <= DW_EH_PE_udata8)
		return base + hawk_cfi_fixed(cursor, 1u << (width - 1), format & DW_EH_PE_signed);
	cursor->failed = true;
	return 0;
}

/** Reads the letters behind 'z'; returns false at an unknown one. */
static bool read_augmentation(const struct section *section, struct hawk_cursor *cursor,
			      const char *letters, struct hawk_cie *cie)
{
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->pointer_encoding = hawk_cursor_u8(cursor);
			break;
		case 'L':
			hawk_cursor_u8(cursor);
			break;
		case 'P':
			encoding = hawk_cursor_u8(cursor);
			/* The value is not needed, only its size; data-relative is fine here. */
			read_encoded(section, cursor, encoding & PE_FORMAT);
			break;
		case 'S':
			cie->signal_frame = true;
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool read_cie(const struct section *section, uint64_t offset, struct hawk_cie *ret)
{
	struct hawk_cursor data;
	Dwarf_CFI_Entry entry;
	const Dwarf_CIE *cie = &entry.cie;
	uint64_t next;

	if (!read_entry(section, offset, &entry, &next) || !dwarf_cfi_cie_p(&entry))
		return false;
	*ret = (struct hawk_cie){
		.code_alignment = cie->code_alignment_factor,
		.data_alignment = cie->data_alignment_factor,
		.return_register = (uint32_t)cie->return_address_register,
		.has_augmentation = cie->augmentation[0] == 'z',
		.program = cursor_over(section, cie->initial_instructions,
				       cie->initial_instructions_end),
	};
	if (!ret->has_augmentation)
		return !cie->augmentation[0];
	data = cursor_over(section, cie->augmentation_data,
			   cie->augmentation_data + cie->augmentation_data_size);
	return read_augmentation(section, &data, cie->augmentation + 1, ret) && !data.failed;
}

/** Reads the FDE at `offset` with its CIE; it covers code from `*start` to `*end`. */
static bool read_fde(const struct section *section, uint64_t offset, struct hawk_cie *cie,
		     struct hawk_cursor *program, uint64_t *start, uint64_t *end)
{
	Dwarf_CFI_Entry entry;
	struct hawk_cursor body;
	uint64_t size, next;

	if (!read_entry(section, offset, &entry, &next) || dwarf_cfi_cie_p(&entry) ||
	    !read_cie(section, entry.fde.CIE_pointer, cie) || cie->pointer_encoding & PE_INDIRECT)
		return false;
	body = cursor_over(section, entry.fde.start, entry.fde.end);
	*start = read_encoded(section, &body, cie->pointer_encoding);
	size = read_encoded(section, &body, cie->pointer_encoding & PE_FORMAT);
	if (cie->has_augmentation)
		hawk_cursor_skip(&body, hawk_cfi_uleb(&body));
	if (body.failed || size > UINT64_MAX - *start)
		return false;
	*end = *start + size;
	*program = body;
	return true;
}

/** Finds the FDE's offset in the last table entry at or below `address`. */
static bool search_table(const struct section *section, uint64_t address, uint64_t *offset)
{
	size_t low = 0;
	size_t high = section->table_count;
	int32_t values[2];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		memcpy(values, section->table + middle * TABLE_ENTRY_BYTES, sizeof(values));
		if (section->table_base + (uint64_t)(int64_t)values[0] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	memcpy(values, section->table + (low - 1) * TABLE_ENTRY_BYTES, sizeof(values));
	*offset = section->table_base + (uint64_t)(int64_t)values[1] - section->address;
	return true;
}

static bool find_fde(const struct section *section, uint64_t address, uint64_t *offset)
{
	const struct hawk_range *range;

	if (section->table)
		return search_table(section, address, offset);
	range = hawk_ranges_find(&section->index, address);
	if (!range)
		return false;
	*offset = section->entries[range->id];
	return true;
}

static bool find_row(const struct section *section, uint64_t address, struct hawk_cfi_row *row)
{
	struct hawk_cursor program;
	struct hawk_cie cie;
	uint64_t offset, start, end;

	return section->bytes && find_fde(section, address, &offset) &&
	       read_fde(section, offset, &cie, &program, &start, &end) && address >= start &&
	       address < end && hawk_cfi_run(&cie, program, start, address, row);
}

bool hawk_cfi_find(const struct hawk_cfi *cfi, uint64_t address, struct hawk_cfi_row *row)
{
	return find_row(&cfi->eh_frame, address, row) || find_row(&cfi->debug_frame, address, row);
}

static bool find_extent(const struct section *section, uint64_t address, uint64_t *start,
			uint64_t *end)
{
	struct hawk_cursor program;
	struct hawk_cie cie;
	uint64_t offset;

	return section->bytes && find_fde(section, address, &offset) &&
	       read_fde(section, offset, &cie, &program, start, end) && address >= *start &&
	       address < *end;
}

bool hawk_cfi_function(const struct hawk_cfi *cfi, uint64_t address, uint64_t *start, uint64_t *end)
{
	return find_extent(&cfi->eh_frame, address, start, end) ||
	       find_extent(&cfi->debug_frame, address, start, end);
}

static bool add_to_index(struct section *section, uint64_t offset, uint64_t start, uint64_t end)
{
	if (!hawk_array_reserve(&section->entries, section->entry_count, &section->entry_capacity,
				sizeof(*section->entries)))
		return false;
	section->entries[section->entry_count] = offset;
	return hawk_ranges_add(&section->index, start, end, 0, (uint32_t)section->entry_count++);
}

static bool index_section(struct section *section)
{
	Dwarf_CFI_Entry entry;
	uint64_t next;

	for (uint64_t offset = 0; read_entry(section, offset, &entry, &next); offset = next) {
		struct hawk_cursor program;
		struct hawk_cie cie;
		uint64_t start, end;

		if (section->entry_count >= FDES_MAX)
			break;
		if (dwarf_cfi_cie_p(&entry) ||
		    !read_fde(section, offset, &cie, &program, &start, &end))
			continue;
		if (!add_to_index(section, offset, start, end))
			return false;
	}
	return hawk_ranges_freeze(&section->index);
}

/** Finds .eh_frame by its header in memory; returns true if it has a searchable table. */
static bool use_header(struct section *section, const struct hawk_elf *elf)
{
	const struct hawk_elf_segment *segment = &elf->unwind_table;
	struct section header = {.bytes = segment->bytes,
				 .size = (size_t)segment->present_bytes,
				 .address = segment->start,
				 .eh = true};
	struct hawk_cursor cursor = hawk_cursor_over(header.bytes, header.size);
	uint64_t available;
	uint8_t encodings[4]; /**< version, pointer, count, table */
	uint64_t count;

	if (!header.bytes)
		return false;
	hawk_cursor_copy(&cursor, encodings, sizeof(encodings));
	section->address = read_encoded(&header, &cursor, encodings[1]);
	if (cursor.failed || encodings[0] != 1 || encodings[1] == PE_OMIT)
		return false;
	section->bytes = hawk_elf_bytes(elf, section->address, &available);
	section->size = (size_t)available;
	section->eh = true;
	count = read_encoded(&header, &cursor, encodings[2]);
	if (!section->bytes || cursor.failed || encodings[3] != PE_TABLE)
		return false;
	if (count > hawk_cursor_left(&cursor) / TABLE_ENTRY_BYTES)
		count = hawk_cursor_left(&cursor) / TABLE_ENTRY_BYTES;
	section->table_count = (size_t)count;
	section->table = count ? header.bytes + cursor.at : NULL;
	section->table_base = header.address;
	return section->table != NULL;
}

/** Uses the section called `name`, decompressed; returns false if none. */
static bool use_section(struct section *section, const struct hawk_elf *elf, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *scan = hawk_elf_section(elf, name, &header);
	Elf_Data *data;

	if (!scan || (header.sh_flags & SHF_COMPRESSED && elf_compress(scan, 0, 0) < 0))
		return false;
	data = elf_getdata(scan, NULL);
	if (!data || !data->d_buf)
		return false;
	section->bytes = data->d_buf;
	section->size = data->d_size;
	section->address = header.sh_addr;
	return true;
}

void hawk_cfi_destroy(struct hawk_cfi *cfi)
{
	if (!cfi)
		return;
	hawk_ranges_deinit(&cfi->eh_frame.index);
	free(cfi->eh_frame.entries);
	hawk_ranges_deinit(&cfi->debug_frame.index);
	free(cfi->debug_frame.entries);
	free(cfi);
}

struct hawk_cfi *hawk_cfi_create(const struct hawk_elf *binary, const struct hawk_elf *debug)
{
	struct hawk_cfi *cfi = calloc(1, sizeof(*cfi));
	bool ok = true;

	if (!cfi) {
		hawk_enomem_swallow();
		return NULL;
	}
	if (binary && !use_header(&cfi->eh_frame, binary)) {
		if (!cfi->eh_frame.bytes && use_section(&cfi->eh_frame, binary, ".eh_frame"))
			cfi->eh_frame.eh = true;
		ok = !cfi->eh_frame.bytes || index_section(&cfi->eh_frame);
	}
	if ((debug && use_section(&cfi->debug_frame, debug, ".debug_frame")) ||
	    (binary && use_section(&cfi->debug_frame, binary, ".debug_frame")))
		ok = ok && index_section(&cfi->debug_frame);
	if (ok && (cfi->eh_frame.bytes || cfi->debug_frame.bytes))
		return cfi;
	if (!ok)
		hawk_enomem_swallow();
	hawk_cfi_destroy(cfi);
	return NULL;
}
