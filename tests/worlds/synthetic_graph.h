/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Heaps that point at themselves, for tests of the pointer graph: from small random ones in a core,
 * with an oracle that shares nothing with the analyzer but the bytes, to large ones of a chosen
 * shape that have no bytes at all. Test code: runs out of patience with abort().
 */
#ifndef SYNTHETIC_GRAPH_H
#define SYNTHETIC_GRAPH_H

#include "hawk/graph/dominators.h"
#include "synthetic_heap.h"
#include "target/arch_x86_64.h"

enum {
	GRAPH_BLOCKS_MAX = 40,
	GRAPH_HEAP_BYTES = 64 << 10,
	GRAPH_GLOBAL_WORDS = 8,
	GRAPH_STACK_BYTES = 8192,
	GRAPH_TRACES = 8,
};

#define GRAPH_GLOBALS UINT64_C(0x600000000000)
#define GRAPH_STACK   UINT64_C(0x7ffd00000000)

/** A small heap in a core, and its contents. */
struct graph_world {
	struct synthetic_heap *heap;
	struct hawk_block blocks[GRAPH_BLOCKS_MAX];
	uint32_t count;
	uint64_t globals[GRAPH_GLOBAL_WORDS];  /**< at GRAPH_GLOBALS */
	uint64_t stack[GRAPH_STACK_BYTES / 8]; /**< at GRAPH_STACK */
	uint64_t registers[HAWK_REGISTER_COUNT];
	uint64_t stack_top;    /**< as hawk_target_stack_top() */
	bool ignores_ends;     /**< to oracles pointers one past the end are none */
	uint8_t vectors[1024]; /**< the thread's XSAVE area */

	uint8_t *core_bytes;
	size_t core_size;
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_heap found; /**< every trace is a site */
	struct hawk_graph graph;
};

/** No blocks; the stack pointer is in the middle of the stack. */
struct graph_world *graph_world_create(void);
void graph_world_destroy(struct graph_world *world);

/** Appends a block of `size` bytes, `gap` free granules behind the one before. Returns its number.
 */
uint32_t graph_world_add(struct graph_world *world, uint64_t size, unsigned gap, uint32_t trace);

/** Writes the word at `offset` of a block. */
void graph_world_write(struct graph_world *world, uint32_t block, uint64_t offset, uint64_t value);

/** The word there. */
uint64_t graph_world_read(const struct graph_world *world, uint32_t block, uint64_t offset);

/** The pointer `from` + `offset` -> `to` + `inside`. */
void graph_world_point(struct graph_world *world, uint32_t from, uint64_t offset, uint32_t to,
		       uint64_t inside);

/** Random blocks, pointers (also behind the end, to headers, and nonsense), roots. */
void graph_world_fill(struct graph_world *world, uint64_t *seed);

/** Makes a core, cut to `cut_bytes`, opens and sweeps it, and makes index, graph and roots. */
void graph_world_open(struct graph_world *world, unsigned threads, size_t cut_bytes);

/** The truth from the bytes, found by trying everything. Sets of blocks are bits. */
struct graph_oracle {
	uint32_t count;
	uint64_t all[GRAPH_BLOCKS_MAX];   /**< blocks that a block points to */
	uint64_t start[GRAPH_BLOCKS_MAX]; /**< the same by start pointers */
	uint64_t all_roots;
	uint64_t start_roots;
	uint8_t kinds[GRAPH_BLOCKS_MAX];      /**< enum hawk_reach_kind */
	uint64_t dominated[GRAPH_BLOCKS_MAX]; /**< by a block, itself included */
	uint64_t retained[GRAPH_BLOCKS_MAX];
};
void graph_oracle_make(const struct graph_world *world, struct graph_oracle *ret);

/** Edge of the block that contains `address`, or ends there, by trying all; HAWK_BLOCK_NOWHERE if
 * none does. */
uint32_t graph_oracle_edge(const struct hawk_block *blocks, uint32_t count, uint64_t address);

/** The same of a world that may ignore ends. */
uint32_t graph_oracle_pointer(const struct graph_world *world, uint64_t value);

/** A graph without memory: blocks of 16 bytes, roots and edges as told. */
struct graph_shape {
	struct hawk_heap found; /**< every trace is a site */
	struct hawk_graph graph;
	struct hawk_reach reach;
	struct hawk_dominators dominators;
	uint32_t at; /**< the block whose edges are being added */
};

struct graph_shape *graph_shape_create(uint32_t count, uint64_t edges_max);
void graph_shape_destroy(struct graph_shape *shape);

/** Blocks come in ascending order. */
void graph_shape_edge(struct graph_shape *shape, uint32_t from, uint32_t to);
void graph_shape_root(struct graph_shape *shape, uint32_t to);

/** Completes the graph, marks, and finds dominators, on one thread. */
void graph_shape_finish(struct graph_shape *shape);

#endif
