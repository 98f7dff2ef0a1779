/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Table of allocators' entry points: name, act, arguments.
 *
 * Every row has a stub, a few instructions that pass the row's number and all argument registers
 * to one function. That function knows no types: arguments that a function lacks are passed on and
 * ignored.
 */
#ifndef HAWK_TRACER_HOOKS_ENTRIES_TABLE_H
#define HAWK_TRACER_HOOKS_ENTRIES_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/** Meaning of an argument. */
enum hawk_value {
	HAWK_VALUE_NONE,
	HAWK_VALUE_HEAP,    /**< mimalloc's: passed on */
	HAWK_VALUE_POINTER, /**< the block */
	HAWK_VALUE_PLACE, /**< address of the variable that holds, or receives, the block's pointer
			   */
	HAWK_VALUE_COUNT, /**< number of elements of that size */
	HAWK_VALUE_SIZE,
	HAWK_VALUE_ALIGNMENT,
	HAWK_VALUE_OFFSET, /**< the byte at this offset in the block is aligned */
	HAWK_VALUE_FLAGS,  /**< jemalloc's: log2 of the alignment in bits 0 to 5, zeros in bit 6 */
	HAWK_VALUE_OTHER,  /**< passed on */
	HAWK_VALUES,
};

/** Act of a function. */
enum hawk_act {
	HAWK_ACT_NONE, /**< only looked up */
	HAWK_ACT_MAKE,
	HAWK_ACT_MAKE_PAGE,  /**< aligned to pages */
	HAWK_ACT_MAKE_PAGES, /**< aligned to pages, size rounded up to pages */
	HAWK_ACT_COPY_TEXT,  /**< copies text at POINTER, at most SIZE bytes */
	HAWK_ACT_RESIZE,
	HAWK_ACT_RESIZE_OR_FREE,  /**< size 0 frees the block */
	HAWK_ACT_RESIZE_ERRNO,    /**< without memory: sets errno */
	HAWK_ACT_RESIZE_ALWAYS,   /**< without memory: frees the block */
	HAWK_ACT_RESIZE_THROWS,   /**< without memory: calls the new handler */
	HAWK_ACT_RESIZE_IN_PLACE, /**< resizes in place or fails */
	HAWK_ACT_RESIZE_IN_PLACE_ERRNO,
	HAWK_ACT_RESIZE_UP_TO, /**< in place, OTHER bytes more if possible; returns the new size */
	HAWK_ACT_FREE,
	HAWK_ACT_MEASURE, /**< returns the usable size */
	HAWK_ACT_ROUND,   /**< returns the usable size that a block of SIZE bytes would have */
	HAWK_ACT_ASK,     /**< asks something about the block */
	HAWK_ACT_CONTROL, /**< mallctl() */
	HAWK_ACT_CONTROL_MIB,
	HAWK_ACT_HEAP_NEW,
	HAWK_ACT_HEAP_DELETE,
	HAWK_ACT_HEAP_DESTROY,
	HAWK_ACT_HEAP_VISIT,
	/* Our own function handles a block of ours, whatever allocator made it. */
	HAWK_ACT_OWN_FREE,
	HAWK_ACT_OWN_RESIZE,
	HAWK_ACT_OWN_RESIZE_ALWAYS,
	HAWK_ACT_OWN_MEASURE,
};

enum { HAWK_ENTRY_ARGUMENTS = 6 };

struct hawk_entry {
	const char *name;
	uint8_t act;
	uint8_t kind; /**< enum hawk_block_kind of the blocks made */
	uint8_t by;   /**< row of the function that handles a block of ours; 0 = this one */
	uint8_t arguments[HAWK_ENTRY_ARGUMENTS]; /**< enum hawk_value */
};

/** Rows that other files name. Row 0 is none of them. */
enum hawk_entry_row {
	HAWK_ENTRY_NONE,
	HAWK_ENTRY_MALLOCX,
	HAWK_ENTRY_SALLOCX,
	HAWK_ENTRY_DALLOCX,
	HAWK_ENTRY_MIB,
	HAWK_ENTRY_TC_MALLOC,
	HAWK_ENTRY_TC_CALLOC,
	HAWK_ENTRY_TC_MEMALIGN,
	HAWK_ENTRY_TC_FREE,
	HAWK_ENTRY_TC_VERIFY,
	HAWK_ENTRY_MI_MALLOC,
	HAWK_ENTRY_MI_ZALLOC,
	HAWK_ENTRY_MI_NEW,
	HAWK_ENTRY_MI_HEAP_MALLOC,
	HAWK_ENTRY_MI_AT,
	HAWK_ENTRY_MI_ZERO_AT,
	HAWK_ENTRY_MI_HEAP_AT,
	HAWK_ENTRY_MI_HEAP_ZERO_AT,
	HAWK_ENTRY_MI_REALLOC,
	HAWK_ENTRY_MI_HEAP_REALLOC,
	HAWK_ENTRY_MI_REALLOC_AT,
	HAWK_ENTRY_MI_REZALLOC_AT,
	HAWK_ENTRY_MI_HEAP_REALLOC_AT,
	HAWK_ENTRY_MI_HEAP_REZALLOC_AT,
	HAWK_ENTRY_MI_EXPAND,
	HAWK_ENTRY_MI_FREE,
	HAWK_ENTRY_MI_MEASURE,
	HAWK_ENTRY_MI_VISIT,
};

enum {
	HAWK_ENTRIES_MAX = 160,   /**< rows */
	HAWK_HEAP_FUNCTIONS = 22, /**< rows for each module with a free() of its own */
	HAWK_HEAPS_MAX = 16, /**< glibc has at most 16 namespaces; further heaps get no hooks */
};

/** Table of entry points; row 0 is empty, the last row's name is NULL. */
extern const struct hawk_entry hawk_entries[HAWK_ENTRIES_MAX];

/** Functions that free, resize or measure a block, for every module that defines its own free(). */
extern const struct hawk_entry hawk_heap_entries[HAWK_HEAP_FUNCTIONS];

/** Any function of the table. */
typedef uint64_t hawk_entry_function(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				     uint64_t f);

/** The allocator's own function of each row; NULL if none. Rows of hawk_heap_entries follow, one
 * heap after the other. */
extern hawk_entry_function
	*hawk_entries_next[HAWK_ENTRIES_MAX + HAWK_HEAPS_MAX * HAWK_HEAP_FUNCTIONS];

/** Returns the stub of a row, numbered as above. */
void *hawk_entries_stub(unsigned which);

/** Returns true if the function allocates new blocks. */
bool hawk_entry_produces(const struct hawk_entry *entry);

#endif
