/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointer graph of a core, kept in a file beside it, so that the next question to the same core
 * need not read it all again: sites, block index with what headers say, edges, roots, reach,
 * dominators, site graph, as they lie in memory. A cache and nothing more: it is thrown away
 * whenever anything about it is not as expected.
 *
 * The file is mapped, not read: pages that a question does not touch cost nothing but the check of
 * the sections it asks for. It is for the same user on the same machine; the caller sees to it that
 * nobody else can write it. Format: docs/format-index-cache.md.
 */
#ifndef HAWK_GRAPH_CACHE_H
#define HAWK_GRAPH_CACHE_H

#include "hawk_block_graph.h"

/** Which core it is; all zero bytes between and behind the fields. */
struct hawk_core_identity {
	uint64_t device;
	uint64_t inode;
	uint64_t bytes;
	int64_t changed_ns; /**< later one of mtime and ctime */
	uint64_t options;   /**< a hash of what else has a say in the answer: where symbols are */
};

struct cache_header;

/** A mapped file that a graph and a heap point into; must outlive both. */
struct hawk_graph_cache {
	void *bytes; /**< NULL = none */
	size_t size;
	struct cache_header *header; /**< its header when it was opened; owned */
	unsigned file_parts;         /**< that it holds */
};

/**
 * As hawk_heap_load_graph(), but sites, index and what it has of `parts` come from the file `fd`
 * (which is not taken over), and nothing else is made. False: the file does not fit, or it is
 * damaged; nothing was done then, but that the table was looked for again. `*err` may be set with
 * either answer.
 */
bool hawk_graph_cache_load(int fd, const struct hawk_core_identity *identity,
			   struct hawk_target *target, struct hawk_findings *findings,
			   unsigned parts, struct hawk_graph_cache *cache,
			   struct hawk_block_graph *graph, struct hawk_heap *heap,
			   struct hawk_error **err);

/** The parts that the file `fd` (-1 = none) holds of this core; 0: it does not fit. Its sections
 * may still be damaged. */
unsigned hawk_graph_cache_parts(int fd, const struct hawk_core_identity *identity);

/** Takes what the mapped file has of `parts` and `graph` has not. What is damaged is left out. */
struct hawk_error *hawk_graph_cache_more(const struct hawk_graph_cache *cache, unsigned parts,
					 struct hawk_block_graph *graph);

/** Accepts a cache of zeros. */
void hawk_graph_cache_unmap(struct hawk_graph_cache *cache);

/** Bytes that hawk_graph_cache_save() would write of `graph`. */
uint64_t hawk_graph_cache_bytes(const struct hawk_block_graph *graph);

/** Writes everything that `graph` has to the empty file `fd`. */
struct hawk_error *hawk_graph_cache_save(int fd, const struct hawk_core_identity *identity,
					 const struct hawk_block_graph *graph,
					 const struct hawk_findings *findings);

/**
 * Adds what `graph` has, and the file `fd` has not, behind what is there. Who reads it meanwhile
 * finds either all of it or nothing. `*ret` false: it is no file of this core that is as expected;
 * it is to be written anew then. Only one process at a time may do this.
 */
struct hawk_error *hawk_graph_cache_add(int fd, const struct hawk_core_identity *identity,
					const struct hawk_block_graph *graph,
					const struct hawk_findings *findings, bool *ret);

#endif
