/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Program headers of a core. Real producers write them in any order, at unaligned offsets, with
 * counts beyond 16 bits; broken and hostile ones overlap, overflow and point outside.
 *
 * Core writers dump segments back to back, in pages and mostly in ascending order. Bytes claimed by
 * no header or by two, or an out-of-place address, indicate a damaged header: which memory is
 * missing or moved is then unknown.
 */
#include "parse.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/cursor.h"
#include "hawk/base/quantity.h"
#include "hawk/target/core_headers.h"

/* Limit on file bytes that segments share: without it a small file could claim any amount of
 * memory. One damaged header stays below. */
enum { SHARED_BYTES_FACTOR = 4 };

struct reader {
	const uint8_t *bytes;
	size_t size;
	struct hawk_core_segments *segments;
	struct hawk_findings *findings;
	uint64_t claimed_bytes; /* of the file, by all loads so far */
	uint64_t note_bytes;
};

static uint64_t present(const struct reader *reader, uint64_t offset, uint64_t bytes)
{
	if (offset >= reader->size)
		return 0;
	return bytes < reader->size - offset ? bytes : reader->size - offset;
}

/** Returns the next program header; zeros behind the end. */
static Elf64_Phdr next_header(struct hawk_cursor *cursor)
{
	Elf64_Phdr header;

	hawk_cursor_copy(cursor, &header, sizeof(header));
	return header;
}

static struct hawk_error *locate_headers(const struct reader *reader, struct hawk_core_headers *ret)
{
	struct hawk_error *err = hawk_core_headers_locate(reader->bytes, reader->size, ret);

	if (err)
		return err;
	reader->segments->doubtful = !hawk_core_headers_whole(ret);
	if (!ret->listed)
		hawk_findings_add(reader->findings, HAWK_FINDING_MISSING, true, "core-header-count",
				  "the number of segments is lost with the end of the core");
	else if (!hawk_core_headers_whole(ret))
		hawk_findings_add(reader->findings, HAWK_FINDING_MISSING, true, "core-truncated",
				  "the core is cut off inside its list of segments: %" PRIu64
				  " of %" PRIu64 " are there",
				  ret->count, ret->listed);
	return NULL;
}

static void limit_count(const struct reader *reader, struct hawk_core_headers *table)
{
	if (table->count <= HAWK_CORE_SEGMENTS_MAX)
		return;
	reader->segments->doubtful = true;
	hawk_findings_add(reader->findings, HAWK_FINDING_DAMAGE, true, "segments-too-many",
			  "the core has %" PRIu64 " segments; the first %d are looked at",
			  table->count, HAWK_CORE_SEGMENTS_MAX);
	table->count = HAWK_CORE_SEGMENTS_MAX;
}

static uint32_t mapping_flags(uint32_t elf_flags)
{
	return (elf_flags & PF_R ? HAWK_MAPPING_READ : 0u) |
	       (elf_flags & PF_W ? HAWK_MAPPING_WRITE : 0u) |
	       (elf_flags & PF_X ? HAWK_MAPPING_EXEC : 0u);
}

static void add_load(struct reader *reader, const Elf64_Phdr *header)
{
	uint64_t memory = header->p_memsz > header->p_filesz ? header->p_memsz : header->p_filesz;
	struct hawk_mapping *load = &reader->segments->loads[reader->segments->load_count];

	if (!memory)
		return;
	if (memory > UINT64_MAX - header->p_vaddr) {
		reader->segments->doubtful = true;
		hawk_findings_add(reader->findings, HAWK_FINDING_DAMAGE, true, "segment-overflow",
				  "segment at 0x%" PRIx64 " of %" PRIu64
				  " bytes goes beyond the end of the address space",
				  header->p_vaddr, memory);
		memory = UINT64_MAX - header->p_vaddr;
		if (!memory)
			return;
	}
	*load = (struct hawk_mapping){
		.start = header->p_vaddr,
		.end = header->p_vaddr + memory,
		.dumped_bytes = header->p_filesz < memory ? header->p_filesz : memory,
		.core_offset = header->p_offset,
		.flags = mapping_flags(header->p_flags),
	};
	load->present_bytes = present(reader, load->core_offset, load->dumped_bytes);
	reader->claimed_bytes += load->present_bytes;
	if (reader->claimed_bytes / SHARED_BYTES_FACTOR > reader->size) {
		reader->segments->doubtful = true;
		hawk_findings_add(reader->findings, HAWK_FINDING_DAMAGE, true, "segment-shared",
				  "segment at 0x%" PRIx64
				  " left out: the segments share too many bytes of the file",
				  load->start);
		reader->claimed_bytes -= load->present_bytes;
		load->present_bytes = 0;
	}
	reader->segments->load_count++;
}

static void add_note_range(struct reader *reader, const Elf64_Phdr *header)
{
	struct hawk_core_note_range *range = &reader->segments->notes[reader->segments->note_count];

	*range = (struct hawk_core_note_range){
		.offset = header->p_offset,
		.bytes = present(reader, header->p_offset, header->p_filesz),
		.alignment = header->p_align == 8 ? 8 : 4,
	};
	range->cut = range->bytes < header->p_filesz;
	if (!range->bytes)
		range->offset = 0; /* the value may be garbage */
	if (range->bytes > reader->size - reader->note_bytes) {
		reader->segments->doubtful = true;
		hawk_findings_add(reader->findings, HAWK_FINDING_DAMAGE, true, "notes-overlap",
				  "notes at offset %" PRIu64 " left out: they overlap others",
				  range->offset);
		return;
	}
	reader->note_bytes += range->bytes;
	reader->segments->note_count++;
}

static void read_headers(struct reader *reader, const struct hawk_core_headers *table)
{
	struct hawk_cursor cursor = hawk_cursor_over(reader->bytes, reader->size);

	hawk_cursor_seek(&cursor, table->offset);
	for (uint64_t i = 0; i < table->count; i++) {
		Elf64_Phdr header = next_header(&cursor);

		if (header.p_type == PT_LOAD)
			add_load(reader, &header);
		else if (header.p_type == PT_NOTE)
			add_note_range(reader, &header);
	}
}

static int compare_start(const void *left, const void *right)
{
	const struct hawk_mapping *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->core_offset < b->core_offset ? -1 : a->core_offset > b->core_offset;
}

/** Moves the start of `load` up to `start`, which lies inside it. */
static void cut_front(struct hawk_mapping *load, uint64_t start)
{
	uint64_t cut = start - load->start;

	load->start = start;
	load->core_offset += cut;
	load->dumped_bytes -= cut < load->dumped_bytes ? cut : load->dumped_bytes;
	load->present_bytes -= cut < load->present_bytes ? cut : load->present_bytes;
}

static void sort_loads(struct reader *reader)
{
	struct hawk_mapping *loads = reader->segments->loads;
	uint64_t end = 0;
	size_t kept = 0;

	if (reader->segments->load_count)
		qsort(loads, reader->segments->load_count, sizeof(*loads), compare_start);
	for (size_t i = 0; i < reader->segments->load_count; i++) {
		struct hawk_mapping load = loads[i];

		if (load.start < end) {
			reader->segments->doubtful = true;
			hawk_findings_add(reader->findings, HAWK_FINDING_DAMAGE, true,
					  "segment-overlap",
					  "segment at 0x%" PRIx64
					  " overlaps the one before it; the overlap is left out",
					  load.start);
		}
		if (load.end <= end)
			continue;
		if (load.start < end)
			cut_front(&load, end);
		end = load.end;
		loads[kept++] = load;
	}
	reader->segments->load_count = kept;
}

static void report_truncation(const struct reader *reader)
{
	uint64_t missing_bytes = 0, dumped_bytes = 0;
	size_t missing = 0;

	for (size_t i = 0; i < reader->segments->load_count; i++) {
		const struct hawk_mapping *load = &reader->segments->loads[i];

		dumped_bytes += load->dumped_bytes;
		if (load->present_bytes == load->dumped_bytes)
			continue;
		missing_bytes += load->dumped_bytes - load->present_bytes;
		missing++;
	}
	if (missing)
		hawk_findings_add(reader->findings, HAWK_FINDING_MISSING, true, "core-truncated",
				  "the core is cut off: %s of the %s that were dumped are missing, "
				  "in %zu of %zu segments",
				  hawk_quantity_bytes(missing_bytes).text,
				  hawk_quantity_bytes(dumped_bytes).text, missing,
				  reader->segments->load_count);
}

enum {
	OTHER_CLAIMS = 3, /* the file's header, and the tables of segments and sections */
	ORDERED_MIN = 8,  /* fewer loads do not show their intended order */
};
/* Unclaimed bytes checked for padding: a copied core may have padding and holes, whose zeros hold
 * neither pointers nor blocks. */
static const uint64_t padding_max = UINT64_C(1) << 26;

struct claim {
	uint64_t start, end; /* in the file */
	bool shares;         /* may lie anywhere: it is no memory of the process */
};

struct claims {
	struct claim *items;
	size_t count;
	uint64_t *addresses; /* of loads, in the order of their headers */
	size_t load_count;
	uint64_t page_bytes;        /* the smallest pages of the machine */
	uint64_t unclaimed, shared; /* bytes of the file */
	uint64_t strange;           /* loads that are not whole pages, or out of order */
};

static void claim(struct claims *claims, uint64_t start, uint64_t bytes, bool shares)
{
	uint64_t end = bytes < UINT64_MAX - start ? start + bytes : UINT64_MAX;

	if (bytes)
		claims->items[claims->count++] = (struct claim){start, end, shares};
}

static void claim_tables(const uint8_t *bytes, size_t size, uint64_t offset, uint64_t count,
			 struct claims *claims)
{
	struct hawk_cursor cursor = hawk_cursor_over(bytes, size);
	uint64_t sections, section_count;

	claim(claims, 0, sizeof(Elf64_Ehdr), true);
	claim(claims, offset, count * sizeof(Elf64_Phdr), true);
	hawk_cursor_seek(&cursor, offsetof(Elf64_Ehdr, e_shoff));
	sections = hawk_cursor_u64(&cursor);
	hawk_cursor_seek(&cursor, offsetof(Elf64_Ehdr, e_shnum));
	section_count = hawk_cursor_u16(&cursor);
	if (!section_count &&
	    sections) { /* more than 16 bits hold: the first section has the count */
		hawk_cursor_seek(&cursor, sections);
		hawk_cursor_skip(&cursor, offsetof(Elf64_Shdr, sh_size));
		section_count = hawk_cursor_u64(&cursor);
	}
	if (sections >= size)
		return;
	/* The table may be cut off: it lies behind all memory. */
	if (section_count > (size - sections) / sizeof(Elf64_Shdr))
		section_count = (size - sections) / sizeof(Elf64_Shdr) + 1;
	claim(claims, sections, section_count * sizeof(Elf64_Shdr), true);
}

static void claim_segments(const uint8_t *bytes, size_t size, uint64_t offset, uint64_t count,
			   struct claims *claims)
{
	struct hawk_cursor cursor = hawk_cursor_over(bytes, size);

	hawk_cursor_seek(&cursor, offset);
	for (uint64_t i = 0; i < count; i++) {
		Elf64_Phdr header = next_header(&cursor);

		if (header.p_type == PT_LOAD || header.p_type == PT_NOTE)
			claim(claims, header.p_offset, header.p_filesz, false);
		if (header.p_type != PT_LOAD || !(header.p_memsz | header.p_filesz))
			continue;
		claims->addresses[claims->load_count++] = header.p_vaddr;
		claims->strange += header.p_vaddr % claims->page_bytes != 0;
	}
}

static int compare_claims(const void *left, const void *right)
{
	const struct claim *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static bool is_padding(const uint8_t *bytes, uint64_t count)
{
	return count <= padding_max && !bytes[0] && !memcmp(bytes, bytes + 1, (size_t)count - 1);
}

static void find_gaps(const uint8_t *bytes, size_t size, struct claims *claims)
{
	uint64_t end = 0;

	qsort(claims->items, claims->count, sizeof(*claims->items), compare_claims);
	for (size_t i = 0; i < claims->count; i++) {
		const struct claim *item = &claims->items[i];
		uint64_t start = item->start < size ? item->start : size;
		uint64_t item_end = item->end < size ? item->end : size;

		if (start >= end && start - end >= claims->page_bytes)
			claims->unclaimed += is_padding(bytes + end, start - end) ? 0 : start - end;
		else if (start < end && !item->shares)
			claims->shared += (item_end < end ? item_end : end) - start;
		if (item_end > end)
			end = item_end;
	}
	if (end < size && size - end >= claims->page_bytes && !is_padding(bytes + end, size - end))
		claims->unclaimed += size - end;
}

static bool ascends_without(const struct claims *claims, size_t left_out)
{
	uint64_t before = 0;

	for (size_t i = 0; i < claims->load_count; i++) {
		if (i == left_out)
			continue;
		if (claims->addresses[i] < before)
			return false;
		before = claims->addresses[i];
	}
	return true;
}

/* Finds the one load out of order, which is misplaced. A list without any order has none. */
static void find_stray(struct claims *claims)
{
	size_t i = 1;

	while (i < claims->load_count && claims->addresses[i] >= claims->addresses[i - 1])
		i++;
	if (i < claims->load_count && claims->load_count >= ORDERED_MIN)
		claims->strange += ascends_without(claims, i) || ascends_without(claims, i - 1);
}

static void report_claims(const struct claims *claims, struct hawk_findings *findings)
{
	if (claims->unclaimed)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "segments-unclaimed",
				  "no segment covers %s of the core: headers are damaged, and "
				  "memory is missing",
				  hawk_quantity_bytes(claims->unclaimed).text);
	if (claims->shared)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "segments-twice",
				  "several segments claim %s of the core: headers are damaged, and "
				  "contents of memory are unreliable",
				  hawk_quantity_bytes(claims->shared).text);
	if (claims->strange)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "segments-strange",
				  "%" PRIu64 " of the core's segments have inconsistent addresses: "
				  "headers are damaged, and memory is missing",
				  claims->strange);
}

/** Checks that the `count` program headers at `offset` fit together; findings report
 * contradictions. Fails only if memory runs out. */
static struct hawk_error *check_claims(const struct hawk_arch *arch, const uint8_t *bytes,
				       size_t size, uint64_t offset, uint64_t count,
				       struct hawk_findings *findings, bool *fit)
{
	CLEANUP(free_ptr) struct claim *items = calloc(count + OTHER_CLAIMS, sizeof(*items));
	CLEANUP(free_ptr) uint64_t *addresses = calloc(count, sizeof(*addresses));
	struct claims claims = {
		.items = items, .addresses = addresses, .page_bytes = arch->page_bytes};

	if (!items || !addresses)
		return &hawk_enomem;
	claim_tables(bytes, size, offset, count, &claims);
	claim_segments(bytes, size, offset, count, &claims);
	find_gaps(bytes, size, &claims);
	find_stray(&claims);
	report_claims(&claims, findings);
	*fit = !claims.unclaimed && !claims.shared && !claims.strange;
	return NULL;
}

struct hawk_error *hawk_core_read_segments(const struct hawk_arch *arch, const uint8_t *bytes,
					   size_t size, struct hawk_findings *findings,
					   struct hawk_core_segments *ret)
{
	struct reader reader = {
		.bytes = bytes, .size = size, .segments = ret, .findings = findings};
	struct hawk_core_headers table = {0};
	struct hawk_error *error;
	bool fit = true;

	*ret = (struct hawk_core_segments){0};
	error = locate_headers(&reader, &table);
	if (error)
		return error;
	limit_count(&reader, &table);
	ret->loads = calloc(table.count, sizeof(*ret->loads));
	ret->notes = calloc(table.count, sizeof(*ret->notes));
	if (!ret->loads || !ret->notes) {
		hawk_core_segments_deinit(ret);
		return &hawk_enomem;
	}
	read_headers(&reader, &table);
	sort_loads(&reader);
	report_truncation(&reader);
	error = check_claims(arch, bytes, size, table.offset, table.count, findings, &fit);
	if (error)
		hawk_core_segments_deinit(ret);
	else
		ret->doubtful |= !fit;
	return error;
}

void hawk_core_segments_deinit(struct hawk_core_segments *segments)
{
	free(segments->loads);
	free(segments->notes);
	*segments = (struct hawk_core_segments){0};
}
