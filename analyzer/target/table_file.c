/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes mappings from the header of a table file. Reads only what locates the memory; trace/
 * validates the table.
 */
#include "core/file.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_trace_table.h"
#include "target_state.h"

bool hawk_table_file_is(const uint8_t *bytes, size_t size)
{
	uint64_t magic = hawk_table_magic();

	return size >= sizeof(magic) && !memcmp(bytes, &magic, sizeof(magic));
}

/** Returns true if the extent is in the file. Absent extents have offset 0, like the header. */
static bool is_in_file(const struct hawk_table_header *header,
		       const struct hawk_table_extent *extent)
{
	return extent->file_offset ||
	       (extent->kind == HAWK_EXTENT_HEADER && extent->address == header->self_address);
}

static struct hawk_mapping mapping_of(const struct hawk_table_extent *extent, size_t file_bytes)
{
	uint64_t present = extent->file_offset < file_bytes ? file_bytes - extent->file_offset : 0;

	return (struct hawk_mapping){
		.start = extent->address,
		.end = extent->address + extent->bytes,
		.present_bytes = present < extent->bytes ? present : extent->bytes,
		.dumped_bytes = extent->bytes,
		.core_offset = extent->file_offset,
		.flags = HAWK_MAPPING_READ | HAWK_MAPPING_WRITE | HAWK_MAPPING_SHARED,
	};
}

static int compare_mappings(const void *left, const void *right)
{
	const struct hawk_mapping *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/** Keeps the first of overlapping mappings. Returns the number left. */
static size_t drop_overlapping(struct hawk_mapping *mappings, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (!used || mappings[i].start >= mappings[used - 1].end)
			mappings[used++] = mappings[i];
	return used;
}

static void report_lost(struct hawk_findings *findings, const char *key, const char *text,
			size_t count)
{
	if (count)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, key, text, count);
}

/** Returns the number of extents to read. trace/ refuses an unknown version by its header. */
static uint32_t extents_to_read(const struct hawk_table_header *header)
{
	if (header->version != HAWK_TABLE_VERSION)
		return 0;
	return header->extent_count < HAWK_TABLE_EXTENTS ? header->extent_count
							 : HAWK_TABLE_EXTENTS;
}

static struct hawk_error *read_extents(struct hawk_target *target,
				       const struct hawk_table_header *header,
				       struct hawk_findings *findings)
{
	struct hawk_table_extent first = {.address = header->self_address,
					  .bytes = HAWK_TABLE_HEADER_BYTES,
					  .kind = HAWK_EXTENT_HEADER};
	size_t file_bytes = target->core->size;
	size_t count = 0, cut = 0, left;

	target->mappings = calloc(HAWK_TABLE_EXTENTS + 1, sizeof(*target->mappings));
	if (!target->mappings)
		return &hawk_enomem;
	if (header->self_address <= UINT64_MAX - HAWK_TABLE_HEADER_BYTES)
		target->mappings[count++] = mapping_of(&first, file_bytes);
	for (uint32_t i = 0; i < extents_to_read(header); i++) {
		const struct hawk_table_extent *extent = &header->extents[i];

		if (!extent->kind || extent->kind == HAWK_EXTENT_HEADER || !extent->bytes ||
		    extent->bytes > UINT64_MAX - extent->address || !is_in_file(header, extent))
			continue;
		target->mappings[count] = mapping_of(extent, file_bytes);
		cut += target->mappings[count].present_bytes < extent->bytes;
		count++;
	}
	qsort(target->mappings, count, sizeof(*target->mappings), compare_mappings);
	left = drop_overlapping(target->mappings, count);
	target->mapping_count = left;
	report_lost(findings, "table-file-overlap",
		    "%zu parts of the table file overlap others in memory; they were ignored",
		    count - left);
	report_lost(findings, "table-file-cut", "%zu parts of the table file are cut off", cut);
	return NULL;
}

struct hawk_error *hawk_table_file_read(struct hawk_target *target, struct hawk_findings *findings)
{
	struct hawk_table_header *header;
	struct hawk_error *err;

	if (target->core->size < sizeof(*header))
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "a table file of hawk-core that is cut off in its header");
	header = malloc(sizeof(*header));
	if (!header)
		return &hawk_enomem;
	memcpy(header, target->core->bytes, sizeof(*header));
	target->process.table_file = true;
	target->process.pid = header->version == HAWK_TABLE_VERSION ? header->pid : 0;
	err = read_extents(target, header, findings);
	free(header);
	return err;
}
