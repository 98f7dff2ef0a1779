/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The root set: memory and registers that hold blocks, their owners, and missing memory.
 */
#include "heap/heaps.h"
#include "test.h"
#include "synthetic_graph.h"

static int set_up(void **state)
{
	*state = graph_world_create();
	return 0;
}

static int tear_down(void **state)
{
	graph_world_destroy(*state);
	return 0;
}

#define ROOTS_TEST(name) TEST_WITH(struct graph_world *world, set_up, tear_down, name)

static const struct hawk_root *root_of(const struct graph_world *world, uint32_t edge)
{
	for (size_t i = 0; i < world->graph.roots.count; i++)
		if (world->graph.roots.items[i].edge == edge)
			return &world->graph.roots.items[i];
	return NULL;
}

ROOTS_TEST(every_root_says_whose_it_is_and_where)
{
	const struct hawk_root *root;

	for (unsigned i = 0; i < 6; i++)
		graph_world_add(world, 32, 0, 0);
	world->registers[HAWK_RBX] = world->blocks[0].start;
	world->globals[3] = world->blocks[1].start + 8;
	world->stack[600] = world->blocks[2].start;
	world->registers[HAWK_FS_BASE] = GRAPH_STACK + 8 * 800;
	world->stack[801] = world->blocks[3].start;
	world->stack[200] = world->blocks[4].start; /* dead */
	world->registers[HAWK_EFLAGS] = world->blocks[5].start;
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(world->graph.roots.count, 4);
	root = root_of(world, 0);
	assert_int_equal(root->kind, HAWK_ROOT_REGISTER);
	assert_int_equal(root->address, HAWK_RBX);
	root = root_of(world, 1 << 1 | HAWK_EDGE_INTERIOR);
	assert_int_equal(root->kind, HAWK_ROOT_OTHER);
	assert_int_equal(root->address, GRAPH_GLOBALS + 24);
	assert_int_equal(root->owner, 1);
	root = root_of(world, 2 << 1);
	assert_int_equal(root->kind, HAWK_ROOT_STACK);
	assert_int_equal(root->address, GRAPH_STACK + 8 * 600);
	root = root_of(world, 3 << 1);
	assert_int_equal(root->kind, HAWK_ROOT_TLS);
}

ROOTS_TEST(a_stack_on_the_heap_is_a_root_above_its_stack_pointer)
{
	graph_world_add(world, 4096, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		graph_world_add(world, 32, 0, 0);
	graph_world_point(world, 0, 1024, 1, 0); /* dead */
	graph_world_point(world, 0, 2048 - 64, 2, 0);
	graph_world_point(world, 0, 4088, 3, 0);
	world->registers[HAWK_RSP] = world->blocks[0].start + 2048;
	graph_world_open(world, 1, SIZE_MAX);
	assert_null(root_of(world, 1 << 1));
	assert_int_equal(root_of(world, 2 << 1)->kind, HAWK_ROOT_STACK);
	assert_int_equal(root_of(world, 3 << 1)->kind, HAWK_ROOT_STACK);
	assert_int_equal(root_of(world, 0 << 1 | 1)->kind, HAWK_ROOT_REGISTER);
}

ROOTS_TEST(thread_local_storage_beside_a_block_is_a_root)
{
	uint64_t value;

	for (unsigned i = 0; i < 3; i++)
		graph_world_add(world, 32, 0, 0);
	/* The thread pointer is in the mapping of the heap, behind the blocks. */
	value = world->blocks[1].start;
	memcpy(world->heap->bytes + 32768 - 16, &value, 8);
	value = world->blocks[2].start;
	memcpy(world->heap->bytes + 50000, &value, 8); /* free memory */
	world->registers[HAWK_FS_BASE] = SYNTHETIC_HEAP + 32768;
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(world->graph.roots.count, 1);
	assert_int_equal(root_of(world, 1 << 1)->kind, HAWK_ROOT_TLS);
}

ROOTS_TEST(memory_of_the_tracer_is_no_root)
{
	struct hawk_heap_span span = {
		.start = GRAPH_GLOBALS + 8, .end = GRAPH_GLOBALS + 24, .kind = HAWK_SPAN_METADATA};
	struct hawk_heap_spans spans;
	struct hawk_roots roots;

	graph_world_add(world, 32, 0, 0);
	for (unsigned i = 0; i < GRAPH_GLOBAL_WORDS; i++)
		world->globals[i] = world->blocks[0].start;
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(world->graph.roots.count, GRAPH_GLOBAL_WORDS);
	spans = world->found.spans;
	world->found.spans = (struct hawk_heap_spans){&span, 1, 1};
	check(hawk_roots_find(&world->found, NULL, &roots));
	assert_int_equal(roots.count, GRAPH_GLOBAL_WORDS - 2);
	world->found.spans = spans;
	hawk_roots_deinit(&roots);
}

enum { PAGE = 4096 };

static void set_word(uint8_t *bytes, uint64_t offset, uint64_t value)
{
	memcpy(bytes + offset, &value, sizeof(value));
}

/* Adds glibc's mapping for one block, `pages` pages at `page` of the world's heap. */
static uint32_t add_mapped_chunk(struct graph_world *world, uint64_t page, uint64_t pages)
{
	struct synthetic_block block = {.start = SYNTHETIC_HEAP + page * PAGE + 32,
					.size = pages * PAGE - 32};

	set_word(world->heap->bytes, page * PAGE + 8, pages * PAGE | 2);
	synthetic_heap_add_block(world->heap, block);
	world->blocks[world->count] = (struct hawk_block){.start = block.start, .size = block.size};
	return world->count++;
}

/* Adds the same in glibc 2.43's form, with `gap` bytes before it. */
static uint32_t add_mapped_chunk_of_2_43(struct graph_world *world, uint64_t page, uint64_t pages,
					 uint64_t gap, uint64_t huge)
{
	uint64_t chunk = page * PAGE + gap;
	struct synthetic_block block = {.start = SYNTHETIC_HEAP + chunk + 32,
					.size = pages * PAGE - gap - 32 - 8};

	set_word(world->heap->bytes, chunk, gap | huge);
	set_word(world->heap->bytes, chunk + 8, (pages * PAGE - gap - 16) | 2);
	synthetic_heap_add_block(world->heap, block);
	world->blocks[world->count] = (struct hawk_block){.start = block.start, .size = block.size};
	return world->count++;
}

ROOTS_TEST(memory_joined_to_mapped_blocks_of_glibc_2_43_is_a_root)
{
	uint32_t first = add_mapped_chunk_of_2_43(world, 2, 2, 0, 0);
	uint32_t second = add_mapped_chunk_of_2_43(world, 6, 1, 0, 1);
	uint32_t third = add_mapped_chunk_of_2_43(world, 8, 3, PAGE + 64, 1);

	set_word(world->heap->bytes, 1 * PAGE + 8, world->blocks[first].start);
	set_word(world->heap->bytes, 5 * PAGE + 8, world->blocks[second].start);
	set_word(world->heap->bytes, 11 * PAGE, world->blocks[third].start);
	/* A word in the gap, which is free memory. */
	set_word(world->heap->bytes, 8 * PAGE + 512, world->blocks[third].start);
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(world->found.index.count, 3);
	assert_int_equal(world->graph.roots.count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(world->graph.roots.items[i].kind, HAWK_ROOT_OTHER);
}

/* Neither form: the sizes of one, the huge-page bit of the other; and a gap that is none. */
TEST(a_mapped_chunk_of_no_known_form_makes_its_mapping_a_heap)
{
	static const uint64_t gaps[] = {1, 2, 8, SYNTHETIC_HEAP + 16 * PAGE};

	for (unsigned i = 0; i < 4; i++) {
		struct graph_world *world = graph_world_create();
		uint32_t block = add_mapped_chunk(world, 2, 2);

		set_word(world->heap->bytes, 2 * PAGE, gaps[i]);
		set_word(world->heap->bytes, 5 * PAGE, world->blocks[block].start);
		graph_world_open(world, 1, SIZE_MAX);
		assert_int_equal(world->found.index.count, 1);
		assert_int_equal(world->graph.roots.count, 0);
		graph_world_destroy(world);
	}
}

ROOTS_TEST(memory_that_the_kernel_joined_to_mapped_blocks_is_a_root)
{
	uint32_t first = add_mapped_chunk(world, 2, 2);
	uint32_t second = add_mapped_chunk(world, 6, 1);

	set_word(world->heap->bytes, 1 * PAGE + 8, world->blocks[first].start);
	set_word(world->heap->bytes, 5 * PAGE + 8, world->blocks[second].start);
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(world->found.index.count, 2);
	assert_int_equal(world->graph.roots.count, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(world->graph.roots.items[i].kind, HAWK_ROOT_OTHER);
}

ROOTS_TEST(size_fields_that_lie_do_not_stop_the_search_for_roots)
{
	uint64_t start = SYNTHETIC_HEAP + 2 * PAGE;

	/* A mapped chunk that ends where its empty block begins. */
	set_word(world->heap->bytes, 2 * PAGE - 32, PAGE - 32);
	set_word(world->heap->bytes, 2 * PAGE - 24, 32 | 2);
	synthetic_heap_add_block(world->heap, (struct synthetic_block){.start = start});
	world->blocks[world->count++] = (struct hawk_block){.start = start};
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(world->found.index.count, 1);
	assert_int_equal(world->graph.roots.count, 0);
}

ROOTS_TEST(memory_between_blocks_is_a_root_only_if_blocks_are_missing)
{
	struct hawk_graph graph;
	struct hawk_reach reach;
	struct hawk_roots roots;

	graph_world_add(world, 32, 0, 0);
	graph_world_add(world, 32, 4, 0);
	set_word(world->heap->bytes, world->blocks[0].start + 48 - SYNTHETIC_HEAP,
		 world->blocks[0].start);
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(world->graph.roots.count, 0);
	hawk_heap_distrust(&world->found);
	check(hawk_roots_find(&world->found, &world->findings, &roots));
	assert_int_equal(roots.count, 1);
	assert_int_equal(roots.items[0].kind, HAWK_ROOT_UNOWNED);
	graph = world->graph;
	graph.roots = roots;
	check(hawk_reach_make(&graph, NULL, &reach));
	assert_int_equal(reach.kinds[0], HAWK_REACH_POSSIBLY);
	assert_int_equal(reach.kinds[1], HAWK_REACH_DEFINITELY_LOST);
	hawk_reach_deinit(&reach);
	hawk_roots_deinit(&roots);
}

ROOTS_TEST(vector_registers_are_roots)
{
	for (unsigned i = 0; i < 4; i++)
		graph_world_add(world, 32, 0, 0);
	set_word(world->vectors, 160 + 16 * 3 + 8, world->blocks[0].start); /* xmm3 */
	set_word(world->vectors, 576 + 16 * 5, world->blocks[1].start);     /* ymm5 */
	set_word(world->vectors, 32, world->blocks[2].start);               /* st(0) */
	set_word(world->vectors, 512, world->blocks[3].start);              /* header */
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(world->graph.roots.count, 2);
	assert_int_equal(root_of(world, 0 << 1)->address, HAWK_ROOT_VECTORS + 160 + 16 * 3 + 8);
	assert_int_equal(root_of(world, 1 << 1)->address, HAWK_ROOT_VECTORS + 576 + 16 * 5);
}

ROOTS_TEST(the_vector_of_thread_local_storage_is_held_by_its_thread)
{
	for (unsigned i = 0; i < 2; i++)
		graph_world_add(world, 64, 0, 0);
	world->registers[HAWK_FS_BASE] = GRAPH_STACK + 8 * 800;
	world->stack[801] = world->blocks[0].start + 16;
	world->stack[802] = world->blocks[1].start + 16;
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(root_of(world, 0 << 1)->kind, HAWK_ROOT_TLS);
	assert_int_equal(root_of(world, 1 << 1 | HAWK_EDGE_INTERIOR)->kind, HAWK_ROOT_TLS);
}

ROOTS_TEST(memory_joined_to_the_top_of_a_stack_is_a_root)
{
	for (unsigned i = 0; i < 2; i++)
		graph_world_add(world, 64, 0, 0);
	/* The thread's storage ends with the stack's first page. */
	world->registers[HAWK_RSP] = GRAPH_STACK + 1024;
	world->registers[HAWK_FS_BASE] = GRAPH_STACK + 1536;
	world->stack[8] = world->blocks[0].start; /* dead */
	world->stack[(PAGE + 512) / 8] = world->blocks[1].start;
	graph_world_open(world, 1, SIZE_MAX);
	assert_null(root_of(world, 0 << 1));
	assert_non_null(root_of(world, 1 << 1));
}

/* Returns the kind of the root in memory below the stack pointer; HAWK_ROOT_KINDS = none. */
static uint32_t kind_below_stack_pointer(uint64_t stack_top)
{
	struct graph_world *world = graph_world_create();
	uint32_t kind = HAWK_ROOT_KINDS;

	graph_world_add(world, 64, 0, 0);
	world->stack_top = stack_top;
	world->stack[8] = world->blocks[0].start;
	graph_world_open(world, 1, SIZE_MAX);
	if (root_of(world, 0 << 1))
		kind = root_of(world, 0 << 1)->kind;
	graph_world_destroy(world);
	return kind;
}

TEST(what_lies_below_a_stack_pointer_is_dead_on_a_stack_only)
{
	assert_int_equal(kind_below_stack_pointer(0), HAWK_ROOT_KINDS);
	assert_int_equal(kind_below_stack_pointer(GRAPH_STACK + GRAPH_STACK_BYTES - 8),
			 HAWK_ROOT_KINDS);
	/* The first thread runs on memory of the program's. */
	assert_int_equal(kind_below_stack_pointer(GRAPH_GLOBALS), HAWK_ROOT_OTHER);
}

/* Likewise, of a thread in a handler of signals whose stack of `bytes` lies around its stack
 * pointer; it has interrupted a function whose frame lies below. */
static uint32_t kind_of_interrupted(uint64_t bytes)
{
	enum { POINTER = 100, ALTERNATE = 500, CONTEXT = 540, USER_CODE_SEGMENT = 0x33 };
	struct graph_world *world = graph_world_create();
	uint32_t kind = HAWK_ROOT_KINDS;

	graph_world_add(world, 64, 0, 0);
	world->stack_top = GRAPH_STACK + GRAPH_STACK_BYTES - 8;
	world->stack[POINTER] = world->blocks[0].start;
	world->stack[CONTEXT] = 6;
	world->stack[CONTEXT + 2] = GRAPH_STACK + ALTERNATE * 8;
	world->stack[CONTEXT + 4] = bytes;
	world->stack[CONTEXT + 20] = GRAPH_STACK + (POINTER - 2) * 8;
	world->stack[CONTEXT + 23] = USER_CODE_SEGMENT;
	graph_world_open(world, 1, SIZE_MAX);
	if (root_of(world, 0 << 1))
		kind = root_of(world, 0 << 1)->kind;
	graph_world_destroy(world);
	return kind;
}

TEST(what_a_handler_on_an_outer_frame_has_interrupted_is_alive)
{
	assert_int_equal(kind_of_interrupted(8 * 200), HAWK_ROOT_STACK);
	assert_int_equal(kind_of_interrupted(8), HAWK_ROOT_KINDS); /* is not that stack's */
}

enum { APP = 0x400000 };

/* Bytes of roots of `kind` that the core lacks; destroys it. */
static uint64_t missing_of(struct synthetic_core *core, const struct hawk_heap *heap, unsigned kind)
{
	char *path = synthetic_core_write(core, SIZE_MAX);
	struct hawk_heap found = *heap;
	struct hawk_roots roots;
	uint64_t missing;

	check(hawk_target_open_core(path, NULL, &found.target));
	check(hawk_block_index_init(&found.index, 0));
	check(hawk_roots_find(&found, NULL, &roots));
	missing = roots.missing_bytes[kind];
	assert_int_equal(hawk_roots_complete(&roots), missing == 0);
	hawk_roots_deinit(&roots);
	hawk_block_index_deinit(&found.index);
	hawk_target_close(found.target);
	synthetic_core_remove(path);
	synthetic_core_destroy(core);
	return missing;
}

/* A program of a page of text and writable ones: data from its file, and .bss, which the kernel
 * does not dump as long as nobody has written to it; each a mapping. */
static uint64_t missing_of_program(uint64_t data_dumped, unsigned bss_pages)
{
	struct synthetic_core *core = synthetic_core_create();
	static const struct hawk_heap nothing;
	uint8_t page[SYNTHETIC_PAGE_BYTES];

	synthetic_elf_page(page, (struct synthetic_elf){.vaddr = APP,
							.bytes = (2 + bss_pages) * PAGE,
							.executable = true});
	synthetic_core_add_segment(
		core, (struct synthetic_segment){.address = APP,
						 .bytes = page,
						 .dumped_bytes = PAGE,
						 .flags = SYNTHETIC_READ | SYNTHETIC_EXEC,
						 .path = "/usr/bin/app"});
	synthetic_core_add_segment(
		core, (struct synthetic_segment){.address = APP + PAGE,
						 .dumped_bytes = data_dumped,
						 .memory_bytes = PAGE,
						 .flags = SYNTHETIC_READ | SYNTHETIC_WRITE,
						 .path = "/usr/bin/app",
						 .file_offset = PAGE});
	for (unsigned i = 0; i < bss_pages; i++)
		synthetic_core_add_segment(
			core,
			(struct synthetic_segment){.address = APP + (2 + i) * PAGE,
						   .memory_bytes = PAGE,
						   .flags = SYNTHETIC_READ | SYNTHETIC_WRITE});
	return missing_of(core, &nothing, HAWK_ROOT_MODULE);
}

TEST(bss_that_nobody_wrote_to_is_not_missing)
{
	assert_int_equal(missing_of_program(PAGE, 1), 0);
	assert_int_equal(missing_of_program(PAGE, 60), 0);
	assert_true(missing_of_program(0, 1) >= PAGE);
}

/* A core may have millions of mappings: not every one of them is compared with every other. */
TEST(data_far_in_front_of_bss_are_not_looked_for)
{
	assert_int_equal(missing_of_program(PAGE, 100), 36 * PAGE);
}

enum { WRITTEN = 0x7f0000010000, UNWRITTEN = WRITTEN + 16 * PAGE };

/* A program with a page that it wrote and one that it did not, or that it keeps out of cores. */
static uint64_t missing_beside(const struct hawk_heap *heap, uint64_t written_dumped, bool named)
{
	struct synthetic_core *core = synthetic_core_create();
	struct synthetic_segment memory = {
		.address = APP,
		.dumped_bytes = PAGE,
		.memory_bytes = PAGE,
		.flags = SYNTHETIC_READ,
		.path = named ? "/usr/bin/app" : NULL,
	};

	synthetic_core_add_segment(core, memory);
	memory = (struct synthetic_segment){.address = WRITTEN,
					    .dumped_bytes = written_dumped,
					    .memory_bytes = PAGE,
					    .flags = SYNTHETIC_READ | SYNTHETIC_WRITE};
	synthetic_core_add_segment(core, memory);
	memory.address = UNWRITTEN;
	memory.dumped_bytes = 0;
	synthetic_core_add_segment(core, memory);
	return missing_of(core, heap, HAWK_ROOT_OTHER);
}

TEST(memory_that_was_never_written_is_not_missing)
{
	struct hawk_heap_span undumped = {
		.start = UNWRITTEN - PAGE, .end = UNWRITTEN + 1, .kind = HAWK_SPAN_UNDUMPED};
	const struct hawk_heap kept = {.spans = {&undumped, 1, 1}, .undumped_known = true};
	const struct hawk_heap known = {.undumped_known = true};
	static const struct hawk_heap unknown;

	assert_int_equal(missing_beside(&known, PAGE, true), 0);
	assert_int_equal(missing_beside(&kept, PAGE, true), PAGE);
	assert_int_equal(missing_beside(&unknown, PAGE, true), PAGE);
	/* Without any anonymous memory it was left out, by coredump_filter. */
	assert_int_equal(missing_beside(&known, 0, true), 2 * PAGE);
	/* Without names of files it may be a file that others write to. */
	assert_int_equal(missing_beside(&known, PAGE, false), PAGE);
}
