/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The search for a table header: one cache line of every page, lowest address first, until a good
 * primary is found.
 *
 * A damaged primary is repaired from its twin, if found. A twin alone still gives the key, which
 * the sweep needs.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/prefetch.h"

enum {
	PAGE_BYTES = HAWK_TABLE_ALIGNMENT,
	/* Distance of prefetching from the current page: the search is bound by memory. */
	PREFETCH_PAGES = 16,
};

enum verdict {
	NO_HEADER,
	CUT_OFF,
	DAMAGED,
	REFUSED, /* a newer version, or unknown flags */
	PRIMARY,
	TWIN,
};

struct search {
	const struct hawk_target *target;
	struct hawk_findings *findings;
	uint64_t magic;
	bool have_primary;
	bool have_twin;
	struct hawk_table_header primary;
	struct hawk_table_header twin;
};

static bool sizes_fit(const struct hawk_table_header *header)
{
	return header->header_bytes >= sizeof(*header) &&
	       header->trace_record_bytes >= sizeof(struct hawk_trace_record) &&
	       header->module_record_bytes >= sizeof(struct hawk_module_record) &&
	       header->thread_slot_bytes >= HAWK_THREAD_RECORD_BYTES_MIN;
}

static enum verdict judge(const struct search *search, uint64_t address,
			  struct hawk_table_header *header)
{
	uint64_t got = hawk_target_read_some(search->target, address, header, sizeof(*header));

	if (got < offsetof(struct hawk_table_header, key) || header->magic != search->magic ||
	    header->self_address != address)
		return NO_HEADER;
	if (got < sizeof(*header))
		return CUT_OFF;
	if (header->version != HAWK_TABLE_VERSION)
		return REFUSED;
	if (header->check != hawk_table_check(header) || !sizes_fit(header))
		return DAMAGED;
	if (header->incompatible_flags & ~(uint64_t)HAWK_TABLE_KNOWN_INCOMPATIBLE)
		return REFUSED;
	return header->primary_address == address ? PRIMARY : TWIN;
}

static void report_refused(const struct search *search, const struct hawk_table_header *header)
{
	if (header->version != HAWK_TABLE_VERSION)
		hawk_findings_add(search->findings, HAWK_FINDING_MISSING, true, "table-version",
				  "the trace table at 0x%llx has version %u; this program reads "
				  "version %u",
				  (unsigned long long)header->self_address, header->version,
				  (unsigned)HAWK_TABLE_VERSION);
	else
		hawk_findings_add(search->findings, HAWK_FINDING_MISSING, true, "table-flags",
				  "the trace table at 0x%llx has features that this program does "
				  "not know (flags 0x%llx)",
				  (unsigned long long)header->self_address,
				  (unsigned long long)header->incompatible_flags);
}

static void take_twin(struct search *search, const struct hawk_table_header *twin)
{
	struct hawk_table_header primary;

	if (search->have_twin)
		return;
	search->have_twin = true;
	search->twin = *twin;
	if (judge(search, twin->primary_address, &primary) == PRIMARY) {
		search->have_primary = true;
		search->primary = primary;
	}
}

static void look_at(struct search *search, uint64_t address)
{
	struct hawk_table_header header;
	struct hawk_table_header twin;
	enum verdict verdict = judge(search, address, &header);

	switch (verdict) {
	case NO_HEADER:
		return;
	case CUT_OFF:
		hawk_findings_add(search->findings, HAWK_FINDING_MISSING, true, "table-cut",
				  "the trace table's header at 0x%llx is cut off",
				  (unsigned long long)address);
		return;
	case REFUSED:
		report_refused(search, &header);
		return;
	case DAMAGED:
		hawk_findings_add(search->findings, HAWK_FINDING_DAMAGE, true, "table-damaged",
				  "the trace table's header at 0x%llx is damaged",
				  (unsigned long long)address);
		if (judge(search, header.twin_address, &twin) == TWIN &&
		    twin.primary_address == address)
			take_twin(search, &twin);
		return;
	case PRIMARY:
		search->have_primary = true;
		search->primary = header;
		return;
	case TWIN:
		take_twin(search, &header);
		return;
	}
}

static uint64_t page_up(uint64_t address)
{
	return (address + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
}

/* Searches [start, end), one range of a mapping. */
static void look_at_range(struct search *search, uint64_t start, uint64_t end)
{
	const uint8_t *view = hawk_target_view(search->target, start, end - start);
	uint64_t first = page_up(start);

	/* A target may map the last page of the address space: count pages, not addresses. */
	for (uint64_t left = first >= start && first < end ? end - first : 0;
	     left >= sizeof(uint64_t) && !search->have_primary;
	     left -= left > PAGE_BYTES ? PAGE_BYTES : left) {
		uint64_t address = end - left;
		uint64_t word;

		if (view) {
			hawk_prefetch(view + (address - start) + PREFETCH_PAGES * PAGE_BYTES);
			memcpy(&word, view + (address - start), sizeof(word));
		} else if (hawk_target_read_some(search->target, address, &word, sizeof(word)) !=
			   sizeof(word)) {
			continue;
		}
		if (word == search->magic)
			look_at(search, address);
	}
}

static bool may_hold_table(const struct hawk_mapping *mapping)
{
	return (mapping->flags & HAWK_MAPPING_READ) && (mapping->flags & HAWK_MAPPING_WRITE) &&
	       mapping->present_bytes;
}

static void look_at_mapping(struct search *search, const struct hawk_mapping *mapping)
{
	uint64_t end = mapping->start + mapping->present_bytes;
	uint64_t data_start;
	uint64_t data_end;

	for (uint64_t at = mapping->start;
	     at < end && !search->have_primary &&
	     hawk_target_next_data(search->target, at, end, &data_start, &data_end);
	     at = data_end)
		look_at_range(search, data_start, data_end);
}

/* Looks for another tracer in the process, or a copied process's table. Reads only the first page
 * of each mapping, to keep the search short. */
static void look_for_others(struct search *search, const struct hawk_mapping *mappings,
			    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct hawk_table_header header;
		uint64_t word;

		if (!may_hold_table(&mappings[i]) ||
		    mappings[i].start <= search->primary.self_address ||
		    hawk_target_read_some(search->target, mappings[i].start, &word, sizeof(word)) !=
			    sizeof(word) ||
		    word != search->magic || judge(search, mappings[i].start, &header) != PRIMARY)
			continue;
		hawk_findings_add(search->findings, HAWK_FINDING_DAMAGE, true, "table-second",
				  "there is a second trace table at 0x%llx; the first one, at "
				  "0x%llx, was used",
				  (unsigned long long)mappings[i].start,
				  (unsigned long long)search->primary.self_address);
	}
}

/* Repairs the header: constant fields come from the twin, others from the damaged primary, whose
 * words are all checked when used. */
static bool repair(const struct search *search, struct hawk_table_header *ret)
{
	const struct hawk_table_header *twin = &search->twin;
	struct hawk_table_header header;
	const size_t changing = offsetof(struct hawk_table_header, clock_units);

	if (hawk_target_read_some(search->target, twin->primary_address, &header, sizeof(header)) !=
	    sizeof(header))
		return false;
	if (header.magic != search->magic && header.self_address != twin->primary_address)
		return false;
	memcpy(&header, twin, changing);
	header.self_address = twin->primary_address;
	*ret = header;
	hawk_findings_add(search->findings, HAWK_FINDING_DAMAGE, true, "table-repaired",
			  "the trace table's header at 0x%llx was repaired with its copy at 0x%llx",
			  (unsigned long long)twin->primary_address,
			  (unsigned long long)twin->self_address);
	return true;
}

/* Reports a table file, which no core holds: names it but never opens it. */
static void report_file(const struct search *search)
{
	const struct hawk_mapping *mapping =
		hawk_target_mapping_at(search->target, search->twin.primary_address);

	if (mapping && mapping->path)
		hawk_findings_add(search->findings, HAWK_FINDING_MISSING, true, "table-in-file",
				  "the process kept its trace table in the file %s; pass it with "
				  "--table=FILE, if you have it",
				  mapping->path);
}

static void use_twin(const struct search *search, struct hawk_table_found *ret)
{
	if (repair(search, &ret->header)) {
		ret->repaired = true;
		return;
	}
	ret->header = search->twin;
	ret->is_twin = true;
	report_file(search);
	hawk_findings_add(search->findings, HAWK_FINDING_MISSING, true, "table-twin-only",
			  "only a copy of the trace table's header was found, at 0x%llx: blocks "
			  "and sizes are known, stacks are not",
			  (unsigned long long)search->twin.self_address);
}

struct hawk_error *hawk_table_search(const struct hawk_target *target,
				     struct hawk_findings *findings, struct hawk_table_found *ret,
				     bool *found)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	struct search *search = calloc(1, sizeof(*search));

	if (!search)
		return &hawk_enomem;
	*ret = (struct hawk_table_found){0};
	search->target = target;
	search->findings = findings;
	search->magic = hawk_table_magic();
	for (size_t i = 0; i < count && !search->have_primary; i++)
		if (may_hold_table(&mappings[i]))
			look_at_mapping(search, &mappings[i]);
	*found = search->have_primary || search->have_twin;
	if (search->have_primary) {
		ret->header = search->primary;
		look_for_others(search, mappings, count);
	} else if (search->have_twin) {
		use_twin(search, ret);
	}
	free(search);
	return NULL;
}
