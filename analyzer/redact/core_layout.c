/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the program headers once more, and writes them with other offsets.
 */
#include "core_layout.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/cursor.h"
#include "hawk/target/core_headers.h"
#include "hawk/target/redacted_note.h"

enum {
	PAGE_BYTES = 4096,
	HEADER_REGIONS = 3, /* the ELF header, the list of program headers, where their number is */
};

/** The original's list of program headers. */
struct programs {
	Elf64_Ehdr header;
	struct hawk_core_headers list;
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

static struct hawk_error *read_programs(const struct hawk_core_layout *layout, struct programs *ret)
{
	struct hawk_cursor cursor = cursor_at(layout, 0);

	hawk_cursor_copy(&cursor, &ret->header, sizeof(ret->header));
	return hawk_core_headers_locate(layout->bytes, layout->size, &ret->list);
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

/** Regions of one kind, as the headers claim them. */
struct claims {
	const struct hawk_core_layout *layout;
	struct hawk_region *items;
	size_t count;
};

static void claim(struct claims *claims, struct hawk_region region, uint64_t bytes)
{
	region.end = sum(region.start, bytes);
	if (region.end > claims->layout->size)
		region.end = claims->layout->size;
	region.notes = (struct hawk_span){region.start, region.end};
	if (region.start < region.end)
		claims->items[claims->count++] = region;
}

static void claim_headers(const struct programs *programs, struct claims *claims)
{
	const uint64_t offset = programs->list.offset;

	claim(claims, (struct hawk_region){.start = 0}, sizeof(programs->header));
	claim(claims, (struct hawk_region){.start = offset},
	      programs->list.count * sizeof(Elf64_Phdr));
	if (programs->header.e_phnum == PN_XNUM)
		claim(claims, (struct hawk_region){.start = programs->header.e_shoff},
		      sizeof(Elf64_Shdr));
}

static void claim_notes(const struct programs *programs, struct claims *claims)
{
	for (uint64_t i = 0; i < programs->list.count; i++) {
		Elf64_Phdr program = program_at(claims->layout, programs, i);
		struct hawk_region region = {
			.start = program.p_offset,
			.kind = HAWK_REGION_NOTES,
			.alignment = program.p_align == 8 ? 8 : 4,
		};

		if (program.p_type == PT_NOTE)
			claim(claims, region, program.p_filesz);
	}
}

static void claim_memory(const struct hawk_mapping *mappings, size_t count, struct claims *claims)
{
	for (size_t i = 0; i < count; i++) {
		struct hawk_region region = {
			.start = mappings[i].core_offset,
			.kind = HAWK_REGION_MEMORY,
			.mapping = &mappings[i],
		};

		claim(claims, region, mappings[i].present_bytes);
	}
}

/* Adds the parts that the claims do not share with each other or with earlier regions. */
static void add_claims(struct hawk_core_layout *layout, const struct claims *claims)
{
	const size_t before = layout->count;
	uint64_t at = 0;
	size_t next = 0;

	qsort(claims->items, claims->count, sizeof(*claims->items), compare_regions);
	for (size_t i = 0; i < claims->count; i++) {
		struct hawk_region region = claims->items[i];

		if (at < region.start)
			at = region.start;
		while (at < claims->items[i].end) {
			while (next < before && layout->regions[next].end <= at)
				next++;
			region.start = at;
			region.end = claims->items[i].end;
			if (next < before && layout->regions[next].start < region.end)
				region.end = layout->regions[next].start;
			if (region.start < region.end)
				layout->regions[layout->count++] = region;
			at = region.end > at ? region.end : layout->regions[next].end;
		}
	}
	qsort(layout->regions, layout->count, sizeof(*layout->regions), compare_regions);
}

static struct hawk_error *find_regions(const struct hawk_target *target,
				       const struct programs *programs,
				       struct hawk_core_layout *layout)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	size_t most = count + programs->list.count + HEADER_REGIONS;
	CLEANUP(free_ptr) struct hawk_region *items = calloc(most, sizeof(*items));
	struct claims claims = {.layout = layout, .items = items};

	/* Each region may split a claim of a later kind. */
	layout->regions = calloc(HAWK_REGION_KINDS * most, sizeof(*layout->regions));
	if (!items || !layout->regions)
		return &hawk_enomem;
	/* A truncated list leaves no room for a block in front: headers stay in place. */
	if (!hawk_core_headers_whole(&programs->list))
		claim_headers(programs, &claims);
	add_claims(layout, &claims);
	claims.count = 0;
	claim_notes(programs, &claims);
	add_claims(layout, &claims);
	claims.count = 0;
	claim_memory(mappings, count, &claims);
	add_claims(layout, &claims);
	return NULL;
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
	Elf64_Ehdr header = programs->header;
	Elf64_Shdr section;
	bool extended = hawk_core_headers_state(programs->list.count + 1, front->section, &header,
						&section);

	header.e_phoff = front->programs;
	memcpy(to, &header, sizeof(header));
	if (extended)
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
	for (uint64_t i = 0; i < programs->list.count; i++) {
		Elf64_Phdr program = program_at(layout, programs, i);

		program.p_offset = sum(program.p_offset, front->bytes);
		memcpy(to + i * sizeof(program), &program, sizeof(program));
	}
	memcpy(to + programs->list.count * sizeof(note), &note, sizeof(note));
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
	struct front front = plan_front(programs->list.count + 1);

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
	err = read_programs(ret, &programs);
	if (!err)
		err = find_regions(target, &programs, ret);
	if (!err && hawk_core_headers_whole(&programs.list))
		err = make_front(target, &programs, ret);
	return err;
}

void hawk_core_layout_deinit(struct hawk_core_layout *layout)
{
	free(layout->front);
	free(layout->regions);
	*layout = (struct hawk_core_layout){0};
}
