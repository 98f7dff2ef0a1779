/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The root set: every pointer to a block that lies outside of blocks, and how much of the memory
 * where there could be more is missing.
 *
 * Looked at: general and vector registers of every thread, and its alternate signal stack; the live
 * part of every stack (from 128 bytes below the stack pointer on, also where the stack itself is a
 * block); thread-local storage around every thread pointer; writable memory of modules, and what
 * the loader protected after relocation; and all other writable or anonymous memory outside of
 * heaps. Not looked at: the tracer's own memory, and free memory of heaps, which is full of stale
 * pointers, unless blocks are known to be missing (HAWK_SPAN_UNSOUND): then what only such memory
 * leads to is no more than possibly lost. Every root can be named from what is kept of it.
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

/** In an edge: as HAWK_EDGE_INTERIOR. */
enum { HAWK_ROOT_INTERIOR = 1 };

/** In place of a register: what the kernel has from sigaltstack(). Never an interior pointer. */
enum { HAWK_ROOT_SIGNAL_STACK = 0x100 };

/** Of a register's address: from here on byte offsets in hawk_thread.vectors. */
enum { HAWK_ROOT_VECTORS = 0x1000 };

/** One pointer. Sorted by kind, owner, address. */
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
	uint64_t missing_bytes[HAWK_ROOT_KINDS]; /**< that the target has and cannot be read */
	uint64_t heap_missing_bytes;             /**< the same of mappings with blocks in them */
	uint64_t threads_without_stack;
	uint64_t undumped_bytes; /**< of what is missing: the program keeps it out of cores */
	bool stacks_incomplete;  /**< stacks of ended threads may count as roots */
	/** Of a snapshot, whose memory cannot be read: by root, how far behind the start of its
	 * block it leads; UINT64_MAX = not known. NULL = memory tells. */
	uint64_t *insides;
};

/** It leads to a block for certain: not into the middle of one, and not from memory that may be
 * free. What only others lead to is possibly lost. */
static inline bool hawk_root_is_strong(const struct hawk_root *root)
{
	return !(root->edge & HAWK_ROOT_INTERIOR) && root->kind != HAWK_ROOT_UNOWNED;
}

/** What is missing becomes the findings "roots-missing" and "stack-missing". `ret` is to be
 * deinitialized after success only. */
struct hawk_error *hawk_roots_find(const struct hawk_heap *heap, struct hawk_findings *findings,
				   struct hawk_roots *ret);

/** Adds the findings of that. */
void hawk_roots_report(const struct hawk_heap *heap, const struct hawk_roots *roots,
		       struct hawk_findings *findings);

/** Returns how far behind the start of `block`, whose number stands for it, the interior root
 * `root` leads; UINT64_MAX = not known. */
uint64_t hawk_roots_inside(const struct hawk_heap *heap, const struct hawk_roots *roots,
			   size_t root, uint32_t block);

/** Accepts roots of zeros. */
void hawk_roots_deinit(struct hawk_roots *roots);

/** Nothing is missing: blocks that no root leads to are lost indeed. */
bool hawk_roots_complete(const struct hawk_roots *roots);

#endif
