/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Heaps by the allocator's own structures: makes a source of each walker. A walker knows nothing of
 * sources, sites and classes: it gives spans, and pieces of memory in ascending order. Private to
 * heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_NATIVE_H
#define HAWK_ANALYZER_HEAP_NATIVE_H

#include "hawk/heap/allocator.h"
#include "hawk/heap/source.h"
#include "walker.h"

struct hawk_piece {
	uint64_t start; /**< of the block, or of what is none */
	uint64_t bytes; /**< usable, or as asked for where the walker is `exact` */
	enum hawk_piece_state state;
	uint64_t found;     /**< HAWK_PIECE_DAMAGED: the word that cannot be */
	uint64_t neighbour; /**< likewise: the block below, which may have run over; 0 = none */
	uint64_t overhead;  /**< bytes of the allocator's that belong to the piece */
};

struct hawk_walker {
	const char *name;
	bool small_granules; /**< blocks begin on multiples of 8; else of 16 */
	bool blocks_apart;   /**< no block begins where another one ends */
	bool exact;          /**< sizes are those that the program asked for */
	size_t state_bytes;
	/** `*is_there` false: the allocator is not there, and nothing is to be forgotten; nor after
	 * an error. `claims` are of others, and the caller's. */
	struct hawk_error *(*find)(const struct hawk_target *target,
				   const struct hawk_claims *claims, void *state, bool *is_there);
	/** Adds all of the allocator's memory, and in it what holds no blocks. */
	struct hawk_error *(*spans)(const void *state, struct hawk_heap_spans *ret);
	/** Makes a cursor, for the caller to free; NULL = no memory. */
	void *(*begin)(const void *state);
	/** Gives the next piece. `all` false: those that are free may be left out. */
	bool (*next)(void *cursor, bool all, struct hawk_piece *ret);
	/** Fills all of `ret` but the sums. */
	void (*describe)(const void *state, struct hawk_allocator *ret);
	/** Gives what a redacted core needs beside spans of metadata. NULL: nothing. */
	struct hawk_error *(*keep)(const void *state, hawk_keep_function *take, void *context);
	void (*forget)(void *state); /**< frees what `find` made, but not `state` itself */
};

extern const struct hawk_walker hawk_walker_glibc;
extern const struct hawk_walker hawk_walker_jemalloc;
extern const struct hawk_walker hawk_walker_mimalloc;
extern const struct hawk_walker hawk_walker_musl;
extern const struct hawk_walker hawk_walker_tcmalloc;

#endif
