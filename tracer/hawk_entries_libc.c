/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Functions that other systems' C libraries have, and some allocators. They take a block and make
 * none of their own.
 */
#include <errno.h>
#include <stdlib.h>

#include "hawk_entries.h"

static struct {
	void (*vfree)(void *pointer);
	size_t (*malloc_size)(const void *pointer);
	size_t (*malloc_good_size)(size_t size);
	void *(*reallocf)(void *pointer, size_t size);
	int (*reallocarr)(void *place, size_t count, size_t size);
} next;

static void entry_vfree(void *pointer)
{
	if (hawk_entry_offset(pointer) || hawk_bootstrap_owns(pointer))
		hawk_release(pointer);
	else
		next.vfree(pointer);
}

static size_t entry_malloc_size(const void *pointer)
{
	return next.malloc_size(hawk_entry_base(pointer)) - hawk_entry_offset(pointer);
}

static size_t entry_malloc_good_size(size_t size)
{
	if (!hawk_entry_traces(size))
		return next.malloc_good_size(size);
	return next.malloc_good_size(size + HAWK_HEADER_BYTES) - HAWK_HEADER_BYTES;
}

static void *entry_reallocf(void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *result;

	if (!hawk_entry_offset(pointer))
		return next.reallocf(pointer, size);
	result = hawk_reallocate(&caller, pointer, size);
	if (!result && size)
		hawk_release(pointer);
	return result;
}

/** The first argument is the address of a pointer, of any type. */
static int entry_reallocarr(void *place, size_t count, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void **pointer = place;
	size_t bytes;
	void *result;

	if (!place || !hawk_entry_offset(*pointer) || __builtin_mul_overflow(count, size, &bytes) ||
	    !bytes)
		return next.reallocarr(place, count, size);
	result = hawk_reallocate(&caller, *pointer, bytes);
	if (!result)
		return ENOMEM;
	*pointer = result;
	return 0;
}

const struct hawk_entry hawk_entries_libc[] = {
	{"vfree", entry_vfree, (void **)&next.vfree, false},
	{"malloc_size", entry_malloc_size, (void **)&next.malloc_size, false},
	{"malloc_good_size", entry_malloc_good_size, (void **)&next.malloc_good_size, false},
	{"reallocf", entry_reallocf, (void **)&next.reallocf, false},
	{"reallocarr", entry_reallocarr, (void **)&next.reallocarr, false},
	{NULL, NULL, NULL, false},
};
