/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the regions of the heap by the collector's own structures, and the parts of threads'
 * buffers that hold no objects yet.
 */
#include "java.h"

enum { REGIONS_MAX = 1 << 20, THREADS_MAX = 1 << 20 };

static bool read_field(struct java *java, uint64_t structure, enum java_name name, uint64_t *ret)
{
	return java->names[name] != JAVA_UNKNOWN &&
	       hawk_word(&java->near, structure + java->names[name], ret);
}

static void add_region(struct java *java, const struct java_region *region)
{
	if (region->start > region->top || region->top > region->end ||
	    region->start % sizeof(uint64_t)) {
		java->incomplete = true;
		return;
	}
	if (region->start == region->end)
		return;
	if (!hawk_array_reserve(&java->regions, java->region_count, &java->region_capacity,
				sizeof(*java->regions))) {
		java->failed = true;
		return;
	}
	java->regions[java->region_count++] = *region;
}

/** How a collector's generations lead to its spaces. */
struct spaces {
	uint8_t eden, from, to, tenured, bottom, top, end; /* enum java_name */
};
static const struct spaces serial = {
	JAVA_SERIAL_EDEN,   JAVA_SERIAL_FROM, JAVA_SERIAL_TO,  JAVA_SERIAL_TENURED,
	JAVA_SERIAL_BOTTOM, JAVA_SERIAL_TOP,  JAVA_SERIAL_END,
};
static const struct spaces parallel = {
	JAVA_PARALLEL_EDEN,   JAVA_PARALLEL_FROM, JAVA_PARALLEL_TO,  JAVA_PARALLEL_TENURED,
	JAVA_PARALLEL_BOTTOM, JAVA_PARALLEL_TOP,  JAVA_PARALLEL_END,
};

static void add_space(struct java *java, const struct spaces *of, uint64_t generation, uint8_t name)
{
	struct java_region region = {0};
	uint64_t space;

	if (read_field(java, generation, (enum java_name)name, &space) &&
	    read_field(java, space, (enum java_name)of->bottom, &region.start) &&
	    read_field(java, space, (enum java_name)of->top, &region.top) &&
	    read_field(java, space, (enum java_name)of->end, &region.end))
		add_region(java, &region);
	else
		java->incomplete = true;
}

static void add_spaces(struct java *java, const struct spaces *of, uint64_t young, uint64_t old)
{
	add_space(java, of, young, of->eden);
	add_space(java, of, young, of->from);
	add_space(java, of, young, of->to);
	add_space(java, of, old, of->tenured);
}

/* Adds the part of a large object that lies in a further region. */
static void extend_region(struct java *java, const struct java_region *part)
{
	struct java_region *last =
		java->region_count ? &java->regions[java->region_count - 1] : NULL;

	if (last && last->is_large && last->end == part->start && part->top >= part->start &&
	    part->end >= part->top) {
		last->top = part->top;
		last->end = part->end;
	} else {
		java->incomplete = true;
	}
}

static void add_g1_region(struct java *java, uint64_t address)
{
	struct java_region region = {0};
	uint64_t tag_at = address + java->names[JAVA_G1_TYPE] + java->names[JAVA_G1_TAG];
	uint32_t tag;

	if (!read_field(java, address, JAVA_G1_BOTTOM, &region.start) ||
	    !read_field(java, address, JAVA_G1_TOP, &region.top) ||
	    !read_field(java, address, JAVA_G1_END, &region.end) ||
	    !hawk_half(&java->near, tag_at, &tag)) {
		java->incomplete = true;
		return;
	}
	region.is_large = tag == java->names[JAVA_G1_STARTS];
	if (tag == java->names[JAVA_G1_CONTINUES])
		extend_region(java, &region);
	else
		add_region(java, &region);
}

static void add_g1_regions(struct java *java, uint64_t heap)
{
	uint64_t table = heap + java->names[JAVA_G1_MANAGER] + java->names[JAVA_G1_TABLE];
	uint64_t base, length, address;

	if (!read_field(java, table, JAVA_G1_BASE, &base) ||
	    !read_field(java, table, JAVA_G1_LENGTH, &length)) {
		java->incomplete = true;
		return;
	}
	for (uint64_t i = 0; i < length && i < REGIONS_MAX && !java->failed; i++) {
		if (!hawk_word(&java->near, base + i * sizeof(address), &address))
			java->incomplete = true;
		else if (address) /* else its memory was given back */
			add_g1_region(java, address);
	}
}

static int by_start(const void *left, const void *right)
{
	const struct java_region *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Drops regions that overlap earlier ones. */
static void sort_regions(struct java *java)
{
	size_t used = 0;

	if (java->region_count)
		qsort(java->regions, java->region_count, sizeof(*java->regions), by_start);
	for (size_t i = 0; i < java->region_count; i++) {
		if (used && java->regions[i].start < java->regions[used - 1].end)
			java->incomplete = true;
		else
			java->regions[used++] = java->regions[i];
	}
	java->region_count = used;
}

static void add_buffer(struct java *java, uint64_t thread)
{
	uint64_t buffer = thread + java->names[JAVA_THREAD_BUFFER], top, end;

	if (!read_field(java, buffer, JAVA_BUFFER_TOP, &top) ||
	    !read_field(java, buffer, JAVA_BUFFER_END, &end) || !top || top > end)
		return;
	if (hawk_claims_add(&java->buffers, top, end + java->settings.reserve))
		java->failed = true;
}

static void add_buffers(struct java *java)
{
	uint64_t list, threads, thread;
	uint32_t count;

	if (!hawk_word(&java->near, java->names[JAVA_THREADS], &list) ||
	    !hawk_half(&java->near, list + java->names[JAVA_LIST_LENGTH], &count) ||
	    !read_field(java, list, JAVA_LIST_THREADS, &threads)) {
		java->incomplete = true;
		return;
	}
	for (uint32_t i = 0; i < count && i < THREADS_MAX && !java->failed; i++)
		if (hawk_word(&java->near, threads + i * sizeof(thread), &thread))
			add_buffer(java, thread);
	hawk_claims_sort(&java->buffers);
}

void java_find_regions(struct java *java)
{
	const char *collector = java->settings.collector;
	uint64_t heap, young, old;

	if (!hawk_word(&java->near, java->names[JAVA_HEAP], &heap))
		return;
	if (!strcmp(collector, "G1"))
		add_g1_regions(java, heap);
	else if (!strcmp(collector, "Serial") &&
		 read_field(java, heap, JAVA_SERIAL_YOUNG, &young) &&
		 read_field(java, heap, JAVA_SERIAL_OLD, &old))
		add_spaces(java, &serial, young, old);
	else if (!strcmp(collector, "Parallel") &&
		 read_field(java, 0, JAVA_PARALLEL_YOUNG, &young) &&
		 read_field(java, 0, JAVA_PARALLEL_OLD, &old))
		add_spaces(java, &parallel, young, old);
	sort_regions(java);
	add_buffers(java);
}
