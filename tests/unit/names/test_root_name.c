/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of roots: the name found for a pointer in a core, and its text.
 */
#include "test.h"
#include "hawk/names/root_name.h"
#include "synthetic_graph.h"

static void expect_text(const struct hawk_root_name *name, const char *expected)
{
	struct hawk_text text;

	hawk_text_init(&text);
	hawk_root_name_append(&text, name, SIZE_MAX);
	assert_string_equal(text.bytes, expected);
	hawk_text_deinit(&text);
}

TEST(every_kind_of_root_has_a_text)
{
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_REGISTER,
					     .tid = 4711,
					     .reg = "signal stack",
					     .is_signal_stack = true},
		    "thread 4711, signal stack");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_REGISTER, .tid = 4711, .reg = "rbx"},
		    "thread 4711, register rbx");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_STACK,
					     .stack_pointer = "rsp",
					     .tid = 4711,
					     .has_frame = true,
					     .frame = 3,
					     .function = "conn_loop",
					     .offset = 0x18},
		    "thread 4711, frame 3 `conn_loop`, rsp+0x18");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_STACK,
					     .stack_pointer = "rsp",
					     .tid = 1,
					     .has_frame = true,
					     .frame_pc = 0x401000,
					     .offset = -16},
		    "thread 1, frame 0 0x401000, rsp-0x10");
	expect_text(
		&(struct hawk_root_name){
			.kind = HAWK_ROOT_STACK, .stack_pointer = "rsp", .tid = 1, .offset = 8},
		"thread 1, stack, rsp+0x8");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_MODULE,
					     .symbol = "g_sessions",
					     .offset = 0x10,
					     .module = "/usr/bin/redis-server",
					     .section = ".bss"},
		    "`g_sessions`+0x10 in redis-server .bss");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_MODULE,
					     .module = "/usr/bin/redis-server",
					     .offset = 0x3a0398,
					     .section = ".bss"},
		    "redis-server+0x3a0398 .bss");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_MODULE,
					     .module = "/lib/libx.so",
					     .offset = 0x4000},
		    "libx.so+0x4000");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_TLS, .tid = 7, .symbol = "cache"},
		    "TLS of thread 7, `cache`");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_TLS, .tid = 7, .offset = -88},
		    "TLS of thread 7, fs-0x58");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_OTHER,
					     .mapping = "/dev/shm/x",
					     .offset = 0x40},
		    "mapping /dev/shm/x+0x40");
	expect_text(&(struct hawk_root_name){.kind = HAWK_ROOT_OTHER,
					     .address = 0x7f0000000040,
					     .offset = 0x40},
		    "mapping 0x7f0000000000+0x40");
}

static void expect_group(const struct hawk_root_name *name, const char *expected)
{
	struct hawk_text text;

	hawk_text_init(&text);
	hawk_root_name_append_group(&text, name);
	assert_string_equal(text.bytes, expected);
	hawk_text_deinit(&text);
}

TEST(names_of_groups_are_those_of_other_runs)
{
	expect_group(&(struct hawk_root_name){.kind = HAWK_ROOT_STACK,
					      .stack_pointer = "rsp",
					      .tid = 4711,
					      .has_frame = true,
					      .frame = 3,
					      .function = "conn_loop"},
		     "worker thread, `conn_loop`");
	expect_group(&(struct hawk_root_name){.kind = HAWK_ROOT_STACK,
					      .stack_pointer = "rsp",
					      .main_thread = true,
					      .has_frame = true,
					      .module = "/lib/libz.so.1",
					      .frame_offset = 0x40},
		     "main thread, libz.so.1");
	expect_group(&(struct hawk_root_name){.kind = HAWK_ROOT_TLS, .tid = 7, .symbol = "cache"},
		     "TLS of worker thread, `cache`");
	expect_group(&(struct hawk_root_name){.kind = HAWK_ROOT_OTHER,
					      .address = 0x7f0000000040,
					      .offset = 0x40},
		     "anonymous memory");
	expect_group(&(struct hawk_root_name){.kind = HAWK_ROOT_OTHER,
					      .mapping = "/dev/shm/x",
					      .offset = 0x40},
		     "mapping /dev/shm/x");
}

TEST(foreign_names_cannot_steer_a_terminal)
{
	struct hawk_text text;

	hawk_text_init(&text);
	hawk_root_name_append(
		&text,
		&(struct hawk_root_name){.kind = HAWK_ROOT_OTHER, .mapping = "/tmp/\033[2Jx"},
		SIZE_MAX);
	assert_null(strchr(text.bytes, '\033'));
	hawk_text_deinit(&text);
}

static void expect_groups(struct hawk_root_namer *namer, const char *const *expected,
			  uint32_t group_count)
{
	struct hawk_tree_roots groups;

	assert_null(hawk_tree_roots_make(namer, &groups));
	assert_int_equal(groups.count, group_count);
	for (size_t root = 0; expected[root]; root++)
		assert_string_equal(groups.names[groups.groups[root]], expected[root]);
	hawk_tree_roots_deinit(&groups);
}

TEST(roots_of_a_core_are_named_by_thread_place_and_mapping)
{
	static const char *const groups[] = {"main thread, registers", "main thread, registers",
					     "main thread, unknown code", "anonymous memory", NULL};
	struct graph_world *world = graph_world_create();
	struct hawk_root_namer *namer;
	struct hawk_symbols *symbols;
	struct hawk_root_name names[4];

	for (unsigned i = 0; i < 4; i++)
		graph_world_add(world, 32, 0, 0);
	world->registers[HAWK_RBX] = world->blocks[0].start;
	world->globals[3] = world->blocks[1].start;
	memcpy(world->vectors + 160 + 16 * 3, &world->blocks[3].start, 8);
	world->stack[GRAPH_STACK_BYTES / 16 + 2] = world->blocks[2].start;
	graph_world_open(world, 1, SIZE_MAX);
	assert_int_equal(world->graph.roots.count, 4);
	assert_null(hawk_symbols_create(world->target, &(struct hawk_symbols_options){0},
					&world->findings, &symbols));
	assert_null(hawk_root_namer_create(&world->graph, symbols, &namer));
	for (unsigned i = 0; i < 4; i++)
		names[i] = hawk_root_find(namer, i);
	expect_text(&names[0], "thread 4711, register rbx");
	expect_text(&names[1], "thread 4711, register xmm3");
	expect_text(&names[2], "thread 4711, frame 0 0x0, rsp+0x10");
	expect_text(&names[3], "mapping 0x600000000000+0x18");
	expect_groups(namer, groups, 3);
	expect_groups(namer, groups, 3);
	hawk_root_namer_destroy(namer);
	hawk_symbols_destroy(symbols);
	graph_world_destroy(world);
}
