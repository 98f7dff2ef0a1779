/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Whether the program headers of a core fit together. Who writes a core dumps segments one behind
 * the other, in pages and mostly in ascending order: bytes that no header claims, or two, and one
 * address that is out of place, are what a damaged header leaves. Which memory is missing or
 * elsewhere nobody can say then.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core_parse.h"
#include "hawk_cleanup.h"
#include "hawk_cursor.h"
#include "hawk_quantity.h"

enum {
	PAGE_BYTES = 4096,
	OTHER_CLAIMS = 3, /* the file's header, and the tables of segments and sections */
	ORDERED_MIN = 8,  /* of fewer loads nobody says what order they were to have */
};
/* Who copies a core may pad it, and leave holes: zeros hold neither pointers nor blocks. Of so many
 * bytes it is looked at. */
static const uint64_t padding_max = UINT64_C(1) << 26;

struct claim {
	uint64_t start, end; /* in the file */
	bool shares;         /* it may lie anywhere: what is not of the process */
};

struct claims {
	struct claim *items;
	size_t count;
	uint64_t *addresses; /* of loads, in the order of their headers */
	size_t load_count;
	uint64_t unclaimed, shared; /* bytes of the file */
	uint64_t strange;           /* loads that are not of pages, or out of order */
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
	if (!section_count && sections) { /* more than 16 bits can say: it is in the first one */
		hawk_cursor_seek(&cursor, sections);
		hawk_cursor_skip(&cursor, offsetof(Elf64_Shdr, sh_size));
		section_count = hawk_cursor_u64(&cursor);
	}
	if (sections >= size)
		return;
	/* Its end may be cut off: behind all memory. */
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
		Elf64_Phdr header = hawk_core_program_header(&cursor);

		if (header.p_type == PT_LOAD || header.p_type == PT_NOTE)
			claim(claims, header.p_offset, header.p_filesz, false);
		if (header.p_type != PT_LOAD || !(header.p_memsz | header.p_filesz))
			continue;
		claims->addresses[claims->load_count++] = header.p_vaddr;
		claims->strange += header.p_vaddr % PAGE_BYTES != 0;
	}
}

static int compare(const void *left, const void *right)
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

	qsort(claims->items, claims->count, sizeof(*claims->items), compare);
	for (size_t i = 0; i < claims->count; i++) {
		const struct claim *item = &claims->items[i];
		uint64_t start = item->start < size ? item->start : size;
		uint64_t item_end = item->end < size ? item->end : size;

		if (start >= end && start - end >= PAGE_BYTES)
			claims->unclaimed += is_padding(bytes + end, start - end) ? 0 : start - end;
		else if (start < end && !item->shares)
			claims->shared += (item_end < end ? item_end : end) - start;
		if (item_end > end)
			end = item_end;
	}
	if (end < size && size - end >= PAGE_BYTES && !is_padding(bytes + end, size - end))
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

/* In order but for one: that one is where it does not belong. Lists without any order are. */
static void find_stray(struct claims *claims)
{
	size_t i = 1;

	while (i < claims->load_count && claims->addresses[i] >= claims->addresses[i - 1])
		i++;
	if (i < claims->load_count && claims->load_count >= ORDERED_MIN)
		claims->strange += ascends_without(claims, i) || ascends_without(claims, i - 1);
}

static void report(const struct claims *claims, struct hawk_findings *findings)
{
	if (claims->unclaimed)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "segments-unclaimed",
				  "%s of the core belong to no segment: headers are damaged, and "
				  "memory is missing",
				  hawk_quantity_bytes(claims->unclaimed).text);
	if (claims->shared)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "segments-twice",
				  "%s of the core belong to several segments: headers are damaged, "
				  "and memory is not what it was",
				  hawk_quantity_bytes(claims->shared).text);
	if (claims->strange)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "segments-strange",
				  "%" PRIu64 " of the core's segments have addresses that do not "
				  "fit: headers are damaged, and memory is missing",
				  claims->strange);
}

struct hawk_error *hawk_core_check_claims(const uint8_t *bytes, size_t size, uint64_t offset,
					  uint64_t count, struct hawk_findings *findings, bool *fit)
{
	CLEANUP(free_ptr) struct claim *items = calloc(count + OTHER_CLAIMS, sizeof(*items));
	CLEANUP(free_ptr) uint64_t *addresses = calloc(count, sizeof(*addresses));
	struct claims claims = {.items = items, .addresses = addresses};

	if (!items || !addresses)
		return &hawk_enomem;
	claim_tables(bytes, size, offset, count, &claims);
	claim_segments(bytes, size, offset, count, &claims);
	find_gaps(bytes, size, &claims);
	find_stray(&claims);
	report(&claims, findings);
	*fit = !claims.unclaimed && !claims.shared && !claims.strange;
	return NULL;
}
