/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The structures of glibc's malloc in memory, 2.17 to 2.44 (malloc/malloc.c, malloc/arena.c). All
 * are found by their shape: no symbol and no file is needed. Private to heap/glibc/.
 *
 *     arena:  | lock, flags | fast bins | top | last remainder | 127 bins | bits | next ... bytes |
 *     heap:   | arena | heap before | bytes | ... | chunks ...       a further arena has several
 *     chunk:  | bytes of the chunk before, if that is free | bytes + flags | block, or links ... |
 *
 * A chunk's block begins 16 bytes in and ends 8 bytes behind the chunk. The next chunk needs that
 * last word only while this one is free.
 */
#ifndef HAWK_ANALYZER_HEAP_GLIBC_GLIBC_H
#define HAWK_ANALYZER_HEAP_GLIBC_GLIBC_H

#include "hawk/heap/allocator.h"
#include "hawk/heap/damage.h"
#include "walker.h"

enum {
	HAWK_CHUNK_IN_USE = 1, /**< PREV_INUSE: the chunk before this one is in use */
	HAWK_CHUNK_MAPPED = 2, /**< the chunk has a mapping of its own */
	HAWK_CHUNK_ARENA = 4,  /**< not of the main arena; set in chunks in use only */
	HAWK_CHUNK_FLAGS = 7,
	HAWK_CHUNK_HEADER_BYTES = 16,
	HAWK_CHUNK_BYTES_MIN = 32,
	HAWK_GLIBC_PAGE_BYTES = 4096,
	HAWK_CHUNK_ALIGNMENT = 16,
	HAWK_CHUNK_SIZE_OFFSET = 8,
	HAWK_CHUNK_LINK_OFFSET = 16, /**< links of a free chunk: next, previous */
};

/** Returns the bytes of a chunk with that size word. */
static inline uint64_t hawk_chunk_bytes(uint64_t size)
{
	return size & ~(uint64_t)HAWK_CHUNK_FLAGS;
}

/** Returns true if the chunk is linked in a list of free chunks. */
static inline bool hawk_chunk_is_linked(struct hawk_near *near, uint64_t chunk)
{
	uint64_t next, back;

	return hawk_word(near, chunk + HAWK_CHUNK_LINK_OFFSET, &next) && next &&
	       hawk_word(near, next + HAWK_CHUNK_LINK_OFFSET + 8, &back) && back == chunk;
}

/** A version's layout; offsets in bytes from the arena's start. */
struct hawk_glibc_layout {
	uint32_t bins;
	uint32_t fast_bins;
	uint32_t fast_bin_count;
	bool mapped_gap; /**< a mapping ends 16 bytes behind its chunk (from 2.43 on) */
};

enum { HAWK_GLIBC_LAYOUTS = 3, HAWK_GLIBC_PARAMETERS_BYTES = 0x90 };
extern const struct hawk_glibc_layout hawk_glibc_layouts[HAWK_GLIBC_LAYOUTS];

struct hawk_glibc_arena {
	uint64_t start; /**< of its struct malloc_state */
	uint64_t end;
	uint64_t top;          /**< the last chunk: no memory behind it was ever used */
	uint64_t system_bytes; /**< bytes it has from the system, by its own count */
	const struct hawk_glibc_layout *layout;
	uint32_t library; /**< number of its C library: dlmopen() brings a second one */
	bool is_main;
	bool is_locked; /**< a thread was working in it: one chunk may be in flux */
	bool is_contiguous;
	uint64_t
		found_bytes; /**< sum of its memory found; if not `system_bytes`, some is missing */
	uint64_t parameters; /**< main arena: address of struct malloc_par; 0 = not found */
};

/** Values from the C library's struct malloc_par. */
struct hawk_glibc_parameters {
	bool known;
	struct hawk_allocator_setting settings[HAWK_ALLOCATOR_SETTINGS];
	uint64_t mapped_count; /**< chunks with mappings of their own */
	uint64_t mapped_bytes; /**< of these mappings */
};

/** A row of adjacent chunks. */
struct hawk_glibc_run {
	uint64_t base; /**< of the memory: heap_info and arena, or a gap, lie before the chunks */
	uint64_t start;
	uint64_t end;    /**< of the allocator's memory there */
	uint64_t top;    /**< the chunk that ends the run; 0 = fence posts do */
	uint64_t usable; /**< != 0: one block of so many bytes, in a mapping of its own */
	uint32_t arena;  /**< UINT32_MAX = not known which */
	bool has_flag;   /**< chunks in use carry HAWK_CHUNK_ARENA */
};

/** A piece of a run; pieces follow each other without gaps. */
struct hawk_glibc_chunk {
	uint64_t start; /**< of the chunk or other piece */
	uint64_t bytes;
	/** HAWK_PIECE_UNTOUCHED: the top; _OVERHEAD: fence posts, which end memory that foreign
	 * memory follows; _FOREIGN: of another user of sbrk(). */
	enum hawk_piece_state state;
	uint32_t owner;  /**< HAWK_PIECE_CACHED, _INTERNAL: number of the thread */
	uint64_t usable; /**< HAWK_PIECE_LIVE, _INTERNAL: bytes of the block, 16 behind `start` */
	uint64_t word;   /**< HAWK_PIECE_DAMAGED: the word in place of the size */
	uint64_t neighbour; /**< likewise: the block below; 0 = none */
};

/** A chunk that looks used but is not. */
struct hawk_glibc_special {
	uint64_t start;
	uint32_t owner;
	uint8_t state; /**< enum hawk_piece_state */
};

/** A place where a list of free chunks breaks off. */
struct hawk_glibc_break {
	uint64_t chunk;  /**< whose link is wrong; 0 = the list's head is */
	uint64_t word;   /**< address of the link */
	uint64_t target; /**< the chunk to which it leads, if it leads to a run; else 0 */
	uint64_t found;  /**< the link, as it is in memory */
	uint64_t bytes;  /**< of the list's chunks; 0 = not known */
	bool is_end;     /**< a plain 0 where links are mangled */
};

enum { HAWK_GLIBC_BREAKS_MAX = 64 };

/** All structures found. */
struct hawk_glibc {
	const struct hawk_target *target;
	struct hawk_near near;     /**< for the stages below */
	struct hawk_claims claims; /**< memory of other allocators */
	struct hawk_glibc_arena *arenas;
	size_t arena_count, arena_capacity;
	uint32_t library_count;
	uint32_t rings_tried;
	struct hawk_glibc_parameters parameters; /**< sums over libraries */
	struct hawk_glibc_run *runs;             /**< ascending, disjoint */
	size_t run_count, run_capacity;
	struct hawk_glibc_special *specials; /**< ascending */
	size_t special_count, special_capacity;
	uint64_t special_most; /**< as many chunks can be in the core */
	struct hawk_glibc_break breaks[HAWK_GLIBC_BREAKS_MAX];
	size_t break_count;
	bool links_mangled; /**< links of lists are mangled with their own addresses */
	uint64_t mapped_count, mapped_bytes; /**< as found; compare with `parameters` */
	uint64_t cache_distance; /**< of a thread's cache pointer from the thread pointer
				    (hawk_tls_at()); 0 = not known */
	bool lists_cross;        /**< lists of free chunks hold more than there can be: they lie */
	bool main_missing; /**< the core lacks the C library's data: its main arena was guessed */
};

/** Goes through all runs in ascending order. */
struct hawk_glibc_cursor {
	const struct hawk_glibc *glibc;
	struct hawk_near near;
	size_t run;      /**< index */
	size_t special;  /**< index; earlier specials lie before `at` */
	uint64_t at;     /**< 0 = the run's start */
	uint64_t size;   /**< size word at `at` */
	uint64_t last;   /**< the last block; 0 = none in this run */
	bool is_foreign; /**< fence posts ended at `at` */
};

void hawk_glibc_begin(struct hawk_glibc_cursor *cursor, const struct hawk_glibc *glibc);

/** Gives the next piece; returns false behind the last one. Takes time linear in the memory, even
 * if damaged. */
bool hawk_glibc_next(struct hawk_glibc_cursor *cursor, struct hawk_glibc_chunk *ret);

/** Examines the chunk at `at`, whose size word is `*size`: live, free, top, fence posts, missing,
 * or damaged if no chunk can lie there. Sets `*bytes` for all but the last two, and sets `*size` to
 * the next chunk's word. */
enum hawk_piece_state hawk_glibc_step(struct hawk_near *near, const struct hawk_glibc_run *run,
				      uint64_t at, uint64_t *size, uint64_t *bytes);

/** Sound chunks in a row that show that there are chunks: behind damage, and behind somebody else's
 * memory, which may look like a few. */
enum { HAWK_GLIBC_SOUND = 6, HAWK_GLIBC_SOUND_FOREIGN = 64 };

/** Returns the first address above `at`, which lies in the run or just before it, from which chunks
 * are sound, or the run's end. */
uint64_t hawk_glibc_resume(const struct hawk_glibc *glibc, struct hawk_near *near,
			   const struct hawk_glibc_run *run, uint64_t at, unsigned least);

/** Returns true if chunks lead from `at` to the top or to fence posts; `*end` is the address
 * behind. */
bool hawk_glibc_ends_well(const struct hawk_glibc *glibc, struct hawk_near *near,
			  const struct hawk_glibc_run *run, uint64_t at, uint64_t *end);

/** Stages, in this order; each fills its own members of `glibc`, which starts as zeros but for the
 * target, `near` and the claims. */
struct hawk_error *hawk_glibc_find_arenas(struct hawk_glibc *glibc);
struct hawk_error *hawk_glibc_find_runs(struct hawk_glibc *glibc);
void hawk_glibc_find_parameters(struct hawk_glibc *glibc);
struct hawk_error *hawk_glibc_find_mapped(struct hawk_glibc *glibc);
struct hawk_error *hawk_glibc_find_specials(struct hawk_glibc *glibc);

/** Ignores a run that is empty or wraps around, and a top outside of it. */
struct hawk_error *hawk_glibc_add_run(struct hawk_glibc *glibc, const struct hawk_glibc_run *run);

/** Adds all runs to the claims of other allocators, and sorts them. The caller frees `ret`, also
 * after an error. */
struct hawk_error *hawk_glibc_claims(const struct hawk_glibc *glibc, struct hawk_claims *ret);

/* The walker's, on a struct hawk_glibc. */

/** Returns the index of the arena that begins at `address`, or HAWK_NOT_KNOWN. */
uint32_t hawk_glibc_arena_at(const void *state, uint64_t address);

/** Sorts runs by address, and drops runs that reach into an earlier one. */
void hawk_glibc_sort_runs(struct hawk_glibc *glibc);

/** Returns the run that holds `address`, or NULL; runs are sorted. */
const struct hawk_glibc_run *hawk_glibc_run_at(const struct hawk_glibc *glibc, uint64_t address);

/** Adds damages of chunks and lists. */
void hawk_glibc_verify(const void *state, struct hawk_damages *ret);

/** Returns the usable bytes of the free chunk whose block begins at `block`, 0 = none does. */
uint64_t hawk_glibc_free_bytes(const void *state, uint64_t block);

#endif
