/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Builds the heap of classes from a list of blocks, and catches what is printed.
 */
#include "class_world.h"

#include <sys/mman.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/text.h"
#include "synthetic_graph.h"

static void add_line(struct hawk_text *list, uint64_t offset, uint64_t size, enum class class)
{
	hawk_text_printf(list, "0x%llx %llu %u\n", (unsigned long long)(SYNTHETIC_HEAP + offset),
			 (unsigned long long)size, class);
}

static void build(struct class_world *world)
{
	const uint64_t global = SYNTHETIC_HEAP;
	const uint64_t registers[27] = {[HAWK_RSP] = GRAPH_STACK + 128};
	static const uint8_t stack[GRAPH_STACK_BYTES];
	uint64_t words[MEMORY_BYTES / 8] = {0};
	CLEANUP(text) struct hawk_text list = {0};

	for (uint64_t i = 0; i < ORDERS; i++) {
		uint64_t *order = &words[i * STEP / 8];

		if (i + 1 < ORDERS)
			order[0] = SYNTHETIC_HEAP + (i + 1) * STEP;
		order[1] = SYNTHETIC_HEAP + i * STEP + ORDER_BYTES;
		add_line(&list, i * STEP, ORDER_BYTES, ORDER);
		add_line(&list, i * STEP + ORDER_BYTES, LINE_BYTES, LINE);
	}
	words[2] = SYNTHETIC_HEAP + NAMELESS_AT;
	words[GHOSTS_AT / 8] = SYNTHETIC_HEAP + GHOSTS_AT + GHOST_BYTES;
	for (uint64_t i = 0; i < GHOSTS; i++)
		add_line(&list, GHOSTS_AT + i * GHOST_BYTES, GHOST_BYTES, GHOST);
	add_line(&list, NAMELESS_AT, NAMELESS_BYTES, NAMELESS);
	synthetic_core_add_thread(world->world->core, 1, 6, registers);
	synthetic_core_add_memory(world->world->core, GRAPH_STACK, stack, sizeof(stack));
	synthetic_core_add_memory(world->world->core, SYNTHETIC_HEAP, words, MEMORY_BYTES);
	synthetic_core_add_memory(world->world->core, GRAPH_GLOBALS, &global, sizeof(global));
	world_open(world->world);
	world->path = synthetic_file_write(list.bytes, list.size);
}

static void load(struct class_world *world)
{
	static const struct hawk_symbols_options options;
	static const struct hawk_site_filter everything;
	struct hawk_findings *findings = &world->world->findings;

	world->file = (struct list_file){
		.path = world->path,
		.names = {[ORDER] = "Order", [LINE] = "shop::Line", [GHOST] = "Ghost"}};
	world->source = list_source(&world->file);
	check(hawk_heap_load_from((const struct hawk_heap_source *const[]){&world->source}, 1,
				  world->world->target, findings, &world->heap));
	check(hawk_symbols_create(world->world->target, &options, findings, &world->symbols));
	check(hawk_graph_make(&world->heap, NULL, findings, &world->graph));
	check(hawk_reach_make(&world->graph, HAWK_EDGES_ALL, NULL, &world->reach));
	check(hawk_dominators_make(&world->graph, &world->reach, &world->dominators));
	check(hawk_paths_find(&world->graph, &world->paths));
	check(hawk_site_list_create(&world->heap, world->symbols, &everything, &world->list));
	world->report = (struct hawk_pointer_report){
		.heap = &world->heap,
		.graph = &world->graph,
		.reach = &world->reach,
		.dominators = &world->dominators,
		.symbols = world->symbols,
		.findings = findings,
	};
	check(hawk_block_types_create(world->world->target, NULL, world->symbols,
				      &world->report.types));
	check(hawk_site_names_create(&world->heap, world->symbols, &world->report.names));
	check(hawk_root_namer_create(&world->graph, world->symbols, &world->report.roots));
}

int class_world_set_up(void **state)
{
	struct class_world *world = calloc(1, sizeof(*world));
	void *core = NULL;

	world_set_up(&core);
	world->world = core;
	build(world);
	load(world);
	*state = world;
	return 0;
}

int class_world_tear_down(void **state)
{
	struct class_world *world = *state;
	void *core = world->world;

	hawk_root_namer_destroy(world->report.roots);
	hawk_site_names_destroy(world->report.names);
	hawk_block_types_destroy(world->report.types);
	hawk_site_list_deinit(&world->list);
	hawk_paths_deinit(&world->paths);
	hawk_dominators_deinit(&world->dominators);
	hawk_reach_deinit(&world->reach);
	hawk_graph_deinit(&world->graph);
	hawk_symbols_destroy(world->symbols);
	hawk_heap_deinit(&world->heap);
	synthetic_core_remove(world->path);
	world_tear_down(&core);
	free(world);
	return 0;
}

struct hawk_output *class_world_begin(struct class_world *world, bool full)
{
	hawk_output_init(&world->output, memfd_create("report", 0));
	world->screen = (struct hawk_screen){.output = &world->output, .width = 80, .full = full};
	return &world->output;
}

const char *class_world_end(struct class_world *world)
{
	static const char *const words[] = {"no stack",     "stack lost",   "stack was",
					    "sampled",      "allocated at", "not traced",
					    "tracer's",     "seconds old",  "0.0 s old",
					    "oldest block", "allocated by"};
	ssize_t size;

	assert_int_equal(hawk_output_finish(&world->output), 0);
	size = pread(world->output.fd, world->text, sizeof(world->text) - 1, 0);
	close(world->output.fd);
	assert_in_range(size, 1, sizeof(world->text) - 2);
	world->text[size] = '\0';
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (strstr(world->text, words[i]))
			fail_msg("'%s' in:\n%s", words[i], world->text);
	return world->text;
}

void class_world_expect(const struct class_world *world, const char *words)
{
	if (!strstr(world->text, words))
		fail_msg("no '%s' in:\n%s", words, world->text);
}

void class_world_begin_json(struct class_world *world, struct hawk_json *json)
{
	hawk_report_json_begin(&world->report, json, class_world_begin(world, false),
			       "hawk-core/test", 2);
}

void class_world_end_json(struct class_world *world, struct hawk_json *json)
{
	hawk_report_json_end(&world->report, json);
	class_world_end(world);
}
