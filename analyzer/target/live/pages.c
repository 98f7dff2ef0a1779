/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds touched pages with the ioctl PAGEMAP_SCAN (Linux 6.7) or, before that, by reading the
 * pagemap.
 */
#include "process.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hawk/base/array.h"

enum {
	ENTRIES = 8192, /* of the pagemap, in one read */
	REGIONS = 512,  /* of PAGEMAP_SCAN, in one call */

	/* categories of PAGEMAP_SCAN */
	IS_PRESENT = 1 << 3,
	IS_SWAPPED = 1 << 4,
	IS_ZERO = 1 << 5,  /* the kernel's page of zeros: read, but never written */
	IS_GUARD = 1 << 8, /* Linux 6.16 */
};

/* Bits 63 (present) and 62 (swapped) of an entry of the pagemap. */
static const uint64_t entry_touched = UINT64_C(3) << 62;
/* Page of MADV_GUARD_INSTALL, which looks swapped as well; Linux 6.15. */
static const uint64_t entry_guard = UINT64_C(1) << 58;

/* struct pm_scan_arg and struct page_region of <linux/fs.h>, which may be older than the kernel. */
struct scan {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t regions;
	uint64_t region_count;
	uint64_t max_pages;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

struct region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

static bool add_run(struct hawk_pages *pages, uint64_t start, uint64_t end)
{
	if (pages->count && pages->runs[pages->count - 1].end == start) {
		pages->runs[pages->count - 1].end = end;
		return true;
	}
	if (!hawk_array_reserve(&pages->runs, pages->count, &pages->capacity, sizeof(*pages->runs)))
		return false;
	pages->runs[pages->count++] = (struct hawk_page_run){start, end};
	return true;
}

/* Scans pages. `never` are categories of pages to leave out; older kernels do not know all. */
static bool scan_pages(int pagemap, uint64_t start, uint64_t end, uint64_t never,
		       struct hawk_pages *pages)
{
	struct region regions[REGIONS];

	while (start < end) {
		struct scan scan = {
			.size = sizeof(scan),
			.start = start,
			.end = end,
			.regions = (uintptr_t)regions,
			.region_count = REGIONS,
			.category_inverted = never,
			.category_mask = never,
			.category_anyof_mask = IS_PRESENT | IS_SWAPPED,
			.return_mask = IS_PRESENT | IS_SWAPPED,
		};
		int count = ioctl(pagemap, _IOWR('f', 16, struct scan), &scan);

		if (count < 0 || count > REGIONS)
			return false;
		for (int i = 0; i < count; i++)
			if (!add_run(pages, regions[i].start, regions[i].end))
				return false;
		if (scan.walk_end <= start)
			return false;
		start = scan.walk_end;
	}
	return true;
}

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool read_pages(int pagemap, uint64_t start, uint64_t end, struct hawk_pages *pages)
{
	const uint64_t page = page_bytes();
	uint64_t entries[ENTRIES];

	while (start < end) {
		uint64_t left = (end - start) / page;
		size_t bytes = (left < ENTRIES ? left : ENTRIES) * sizeof(*entries);
		ssize_t got =
			pread(pagemap, entries, bytes, (off_t)(start / page * sizeof(*entries)));

		if (got < (ssize_t)sizeof(*entries))
			return false;
		for (size_t i = 0; i < (size_t)got / sizeof(*entries); i++, start += page)
			if (entries[i] & entry_touched && !(entries[i] & entry_guard) &&
			    !add_run(pages, start, start + page))
				return false;
	}
	return true;
}

void hawk_pages_read(int pagemap, uint64_t start, uint64_t end, struct hawk_pages *ret)
{
	*ret = (struct hawk_pages){0};
	if (pagemap < 0 || start % page_bytes() || end % page_bytes())
		return;
	for (unsigned i = 0; i < 2; i++) {
		ret->known = scan_pages(pagemap, start, end, IS_ZERO | (i ? 0 : IS_GUARD), ret);
		if (ret->known)
			return;
		hawk_pages_deinit(ret);
	}
	ret->known = read_pages(pagemap, start, end, ret);
	if (!ret->known)
		hawk_pages_deinit(ret);
}

void hawk_pages_deinit(struct hawk_pages *pages)
{
	free(pages->runs);
	*pages = (struct hawk_pages){0};
}

bool hawk_pages_next(const struct hawk_pages *pages, uint64_t *start, uint64_t *end)
{
	const struct hawk_page_run *run;
	size_t index;

	if (!pages->known)
		return *start < *end;
	index = hawk_array_first_above(pages->runs, pages->count, sizeof(*run),
				       offsetof(struct hawk_page_run, end), *start);
	if (index == pages->count || pages->runs[index].start >= *end)
		return false;
	run = &pages->runs[index];
	if (run->start > *start)
		*start = run->start;
	if (run->end < *end)
		*end = run->end;
	return *start < *end;
}
