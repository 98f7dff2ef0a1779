/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the program headers once more, and writes them with other offsets.
 */
#include "core_layout.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cursor.h"
#include "hawk/target/redacted_note.h"

enum {
	PAGE_BYTES = 4096,
	OTHER_REGIONS = 3, /* the ELF header, the list of program headers, where their number is */
};

/** The original's list of program headers. */
struct programs {
	Elf64_Ehdr header;
	uint64_t count; /**< that are there */
	bool whole;
};

static struct hawk_cursor cursor_at(const struct hawk_core_layout *layout, uint64_t offset)
{
	struct hawk_cursor cursor = hawk_cursor_over(layout->bytes, layout->size);

	hawk_cursor_seek(&cursor, offset);
	return cursor;
}

static Elf64_Phdr program_at(const struct hawk_core_layout *layout, const struct programs *programs,
			     uint64_t i)
{
	struct hawk_cursor cursor =
		cursor_at(layout, programs->header.e_phoff + i * sizeof(Elf64_Phdr));
	Elf64_Phdr program;

	hawk_cursor_copy(&cursor, &program, sizeof(program));
	return program;
}

/* How many there are if the number is lost: the list ends where contents begin. */
static uint64_t infer_count(const struct hawk_core_layout *layout, const struct programs *programs,
			    uint64_t held)
{
	uint64_t count = held;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t offset = program_at(layout, programs, i).p_offset;

		if (offset <= programs->header.e_phoff)
			continue;
		offset = (offset - programs->header.e_phoff) / sizeof(Elf64_Phdr);
		if (offset < count)
			count = offset > i ? offset : i + 1;
	}
	return count;
}

static void read_programs(const struct hawk_core_layout *layout, struct programs *ret)
{
	struct hawk_cursor cursor = cursor_at(layout, 0);
	uint64_t held = 0;
	bool known = true;

	hawk_cursor_copy(&cursor, &ret->header, sizeof(ret->header));
	if (ret->header.e_phoff < layout->size)
		held = (layout->size - ret->header.e_phoff) / sizeof(Elf64_Phdr);
	ret->count = ret->header.e_phnum;
	if (ret->count == PN_XNUM) {
		cursor = cursor_at(layout, ret->header.e_shoff);
		hawk_cursor_skip(&cursor, offsetof(Elf64_Shdr, sh_info));
		ret->count = hawk_cursor_u32(&cursor);
		known = ret->header.e_shoff && !cursor.failed;
	}
	ret->whole = known && ret->count <= held;
	if (!known)
		ret->count = infer_count(layout, ret, held);
	else if (!ret->whole)
		ret->count = held;
}

static void add_region(struct hawk_core_layout *layout, struct hawk_region region)
{
	if (region.end > layout->size)
		region.end = layout->size;
	if (region.start < region.end)
		layout->regions[layout->count++] = region;
}

static uint64_t sum(uint64_t start, uint64_t bytes)
{
	return bytes < UINT64_MAX - start ? start + bytes : UINT64_MAX;
}

static int compare_regions(const void *left, const void *right)
{
	const struct hawk_region *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static struct hawk_error *find_regions(const struct hawk_target *target,
				       const struct programs *programs,
				       struct hawk_core_layout *layout)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	layout->regions = calloc(count + programs->count + OTHER_REGIONS, sizeof(*layout->regions));
	if (!layout->regions)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++)
		add_region(layout,
			   (struct hawk_region){
				   .start = mappings[i].core_offset,
				   .end = sum(mappings[i].core_offset, mappings[i].present_bytes),
				   .kind = HAWK_REGION_MEMORY,
				   .mapping = &mappings[i],
			   });
	for (uint64_t i = 0; i < programs->count; i++) {
		Elf64_Phdr program = program_at(layout, programs, i);

		if (program.p_type == PT_NOTE)
			add_region(layout, (struct hawk_region){
						   .start = program.p_offset,
						   .end = sum(program.p_offset, program.p_filesz),
						   .kind = HAWK_REGION_NOTES,
						   .alignment = program.p_align == 8 ? 8 : 4,
					   });
	}
	return NULL;
}

static void keep(struct hawk_core_layout *layout, uint64_t start, uint64_t bytes)
{
	add_region(layout, (struct hawk_region){
				   .start = start,
				   .end = sum(start, bytes),
				   .kind = HAWK_REGION_HEADERS,
			   });
}

/* Where nothing can be put in front. */
static void keep_headers(const struct programs *programs, struct hawk_core_layout *layout)
{
	keep(layout, 0, sizeof(programs->header));
	keep(layout, programs->header.e_phoff, programs->count * sizeof(Elf64_Phdr));
	if (programs->header.e_phnum == PN_XNUM)
		keep(layout, programs->header.e_shoff, sizeof(Elf64_Shdr));
}

/** The block in front: offsets of its parts. */
struct front {
	uint64_t programs;
	uint64_t section; /**< 0 = none: the number of program headers fits into the ELF header */
	uint64_t note;
	uint64_t note_bytes;
	uint64_t bytes;
};

static const char owner[(sizeof(HAWK_REDACTED_OWNER) + 3) & ~3] = HAWK_REDACTED_OWNER;

static struct front plan_front(uint64_t count)
{
	struct front front = {.programs = sizeof(Elf64_Ehdr)};

	front.note = front.programs + count * sizeof(Elf64_Phdr);
	if (count >= PN_XNUM) {
		front.section = front.note;
		front.note += sizeof(Elf64_Shdr);
	}
	front.note_bytes = sizeof(Elf64_Nhdr) + sizeof(owner) + sizeof(struct hawk_redacted_note);
	front.bytes = (front.note + front.note_bytes + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
	return front;
}

static void put_header(uint8_t *to, const struct front *front, const struct programs *programs)
{
	uint64_t count = programs->count + 1;
	Elf64_Ehdr header = programs->header;
	Elf64_Shdr section = {.sh_type = SHT_NULL, .sh_size = 1, .sh_info = (Elf64_Word)count};

	header.e_phoff = front->programs;
	header.e_phnum = front->section ? PN_XNUM : (Elf64_Half)count;
	header.e_shoff = front->section;
	header.e_shnum = front->section ? 1 : 0;
	header.e_shentsize = front->section ? sizeof(section) : 0;
	header.e_shstrndx = SHN_UNDEF;
	memcpy(to, &header, sizeof(header));
	if (front->section)
		memcpy(to + front->section, &section, sizeof(section));
}

static void put_programs(uint8_t *to, const struct front *front, const struct programs *programs,
			 const struct hawk_core_layout *layout)
{
	Elf64_Phdr note = {
		.p_type = PT_NOTE,
		.p_offset = front->note,
		.p_filesz = front->note_bytes,
		.p_align = 4,
	};

	to += front->programs;
	for (uint64_t i = 0; i < programs->count; i++) {
		Elf64_Phdr program = program_at(layout, programs, i);

		program.p_offset = sum(program.p_offset, front->bytes);
		memcpy(to + i * sizeof(program), &program, sizeof(program));
	}
	memcpy(to + programs->count * sizeof(note), &note, sizeof(note));
}

static void put_note(uint8_t *to, const struct hawk_end_times *times)
{
	Elf64_Nhdr header = {
		.n_namesz = sizeof(HAWK_REDACTED_OWNER),
		.n_descsz = sizeof(struct hawk_redacted_note),
		.n_type = HAWK_REDACTED_TYPE,
	};
	struct hawk_redacted_note note = {
		.attribute_ns = times->attribute_ns,
		.file_ns = times->file_ns,
	};

	memcpy(note.name_ns, times->name_ns, sizeof(note.name_ns));
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), owner, sizeof(owner));
	memcpy(to + sizeof(header) + sizeof(owner), &note, sizeof(note));
}

static struct hawk_error *make_front(const struct hawk_target *target,
				     const struct programs *programs,
				     struct hawk_core_layout *layout)
{
	struct front front = plan_front(programs->count + 1);

	layout->front = calloc(1, front.bytes);
	if (!layout->front)
		return &hawk_enomem;
	layout->front_bytes = front.bytes;
	put_header(layout->front, &front, programs);
	put_programs(layout->front, &front, programs, layout);
	put_note(layout->front + front.note, &hawk_target_process(target)->end);
	return NULL;
}

struct hawk_error *hawk_core_layout_make(const struct hawk_target *target,
					 struct hawk_core_layout *ret)
{
	struct programs programs = {0};
	struct hawk_error *err;

	ret->bytes = hawk_target_core_bytes(target, &ret->size);
	read_programs(ret, &programs);
	err = find_regions(target, &programs, ret);
	if (!err && programs.whole)
		err = make_front(target, &programs, ret);
	else if (!err)
		keep_headers(&programs, ret);
	if (!err)
		qsort(ret->regions, ret->count, sizeof(*ret->regions), compare_regions);
	return err;
}

const struct hawk_region *hawk_core_layout_headers(const struct hawk_core_layout *layout,
						   uint64_t offset)
{
	/* Only where the list of program headers is cut off: nearly always there are none. */
	for (size_t i = 0; !layout->front && i < layout->count; i++)
		if (layout->regions[i].kind == HAWK_REGION_HEADERS &&
		    layout->regions[i].end > offset)
			return &layout->regions[i];
	return NULL;
}

void hawk_core_layout_deinit(struct hawk_core_layout *layout)
{
	free(layout->front);
	free(layout->regions);
	*layout = (struct hawk_core_layout){0};
}
