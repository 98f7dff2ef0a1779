/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Heaps that point at themselves.
 */
#include "synthetic_graph.h"

#include "hawk/base/parallel.h"

#include <elf.h>

#include "target/core/file.h"
#include "test.h"
#include "sweep_world.h"

static uint32_t site_of_trace[GRAPH_TRACES] = {0, 1, 2, 3, 4, 5, 6, 7};

static void *need(void *pointer)
{
	if (!pointer)
		abort();
	return pointer;
}

struct graph_world *graph_world_create(void)
{
	struct graph_world *world = need(calloc(1, sizeof(*world)));

	world->heap = synthetic_heap_create(GRAPH_HEAP_BYTES);
	world->registers[HAWK_RSP] = GRAPH_STACK + GRAPH_STACK_BYTES / 2;
	hawk_findings_init(&world->findings);
	return world;
}

void graph_world_destroy(struct graph_world *world)
{
	hawk_graph_deinit(&world->graph);
	hawk_heap_spans_deinit(&world->found.spans);
	hawk_block_index_deinit(&world->found.index);
	hawk_target_close(world->target);
	hawk_findings_deinit(&world->findings);
	synthetic_heap_destroy(world->heap);
	free(world->core_bytes);
	free(world);
}

uint32_t graph_world_add(struct graph_world *world, uint64_t size, unsigned gap, uint32_t trace)
{
	uint64_t start = SYNTHETIC_HEAP;
	struct hawk_block *block = &world->blocks[world->count];

	if (world->count) {
		const struct hawk_block *last = block - 1;

		start = (last->start + last->size + 15) & ~UINT64_C(15);
	}
	start += 16 * (uint64_t)gap + 16;
	if (world->count == GRAPH_BLOCKS_MAX || start + size > SYNTHETIC_HEAP + GRAPH_HEAP_BYTES)
		abort();
	*block = (struct hawk_block){
		.start = start, .size = size, .trace = trace, .birth = (world->count + 1) % 2};
	synthetic_heap_add_block(world->heap, (struct synthetic_block){.start = start,
								       .size = size,
								       .trace = trace,
								       .birth = block->birth});
	return world->count++;
}

void graph_world_write(struct graph_world *world, uint32_t block, uint64_t offset, uint64_t value)
{
	memcpy(world->heap->bytes + (world->blocks[block].start - SYNTHETIC_HEAP) + offset, &value,
	       sizeof(value));
}

uint64_t graph_world_read(const struct graph_world *world, uint32_t block, uint64_t offset)
{
	uint64_t value;

	memcpy(&value, world->heap->bytes + (world->blocks[block].start - SYNTHETIC_HEAP) + offset,
	       sizeof(value));
	return value;
}

void graph_world_point(struct graph_world *world, uint32_t from, uint64_t offset, uint32_t to,
		       uint64_t inside)
{
	graph_world_write(world, from, offset, world->blocks[to].start + inside);
}

static uint64_t below(uint64_t *seed, uint64_t limit)
{
	return synthetic_random(seed) % limit;
}

static uint64_t random_word(const struct graph_world *world, uint64_t *seed)
{
	const struct hawk_block *block = &world->blocks[below(seed, world->count)];

	switch (below(seed, 16)) {
	case 0:
	case 1:
	case 2:
		return block->start;
	case 3:
		return block->start + below(seed, block->size + 1);
	case 4:
		return block->start + block->size;
	case 5:
		return block->start - 1 - below(seed, 40);
	case 6:
		return synthetic_random(seed);
	case 7:
		return synthetic_random(seed) >> 17;
	case 8:
		return block->start | UINT64_C(1) << 47 << below(seed, 17);
	default:
		return below(seed, 3);
	}
}

void graph_world_fill(struct graph_world *world, uint64_t *seed)
{
	static const uint64_t sizes_max[] = {24, 64, 200, 1500};
	uint32_t count = 1 + (uint32_t)below(seed, GRAPH_BLOCKS_MAX);

	for (uint32_t i = 0; i < count; i++)
		graph_world_add(world, below(seed, sizes_max[below(seed, 4)]),
				(unsigned)below(seed, 4), (uint32_t)below(seed, GRAPH_TRACES));
	for (uint32_t i = 0; i < count; i++)
		for (uint64_t at = 0; at + 8 <= world->blocks[i].size; at += 8)
			if (at < 128 || !below(seed, 16))
				graph_world_write(world, i, at, random_word(world, seed));
	for (unsigned i = 0; i < GRAPH_GLOBAL_WORDS; i++)
		world->globals[i] = below(seed, 4) ? 0 : random_word(world, seed);
	for (unsigned i = 0; i < GRAPH_STACK_BYTES / 8; i++)
		world->stack[i] = below(seed, 256) ? 0 : random_word(world, seed);
	world->registers[HAWK_R12] = random_word(world, seed);
	world->registers[HAWK_EFLAGS] = random_word(world, seed);
}

static void open_core(struct graph_world *world, size_t cut_bytes)
{
	struct synthetic_core *core = synthetic_core_create();
	struct hawk_core_file *file;

	synthetic_core_add_thread(core, 4711, 6, world->registers);
	if (world->stack_top)
		synthetic_core_add_auxv(core, (const uint64_t[][2]){{AT_EXECFN, world->stack_top}},
					1);
	synthetic_core_add_note(core, "LINUX", NT_X86_XSTATE, world->vectors,
				sizeof(world->vectors));
	synthetic_core_add_memory(core, SYNTHETIC_HEAP, world->heap->bytes, world->heap->size);
	synthetic_core_add_memory(core, GRAPH_GLOBALS, world->globals, sizeof(world->globals));
	synthetic_core_add_memory(core, GRAPH_STACK, world->stack, sizeof(world->stack));
	world->core_bytes = synthetic_core_build(core, &world->core_size);
	synthetic_core_destroy(core);
	if (world->core_size > cut_bytes)
		world->core_size = cut_bytes;
	check(hawk_core_file_over(world->core_bytes, world->core_size, &file));
	check(hawk_core_open_file(file, NULL, &world->findings, &world->target));
}

void graph_world_open(struct graph_world *world, unsigned threads, size_t cut_bytes)
{
	const struct hawk_sweep_plan plan = {
		.key = world->heap->table->header.key,
		.trace_count = GRAPH_TRACES,
		.birth_max = 255,
	};

	open_core(world, cut_bytes);
	world->found = (struct hawk_heap){
		.target = world->target,
		.site_count = GRAPH_TRACES,
		.site_of_trace = site_of_trace,
		.trace_count = GRAPH_TRACES,
	};
	sweep_world_index(&world->found, &plan);
	hawk_parallel_set_threads(threads);
	check(hawk_graph_make(&world->found, NULL, &world->findings, &world->graph));
}

uint32_t graph_oracle_edge(const struct hawk_block *blocks, uint32_t count, uint64_t address)
{
	for (uint32_t i = 0; i < count; i++) {
		if (address == blocks[i].start)
			return 2 * i;
		/* One past the end as well: a header lies there. */
		if (address > blocks[i].start && address <= blocks[i].start + blocks[i].size)
			return 2 * i + 1;
	}
	return HAWK_BLOCK_NOWHERE;
}

uint32_t graph_oracle_pointer(const struct graph_world *world, uint64_t value)
{
	uint32_t edge = graph_oracle_edge(world->blocks, world->count, value);

	if (world->ignores_ends && edge != HAWK_BLOCK_NOWHERE && edge & 1 &&
	    value == world->blocks[edge >> 1].start + world->blocks[edge >> 1].size)
		return HAWK_BLOCK_NOWHERE;
	return edge;
}

static void add_edge(const struct graph_world *world, uint64_t value, uint64_t *all,
		     uint64_t *start)
{
	uint32_t edge = graph_oracle_pointer(world, value);

	if (edge == HAWK_BLOCK_NOWHERE)
		return;
	*all |= UINT64_C(1) << (edge >> 1);
	if (!(edge & 1))
		*start |= UINT64_C(1) << (edge >> 1);
}

/* All that can be reached from `set` without `gone`, round by round. */
static uint64_t closure(const uint64_t *next, uint32_t count, uint64_t set, uint64_t gone)
{
	set &= ~gone;
	for (uint64_t before = 0; set != before;) {
		before = set;
		for (uint32_t i = 0; i < count; i++)
			if (set >> i & 1)
				set |= next[i] & ~gone;
	}
	return set;
}

static void make_kinds(struct graph_oracle *oracle)
{
	const uint64_t *next = oracle->all;
	uint64_t reachable = closure(oracle->start, oracle->count, oracle->start_roots, 0);
	uint64_t met = closure(oracle->all, oracle->count, oracle->all_roots, 0);
	uint64_t from[GRAPH_BLOCKS_MAX];

	for (uint32_t i = 0; i < oracle->count; i++)
		from[i] = closure(next, oracle->count, UINT64_C(1) << i, 0);
	for (uint32_t i = 0; i < oracle->count; i++) {
		bool leader = true;

		/* A leader is lost, and every block that leads to it is reached from it and not
		 * lower. */
		for (uint32_t j = 0; j < oracle->count; j++)
			if (from[j] >> i & 1 && (j < i || !(from[i] >> j & 1)))
				leader = false;
		oracle->kinds[i] = reachable >> i & 1 ? HAWK_REACH_REACHABLE
				   : met >> i & 1     ? HAWK_REACH_POSSIBLY
				   : leader           ? HAWK_REACH_DEFINITELY_LOST
						      : HAWK_REACH_INDIRECTLY_LOST;
	}
}

static void make_dominators(const struct graph_world *world, struct graph_oracle *oracle)
{
	const uint64_t *next = oracle->all;
	uint64_t roots = oracle->all_roots;

	for (uint32_t i = 0; i < oracle->count; i++)
		if (oracle->kinds[i] == HAWK_REACH_DEFINITELY_LOST)
			roots |= UINT64_C(1) << i;
	for (uint32_t i = 0; i < oracle->count; i++) {
		uint64_t all = closure(next, oracle->count, roots, 0);
		uint64_t left = closure(next, oracle->count, roots, UINT64_C(1) << i);

		oracle->dominated[i] = all & ~left;
		for (uint32_t j = 0; j < oracle->count; j++)
			if (oracle->dominated[i] >> j & 1)
				oracle->retained[i] += world->blocks[j].size;
	}
}

void graph_oracle_make(const struct graph_world *world, struct graph_oracle *ret)
{
	struct graph_oracle oracle = {.count = world->count};
	unsigned live = (GRAPH_STACK_BYTES / 2 - 128) / 8;

	for (uint32_t i = 0; i < world->count; i++) {
		const struct hawk_block *block = &world->blocks[i];

		for (uint64_t at = 0; at + 8 <= block->size; at += 8) {
			uint64_t value;

			memcpy(&value, world->heap->bytes + (block->start - SYNTHETIC_HEAP) + at,
			       8);
			add_edge(world, value, &oracle.all[i], &oracle.start[i]);
		}
	}
	for (unsigned i = 0; i < GRAPH_GLOBAL_WORDS; i++)
		add_edge(world, world->globals[i], &oracle.all_roots, &oracle.start_roots);
	for (unsigned i = live; i < GRAPH_STACK_BYTES / 8; i++)
		add_edge(world, world->stack[i], &oracle.all_roots, &oracle.start_roots);
	add_edge(world, world->registers[HAWK_R12], &oracle.all_roots, &oracle.start_roots);
	make_kinds(&oracle);
	make_dominators(world, &oracle);
	*ret = oracle;
}

struct graph_shape *graph_shape_create(uint32_t count, uint64_t edges_max)
{
	struct graph_shape *shape = need(calloc(1, sizeof(*shape)));

	check(hawk_block_index_init(&shape->found.index, 32 * (uint64_t)count));
	for (uint32_t i = 0; i < count; i++) {
		struct hawk_block block = {
			.start = SYNTHETIC_HEAP + 32 * (uint64_t)i, .size = 16, .trace = i & 7};

		check(hawk_block_index_add(&shape->found.index, &block, 1));
	}
	hawk_block_index_finish(&shape->found.index);
	check(hawk_area_create(&shape->graph.offsets_area, 4 * ((uint64_t)count + 1)));
	check(hawk_area_create(&shape->graph.edges_area, 4 * (edges_max + 1)));
	shape->found.site_count = GRAPH_TRACES;
	shape->found.site_of_trace = site_of_trace;
	shape->found.trace_count = shape->found.class_first = GRAPH_TRACES;
	shape->graph.heap = &shape->found;
	shape->graph.count = count;
	shape->graph.offsets = shape->graph.offsets_area.bytes;
	shape->graph.edges = shape->graph.edges_area.bytes;
	return shape;
}

void graph_shape_destroy(struct graph_shape *shape)
{
	hawk_dominators_deinit(&shape->dominators);
	hawk_reach_deinit(&shape->reach);
	hawk_graph_deinit(&shape->graph);
	hawk_block_index_deinit(&shape->found.index);
	free(shape);
}

void graph_shape_edge(struct graph_shape *shape, uint32_t from, uint32_t to)
{
	struct hawk_graph *graph = &shape->graph;

	if (from < shape->at || graph->edge_count >= graph->edges_area.size / 4)
		abort();
	while (shape->at < from)
		graph->offsets[++shape->at] = graph->edge_count;
	graph->edges[graph->edge_count++] = to << 1;
}

void graph_shape_root(struct graph_shape *shape, uint32_t to)
{
	struct hawk_roots *roots = &shape->graph.roots;

	if (roots->count == roots->capacity) {
		roots->capacity = 2 * roots->capacity + 8;
		roots->items =
			need(reallocarray(roots->items, roots->capacity, sizeof(*roots->items)));
	}
	roots->items[roots->count++] =
		(struct hawk_root){.address = 8 * roots->count, .edge = to << 1, .kind = 4};
}

void graph_shape_finish(struct graph_shape *shape)
{
	while (shape->at < shape->graph.count)
		shape->graph.offsets[++shape->at] = shape->graph.edge_count;
	hawk_parallel_set_threads(1);
	check(hawk_reach_make(&shape->graph, NULL, &shape->reach));
	check(hawk_dominators_make(&shape->graph, &shape->reach, &shape->dominators));
}
