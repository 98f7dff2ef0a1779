/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Placement of the tracer's memory, and its limit.
 *
 * Memory is placed low: the kernel writes a core by ascending address, and a truncated core loses
 * its end. With the table first, a truncated core still answers for every block left. In a
 * position-independent program the host lies above 0x550000000000; in a fixed one (0x400000) only
 * the first 3 MiB come before it.
 */
#include "place.h"

#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>

#include "syscall.h"

enum {
	PAGE_BYTES = 4096,
	PLACEMENT_TRIES = 64,
};

/**
 * 192 GiB: above Java's compressed pointers (32 GiB) and SBCL's heap (64 GiB and up), below GHC's
 * heap (264 GiB), Go's arenas (768 GiB) and mimalloc's hints (2 TiB).
 */
static const uint64_t LOW_HINT = UINT64_C(0x3000000000);

/** Leaves the first MiB to DOS and to null pointers with an offset. */
static const uint64_t WINDOW_START = 0x110000;

static uint64_t low_next;
static uint64_t window_next;
static uint64_t window_end;

/** Returns the executable's start address; 0 if unknown. */
static uint64_t executable_start(void)
{
	const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM);
	uint64_t lowest = UINT64_MAX;
	uint64_t bias = 0;

	if (!headers)
		return 0;
	for (unsigned long i = 0; i < count; i++) {
		if (headers[i].p_type == PT_PHDR)
			bias = (uint64_t)headers - headers[i].p_vaddr;
		if (headers[i].p_type == PT_LOAD && headers[i].p_vaddr < lowest)
			lowest = headers[i].p_vaddr;
	}
	return lowest == UINT64_MAX ? 0 : (lowest + bias) & -(uint64_t)PAGE_BYTES;
}

void hawk_place_init(void)
{
	uint64_t executable = executable_start();

	low_next = LOW_HINT;
	if (executable > WINDOW_START && executable < LOW_HINT) {
		const uint64_t window_max = 16 << 20;

		window_next = WINDOW_START;
		window_end = executable < WINDOW_START + window_max ? executable
								    : WINDOW_START + window_max;
	}
}

/** Takes the next `bytes` below `end` from a cursor and maps them; NULL if the place is taken or
 * used up. */
static void *map_next(uint64_t *next, uint64_t end, size_t bytes)
{
	const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

	for (int i = 0; i < PLACEMENT_TRIES; i++) {
		uint64_t at = __atomic_load_n(next, __ATOMIC_RELAXED);
		long result;

		if (at + bytes > end)
			return NULL;
		if (!__atomic_compare_exchange_n(next, &at, at + bytes, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		result = hawk_syscall6(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
				       flags, -1, 0);
		/* Kernels before 4.17 take MAP_FIXED_NOREPLACE for a hint and may map elsewhere. */
		if (result > 0)
			return (void *)result;
		if (result != -EEXIST) /* no memory: no other place will help */
			return NULL;
	}
	return NULL;
}

/** Bytes mapped so far, or about to be. */
static uint64_t mapped_bytes;
uint64_t hawk_place_limit;

uint64_t hawk_place_bytes(void)
{
	return __atomic_load_n(&mapped_bytes, __ATOMIC_RELAXED);
}

uint64_t hawk_place_room(void)
{
	uint64_t bytes = hawk_place_bytes();

	if (!hawk_place_limit)
		return UINT64_MAX;
	return bytes < hawk_place_limit ? hawk_place_limit - bytes : 0;
}

bool hawk_place_take(size_t bytes)
{
	uint64_t before = __atomic_fetch_add(&mapped_bytes, bytes, __ATOMIC_RELAXED);

	if (!hawk_place_limit || before + bytes <= hawk_place_limit)
		return true;
	__atomic_fetch_sub(&mapped_bytes, bytes, __ATOMIC_RELAXED);
	return false;
}

void hawk_place_give_back(void *memory, size_t bytes)
{
	if (memory)
		hawk_unmap(memory, bytes);
	__atomic_fetch_sub(&mapped_bytes, bytes, __ATOMIC_RELAXED);
}

void *hawk_place_map(size_t bytes, bool for_readers)
{
	void *memory = NULL;

	if (!hawk_place_take(bytes))
		return NULL;
	if (window_end && for_readers)
		memory = map_next(&window_next, window_end, bytes);
	if (!memory)
		memory = map_next(&low_next, UINT64_MAX / 2, bytes);
	if (!memory)
		memory = hawk_map(0, bytes, false);
	if (!memory)
		hawk_place_give_back(NULL, bytes);
	return memory;
}
