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

/* The source and number of each class if three sources are used. */
static const struct {
	unsigned source;
	uint32_t number;
} places[] = {[NAMELESS] = {0, 0}, [ORDER] = {0, 1}, [LINE] = {1, 1}, [GHOST] = {2, 1}};

static void add_line(struct class_world *world, struct hawk_text *lists, uint64_t offset,
		     uint64_t size, enum class class)
{
	hawk_text_printf(&lists[world->joined ? places[class].source : 0], "0x%llx %llu %u\n",
			 (unsigned long long)(SYNTHETIC_HEAP + offset), (unsigned long long)size,
			 world->joined ? places[class].number : class);
}

static void add_lists(struct class_world *world, struct hawk_text *lists)
{
	for (uint64_t i = 0; i < ORDERS; i++) {
		add_line(world, lists, i * STEP, ORDER_BYTES, ORDER);
		add_line(world, lists, i * STEP + ORDER_BYTES, LINE_BYTES, LINE);
		if (world->joined) /* a chunk */
			add_line(world, lists, i * STEP, STEP - 16, GHOST);
	}
	for (uint64_t i = 0; i < GHOSTS; i++)
		add_line(world, lists, GHOSTS_AT + i * GHOST_BYTES, GHOST_BYTES, GHOST);
	add_line(world, lists, NAMELESS_AT, NAMELESS_BYTES, NAMELESS);
}

static void build(struct class_world *world)
{
	const uint64_t global = SYNTHETIC_HEAP;
	const uint64_t registers[27] = {[HAWK_RSP] = GRAPH_STACK + 128};
	static const uint8_t stack[GRAPH_STACK_BYTES];
	uint64_t words[MEMORY_BYTES / 8] = {0};
	struct hawk_text lists[CLASS_SOURCES] = {0};

	for (uint64_t i = 0; i < ORDERS; i++) {
		uint64_t *order = &words[i * STEP / 8];

		if (i + 1 < ORDERS)
			order[0] = SYNTHETIC_HEAP + (i + 1) * STEP;
		order[1] = SYNTHETIC_HEAP + i * STEP + ORDER_BYTES;
	}
	words[2] = SYNTHETIC_HEAP + NAMELESS_AT;
	words[GHOSTS_AT / 8] = SYNTHETIC_HEAP + GHOSTS_AT + GHOST_BYTES;
	add_lists(world, lists);
	synthetic_core_add_thread(world->world->core, 1, 6, registers);
	synthetic_core_add_memory(world->world->core, GRAPH_STACK, stack, sizeof(stack));
	synthetic_core_add_memory(world->world->core, SYNTHETIC_HEAP, words, MEMORY_BYTES);
	synthetic_core_add_memory(world->world->core, GRAPH_GLOBALS, &global, sizeof(global));
	world_open(world->world);
	for (unsigned i = 0; i < CLASS_SOURCES && lists[i].size; i++) {
		world->list_paths[i] = synthetic_file_write(lists[i].bytes, lists[i].size);
		hawk_text_deinit(&lists[i]);
	}
}

static void load_heap(struct class_world *world)
{
	static const char *const names[] = {
		[NAMELESS] = NULL, [ORDER] = "Order", [LINE] = "shop::Line", [GHOST] = "Ghost"};
	const struct hawk_heap_source *sources[CLASS_SOURCES];
	unsigned count = world->joined ? CLASS_SOURCES : 1;

	for (unsigned i = 0; i < count; i++)
		world->files[i] =
			(struct list_file){.path = world->list_paths[i], .small_granules = i == 1};
	for (enum class class = NAMELESS; class <= GHOST; class ++) {
		unsigned source = world->joined ? places[class].source : 0;
		uint32_t number = world->joined ? places[class].number : class;

		world->files[source].names[number] = names[class];
		world->numbers[class] = number + 2 * source; /* a source has numbers 0 and 1 */
	}
	for (unsigned i = 0; i < count; i++) {
		world->sources[i] = list_source(&world->files[i]);
		sources[i] = &world->sources[i];
	}
	check(hawk_heap_load_from(sources, count, world->world->target, &world->world->findings,
				  &world->heap));
}

static void load(struct class_world *world)
{
	static const struct hawk_symbols_options options;
	static const struct hawk_site_filter everything;
	struct hawk_findings *findings = &world->world->findings;

	load_heap(world);
	check(hawk_symbols_create(world->world->target, &options, findings, &world->symbols));
	check(hawk_graph_make(&world->heap, NULL, findings, &world->graph));
	check(hawk_reach_make(&world->graph, NULL, &world->reach));
	check(hawk_dominators_make(&world->graph, &world->reach, &world->dominators));
	check(hawk_paths_find(&world->graph, &world->paths));
	check(hawk_site_list_create(&world->heap, world->symbols, &everything, &world->list));
	world->report = (struct hawk_pointer_report){
		.heap = &world->heap,
		.graph = &world->graph,
		.reach = &world->reach,
		.symbols = world->symbols,
		.findings = findings,
	};
	check(hawk_block_types_create(&world->heap, NULL, world->symbols, &world->report.types));
	check(hawk_site_names_create(&world->heap, world->symbols, &world->report.names));
	check(hawk_root_namer_create(&world->graph, world->symbols, &world->report.roots));
}

static int set_up(void **state, bool joined)
{
	struct class_world *world = calloc(1, sizeof(*world));
	void *core = NULL;

	world_set_up(&core);
	world->world = core;
	world->joined = joined;
	build(world);
	load(world);
	*state = world;
	return 0;
}

int class_world_set_up(void **state)
{
	return set_up(state, false);
}

int class_world_set_up_joined(void **state)
{
	return set_up(state, true);
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
	for (unsigned i = 0; i < CLASS_SOURCES; i++)
		if (world->list_paths[i])
			synthetic_core_remove(world->list_paths[i]);
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

const char *class_world_take(struct class_world *world)
{
	ssize_t size;

	assert_int_equal(hawk_output_finish(&world->output), 0);
	size = pread(world->output.fd, world->text, sizeof(world->text) - 1, 0);
	close(world->output.fd);
	assert_in_range(size, 1, sizeof(world->text) - 2);
	world->text[size] = '\0';
	return world->text;
}

const char *class_world_end(struct class_world *world)
{
	static const char *const words[] = {"no stack",     "stack lost",   "stack was",
					    "sampled",      "allocated at", "not traced",
					    "tracer's",     "seconds old",  "0.0 s old",
					    "oldest block", "allocated by"};

	class_world_take(world);
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
