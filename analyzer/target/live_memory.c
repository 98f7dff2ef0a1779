/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory of a stopped process, and what was captured of it.
 *
 * Captured ranges are sorted and disjoint. Pages of private anonymous memory that were never
 * touched are not read: they are zeros, and so is fresh memory of ours; this keeps both the pause
 * and our own use of memory small.
 */
#include "live_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "hawk_cleanup.h"
#include "live_stop.h"

enum {
	PAGE_BYTES = 4096,
	CHUNK_BYTES = 64 << 20, /* per call of process_vm_readv() */
	PAGEMAP_ENTRIES = 4096, /* read at once */
};

/* Bits of an entry of /proc/PID/pagemap. */
static const uint64_t pagemap_used = UINT64_C(3) << 62; /* present or swapped */

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
	struct range *ranges;
	size_t range_count;
	size_t range_capacity;
	struct region *regions; /* that the ranges lie in */
	size_t region_count;
	size_t region_capacity;
	uint64_t lost_bytes; /* readable, but could not be captured */
};

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
	*ret = live;
	return NULL;
}

void hawk_live_close(struct hawk_live *live)
{
	if (!live)
		return;
	hawk_stopper_destroy(live->stopper);
	for (size_t i = 0; i < live->region_count; i++)
		munmap(live->regions[i].start, live->regions[i].bytes);
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
	live->released = true;
	hawk_stopper_release(live->stopper);
}

uint64_t hawk_live_pause_ns(const struct hawk_live *live)
{
	return hawk_stopper_pause_ns(live->stopper);
}

/** Up to the first page that neither way can read. */
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

		if (got <= 0 && live->memory >= 0) {
			size_t page_left = PAGE_BYTES - (at & (PAGE_BYTES - 1));

			got = pread(live->memory, to + done, want < page_left ? want : page_left,
				    (off_t)at);
		}
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/** Index of the first range that ends above `address`. */
static size_t range_index(const struct hawk_live *live, uint64_t address)
{
	size_t low = 0, high = live->range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (live->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t hawk_live_read(const struct hawk_live *live, uint64_t address, void *to, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		uint64_t at = address + done;
		size_t want = bytes - done;
		size_t i = range_index(live, at);
		bool captured = i < live->range_count && live->ranges[i].start <= at;
		uint64_t end = i == live->range_count ? UINT64_MAX
			       : captured             ? live->ranges[i].end
						      : live->ranges[i].start;

		if (want > end - at)
			want = (size_t)(end - at);
		if (captured) {
			memcpy((uint8_t *)to + done,
			       live->ranges[i].bytes + (at - live->ranges[i].start), want);
			done += want;
			continue;
		}
		if (live->released)
			break;

		size_t got = read_process(live, at, (uint8_t *)to + done, want);

		done += got;
		if (got < want)
			break;
	}
	return done;
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

	if (live->range_count == live->range_capacity) {
		size_t capacity = live->range_capacity ? 2 * live->range_capacity : 64;
		void *moved = reallocarray(live->ranges, capacity, sizeof(range));

		if (!moved)
			return &hawk_enomem;
		live->ranges = moved;
		live->range_capacity = capacity;
	}
	memmove(live->ranges + i + 1, live->ranges + i, (live->range_count - i) * sizeof(range));
	live->ranges[i] = range;
	live->range_count++;
	return NULL;
}

static struct hawk_error *new_region(struct hawk_live *live, size_t bytes, uint8_t **ret)
{
	void *start;

	if (live->region_count == live->region_capacity) {
		size_t capacity = live->region_capacity ? 2 * live->region_capacity : 64;
		void *moved = reallocarray(live->regions, capacity, sizeof(*live->regions));

		if (!moved)
			return &hawk_enomem;
		live->regions = moved;
		live->region_capacity = capacity;
	}
	start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return &hawk_enomem;
	live->regions[live->region_count++] = (struct region){start, bytes};
	*ret = start;
	return NULL;
}

/** Reads [start, end) into `to`, notes what could not be read, keeps the rest as ranges. */
static struct hawk_error *copy_stretch(struct hawk_live *live, const struct hawk_mapping *mapping,
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

/** Fills [start, end), private anonymous memory, page for page where it was ever touched. False =
 * the pagemap cannot be read. */
static bool copy_touched(struct hawk_live *live, uint64_t start, uint64_t end, uint8_t *to)
{
	static const size_t entry_bytes = sizeof(uint64_t);
	uint64_t entries[PAGEMAP_ENTRIES];
	uint64_t page = start / PAGE_BYTES;
	uint64_t last = (end - 1) / PAGE_BYTES;

	while (page <= last) {
		size_t count =
			last - page + 1 < PAGEMAP_ENTRIES ? last - page + 1 : PAGEMAP_ENTRIES;
		ssize_t got = pread(live->pagemap, entries, count * entry_bytes,
				    (off_t)(page * entry_bytes));

		if (got < (ssize_t)entry_bytes)
			return false;
		count = (size_t)got / entry_bytes;
		for (size_t i = 0; i < count;) {
			size_t first = i;
			uint64_t from, until;

			while (i < count && entries[i] & pagemap_used)
				i++;
			from = (page + first) * PAGE_BYTES;
			until = (page + i) * PAGE_BYTES;
			from = from > start ? from : start;
			until = until < end ? until : end;
			if (i > first && read_process(live, from, to + (from - start),
						      (size_t)(until - from)) != until - from)
				return false;
			i += i == first;
		}
		page += count;
	}
	return true;
}

static struct hawk_error *capture_gap(struct hawk_live *live, const struct hawk_mapping *mapping,
				      uint64_t start, uint64_t end)
{
	bool anonymous = !mapping->path && !(mapping->flags & HAWK_MAPPING_SHARED);
	struct hawk_error *error;
	uint8_t *to = NULL;

	error = new_region(live, (size_t)(end - start), &to);
	if (error)
		return error;
	if (anonymous && live->pagemap >= 0 && copy_touched(live, start, end, to))
		return insert_range(live, (struct range){start, end, to});
	return copy_stretch(live, mapping, start, end, to);
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

void hawk_live_check(const struct hawk_live *live, struct hawk_findings *findings)
{
	if (live->lost_bytes)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "live-unreadable",
				  "%" PRIu64 " bytes of the process could not be read",
				  live->lost_bytes);
}
