/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * gperftools' own names: tc_malloc and its family, tc_new and tc_delete in all their forms.
 *
 * As the standard hooks do, a block of any kind is made by tc_malloc and given back to tc_free; a
 * failing tc_new is asked again without a header, calls its handler and throws.
 */
#include <errno.h>
#include <stdlib.h>

#include "hawk_entries.h"

enum { PLAIN_LOG2 = 4, PAGE_BYTES = 4096 };

struct nothrow;

static struct {
	void *(*malloc)(size_t size);
	void *(*malloc_skip)(size_t size);
	void (*free)(void *pointer);
	void (*free_sized)(void *pointer, size_t size);
	void *(*realloc)(void *pointer, size_t size);
	void *(*calloc)(size_t count, size_t size);
	void (*cfree)(void *pointer);
	void *(*memalign)(size_t alignment, size_t size);
	int (*posix_memalign)(void **pointer, size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	size_t (*malloc_size)(const void *pointer);
	size_t (*nallocx)(size_t size, int flags);
	size_t (*allocated_size)(const void *pointer);
	int (*verify_malloc)(const void *pointer);
	int (*verify_new)(const void *pointer);
	int (*verify_array)(const void *pointer);
	void *(*new)(size_t size);
	void *(*new_nothrow)(size_t size, const struct nothrow *tag);
	void *(*newarray)(size_t size);
	void *(*newarray_nothrow)(size_t size, const struct nothrow *tag);
	void *(*new_aligned)(size_t size, size_t alignment);
	void *(*new_aligned_nothrow)(size_t size, size_t alignment, const struct nothrow *tag);
	void *(*newarray_aligned)(size_t size, size_t alignment);
	void *(*newarray_aligned_nothrow)(size_t size, size_t alignment, const struct nothrow *tag);
	void (*delete)(void *pointer);
	void (*delete_sized)(void *pointer, size_t size);
	void (*delete_nothrow)(void *pointer, const struct nothrow *tag);
	void (*deletearray)(void *pointer);
	void (*deletearray_sized)(void *pointer, size_t size);
	void (*deletearray_nothrow)(void *pointer, const struct nothrow *tag);
	void (*delete_aligned)(void *pointer, size_t alignment);
	void (*delete_aligned_nothrow)(void *pointer, size_t alignment, const struct nothrow *tag);
	void (*delete_sized_aligned)(void *pointer, size_t size, size_t alignment);
	void (*deletearray_aligned)(void *pointer, size_t alignment);
	void (*deletearray_aligned_nothrow)(void *pointer, size_t alignment,
					    const struct nothrow *tag);
	void (*deletearray_sized_aligned)(void *pointer, size_t size, size_t alignment);
} next;

/** NULL, and errno as it was, if the block cannot be traced or there is no memory for it and its
 * header: then the real function is called with what the program said, and fails in its own way if
 * it must. */
static void *allocate(const struct hawk_frame_state *caller, enum hawk_block_kind kind, size_t size)
{
	int saved_errno = errno;
	void *base;

	if (!hawk_entry_traces(size))
		return NULL;
	base = next.malloc(size + HAWK_HEADER_BYTES);
	if (base)
		return hawk_finish(base, caller, kind, PLAIN_LOG2, size);
	errno = saved_errno;
	return NULL;
}

/** The same, aligned. */
static void *allocate_aligned(const struct hawk_frame_state *caller, enum hawk_block_kind kind,
			      size_t alignment, size_t size)
{
	int saved_errno = errno;
	void *base;

	if (!hawk_entry_traces_aligned(size, alignment) || !next.memalign)
		return NULL;
	if (alignment < HAWK_GRANULE_BYTES)
		alignment = HAWK_GRANULE_BYTES;
	base = next.memalign(alignment, size + alignment);
	if (base)
		return hawk_finish(base, caller, kind, (unsigned)__builtin_ctzll(alignment), size);
	errno = saved_errno;
	return NULL;
}

static void *entry_malloc(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate(&caller, HAWK_KIND_MALLOC, size);

	return made ? made : hawk_entry_bare(next.malloc(size), size);
}

static void *entry_malloc_skip(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate(&caller, HAWK_KIND_MALLOC, size);

	return made ? made : hawk_entry_bare(next.malloc_skip(size), size);
}

static void *entry_new(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate(&caller, HAWK_KIND_NEW, size);

	return made ? made : hawk_entry_bare(next.new(size), size);
}

static void *entry_new_nothrow(size_t size, const struct nothrow *tag)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate(&caller, HAWK_KIND_NEW, size);

	return made ? made : hawk_entry_bare(next.new_nothrow(size, tag), size);
}

static void *entry_newarray(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate(&caller, HAWK_KIND_NEW_ARRAY, size);

	return made ? made : hawk_entry_bare(next.newarray(size), size);
}

static void *entry_newarray_nothrow(size_t size, const struct nothrow *tag)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate(&caller, HAWK_KIND_NEW_ARRAY, size);

	return made ? made : hawk_entry_bare(next.newarray_nothrow(size, tag), size);
}

static void *entry_new_aligned(size_t size, size_t alignment)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate_aligned(&caller, HAWK_KIND_NEW, alignment, size);

	return made ? made : hawk_entry_bare(next.new_aligned(size, alignment), size);
}

static void *entry_new_aligned_nothrow(size_t size, size_t alignment, const struct nothrow *tag)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate_aligned(&caller, HAWK_KIND_NEW, alignment, size);

	return made ? made : hawk_entry_bare(next.new_aligned_nothrow(size, alignment, tag), size);
}

static void *entry_newarray_aligned(size_t size, size_t alignment)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate_aligned(&caller, HAWK_KIND_NEW_ARRAY, alignment, size);

	return made ? made : hawk_entry_bare(next.newarray_aligned(size, alignment), size);
}

static void *entry_newarray_aligned_nothrow(size_t size, size_t alignment,
					    const struct nothrow *tag)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate_aligned(&caller, HAWK_KIND_NEW_ARRAY, alignment, size);

	return made ? made
		    : hawk_entry_bare(next.newarray_aligned_nothrow(size, alignment, tag), size);
}

static void *entry_memalign(size_t alignment, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate_aligned(&caller, HAWK_KIND_ALIGNED, alignment, size);

	return made ? made : hawk_entry_bare(next.memalign(alignment, size), size);
}

static void *entry_valloc(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = allocate_aligned(&caller, HAWK_KIND_ALIGNED, PAGE_BYTES, size);

	return made ? made : hawk_entry_bare(next.valloc(size), size);
}

static void *entry_pvalloc(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	size_t rounded = (size + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
	void *made = NULL;

	if (rounded) /* 0: one page, or more than there is */
		made = allocate_aligned(&caller, HAWK_KIND_ALIGNED, PAGE_BYTES, rounded);
	return made ? made : hawk_entry_bare(next.pvalloc(size), size);
}

static int entry_posix_memalign(void **pointer, size_t alignment, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = NULL;
	int error;

	if (alignment % sizeof(void *) == 0)
		made = allocate_aligned(&caller, HAWK_KIND_ALIGNED, alignment, size);
	if (made) {
		*pointer = made;
		return 0;
	}
	error = next.posix_memalign(pointer, alignment, size);
	if (!error)
		hawk_entry_bare(*pointer, size);
	return error;
}

static void *entry_calloc(size_t count, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	int saved_errno = errno;
	void *base = NULL;
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes) && hawk_entry_traces(bytes))
		base = next.calloc(1, bytes + HAWK_HEADER_BYTES);
	if (base)
		return hawk_finish(base, &caller, HAWK_KIND_CALLOC, PLAIN_LOG2, bytes);
	errno = saved_errno;
	return hawk_entry_bare(next.calloc(count, size), size);
}

/** To size 0 is to free. */
static void *entry_realloc(void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	uint64_t offset = hawk_entry_offset(pointer);
	struct hawk_resize resize;
	void *result;

	if (!pointer) {
		result = allocate(&caller, HAWK_KIND_REALLOC, size);
		return result ? result : hawk_entry_bare(next.realloc(NULL, size), size);
	}
	if (!offset)
		return next.realloc(pointer, size);
	if (hawk_bootstrap_owns(pointer))
		return hawk_leave_bootstrap(&caller, pointer, size);
	if (!size)
		return next.realloc(hawk_detach(pointer), 0);
	if (size > HAWK_SIZE_MAX) /* fails, and leaves the block as it is */
		return next.realloc((char *)pointer - offset, size);
	hawk_resize_begin(&resize, pointer);
	result = next.realloc(hawk_resize_base(&resize), size + offset);
	return hawk_resize_end(&resize, &caller, result, size);
}

static size_t entry_malloc_size(const void *pointer)
{
	return next.malloc_size(hawk_entry_base(pointer)) - hawk_entry_offset(pointer);
}

static size_t entry_allocated_size(const void *pointer)
{
	return next.allocated_size(hawk_entry_base(pointer)) - hawk_entry_offset(pointer);
}

static size_t entry_nallocx(size_t size, int flags)
{
	uint64_t offset = (uint64_t)1 << (flags & 63);
	size_t usable;

	if (offset < HAWK_HEADER_BYTES)
		offset = HAWK_HEADER_BYTES;
	if (!hawk_entry_traces(size) || offset > HAWK_TRACED_MAX)
		return next.nallocx(size, flags);
	usable = next.nallocx(size + offset, flags);
	return usable ? usable - offset : 0;
}

/** A block of ours was made by malloc, whatever the program called. */
static int verify(int (*function)(const void *), const void *pointer)
{
	if (hawk_entry_offset(pointer) && next.verify_malloc)
		return next.verify_malloc(hawk_entry_base(pointer));
	return function(pointer);
}

static int entry_verify_malloc(const void *pointer)
{
	return verify(next.verify_malloc, pointer);
}

static int entry_verify_new(const void *pointer)
{
	return verify(next.verify_new, pointer);
}

static int entry_verify_array(const void *pointer)
{
	return verify(next.verify_array, pointer);
}

static bool release_own(void *pointer)
{
	return hawk_entry_release(pointer, next.free);
}

static void entry_free(void *pointer)
{
	if (!release_own(pointer))
		next.free(pointer);
}

static void entry_cfree(void *pointer)
{
	if (!release_own(pointer))
		next.cfree(pointer);
}

static void entry_free_sized(void *pointer, size_t size)
{
	if (!release_own(pointer))
		next.free_sized(pointer, size);
}

static void entry_delete(void *pointer)
{
	if (!release_own(pointer))
		next.delete(pointer);
}

static void entry_delete_sized(void *pointer, size_t size)
{
	if (!release_own(pointer))
		next.delete_sized(pointer, size);
}

static void entry_delete_nothrow(void *pointer, const struct nothrow *tag)
{
	if (!release_own(pointer))
		next.delete_nothrow(pointer, tag);
}

static void entry_delete_aligned(void *pointer, size_t alignment)
{
	if (!release_own(pointer))
		next.delete_aligned(pointer, alignment);
}

static void entry_delete_aligned_nothrow(void *pointer, size_t alignment, const struct nothrow *tag)
{
	if (!release_own(pointer))
		next.delete_aligned_nothrow(pointer, alignment, tag);
}

static void entry_delete_sized_aligned(void *pointer, size_t size, size_t alignment)
{
	if (!release_own(pointer))
		next.delete_sized_aligned(pointer, size, alignment);
}

static void entry_deletearray(void *pointer)
{
	if (!release_own(pointer))
		next.deletearray(pointer);
}

static void entry_deletearray_sized(void *pointer, size_t size)
{
	if (!release_own(pointer))
		next.deletearray_sized(pointer, size);
}

static void entry_deletearray_nothrow(void *pointer, const struct nothrow *tag)
{
	if (!release_own(pointer))
		next.deletearray_nothrow(pointer, tag);
}

static void entry_deletearray_aligned(void *pointer, size_t alignment)
{
	if (!release_own(pointer))
		next.deletearray_aligned(pointer, alignment);
}

static void entry_deletearray_aligned_nothrow(void *pointer, size_t alignment,
					      const struct nothrow *tag)
{
	if (!release_own(pointer))
		next.deletearray_aligned_nothrow(pointer, alignment, tag);
}

static void entry_deletearray_sized_aligned(void *pointer, size_t size, size_t alignment)
{
	if (!release_own(pointer))
		next.deletearray_sized_aligned(pointer, size, alignment);
}

const struct hawk_entry hawk_entries_tcmalloc[] = {
	{"tc_malloc", entry_malloc, (void **)&next.malloc, true},
	{"tc_malloc_skip_new_handler", entry_malloc_skip, (void **)&next.malloc_skip, true},
	{"tc_new", entry_new, (void **)&next.new, true},
	{"tc_new_nothrow", entry_new_nothrow, (void **)&next.new_nothrow, true},
	{"tc_newarray", entry_newarray, (void **)&next.newarray, true},
	{"tc_newarray_nothrow", entry_newarray_nothrow, (void **)&next.newarray_nothrow, true},
	{"tc_new_aligned", entry_new_aligned, (void **)&next.new_aligned, true},
	{"tc_new_aligned_nothrow", entry_new_aligned_nothrow, (void **)&next.new_aligned_nothrow,
	 true},
	{"tc_newarray_aligned", entry_newarray_aligned, (void **)&next.newarray_aligned, true},
	{"tc_newarray_aligned_nothrow", entry_newarray_aligned_nothrow,
	 (void **)&next.newarray_aligned_nothrow, true},
	{"tc_memalign", entry_memalign, (void **)&next.memalign, true},
	{"tc_valloc", entry_valloc, (void **)&next.valloc, true},
	{"tc_pvalloc", entry_pvalloc, (void **)&next.pvalloc, true},
	{"tc_posix_memalign", entry_posix_memalign, (void **)&next.posix_memalign, true},
	{"tc_calloc", entry_calloc, (void **)&next.calloc, true},
	{"tc_realloc", entry_realloc, (void **)&next.realloc, false},
	{"tc_malloc_size", entry_malloc_size, (void **)&next.malloc_size, false},
	{"MallocExtension_GetAllocatedSize", entry_allocated_size, (void **)&next.allocated_size,
	 false},
	{"tc_nallocx", entry_nallocx, (void **)&next.nallocx, false},
	{"MallocExtension_VerifyMallocMemory", entry_verify_malloc, (void **)&next.verify_malloc,
	 false},
	{"MallocExtension_VerifyNewMemory", entry_verify_new, (void **)&next.verify_new, false},
	{"MallocExtension_VerifyArrayNewMemory", entry_verify_array, (void **)&next.verify_array,
	 false},
	{"tc_free", entry_free, (void **)&next.free, false},
	{"tc_cfree", entry_cfree, (void **)&next.cfree, false},
	{"tc_free_sized", entry_free_sized, (void **)&next.free_sized, false},
	{"tc_delete", entry_delete, (void **)&next.delete, false},
	{"tc_delete_sized", entry_delete_sized, (void **)&next.delete_sized, false},
	{"tc_delete_nothrow", entry_delete_nothrow, (void **)&next.delete_nothrow, false},
	{"tc_delete_aligned", entry_delete_aligned, (void **)&next.delete_aligned, false},
	{"tc_delete_aligned_nothrow", entry_delete_aligned_nothrow,
	 (void **)&next.delete_aligned_nothrow, false},
	{"tc_delete_sized_aligned", entry_delete_sized_aligned, (void **)&next.delete_sized_aligned,
	 false},
	{"tc_deletearray", entry_deletearray, (void **)&next.deletearray, false},
	{"tc_deletearray_sized", entry_deletearray_sized, (void **)&next.deletearray_sized, false},
	{"tc_deletearray_nothrow", entry_deletearray_nothrow, (void **)&next.deletearray_nothrow,
	 false},
	{"tc_deletearray_aligned", entry_deletearray_aligned, (void **)&next.deletearray_aligned,
	 false},
	{"tc_deletearray_aligned_nothrow", entry_deletearray_aligned_nothrow,
	 (void **)&next.deletearray_aligned_nothrow, false},
	{"tc_deletearray_sized_aligned", entry_deletearray_sized_aligned,
	 (void **)&next.deletearray_sized_aligned, false},
	{NULL, NULL, NULL, false},
};
