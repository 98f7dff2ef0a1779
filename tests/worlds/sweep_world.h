/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The world of the sweep's tests: a synthetic heap, its core, and the blocks that a sweep found,
 * checked for their order. Test code: any failure fails the test.
 */
#ifndef SWEEP_WORLD_H
#define SWEEP_WORLD_H

#include "hawk/heap/heap.h"
#include "heap/sealed/sweep.h"
#include "synthetic_heap.h"
#include "test.h"

enum {
	SWEEP_BLOCKS_MAX = 4096,
	SWEEP_HEAP_BYTES = 256 << 10,
};

/** An empty heap, and the results of the last sweep. */
struct sweep_world {
	struct synthetic_heap *heap;
	char *path;
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_sweep_plan plan;
	struct hawk_sweep_result result;
	struct hawk_damages damages;
	size_t count;
	struct hawk_block blocks[SWEEP_BLOCKS_MAX];
};

/** Of cmocka: `*state` is the world. */
int sweep_world_setup(void **state);
int sweep_world_teardown(void **state);

/** A test of such a world. */
#define SWEEP_TEST(name)                                                                           \
	TEST_WITH(struct sweep_world *world, sweep_world_setup, sweep_world_teardown, name)

/** Writes and opens `core`, instead of the one before, and destroys it. */
void sweep_world_open(struct sweep_world *world, struct synthetic_core *core);

/** Sweeps what is open. */
void sweep_world_sweep_again(struct sweep_world *world);

/** Opens the heap's core and sweeps it. */
void sweep_world_sweep(struct sweep_world *world);

/** A block of trace 1 at SYNTHETIC_HEAP + `offset`. */
void sweep_world_add(struct sweep_world *world, uint64_t offset, uint64_t size, uint8_t birth);

/** A piece of a pool, of trace 2. */
void sweep_world_add_piece(struct sweep_world *world, uint64_t offset, uint64_t size,
			   uint8_t birth);

/** Random blocks, some of them stale. */
void sweep_world_fill(struct sweep_world *world, uint64_t seed);

/**
 * Fills a heap with all that a sweep may meet, mostly around multiples of `seam`. Blocks end on
 * them, begin on them, reach far beyond them. They hold older headers, younger ones, pieces of
 * pools in several layers, or none. Adds empty blocks, dead ones, large alignments, impossible
 * headers, words of all kinds, pages of zeros.
 */
void sweep_world_spoil(struct synthetic_heap *heap, uint64_t seam, uint64_t seed);

/** Makes a core of `heap` in mappings of any size, some of them missing, incomplete, or read-only;
 * and up to 8 spans to exclude. */
struct synthetic_core *sweep_world_tear(const struct synthetic_heap *heap, uint64_t seed,
					struct hawk_span *excluded, size_t *excluded_count);

/** Turns the pages of zeros in a core's file into holes. */
void sweep_world_punch(const char *path);

/** A core of the heap, in mappings of one to five pages. */
struct synthetic_core *sweep_world_cut(const struct sweep_world *world, uint64_t seed);

/** Offset of a block that was found, from SYNTHETIC_HEAP. */
uint64_t sweep_world_offset(const struct sweep_world *world, size_t block);

/** A heap of sealed blocks in a core that need not have a table: fills index, spans and origins of
 * `heap`, which has a target. `plan` says what to look for. */
void sweep_world_index(struct hawk_heap *heap, const struct hawk_sweep_plan *plan);

/** Fills an index that has been made with the blocks of a sweep. */
void sweep_index(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
		 unsigned threads, struct hawk_block_index *index, struct hawk_sweep_result *ret);

/** A core of a heap of any size, for sweeps on several threads. */
struct sweep_core {
	struct synthetic_heap *heap;
	char *path;
	struct hawk_target *target;
	struct hawk_span excluded[8];
	struct hawk_sweep_plan plan;
};

/** sweep_world_spoil() at every `seam` bytes; of each four seeds, one is torn; of each eight, four
 * have holes. */
void sweep_core_open_spoiled(struct sweep_core *core, uint64_t bytes, uint64_t seam, uint64_t seed);

/** As nearly all heaps are: blocks of up to 150 bytes, a few of megabytes, and gaps. */
struct synthetic_heap *sweep_core_dense_heap(uint64_t bytes, uint64_t seed);

void sweep_core_open_dense(struct sweep_core *core, uint64_t bytes, uint64_t seed);

/** The core of `core->heap`, which the caller has made. */
void sweep_core_open(struct sweep_core *core);

void sweep_core_close(struct sweep_core *core);

#endif
