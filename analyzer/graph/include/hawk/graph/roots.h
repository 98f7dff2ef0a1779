/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The root set: every pointer to a block that lies outside of blocks, and the amount of missing
 * memory that could hold more.
 *
 * Searched: general and vector registers of every thread, and its alternate signal stack; the live
 * part of every stack (from 128 bytes below the stack pointer on, also where the stack itself is a
 * block); thread-local storage around every thread pointer; writable memory of modules, and what
 * the loader protected after relocation; and all other writable or anonymous memory outside of
 * heaps. Not searched: the tracer's own memory, and free memory of heaps, which is full of stale
 * pointers. The latter is searched if blocks are known to be missing (HAWK_SPAN_UNSOUND); blocks
 * that only it leads to are possibly lost. Each root keeps enough to be named.
 */
#ifndef HAWK_ANALYZER_GRAPH_ROOTS_H
#define HAWK_ANALYZER_GRAPH_ROOTS_H

#include "hawk/heap/heap.h"

enum hawk_root_kind {
	HAWK_ROOT_REGISTER = 0, /**< owner: thread; address: enum hawk_register,
				   HAWK_ROOT_SIGNAL_STACK, or HAWK_ROOT_VECTORS + offset */
	HAWK_ROOT_STACK = 1,    /**< owner: thread */
	HAWK_ROOT_TLS = 2,      /**< owner: thread */
	HAWK_ROOT_MODULE = 3,   /**< .data, .bss; owner: module */
	HAWK_ROOT_OTHER = 4,    /**< owner: mapping */
	HAWK_ROOT_UNOWNED = 5,  /**< owner: mapping; between blocks: free, or not recorded */
	HAWK_ROOT_KINDS
};

/** Bit of a root's edge, as HAWK_EDGE_INTERIOR. */
enum { HAWK_ROOT_INTERIOR = 1 };

/** Stands for a register: the stack that the kernel knows from sigaltstack(). Never an interior
 * pointer. */
enum { HAWK_ROOT_SIGNAL_STACK = 0x100 };

/** Register addresses from here on are byte offsets in hawk_thread.vectors. */
enum { HAWK_ROOT_VECTORS = 0x1000 };

/** One pointer. Roots are sorted by kind, owner, address. */
struct hawk_root {
	uint64_t address; /**< where it lies */
	uint32_t edge;    /**< as in a graph: block << 1 | interior */
	uint32_t kind : 4;
	uint32_t owner : 28; /**< index into the target's threads, modules, mappings */
};

struct hawk_roots {
	struct hawk_root *items;
	size_t count;
	size_t capacity;
	uint64_t scanned_bytes[HAWK_ROOT_KINDS];
	uint64_t missing_bytes[HAWK_ROOT_KINDS]; /**< that the target has but that cannot be read */
	uint64_t heap_missing_bytes;             /**< the same of mappings with blocks in them */
	uint64_t threads_without_stack;
	uint64_t undumped_bytes; /**< missing because the program keeps it out of cores */
	bool stacks_incomplete;  /**< stacks of ended threads may count as roots */
	/** From a snapshot, whose memory cannot be read: by root, the offset in its block;
	 * UINT64_MAX = not known. NULL = read it from memory. */
	uint64_t *insides;
};

/** Returns true if the root holds its block for certain: it leads to the start, and from memory
 * that cannot be free. Blocks that only other roots reach are possibly lost. */
static inline bool hawk_root_is_strong(const struct hawk_root *root)
{
	return !(root->edge & HAWK_ROOT_INTERIOR) && root->kind != HAWK_ROOT_UNOWNED;
}

/** Finds all roots. Missing memory becomes the findings "roots-missing" and "stack-missing".
 * Deinitialize `ret` only after success. */
struct hawk_error *hawk_roots_find(const struct hawk_heap *heap, struct hawk_findings *findings,
				   struct hawk_roots *ret);

/** Adds the findings of hawk_roots_find(). */
void hawk_roots_report(const struct hawk_heap *heap, const struct hawk_roots *roots,
		       struct hawk_findings *findings);

/** Returns the offset in `block` (its number) to which the interior root `root` leads; UINT64_MAX =
 * not known. */
uint64_t hawk_roots_inside(const struct hawk_heap *heap, const struct hawk_roots *roots,
			   size_t root, uint32_t block);

/** Accepts roots of zeros. */
void hawk_roots_deinit(struct hawk_roots *roots);

/** Returns true if nothing is missing, so that blocks without a root are certainly lost. */
bool hawk_roots_complete(const struct hawk_roots *roots);

#endif
