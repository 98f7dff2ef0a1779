/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Chooses the memory of a core. Source of the rules and their order: vma_dump_size() of the
 * kernel's fs/coredump.c (6.12).
 */
#include "dump.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "process.h"
#include "target_state.h"

/** Bits of coredump_filter. */
enum filter {
	ANONYMOUS_PRIVATE = 1 << 0,
	ANONYMOUS_SHARED = 1 << 1,
	FILE_PRIVATE = 1 << 2,
	FILE_SHARED = 1 << 3,
	ELF_HEADERS = 1 << 4,
	HUGE_PRIVATE = 1 << 5,
	HUGE_SHARED = 1 << 6,
	DEFAULT_FILTER = ANONYMOUS_PRIVATE | ANONYMOUS_SHARED | ELF_HEADERS | HUGE_PRIVATE,
};

/** What /proc/PID/smaps tells of a mapping. */
struct details {
	bool written;  /**< has pages of its own, not only those of its file */
	bool excluded; /**< by madvise(MADV_DONTDUMP), or memory of a device */
	bool huge;     /**< of hugetlbfs */
};

static unsigned read_filter(const struct hawk_target *target)
{
	CLEANUP(text) struct hawk_text text;

	hawk_text_init(&text);

	CLEANUP(error)
	struct hawk_error *err = hawk_live_read_file(target->live, "coredump_filter", &text);

	return err ? DEFAULT_FILTER : (unsigned)strtoul(text.bytes, NULL, 16);
}

static void take_detail(const char *line, struct details *ret)
{
	if (!strncmp(line, "Anonymous:", 10) || !strncmp(line, "Swap:", 5)) {
		ret->written |= strtoull(strchr(line, ':') + 1, NULL, 10) > 0;
	} else if (!strncmp(line, "VmFlags:", 8)) {
		ret->excluded = strstr(line, " dd") || strstr(line, " io");
		ret->huge = strstr(line, " ht");
	}
}

/** Reads smaps: after each line as in maps, lines that begin with a capital. */
static struct hawk_error *read_details(const struct hawk_target *target, struct details *ret)
{
	CLEANUP(text) struct hawk_text text;
	struct hawk_error *err;
	char *rest, *line;
	size_t next = 0;
	bool found = false;

	hawk_text_init(&text);
	err = hawk_live_read_file(target->live, "smaps", &text);
	if (err)
		return err;
	for (rest = text.bytes; (line = strsep(&rest, "\n"));) {
		if (isupper((unsigned char)*line)) {
			if (found)
				take_detail(line, &ret[next]);
			continue;
		}

		uint64_t start = strtoull(line, NULL, 16);

		while (next < target->mapping_count && target->mappings[next].start < start)
			next++;
		found = next < target->mapping_count && target->mappings[next].start == start;
	}
	return NULL;
}

static bool begins_as_elf(const struct hawk_target *target, const struct hawk_mapping *mapping)
{
	char bytes[SELFMAG];

	return !mapping->file_offset &&
	       hawk_target_read_some(target, mapping->start, bytes, SELFMAG) == SELFMAG &&
	       !memcmp(bytes, ELFMAG, SELFMAG);
}

static uint64_t bytes_to_store(const struct hawk_target *target, unsigned filter,
			       const struct hawk_mapping *mapping, const struct details *details)
{
	const uint64_t whole = mapping->present_bytes;
	const bool shared = mapping->flags & HAWK_MAPPING_SHARED;
	const unsigned rights = HAWK_MAPPING_READ | HAWK_MAPPING_WRITE | HAWK_MAPPING_EXEC;
	bool is_deleted = false;

	if (mapping->start == target->auxv.vdso)
		return whole;
	if (details->excluded)
		return 0;
	if (details->huge)
		return filter & (shared ? HUGE_SHARED : HUGE_PRIVATE) ? whole : 0;
	if (mapping->path)
		hawk_path_length(mapping->path, &is_deleted);
	if (shared)
		return filter & (is_deleted ? ANONYMOUS_SHARED : FILE_SHARED) ? whole : 0;
	if (filter & ANONYMOUS_PRIVATE &&
	    (details->written || (!mapping->path && mapping->flags & rights)))
		return whole;
	if (!mapping->path || filter & FILE_PRIVATE)
		return mapping->path ? whole : 0;
	if (filter & ELF_HEADERS && begins_as_elf(target, mapping))
		return hawk_least(whole, target->process.page_bytes);
	return 0;
}

struct hawk_error *hawk_dump_choose(const struct hawk_target *target,
				    struct hawk_dump_segment **ret)
{
	size_t count = target->mapping_count;
	CLEANUP(free_ptr) struct hawk_dump_segment *segments = calloc(count + 1, sizeof(*segments));
	CLEANUP(free_ptr) struct details *details = calloc(count + 1, sizeof(*details));
	unsigned filter = read_filter(target);
	struct hawk_error *err;

	if (!segments || !details)
		return &hawk_enomem;
	err = read_details(target, details);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		segments[i] = (struct hawk_dump_segment){
			.start = target->mappings[i].start,
			.end = target->mappings[i].end,
			.bytes = bytes_to_store(target, filter, &target->mappings[i], &details[i]),
			.flags = target->mappings[i].flags,
		};
	*ret = take_ptr(&segments);
	return NULL;
}
