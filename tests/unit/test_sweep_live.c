/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap of a living process: read while it stands still, used after it was let go.
 */
#include <sys/mman.h>

#include "test.h"
#include "hawk/graph/reach.h"
#include "hawk/analysis/site_graph.h"
#include "synthetic_heap.h"
#include "synthetic_victim.h"

enum {
	HEAP_BYTES = 12 << 20, /* several windows */
	BLOCKS = HEAP_BYTES / 64 - 2,
};

static struct synthetic_heap *build_heap(void)
{
	struct synthetic_heap *heap = synthetic_heap_create(HEAP_BYTES);
	uint32_t one, two;

	synthetic_heap_add_module(heap, "/usr/bin/app", 0x400000, 0x500000, 0x400000);
	one = synthetic_heap_add_trace(heap, (uint64_t[]){0x401000, 0x402000}, 2, 0, 0);
	two = synthetic_heap_add_trace(heap, (uint64_t[]){0x403000}, 1, one, 1);
	heap->table->threads[0].counters[5] = (struct hawk_counter_entry){two, 7, 700};
	for (uint64_t i = 0; i < BLOCKS; i++)
		synthetic_heap_add_block(heap, (struct synthetic_block){
						       .start = SYNTHETIC_HEAP + 64 + 64 * i,
						       .size = 40,
						       .trace = i % 4 ? one : two,
						       .birth = 9,
					       });
	return heap;
}

static void put(uint64_t address, const void *bytes, size_t size)
{
	void *memory = mmap((void *)address, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (memory != (void *)address)
		abort();
	memcpy(memory, bytes, size);
}

static void live_with_a_heap(struct shared *shared)
{
	struct synthetic_heap *heap = build_heap();

	put(SYNTHETIC_TABLE, heap->table, sizeof(*heap->table));
	put(SYNTHETIC_HEAP, heap->bytes, heap->size);
	/* A guard page that a program set up inside of its block: what lies there still counts. */
	if (mprotect((char *)SYNTHETIC_HEAP + (5 << 20), 4096, PROT_NONE))
		abort();
	synthetic_heap_destroy(heap);
	victim_count_for_ever(shared);
}

/* First: the process is a child of this one, and memory that an earlier sweep has freed holds
 * addresses of blocks. */
LIVE_TEST(the_graph_of_a_process_is_kept_when_it_runs_on)
{
	struct hawk_graph graph = {0};
	struct hawk_site_graph sites;
	struct hawk_reach reach;
	struct hawk_block block;
	struct hawk_heap heap;

	victim_start(world, live_with_a_heap);
	victim_open(world);
	assert_null(hawk_heap_load(world->target, &world->findings, &heap));
	assert_null(hawk_graph_make(&heap, NULL, &world->findings, &graph));
	assert_true(victim_stands(world));
	assert_null(hawk_site_graph_make(&graph, NULL, &sites));
	hawk_site_graph_deinit(&sites);
	hawk_target_release(world->target);
	assert_true(victim_counts(world));
	assert_null(hawk_reach_make(&graph, HAWK_EDGES_ALL, &graph.explained, &reach));
	assert_int_equal(graph.heap->index.count, BLOCKS);
	assert_true(hawk_heap_block(graph.heap, 3, &block));
	assert_int_equal(block.birth, 9);
	assert_int_equal(block.kind, HAWK_KIND_MALLOC);
	/* But for what is left of their addresses on the stack. */
	assert_in_range(reach.sums[HAWK_REACH_DEFINITELY_LOST].objects, BLOCKS - 64, BLOCKS);
	hawk_reach_deinit(&reach);
	hawk_graph_deinit(&graph);
	hawk_heap_deinit(&heap);
}

LIVE_TEST(a_living_heap_is_read_and_the_process_let_go)
{
	struct hawk_trace *trace = malloc(sizeof(*trace));
	const struct hawk_site *two;
	struct hawk_heap heap;

	victim_start(world, live_with_a_heap);
	victim_open(world);
	assert_null(hawk_heap_load(world->target, &world->findings, &heap));
	hawk_target_release(world->target);
	assert_true(victim_counts(world));
	assert_non_null(heap.table);
	assert_int_equal(heap.sweep.blocks, BLOCKS);
	assert_int_equal(heap.sweep.bytes, 40 * (uint64_t)BLOCKS);
	assert_int_equal(heap.sweep.implausible, 0);
	two = hawk_heap_site(&heap, 2);
	assert_int_equal(two->inuse_objects, (BLOCKS + 3) / 4);
	assert_int_equal(two->alloc_objects, 7);
	assert_true(hawk_table_trace(heap.table, 2, trace));
	assert_int_equal(trace->frame_count, 2);
	assert_int_equal(trace->frames[1], 0x402000);
	hawk_heap_deinit(&heap);
	free(trace);
}

LIVE_TEST(block_at_works_while_the_process_stands)
{
	struct hawk_heap heap;
	struct hawk_block block;

	victim_start(world, live_with_a_heap);
	victim_open(world);
	assert_null(hawk_heap_load_table(world->target, &world->findings, &heap));
	assert_true(victim_stands(world));
	assert_int_equal(
		hawk_block_at(world->target, &heap.plan, SYNTHETIC_HEAP + 64 * 1000 + 10, &block),
		HAWK_BLOCK_LIVE);
	assert_int_equal(block.start, SYNTHETIC_HEAP + 64 * 1000);
	assert_int_equal(block.trace, 1);
	hawk_heap_deinit(&heap);
}
