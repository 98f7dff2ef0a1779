/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of entry points, and a stub for each row.
 *
 * jemalloc's functions take the alignment as flags. gperftools' functions make every kind of block
 * by tc_malloc and free it by tc_free, as the standard hooks do. mimalloc aligns a place *behind*
 * the start of a block on demand: an aligned block needs no extra room for its header.
 */
#include "entries_table.h"

#include <assert.h>

#include "hawk_block_header.h"

#define HEAP      HAWK_VALUE_HEAP
#define POINTER   HAWK_VALUE_POINTER
#define PLACE     HAWK_VALUE_PLACE
#define COUNT     HAWK_VALUE_COUNT
#define SIZE      HAWK_VALUE_SIZE
#define ALIGNMENT HAWK_VALUE_ALIGNMENT
#define OFFSET    HAWK_VALUE_OFFSET
#define FLAGS     HAWK_VALUE_FLAGS
#define OTHER     HAWK_VALUE_OTHER

#define MALLOC  HAWK_KIND_MALLOC
#define CALLOC  HAWK_KIND_CALLOC
#define ALIGNED HAWK_KIND_ALIGNED
#define NEW     HAWK_KIND_NEW
#define ARRAY   HAWK_KIND_NEW_ARRAY

/* The columns: name, act, (kind,) (row that does it,) arguments. */
#define ROW(name, act, ...)                                                                        \
	{                                                                                          \
		name, HAWK_ACT_##act, 0, 0,                                                        \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define BY(name, act, by, ...)                                                                     \
	{                                                                                          \
		name, HAWK_ACT_##act, 0, HAWK_ENTRY_##by,                                          \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define MAKE(name, kind, ...)                                                                      \
	{                                                                                          \
		name, HAWK_ACT_MAKE, kind, 0,                                                      \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define MAKE_BY(name, kind, by, ...)                                                               \
	{                                                                                          \
		name, HAWK_ACT_MAKE, kind, HAWK_ENTRY_##by,                                        \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

const struct hawk_entry hawk_entries[HAWK_ENTRIES_MAX] = {
	/* jemalloc: the flags say the kind of a block */
	[HAWK_ENTRY_MALLOCX] = MAKE("mallocx", MALLOC, SIZE, FLAGS),
	[HAWK_ENTRY_SALLOCX] = ROW("sallocx", MEASURE, POINTER, FLAGS),
	[HAWK_ENTRY_DALLOCX] = ROW("dallocx", FREE, POINTER, FLAGS),
	[HAWK_ENTRY_MIB] = ROW("mallctlnametomib", NONE, OTHER),

	[HAWK_ENTRY_TC_MALLOC] = MAKE("tc_malloc", MALLOC, SIZE),
	[HAWK_ENTRY_TC_CALLOC] = MAKE("tc_calloc", CALLOC, COUNT, SIZE),
	[HAWK_ENTRY_TC_MEMALIGN] = MAKE("tc_memalign", ALIGNED, ALIGNMENT, SIZE),
	[HAWK_ENTRY_TC_FREE] = ROW("tc_free", FREE, POINTER),
	[HAWK_ENTRY_TC_VERIFY] = ROW("MallocExtension_VerifyMallocMemory", ASK, POINTER),

	[HAWK_ENTRY_MI_MALLOC] = MAKE("mi_malloc", MALLOC, SIZE),
	[HAWK_ENTRY_MI_ZALLOC] = MAKE("mi_zalloc", CALLOC, SIZE),
	[HAWK_ENTRY_MI_NEW] = MAKE_BY("mi_new", NEW, MI_MALLOC, SIZE),
	[HAWK_ENTRY_MI_HEAP_MALLOC] = MAKE("mi_heap_malloc", MALLOC, HEAP, SIZE),
	[HAWK_ENTRY_MI_AT] = MAKE("mi_malloc_aligned_at", ALIGNED, SIZE, ALIGNMENT, OFFSET),
	[HAWK_ENTRY_MI_ZERO_AT] = MAKE("mi_zalloc_aligned_at", ALIGNED, SIZE, ALIGNMENT, OFFSET),
	[HAWK_ENTRY_MI_HEAP_AT] =
		MAKE("mi_heap_malloc_aligned_at", ALIGNED, HEAP, SIZE, ALIGNMENT, OFFSET),
	[HAWK_ENTRY_MI_HEAP_ZERO_AT] =
		MAKE("mi_heap_zalloc_aligned_at", ALIGNED, HEAP, SIZE, ALIGNMENT, OFFSET),
	[HAWK_ENTRY_MI_REALLOC] = ROW("mi_realloc", RESIZE, POINTER, SIZE),
	[HAWK_ENTRY_MI_HEAP_REALLOC] = ROW("mi_heap_realloc", RESIZE, HEAP, POINTER, SIZE),
	[HAWK_ENTRY_MI_REALLOC_AT] =
		ROW("mi_realloc_aligned_at", RESIZE, POINTER, SIZE, ALIGNMENT, OFFSET),
	[HAWK_ENTRY_MI_REZALLOC_AT] =
		ROW("mi_rezalloc_aligned_at", RESIZE, POINTER, SIZE, ALIGNMENT, OFFSET),
	[HAWK_ENTRY_MI_HEAP_REALLOC_AT] =
		ROW("mi_heap_realloc_aligned_at", RESIZE, HEAP, POINTER, SIZE, ALIGNMENT, OFFSET),
	[HAWK_ENTRY_MI_HEAP_REZALLOC_AT] =
		ROW("mi_heap_rezalloc_aligned_at", RESIZE, HEAP, POINTER, SIZE, ALIGNMENT, OFFSET),
	[HAWK_ENTRY_MI_EXPAND] = ROW("mi_expand", RESIZE_IN_PLACE, POINTER, SIZE),
	[HAWK_ENTRY_MI_FREE] = ROW("mi_free", FREE, POINTER),
	[HAWK_ENTRY_MI_MEASURE] = ROW("mi_usable_size", MEASURE, POINTER),
	[HAWK_ENTRY_MI_VISIT] = ROW("mi_heap_visit_blocks", HEAP_VISIT, HEAP),

	ROW("rallocx", RESIZE, POINTER, SIZE, FLAGS),
	ROW("xallocx", RESIZE_UP_TO, POINTER, SIZE, OTHER, FLAGS),
	BY("sdallocx", FREE, DALLOCX, POINTER, SIZE, FLAGS),
	ROW("nallocx", ROUND, SIZE, FLAGS),
	ROW("mallctl", CONTROL, OTHER),
	ROW("mallctlbymib", CONTROL_MIB, OTHER),

	MAKE_BY("tc_malloc_skip_new_handler", MALLOC, TC_MALLOC, SIZE),
	MAKE_BY("tc_new", NEW, TC_MALLOC, SIZE),
	MAKE_BY("tc_new_nothrow", NEW, TC_MALLOC, SIZE),
	MAKE_BY("tc_newarray", ARRAY, TC_MALLOC, SIZE),
	MAKE_BY("tc_newarray_nothrow", ARRAY, TC_MALLOC, SIZE),
	MAKE_BY("tc_new_aligned", NEW, TC_MEMALIGN, SIZE, ALIGNMENT),
	MAKE_BY("tc_new_aligned_nothrow", NEW, TC_MEMALIGN, SIZE, ALIGNMENT),
	MAKE_BY("tc_newarray_aligned", ARRAY, TC_MEMALIGN, SIZE, ALIGNMENT),
	MAKE_BY("tc_newarray_aligned_nothrow", ARRAY, TC_MEMALIGN, SIZE, ALIGNMENT),
	MAKE_BY("tc_posix_memalign", ALIGNED, TC_MEMALIGN, PLACE, ALIGNMENT, SIZE),
	{"tc_valloc", HAWK_ACT_MAKE_PAGE, ALIGNED, HAWK_ENTRY_TC_MEMALIGN, {SIZE}},
	{"tc_pvalloc", HAWK_ACT_MAKE_PAGES, ALIGNED, HAWK_ENTRY_TC_MEMALIGN, {SIZE}},
	ROW("tc_realloc", RESIZE_OR_FREE, POINTER, SIZE),
	ROW("tc_malloc_size", MEASURE, POINTER),
	ROW("MallocExtension_GetAllocatedSize", MEASURE, POINTER),
	ROW("tc_nallocx", ROUND, SIZE, FLAGS),
	BY("MallocExtension_VerifyNewMemory", ASK, TC_VERIFY, POINTER),
	BY("MallocExtension_VerifyArrayNewMemory", ASK, TC_VERIFY, POINTER),
	BY("tc_cfree", FREE, TC_FREE, POINTER),
	BY("tc_free_sized", FREE, TC_FREE, POINTER),
	BY("tc_delete", FREE, TC_FREE, POINTER),
	BY("tc_delete_sized", FREE, TC_FREE, POINTER),
	BY("tc_delete_nothrow", FREE, TC_FREE, POINTER),
	BY("tc_delete_aligned", FREE, TC_FREE, POINTER),
	BY("tc_delete_aligned_nothrow", FREE, TC_FREE, POINTER),
	BY("tc_delete_sized_aligned", FREE, TC_FREE, POINTER),
	BY("tc_deletearray", FREE, TC_FREE, POINTER),
	BY("tc_deletearray_sized", FREE, TC_FREE, POINTER),
	BY("tc_deletearray_nothrow", FREE, TC_FREE, POINTER),
	BY("tc_deletearray_aligned", FREE, TC_FREE, POINTER),
	BY("tc_deletearray_aligned_nothrow", FREE, TC_FREE, POINTER),
	BY("tc_deletearray_sized_aligned", FREE, TC_FREE, POINTER),

	/* mimalloc; its functions for small blocks have no room for the header */
	MAKE_BY("mi_malloc_small", MALLOC, MI_MALLOC, SIZE),
	MAKE_BY("mi_zalloc_small", CALLOC, MI_ZALLOC, SIZE),
	MAKE("mi_calloc", CALLOC, COUNT, SIZE),
	MAKE("mi_mallocn", MALLOC, COUNT, SIZE),
	MAKE_BY("mi_new_nothrow", NEW, MI_MALLOC, SIZE),
	MAKE_BY("mi_new_n", ARRAY, MI_MALLOC, COUNT, SIZE),
	MAKE_BY("mi_heap_malloc_small", MALLOC, MI_HEAP_MALLOC, HEAP, SIZE),
	MAKE("mi_heap_zalloc", CALLOC, HEAP, SIZE),
	MAKE("mi_heap_calloc", CALLOC, HEAP, COUNT, SIZE),
	MAKE("mi_heap_mallocn", MALLOC, HEAP, COUNT, SIZE),
	MAKE_BY("mi_heap_alloc_new", NEW, MI_HEAP_MALLOC, HEAP, SIZE),
	MAKE_BY("mi_heap_alloc_new_n", ARRAY, MI_HEAP_MALLOC, HEAP, COUNT, SIZE),
	BY("mi_strdup", COPY_TEXT, MI_MALLOC, POINTER),
	BY("mi_mbsdup", COPY_TEXT, MI_MALLOC, POINTER),
	BY("mi_strndup", COPY_TEXT, MI_MALLOC, POINTER, SIZE),
	BY("mi_heap_strdup", COPY_TEXT, MI_HEAP_MALLOC, HEAP, POINTER),
	BY("mi_heap_strndup", COPY_TEXT, MI_HEAP_MALLOC, HEAP, POINTER, SIZE),

	MAKE_BY("mi_malloc_aligned", ALIGNED, MI_AT, SIZE, ALIGNMENT),
	MAKE_BY("mi_zalloc_aligned", ALIGNED, MI_ZERO_AT, SIZE, ALIGNMENT),
	MAKE_BY("mi_calloc_aligned", ALIGNED, MI_ZERO_AT, COUNT, SIZE, ALIGNMENT),
	MAKE_BY("mi_calloc_aligned_at", ALIGNED, MI_ZERO_AT, COUNT, SIZE, ALIGNMENT, OFFSET),
	MAKE_BY("mi_heap_malloc_aligned", ALIGNED, MI_HEAP_AT, HEAP, SIZE, ALIGNMENT),
	MAKE_BY("mi_heap_zalloc_aligned", ALIGNED, MI_HEAP_ZERO_AT, HEAP, SIZE, ALIGNMENT),
	MAKE_BY("mi_heap_calloc_aligned", ALIGNED, MI_HEAP_ZERO_AT, HEAP, COUNT, SIZE, ALIGNMENT),
	MAKE_BY("mi_heap_calloc_aligned_at", ALIGNED, MI_HEAP_ZERO_AT, HEAP, COUNT, SIZE, ALIGNMENT,
		OFFSET),
	MAKE_BY("mi_memalign", ALIGNED, MI_AT, ALIGNMENT, SIZE),
	MAKE_BY("mi_aligned_alloc", ALIGNED, MI_AT, ALIGNMENT, SIZE),
	MAKE_BY("mi_posix_memalign", ALIGNED, MI_AT, PLACE, ALIGNMENT, SIZE),
	MAKE_BY("mi_new_aligned", NEW, MI_AT, SIZE, ALIGNMENT),
	MAKE_BY("mi_new_aligned_nothrow", NEW, MI_AT, SIZE, ALIGNMENT),
	{"mi_valloc", HAWK_ACT_MAKE_PAGE, ALIGNED, HAWK_ENTRY_MI_AT, {SIZE}},
	{"mi_pvalloc", HAWK_ACT_MAKE_PAGES, ALIGNED, HAWK_ENTRY_MI_AT, {SIZE}},

	ROW("mi_rezalloc", RESIZE, POINTER, SIZE),
	ROW("mi_reallocn", RESIZE, POINTER, COUNT, SIZE),
	ROW("mi_recalloc", RESIZE, POINTER, COUNT, SIZE),
	BY("mi_reallocarray", RESIZE_ERRNO, MI_REALLOC, POINTER, COUNT, SIZE),
	BY("mi_reallocarr", RESIZE, MI_REALLOC, PLACE, COUNT, SIZE),
	BY("mi_reallocf", RESIZE_ALWAYS, MI_REALLOC, POINTER, SIZE),
	BY("mi_new_realloc", RESIZE_THROWS, MI_REALLOC, POINTER, SIZE),
	BY("mi_new_reallocn", RESIZE_THROWS, MI_REALLOC, POINTER, COUNT, SIZE),
	ROW("mi_heap_rezalloc", RESIZE, HEAP, POINTER, SIZE),
	ROW("mi_heap_reallocn", RESIZE, HEAP, POINTER, COUNT, SIZE),
	ROW("mi_heap_recalloc", RESIZE, HEAP, POINTER, COUNT, SIZE),
	BY("mi_heap_reallocf", RESIZE_ALWAYS, MI_HEAP_REALLOC, HEAP, POINTER, SIZE),
	BY("mi__expand", RESIZE_IN_PLACE_ERRNO, MI_EXPAND, POINTER, SIZE),

	BY("mi_realloc_aligned", RESIZE, MI_REALLOC_AT, POINTER, SIZE, ALIGNMENT),
	BY("mi_rezalloc_aligned", RESIZE, MI_REZALLOC_AT, POINTER, SIZE, ALIGNMENT),
	BY("mi_recalloc_aligned", RESIZE, MI_REZALLOC_AT, POINTER, COUNT, SIZE, ALIGNMENT),
	BY("mi_recalloc_aligned_at", RESIZE, MI_REZALLOC_AT, POINTER, COUNT, SIZE, ALIGNMENT,
	   OFFSET),
	BY("mi_aligned_recalloc", RESIZE, MI_REZALLOC_AT, POINTER, COUNT, SIZE, ALIGNMENT),
	BY("mi_aligned_offset_recalloc", RESIZE, MI_REZALLOC_AT, POINTER, COUNT, SIZE, ALIGNMENT,
	   OFFSET),
	BY("mi_heap_realloc_aligned", RESIZE, MI_HEAP_REALLOC_AT, HEAP, POINTER, SIZE, ALIGNMENT),
	BY("mi_heap_rezalloc_aligned", RESIZE, MI_HEAP_REZALLOC_AT, HEAP, POINTER, SIZE, ALIGNMENT),
	BY("mi_heap_recalloc_aligned", RESIZE, MI_HEAP_REZALLOC_AT, HEAP, POINTER, COUNT, SIZE,
	   ALIGNMENT),
	BY("mi_heap_recalloc_aligned_at", RESIZE, MI_HEAP_REZALLOC_AT, HEAP, POINTER, COUNT, SIZE,
	   ALIGNMENT, OFFSET),

	BY("mi_cfree", FREE, MI_FREE, POINTER),
	BY("mi_free_size", FREE, MI_FREE, POINTER),
	BY("mi_free_aligned", FREE, MI_FREE, POINTER),
	BY("mi_free_size_aligned", FREE, MI_FREE, POINTER),
	ROW("mi_malloc_size", MEASURE, POINTER),
	ROW("mi_malloc_usable_size", MEASURE, POINTER),
	ROW("mi_good_size", ROUND, SIZE),
	ROW("mi_malloc_good_size", ROUND, SIZE),
	ROW("mi_check_owned", ASK, POINTER),
	ROW("mi_heap_check_owned", ASK, HEAP, POINTER),
	ROW("mi_heap_contains_block", ASK, HEAP, POINTER),
	ROW("mi_heap_new", HEAP_NEW, OTHER),
	ROW("mi_heap_new_in_arena", HEAP_NEW, OTHER),
	ROW("mi_heap_delete", HEAP_DELETE, HEAP),
	ROW("mi_heap_destroy", HEAP_DESTROY, HEAP),

	/* from other systems' C libraries; some allocators define them */
	ROW("vfree", OWN_FREE, POINTER),
	ROW("malloc_size", MEASURE, POINTER),
	ROW("malloc_good_size", ROUND, SIZE),
	ROW("reallocf", OWN_RESIZE_ALWAYS, POINTER, SIZE),
	ROW("reallocarr", OWN_RESIZE, PLACE, COUNT, SIZE),
};

const struct hawk_entry hawk_heap_entries[HAWK_HEAP_FUNCTIONS] = {
	ROW("free", OWN_FREE, POINTER),
	ROW("cfree", OWN_FREE, POINTER),
	ROW("__libc_free", OWN_FREE, POINTER),
	ROW("__libc_cfree", OWN_FREE, POINTER),
	ROW("free_sized", OWN_FREE, POINTER),
	ROW("free_aligned_sized", OWN_FREE, POINTER),
	ROW("_ZdlPv", OWN_FREE, POINTER),
	ROW("_ZdaPv", OWN_FREE, POINTER),
	ROW("_ZdlPvm", OWN_FREE, POINTER),
	ROW("_ZdaPvm", OWN_FREE, POINTER),
	ROW("_ZdlPvRKSt9nothrow_t", OWN_FREE, POINTER),
	ROW("_ZdaPvRKSt9nothrow_t", OWN_FREE, POINTER),
	ROW("_ZdlPvSt11align_val_t", OWN_FREE, POINTER),
	ROW("_ZdaPvSt11align_val_t", OWN_FREE, POINTER),
	ROW("_ZdlPvmSt11align_val_t", OWN_FREE, POINTER),
	ROW("_ZdaPvmSt11align_val_t", OWN_FREE, POINTER),
	ROW("_ZdlPvSt11align_val_tRKSt9nothrow_t", OWN_FREE, POINTER),
	ROW("_ZdaPvSt11align_val_tRKSt9nothrow_t", OWN_FREE, POINTER),
	ROW("realloc", OWN_RESIZE, POINTER, SIZE),
	ROW("__libc_realloc", OWN_RESIZE, POINTER, SIZE),
	ROW("reallocarray", OWN_RESIZE, POINTER, COUNT, SIZE),
	ROW("malloc_usable_size", OWN_MEASURE, POINTER),
};

hawk_entry_function *hawk_entries_next[HAWK_ENTRIES_MAX + HAWK_HEAPS_MAX * HAWK_HEAP_FUNCTIONS];

enum { STUB_BYTES = 32 };
extern const char hawk_entries_stubs[] __attribute__((visibility("hidden")));

/* Each stub pushes its row number as the seventh argument of hawk_entries_take(). */
__asm__(".pushsection .text, \"ax\", @progbits\n"
	".p2align 5\n"
	".hidden hawk_entries_stubs\n"
	".globl hawk_entries_stubs\n"
	".type hawk_entries_stubs, @function\n"
	"hawk_entries_stubs:\n"
	".cfi_startproc\n"
	".set hawk_entries_which, 0\n"
	".rept 160 + 16 * 22\n"
	".p2align 5\n"
	"endbr64\n"
	"pushq $hawk_entries_which\n"
	".cfi_adjust_cfa_offset 8\n"
	"call hawk_entries_take\n"
	"addq $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".set hawk_entries_which, hawk_entries_which + 1\n"
	".endr\n"
	".cfi_endproc\n"
	".size hawk_entries_stubs, . - hawk_entries_stubs\n"
	".popsection\n");
static_assert(HAWK_ENTRIES_MAX == 160 && HAWK_HEAPS_MAX == 16 && HAWK_HEAP_FUNCTIONS == 22,
	      "the number of stubs above");

void *hawk_entries_stub(unsigned which)
{
	return (void *)(hawk_entries_stubs + (uint64_t)which * STUB_BYTES);
}

bool hawk_entry_produces(const struct hawk_entry *entry)
{
	return entry->act >= HAWK_ACT_MAKE && entry->act <= HAWK_ACT_COPY_TEXT;
}
