/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finding and parsing the entry (FDE) for an address, and its common part (CIE). The binary search
 * table of .eh_frame_hdr is used where there is one; other tables are indexed by one scan.
 */
#include "dwarf_cfi.h"

#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <gelf.h>

#include "dwarf_cfi_program.h"
#include "hawk_array.h"
#include "hawk_cursor.h"
#include "symbols_ranges.h"

enum {
	/* Pointer encodings of .eh_frame (Linux Standard Base, "DWARF Exception Header Encoding").
	 */
	PE_OMIT = 0xff,
	PE_FORMAT = 0x0f,
	PE_RELATIVE = 0x70,
	PE_PC_RELATIVE = 0x10,
	PE_INDIRECT = 0x80,
	PE_TABLE = 0x3b, /**< 4 signed bytes, relative to the header: what every linker writes */
	TABLE_ENTRY_BYTES = 8,
	FDES_MAX = 16000000,
};

/** .eh_frame or .debug_frame, with what makes it fast to search. */
struct section {
	const uint8_t *bytes; /**< NULL = there is none */
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

/** A length-prefixed entry: a CIE or an FDE. */
struct entry {
	struct hawk_cursor body; /**< after the id, to the end of the entry */
	uint64_t next;           /**< offset of the one behind it */
	uint64_t cie;            /**< offset of its CIE; valid if !is_cie */
	bool is_cie;
};

static bool read_entry(const struct section *section, uint64_t offset, struct entry *ret)
{
	struct hawk_cursor cursor = hawk_cursor_over(section->bytes, section->size);
	uint64_t length, id;
	bool wide;
	size_t id_at;

	hawk_cursor_seek(&cursor, offset);
	length = hawk_cursor_u32(&cursor);
	wide = length == UINT32_MAX;
	if (wide)
		length = hawk_cursor_u64(&cursor);
	id_at = cursor.at;
	if (cursor.failed || length == 0 || length > section->size - cursor.at)
		return false;
	ret->next = cursor.at + length;
	cursor.size = (size_t)ret->next;
	/* In .eh_frame the id is 4 bytes also in a wide entry (GCC), unlike in .debug_frame. */
	id = wide && !section->eh ? hawk_cursor_u64(&cursor) : hawk_cursor_u32(&cursor);
	if (cursor.failed)
		return false;
	if (section->eh) {
		ret->is_cie = id == 0;
		ret->cie = id_at - id;
		if (!ret->is_cie && id > id_at)
			return false;
	} else {
		ret->is_cie = id == (wide ? UINT64_MAX : UINT32_MAX);
		ret->cie = id;
	}
	ret->body = cursor;
	return true;
}

/** A pointer in `encoding`; the cursor runs over the section, so its position is an address. */
static uint64_t read_encoded(const struct section *section, struct hawk_cursor *cursor,
			     uint8_t encoding)
{
	uint64_t base = 0;
	uint64_t value;

	if (encoding == PE_OMIT)
		return 0;
	if ((encoding & PE_RELATIVE) == PE_PC_RELATIVE)
		base = section->address + cursor->at;
	else if ((encoding & PE_RELATIVE) != 0)
		cursor->failed = true;
	switch (encoding & PE_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = hawk_cursor_u64(cursor);
		break;
	case DW_EH_PE_uleb128:
		value = hawk_cfi_uleb(cursor);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)hawk_cfi_sleb(cursor);
		break;
	case DW_EH_PE_udata2:
		value = hawk_cursor_u16(cursor);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int16_t)hawk_cursor_u16(cursor);
		break;
	case DW_EH_PE_udata4:
		value = hawk_cursor_u32(cursor);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int32_t)hawk_cursor_u32(cursor);
		break;
	default:
		cursor->failed = true;
		value = 0;
	}
	return base + value;
}

/** The letters behind 'z'; false = one that is not known. */
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

static bool read_cie(const struct section *section, uint64_t offset, struct hawk_cie *cie)
{
	const char *augmentation;
	struct entry entry;
	uint8_t version;

	memset(cie, 0, sizeof(*cie));
	if (!read_entry(section, offset, &entry) || !entry.is_cie)
		return false;
	version = hawk_cursor_u8(&entry.body);
	augmentation = hawk_cursor_string(&entry.body);
	if (!augmentation || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 && (hawk_cursor_u8(&entry.body) != 8 || hawk_cursor_u8(&entry.body) != 0))
		return false;
	cie->code_alignment = hawk_cfi_uleb(&entry.body);
	cie->data_alignment = hawk_cfi_sleb(&entry.body);
	cie->return_register =
		version == 1 ? hawk_cursor_u8(&entry.body) : (uint32_t)hawk_cfi_uleb(&entry.body);
	if (augmentation[0] == 'z') {
		uint64_t size = hawk_cfi_uleb(&entry.body);
		struct hawk_cursor data = entry.body;

		hawk_cursor_skip(&entry.body, size > SIZE_MAX ? SIZE_MAX : (size_t)size);
		cie->has_augmentation = true;
		if (!read_augmentation(section, &data, augmentation + 1, cie) || data.failed)
			return false;
	} else if (augmentation[0]) {
		return false;
	}
	cie->program = entry.body;
	return !entry.body.failed;
}

/** The FDE at `offset` with its CIE; `*start`, `*end`: the code that it covers. */
static bool read_fde(const struct section *section, uint64_t offset, struct hawk_cie *cie,
		     struct hawk_cursor *program, uint64_t *start, uint64_t *end)
{
	struct entry entry;
	uint64_t size;

	if (!read_entry(section, offset, &entry) || entry.is_cie ||
	    !read_cie(section, entry.cie, cie) || cie->pointer_encoding & PE_INDIRECT)
		return false;
	*start = read_encoded(section, &entry.body, cie->pointer_encoding);
	size = read_encoded(section, &entry.body, cie->pointer_encoding & PE_FORMAT);
	if (cie->has_augmentation) {
		uint64_t skipped = hawk_cfi_uleb(&entry.body);

		hawk_cursor_skip(&entry.body, skipped > SIZE_MAX ? SIZE_MAX : (size_t)skipped);
	}
	if (entry.body.failed || size > UINT64_MAX - *start)
		return false;
	*end = *start + size;
	*program = entry.body;
	return true;
}

/** Offset of the FDE of the last table entry at or below `address`. */
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
	struct entry entry;

	for (uint64_t offset = 0; read_entry(section, offset, &entry); offset = entry.next) {
		struct hawk_cursor program;
		struct hawk_cie cie;
		uint64_t start, end;

		if (section->entry_count >= FDES_MAX)
			break;
		if (entry.is_cie || !read_fde(section, offset, &cie, &program, &start, &end))
			continue;
		if (!add_to_index(section, offset, start, end))
			return false;
	}
	return hawk_ranges_freeze(&section->index);
}

/** .eh_frame by its header in memory; true = found, with a table that can be searched. */
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

/** The section called `name`, decompressed; false = none. */
static bool use_section(struct section *section, const struct hawk_elf *elf, const char *name)
{
	Elf_Scn *scan = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf->elf, &names) != 0)
		return false;
	while ((scan = elf_nextscn(elf->elf, scan))) {
		GElf_Shdr header;
		Elf_Data *data;
		const char *found;

		if (!gelf_getshdr(scan, &header) || header.sh_type == SHT_NOBITS)
			continue;
		found = elf_strptr(elf->elf, names, header.sh_name);
		if (!found || strcmp(found, name) != 0)
			continue;
		if (header.sh_flags & SHF_COMPRESSED && elf_compress(scan, 0, 0) < 0)
			return false;
		data = elf_getdata(scan, NULL);
		if (!data || !data->d_buf)
			return false;
		section->bytes = data->d_buf;
		section->size = data->d_size;
		section->address = header.sh_addr;
		return true;
	}
	return false;
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
