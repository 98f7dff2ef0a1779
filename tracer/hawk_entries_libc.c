/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Functions of C libraries and allocators that take a block and are not in every one of them: the
 * sized frees of C23, the C library's names for its own functions, and old names of free().
 * They make no block of their own.
 */
#include <errno.h>
#include <stdlib.h>

#include "hawk_entries.h"

static struct {
	void (*free_sized)(void *pointer, size_t size);
	void (*free_aligned_sized)(void *pointer, size_t alignment, size_t size);
	void (*libc_free)(void *pointer);
	void (*libc_cfree)(void *pointer);
	void *(*libc_realloc)(void *pointer, size_t size);
	void (*vfree)(void *pointer);
	size_t (*malloc_size)(const void *pointer);
	size_t (*malloc_good_size)(size_t size);
	void *(*reallocf)(void *pointer, size_t size);
	int (*reallocarr)(void *place, size_t count, size_t size);
} next;

/** Whether `pointer` had a header, and is freed now. */
static bool release_own(void *pointer)
{
	if (!hawk_entry_offset(pointer) && !hawk_bootstrap_owns(pointer))
		return false;
	hawk_release(pointer);
	return true;
}

static void entry_free_sized(void *pointer, size_t size)
{
	if (!release_own(pointer))
		next.free_sized(pointer, size);
}

static void entry_free_aligned_sized(void *pointer, size_t alignment, size_t size)
{
	if (!release_own(pointer))
		next.free_aligned_sized(pointer, alignment, size);
}

static void entry_libc_free(void *pointer)
{
	if (!release_own(pointer))
		next.libc_free(pointer);
}

static void entry_libc_cfree(void *pointer)
{
	if (!release_own(pointer))
		next.libc_cfree(pointer);
}

static void entry_vfree(void *pointer)
{
	if (!release_own(pointer))
		next.vfree(pointer);
}

static void *entry_libc_realloc(void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();

	if (hawk_entry_offset(pointer) || hawk_bootstrap_owns(pointer))
		return hawk_reallocate(&caller, pointer, size);
	return next.libc_realloc(pointer, size);
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
	{"free_sized", entry_free_sized, (void **)&next.free_sized, false},
	{"free_aligned_sized", entry_free_aligned_sized, (void **)&next.free_aligned_sized, false},
	{"__libc_free", entry_libc_free, (void **)&next.libc_free, false},
	{"__libc_cfree", entry_libc_cfree, (void **)&next.libc_cfree, false},
	{"__libc_realloc", entry_libc_realloc, (void **)&next.libc_realloc, false},
	{"vfree", entry_vfree, (void **)&next.vfree, false},
	{"malloc_size", entry_malloc_size, (void **)&next.malloc_size, false},
	{"malloc_good_size", entry_malloc_good_size, (void **)&next.malloc_good_size, false},
	{"reallocf", entry_reallocf, (void **)&next.reallocf, false},
	{"reallocarr", entry_reallocarr, (void **)&next.reallocarr, false},
	{NULL, NULL, NULL, false},
};
