/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory of a stopped process, and its captured ranges.
 *
 * Captured ranges are sorted and disjoint. Untouched pages inside them (live_pages.c) are fresh
 * memory of ours, which keeps both the pause and our own use of memory small.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "page_cache.h"

enum {
	PAGE_BYTES = HAWK_PAGE_BYTES,
	CHUNK_BYTES = 64 << 20, /* per call of process_vm_readv() */
	HUGE_BYTES_MIN = 4 << 20,
	CACHE_BYTES = 64 << 20,
};

struct range {
	uint64_t start;
	uint64_t end;
	uint8_t *bytes;
};

struct region {
	void *start;
	size_t bytes;
};

struct hawk_live {
	int directory; /* /proc/PID */
	int memory;    /* /proc/PID/task/TID/mem, -1 = not allowed */
	int pagemap;   /* -1 = not allowed */
	pid_t tid;
	struct hawk_stopper *stopper;
	bool released;
	bool running;   /* was never stopped: any of its memory may vanish */
	bool ended;     /* the process ended before the release */
	uint64_t probe; /* an address that was readable at first */
	bool has_probe;
	const struct hawk_mapping *mappings; /* of the target */
	struct hawk_pages *pages;            /* one per mapping */
	size_t mapping_count;
	struct range *ranges;
	size_t range_count;
	size_t range_capacity;
	struct region *regions; /* memory that holds the ranges */
	size_t region_count;
	size_t region_capacity;
	uint64_t lost_bytes;           /* readable but not captured */
	struct hawk_page_cache *cache; /* NULL = released, running, or out of memory */
};

static size_t read_page(const void *context, const void *where, uint64_t page, uint8_t *to);

struct hawk_error *hawk_live_create(int directory, pid_t tid, struct hawk_stopper *stopper,
				    struct hawk_live **ret)
{
	struct hawk_live *live = calloc(1, sizeof(*live));
	char name[64];

	if (!live) {
		hawk_stopper_destroy(stopper);
		close(directory);
		return &hawk_enomem;
	}
	live->directory = directory;
	live->tid = tid;
	live->stopper = stopper;
	snprintf(name, sizeof(name), "task/%d/mem", tid);
	live->memory = openat(directory, name, O_RDONLY | O_CLOEXEC);
	snprintf(name, sizeof(name), "task/%d/pagemap", tid);
	live->pagemap = openat(directory, name, O_RDONLY | O_CLOEXEC);
	live->cache =
		hawk_page_cache_create(&(struct hawk_page_source){read_page, live}, CACHE_BYTES);
	*ret = live;
	return NULL;
}

void hawk_live_forget(struct hawk_live *live, size_t count)
{
	for (size_t i = 0; i < live->region_count; i++)
		munmap(live->regions[i].start, live->regions[i].bytes);
	for (size_t i = 0; i < live->mapping_count; i++)
		hawk_pages_deinit(&live->pages[i]);
	hawk_page_cache_destroy(live->cache);
	live->cache = NULL;
	live->region_count = live->range_count = 0;
	live->mapping_count = count;
	live->running = true;
}

int hawk_live_directory(const struct hawk_live *live)
{
	return live->directory;
}

void hawk_live_close(struct hawk_live *live)
{
	if (!live)
		return;
	hawk_stopper_destroy(live->stopper);
	hawk_live_forget(live, 0);
	free(live->pages);
	free(live->regions);
	free(live->ranges);
	if (live->memory >= 0)
		close(live->memory);
	if (live->pagemap >= 0)
		close(live->pagemap);
	close(live->directory);
	free(live);
}

void hawk_live_release(struct hawk_live *live)
{
	live->ended = hawk_live_ended(live);
	live->released = true;
	hawk_stopper_release(live->stopper);
	hawk_page_cache_destroy(live->cache);
	live->cache = NULL;
}

uint64_t hawk_live_pause_ns(const struct hawk_live *live)
{
	return hawk_stopper_pause_ns(live->stopper);
}

struct hawk_error *hawk_live_read_file(const struct hawk_live *live, const char *name,
				       struct hawk_text *ret)
{
	return hawk_proc_read_task(live->directory, live->tid, name, ret);
}

uint64_t hawk_live_status_number(const struct hawk_live *live, const char *key)
{
	return hawk_proc_status_number(live->directory, key, 0);
}

/** Reads up to the first page that neither way can read. */
static size_t read_process(const struct hawk_live *live, uint64_t address, uint8_t *to,
			   size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		uint64_t at = address + done;
		size_t want = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
		struct iovec local = {.iov_base = to + done, .iov_len = want};
		struct iovec remote = {.iov_base = (void *)at, .iov_len = want};
		ssize_t got = process_vm_readv(live->tid, &local, 1, &remote, 1, 0);

		if (got <= 0 && live->memory >= 0)
			got = pread(live->memory, to + done, want, (off_t)at);
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/* A process's memory vanishes all at once, when its last thread ends. */
bool hawk_live_ended(const struct hawk_live *live)
{
	uint8_t byte;

	if (live->released)
		return live->ended;
	if (live->running)
		return hawk_proc_has_ended(live->directory);
	return !live->has_probe || !read_process(live, live->probe, &byte, 1);
}

static bool probe(struct hawk_live *live, uint64_t address)
{
	uint8_t byte;

	live->probe = address;
	live->has_probe = read_process(live, address, &byte, 1);
	return live->has_probe;
}

/* Finds a readable address in the process's own memory, which vanishes only with it: a file may be
 * truncated, and a device is unpredictable. If no mapping is readable, the process has ended
 * already. */
static void find_probe(struct hawk_live *live)
{
	const unsigned own = HAWK_MAPPING_READ | HAWK_MAPPING_WRITE;

	for (size_t i = 0; i < live->mapping_count; i++)
		if (live->pages[i].known && live->pages[i].count &&
		    (live->mappings[i].flags & own) == own &&
		    probe(live, live->pages[i].runs[0].start))
			return;
	for (size_t i = 0; i < live->mapping_count; i++)
		if (live->mappings[i].flags & HAWK_MAPPING_READ &&
		    probe(live, live->mappings[i].start))
			return;
}

/** Returns the index of the first range that ends above `address`. */
static size_t range_index(const struct hawk_live *live, uint64_t address)
{
	return hawk_array_first_above(live->ranges, live->range_count, sizeof(*live->ranges),
				      offsetof(struct range, end), address);
}

/**
 * Returns true for private anonymous memory, which the kernel fills with zeros at the first touch.
 * The vdso is excluded: it is executable and not writable.
 */
static bool starts_as_zeros(const struct hawk_mapping *mapping)
{
	return !mapping->path && !(mapping->flags & HAWK_MAPPING_SHARED) &&
	       (mapping->flags & HAWK_MAPPING_WRITE || !(mapping->flags & HAWK_MAPPING_EXEC));
}

struct hawk_error *hawk_live_use_mappings(struct hawk_live *live,
					  const struct hawk_mapping *mappings, size_t count)
{
	live->pages = calloc(count + 1, sizeof(*live->pages));
	if (!live->pages)
		return &hawk_enomem;
	live->mappings = mappings;
	live->mapping_count = count;
	for (size_t i = 0; i < count; i++)
		if (starts_as_zeros(&mappings[i]))
			hawk_pages_read(live->pagemap, mappings[i].start, mappings[i].end,
					&live->pages[i]);
	find_probe(live);
	return NULL;
}

static const struct hawk_pages *pages_of(const struct hawk_live *live,
					 const struct hawk_mapping *mapping)
{
	return &live->pages[mapping - live->mappings];
}

/** Reads the touched pages of [start, end); fills the rest with zeros if `clear`. */
static size_t read_touched(const struct hawk_live *live, const struct hawk_mapping *mapping,
			   uint64_t start, uint64_t end, uint8_t *to, bool clear)
{
	const struct hawk_pages *pages = pages_of(live, mapping);
	uint64_t at = start;

	while (at < end) {
		uint64_t from = at, until = end;
		size_t got;

		if (!hawk_pages_next(pages, &from, &until))
			from = until = end;
		if (clear)
			memset(to + (at - start), 0, (size_t)(from - at));
		got = read_process(live, from, to + (from - start), (size_t)(until - from));
		at = from + got;
		if (at < until)
			break;
	}
	return (size_t)(at - start);
}

static size_t read_page(const void *context, const void *where, uint64_t page, uint8_t *to)
{
	const struct hawk_mapping *mapping = where;

	return read_touched(context, mapping, page, page + PAGE_BYTES, to, true);
}

/** Reads [start, end) of the stopped process, through the cache if it is small. */
static size_t read_stopped(const struct hawk_live *live, const struct hawk_mapping *mapping,
			   uint64_t start, uint64_t end, uint8_t *to)
{
	if (live->cache && end - start < PAGE_BYTES)
		return hawk_page_cache_read(live->cache, mapping, start, to, (size_t)(end - start));
	return read_touched(live, mapping, start, end, to, true);
}

size_t hawk_live_read(const struct hawk_live *live, const struct hawk_mapping *mapping,
		      uint64_t address, void *to, size_t bytes)
{
	uint64_t at = address;
	uint64_t end = address + bytes;

	while (at < end) {
		size_t i = range_index(live, at);
		const struct range *range = i < live->range_count ? &live->ranges[i] : NULL;
		uint8_t *into = (uint8_t *)to + (at - address);
		uint64_t until = end;
		size_t got;

		if (range && range->start <= at) {
			until = range->end < end ? range->end : end;
			memcpy(into, range->bytes + (at - range->start), (size_t)(until - at));
			at = until;
			continue;
		}
		if (live->released)
			break;
		if (range && range->start < end)
			until = range->start;
		got = read_stopped(live, mapping, at, until, into);
		at += got;
		if (at < until)
			break;
	}
	return (size_t)(at - address);
}

bool hawk_live_data(const struct hawk_live *live, const struct hawk_mapping *mapping,
		    uint64_t *start, uint64_t *end)
{
	const struct hawk_pages *pages = pages_of(live, mapping);

	if (!live->released)
		return hawk_pages_next(pages, start, end);
	for (size_t i = range_index(live, *start);
	     i < live->range_count && live->ranges[i].start < *end; i++) {
		uint64_t from = live->ranges[i].start > *start ? live->ranges[i].start : *start;
		uint64_t until = live->ranges[i].end < *end ? live->ranges[i].end : *end;

		if (hawk_pages_next(pages, &from, &until)) {
			*start = from;
			*end = until;
			return true;
		}
	}
	return false;
}

const void *hawk_live_view(const struct hawk_live *live, uint64_t address, size_t bytes)
{
	size_t i = range_index(live, address);

	if (i == live->range_count || live->ranges[i].start > address ||
	    bytes > live->ranges[i].end - address)
		return NULL;
	return live->ranges[i].bytes + (address - live->ranges[i].start);
}

static struct hawk_error *insert_range(struct hawk_live *live, struct range range)
{
	size_t i = range_index(live, range.start);

	if (!hawk_array_reserve(&live->ranges, live->range_count, &live->range_capacity,
				sizeof(range)))
		return &hawk_enomem;
	memmove(live->ranges + i + 1, live->ranges + i, (live->range_count - i) * sizeof(range));
	live->ranges[i] = range;
	live->range_count++;
	return NULL;
}

static struct hawk_error *new_region(struct hawk_live *live, size_t bytes, uint8_t **ret)
{
	void *start;

	if (!hawk_array_reserve(&live->regions, live->region_count, &live->region_capacity,
				sizeof(*live->regions)))
		return &hawk_enomem;
	start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return &hawk_enomem;
	live->regions[live->region_count++] = (struct region){start, bytes};
	*ret = start;
	return NULL;
}

/** Reads [start, end) into `to`, counts unreadable bytes, keeps the rest as ranges. */
static struct hawk_error *copy_range(struct hawk_live *live, const struct hawk_mapping *mapping,
				     uint64_t start, uint64_t end, uint8_t *to)
{
	while (start < end) {
		size_t got = read_process(live, start, to, (size_t)(end - start));
		uint64_t next = ((start + got) & -(uint64_t)PAGE_BYTES) + PAGE_BYTES;

		if (got) {
			struct range range = {start, start + got, to};
			struct hawk_error *error = insert_range(live, range);

			if (error)
				return error;
		}
		if (start + got == end)
			break;
		if (next > end)
			next = end;
		if (mapping->flags & HAWK_MAPPING_READ)
			live->lost_bytes += next - (start + got);
		to += next - start;
		start = next;
	}
	return NULL;
}

/** Uses huge pages for our copy if most of it will be written. Faults of small pages would take
 * longer than the copying, and the process waits for it. */
static void prepare_region(const struct hawk_pages *pages, uint64_t start, uint64_t end,
			   uint8_t *region)
{
	uint64_t touched = pages->known ? 0 : end - start;
	uint64_t at = start;

	while (pages->known && at < end) {
		uint64_t until = end;

		if (!hawk_pages_next(pages, &at, &until))
			break;
		touched += until - at;
		at = until;
	}
	if (end - start >= HUGE_BYTES_MIN && touched >= (end - start) / 2)
		madvise(region, (size_t)(end - start), MADV_HUGEPAGE);
}

static struct hawk_error *capture_gap(struct hawk_live *live, const struct hawk_mapping *mapping,
				      uint64_t start, uint64_t end)
{
	struct hawk_error *error;
	uint8_t *to = NULL;

	error = new_region(live, (size_t)(end - start), &to);
	if (error)
		return error;
	prepare_region(pages_of(live, mapping), start, end, to);
	if (pages_of(live, mapping)->known &&
	    read_touched(live, mapping, start, end, to, false) == end - start)
		return insert_range(live, (struct range){start, end, to});
	return copy_range(live, mapping, start, end, to);
}

struct hawk_error *hawk_live_capture(struct hawk_live *live, const struct hawk_mapping *mapping,
				     uint64_t start, uint64_t end)
{
	while (start < end && !live->released) {
		size_t i = range_index(live, start);
		const struct range *range = i < live->range_count ? &live->ranges[i] : NULL;
		uint64_t until = range && range->start < end ? range->start : end;

		if (range && range->start <= start) {
			start = range->end;
			continue;
		}

		struct hawk_error *error = capture_gap(live, mapping, start, until);

		if (error)
			return error;
		start = until;
	}
	return NULL;
}

void hawk_live_count_lost(struct hawk_live *live, uint64_t bytes)
{
	live->lost_bytes += bytes;
}

void hawk_live_check(const struct hawk_live *live, struct hawk_findings *findings)
{
	if (live->lost_bytes)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "live-unreadable",
				  "%" PRIu64 " bytes of the process could not be read",
				  live->lost_bytes);
}
