/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Areas are anonymous mappings without reserved memory, in steps of the huge page.
 */
#include "hawk/base/area.h"

#include <errno.h>
#include <sys/mman.h>

enum {
	STEP_BYTES = 2 << 20,
	SMALL_BYTES = 64 << 10, /**< smaller areas have a page's granularity: they are made by the
				   thousand */
	PAGE_BYTES = 4096,
};

/* Nothing here can be larger than the address space of a process. */
static const uint64_t AREA_BYTES_MAX = UINT64_C(1) << 46;

static size_t round_up(uint64_t bytes)
{
	uint64_t step = bytes <= SMALL_BYTES ? PAGE_BYTES : STEP_BYTES;

	return (size_t)((bytes + step - 1) & -step);
}

static void *map(size_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (start == MAP_FAILED)
		return NULL;
	return start;
}

struct hawk_error *hawk_area_create(struct hawk_area *area, uint64_t wanted_bytes)
{
	uint64_t wanted = wanted_bytes < AREA_BYTES_MAX ? wanted_bytes : AREA_BYTES_MAX;

	if (!wanted)
		wanted = 1;
	for (;; wanted /= 2) {
		size_t size = round_up(wanted);
		void *bytes = map(size);

		if (bytes) {
			/* Fails without huge pages, which is harmless. */
			if (size >= STEP_BYTES)
				(void)madvise(bytes, size, MADV_HUGEPAGE);
			*area = (struct hawk_area){bytes, size};
			return NULL;
		}
		if (size <= PAGE_BYTES)
			return &hawk_enomem;
	}
}

struct hawk_error *hawk_area_create_sparse(struct hawk_area *area, uint64_t bytes)
{
	size_t size = round_up(bytes);
	void *start = bytes <= AREA_BYTES_MAX ? map(size) : NULL;

	if (!start)
		return &hawk_enomem;
	(void)madvise(start, size, MADV_NOHUGEPAGE);
	*area = (struct hawk_area){start, size};
	return NULL;
}

struct hawk_error *hawk_area_grow(struct hawk_area *area, uint64_t bytes)
{
	uint64_t twice = 2 * (uint64_t)area->size;
	size_t size;
	void *moved;

	if (bytes <= area->size)
		return NULL;
	if (bytes > AREA_BYTES_MAX)
		return &hawk_enomem;
	if (!area->bytes)
		return hawk_area_create(area, bytes);
	size = round_up(bytes > twice ? bytes : twice);
	moved = mremap(area->bytes, area->size, size, MREMAP_MAYMOVE);
	if (moved == MAP_FAILED) {
		size = round_up(bytes);
		moved = mremap(area->bytes, area->size, size, MREMAP_MAYMOVE);
	}
	if (moved == MAP_FAILED)
		return &hawk_enomem;
	*area = (struct hawk_area){moved, size};
	return NULL;
}

void hawk_area_trim(struct hawk_area *area, size_t bytes)
{
	size_t size = (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;

	if (!size)
		size = PAGE_BYTES;
	if (size >= area->size)
		return;
	if (!munmap((char *)area->bytes + size, area->size - size))
		area->size = size;
}

void hawk_area_destroy(struct hawk_area *area)
{
	if (area->bytes)
		(void)munmap(area->bytes, area->size);
	*area = (struct hawk_area){0};
}
