/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports about a heap without stacks: every verb, as text and as JSON, calls its sites by the
 * names of classes, and says nothing of stacks, ages and counters that nobody knows.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hawk/analysis/leak_selection.h"
#include "hawk/analysis/retained.h"
#include "hawk/analysis/site_ages.h"
#include "hawk/analysis/site_graph.h"
#include "hawk/analysis/site_tree.h"
#include "hawk/analysis/whatis.h"
#include "hawk/base/cleanup.h"
#include "hawk/query/sql.h"
#include "hawk/report/blocks.h"
#include "hawk/report/growth.h"
#include "hawk/report/json.h"
#include "hawk/report/leaks.h"
#include "hawk/report/report.h"
#include "hawk/report/schema.h"
#include "hawk/report/suspects.h"
#include "hawk/report/whatis.h"
#include "list_source.h"
#include "synthetic_graph.h"
#include "synthetic_world.h"

enum {
	ORDERS = 8,
	ORDER_BYTES = 64,
	LINE_BYTES = 32,
	STEP = ORDER_BYTES + LINE_BYTES + 32, /**< from an order to the next */
	GHOSTS = 2,
	GHOST_BYTES = 48,
	GHOSTS_AT = ORDERS * STEP,
	NAMELESS_AT = GHOSTS_AT + GHOSTS * GHOST_BYTES,
	NAMELESS_BYTES = 16,
	ALL_BLOCKS = 2 * ORDERS + GHOSTS + 1,
	ALL_BYTES = ORDERS * (ORDER_BYTES + LINE_BYTES) + GHOSTS * GHOST_BYTES + NAMELESS_BYTES,
	MEMORY_BYTES = 4096,
};

enum class { NAMELESS, ORDER, LINE, GHOST };

/** A global -> order 0 -> order 1 ...; order -> its line; order 0 -> nameless; ghost 0 -> ghost 1.
 */
struct heap_world {
	struct world *world;
	char *path;
	struct list_file file;
	struct hawk_heap_source source;
	struct hawk_heap heap;
	struct hawk_graph graph;
	struct hawk_reach reach;
	struct hawk_dominators dominators;
	struct hawk_paths paths;
	struct hawk_symbols *symbols;
	struct hawk_site_list list;
	struct hawk_pointer_report report;
	struct hawk_output output;
	struct hawk_screen screen;
	char text[1 << 18]; /**< what was printed last */
};

static void add_line(struct hawk_text *list, uint64_t offset, uint64_t size, enum class class)
{
	hawk_text_printf(list, "0x%llx %llu %u\n", (unsigned long long)(SYNTHETIC_HEAP + offset),
			 (unsigned long long)size, class);
}

static void build(struct heap_world *world)
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

static void load(struct heap_world *world)
{
	static const struct hawk_symbols_options options;
	static const struct hawk_site_filter everything;
	struct hawk_findings *findings = &world->world->findings;

	world->file = (struct list_file){
		.path = world->path,
		.names = {[ORDER] = "Order", [LINE] = "shop::Line", [GHOST] = "Ghost"}};
	world->source = list_source(&world->file);
	check(hawk_heap_load_from(&world->source, world->world->target, findings, &world->heap));
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

static int set_up(void **state)
{
	struct heap_world *world = calloc(1, sizeof(*world));
	void *core = NULL;

	world_set_up(&core);
	world->world = core;
	build(world);
	load(world);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct heap_world *world = *state;
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

#define CLASSES_TEST(name) TEST_WITH(struct heap_world *world, set_up, tear_down, name)

static struct hawk_output *begin(struct heap_world *world, bool full)
{
	hawk_output_init(&world->output, memfd_create("report", 0));
	world->screen = (struct hawk_screen){.output = &world->output, .width = 80, .full = full};
	return &world->output;
}

/* Fails the test if the answer speaks of what the heap does not know. */
static const char *end(struct heap_world *world)
{
	static const char *const words[] = {
		"no stack",   "stack lost", "stack was",   "sampled",   "allocated at",
		"not traced", "tracer's",   "seconds old", "0.0 s old", "oldest block"};
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

static void expect(const struct heap_world *world, const char *words)
{
	if (!strstr(world->text, words))
		fail_msg("no '%s' in:\n%s", words, world->text);
}

static void begin_json(struct heap_world *world, struct hawk_json *json)
{
	hawk_report_json_begin(&world->report, json, begin(world, false), "hawk-core/test", 2);
}

static const char *end_json(struct heap_world *world, struct hawk_json *json)
{
	hawk_report_json_end(&world->report, json);
	return end(world);
}

/** Index into the heap's sites. */
static uint32_t site_of(const struct heap_world *world, enum class class)
{
	return world->heap.site_of_trace[class];
}

static struct hawk_report report_of(struct heap_world *world)
{
	return (struct hawk_report){
		.target = world->world->target,
		.symbols = world->symbols,
		.heap = &world->heap,
		.findings = &world->world->findings,
		.list = &world->list,
		.by = HAWK_GROUP_BY_FUNCTION,
	};
}

static void print(struct heap_world *world, const struct hawk_report *report, bool full)
{
	begin(world, full);
	check(hawk_report_text(report, &world->screen));
	end(world);
}

CLASSES_TEST(the_heap_adds_up)
{
	const struct hawk_accounting *memory = &world->heap.accounting;
	uint64_t bytes = 0, objects = 0;

	assert_int_equal(world->heap.sums.blocks, ALL_BLOCKS);
	assert_int_equal(world->heap.sums.bytes, ALL_BYTES);
	for (size_t i = 0; i < world->heap.site_count; i++) {
		bytes += world->heap.sites[i].inuse_bytes;
		objects += world->heap.sites[i].inuse_objects;
	}
	assert_int_equal(bytes, ALL_BYTES);
	assert_int_equal(objects, ALL_BLOCKS);
	assert_int_equal(memory->requested_bytes, ALL_BYTES);
	assert_int_equal(memory->heap_bytes, MEMORY_BYTES);
	assert_int_equal(memory->overhead_bytes, MEMORY_BYTES - ALL_BYTES);
	assert_int_equal(memory->tracer_bytes + memory->header_bytes, 0);
	assert_string_equal(hawk_heap_class_name(&world->heap, GHOST), "Ghost");
	assert_null(hawk_heap_class_name(&world->heap, NAMELESS));
	assert_null(hawk_heap_class_name(&world->heap, GHOST + 1));
}

CLASSES_TEST(analyze_lists_classes)
{
	struct hawk_report report = report_of(world);

	for (int full = 0; full < 2; full++) {
		print(world, &report, full);
		expect(world, "Heap: 19 live blocks, 880 B");
		expect(world, "      Order\n");
		expect(world, "      shop::Line\n");
	}
	expect(world, "      (class unknown)\n");
	hawk_report_json(&report, begin(world, false));
	end(world);
	expect(world, "\"source\":\"list\"");
	expect(world, "\"inuse_objects\":19");
	expect(world, "\"alloc_objects\":null");
	expect(world, "\"kind\":\"class\"");
	expect(world, "\"function\":\"Ghost\"");
}

CLASSES_TEST(analyze_groups_classes_in_place_of_functions)
{
	struct hawk_report report = report_of(world);

	report.grouped = true;
	print(world, &report, false);
	expect(world, " Order\n");
	expect(world, " (unknown)\n");
	check(hawk_report_json(&report, begin(world, false)));
	end(world);
	expect(world, "\"name\":\"shop::Line\"");
	report.by = HAWK_GROUP_BY_FILE;
	print(world, &report, true);
	report.grouped = false;
	report.by_scope = true;
	print(world, &report, false);
	expect(world, "none: no HAWK_SCOPE was entered");
	check(hawk_report_json(&report, begin(world, false)));
	end(world);
	report.by_scope = false;
	report.sorted = true;
	report.sort = HAWK_SITE_SORT_TOTAL;
	print(world, &report, false);
}

CLASSES_TEST(a_function_filter_takes_classes)
{
	const struct hawk_site_filter filter = {.function = "^Gho"};
	struct hawk_site_list list;

	check(hawk_site_list_create(&world->heap, world->symbols, &filter, &list));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.sites[0], site_of(world, GHOST));
	hawk_site_list_deinit(&list);
}

CLASSES_TEST(suspects_are_classes)
{
	struct hawk_suspects found = {0};
	struct hawk_suspects_report report = {
		.pointers = &world->report, .target = "core", .found = &found};
	struct hawk_json json;

	check(hawk_suspects_find(&world->graph, &world->reach, &world->dominators,
				 world->report.roots, true, &found));
	assert_true(found.count >= 1);
	begin(world, true);
	hawk_report_suspects(&report, &world->screen);
	end(world);
	expect(world, "Order");
	expect(world, "when its blocks were made is not known");
	begin_json(world, &json);
	hawk_report_suspects_json(&report, &json);
	end_json(world, &json);
	expect(world, "when its blocks were made is not known");
	hawk_suspects_deinit(&found);
}

CLASSES_TEST(leaks_are_of_classes)
{
	struct hawk_leaks leaks;
	struct hawk_leak_selection selection;
	struct hawk_leaks_report report = {
		.heap = &world->heap,
		.graph = &world->graph,
		.symbols = world->symbols,
		.namer = world->report.roots,
		.leaks = &leaks,
		.selection = &selection,
		.findings = &world->world->findings,
	};

	check(hawk_leaks_make(&world->graph, &world->graph.explained, &world->reach,
			      HAWK_LEAKS_KINDS_ALL, NULL, &leaks));
	check(hawk_leak_selection_make(&world->heap, world->symbols, &leaks, NULL,
				       HAWK_LEAKS_KINDS_ALL, &selection));
	assert_int_equal(selection.sums[HAWK_REACH_DEFINITELY_LOST].objects, 1);
	assert_int_equal(selection.sums[HAWK_REACH_INDIRECTLY_LOST].bytes, GHOST_BYTES);
	begin(world, true);
	hawk_leaks_report_text(&report, &world->screen);
	end(world);
	expect(world, "      Ghost\n");
	expect(world, "first block");
	hawk_leaks_report_json(&report, begin(world, false));
	end(world);
	expect(world, "\"function\":\"Ghost\"");
	expect(world, "\"oldest_seconds\":null");
	hawk_leak_selection_deinit(&selection);
	hawk_leaks_deinit(&leaks);
}

CLASSES_TEST(retained_sizes_are_of_classes)
{
	CLEANUP(free_ptr)
	struct hawk_site_retained *retained = calloc(world->heap.site_count, sizeof(*retained));
	struct hawk_retained_blocks blocks;
	struct hawk_json json;

	check(hawk_site_freed(&world->graph, &world->reach, NULL, world->list.sites,
			      world->list.count, retained));
	world->report.retained = retained;
	begin(world, false);
	hawk_report_retained_sites(&world->report, &world->list, &world->screen);
	end(world);
	expect(world, "      Order\n");
	begin_json(world, &json);
	hawk_report_retained_sites_json(&world->report, &world->list, &json);
	end_json(world, &json);
	expect(world, "\"function\":\"Order\"");
	check(hawk_retained_blocks_choose(&world->heap, &world->dominators, NULL, 10, &blocks));
	begin(world, false);
	hawk_report_retained_blocks(&world->report, &blocks, &world->dominators, &world->screen);
	end(world);
	expect(world, "Order\n");
	begin_json(world, &json);
	hawk_report_retained_blocks_json(&world->report, &blocks, &world->dominators, &json);
	end_json(world, &json);
	hawk_retained_blocks_deinit(&blocks);
}

static void print_tree(struct heap_world *world, const struct hawk_tree_roots *groups,
		       const struct hawk_site_tree *tree)
{
	struct hawk_json json;

	begin(world, false);
	hawk_report_tree(&world->report, groups, tree, &world->screen);
	end(world);
	expect(world, "Order");
	hawk_report_tree_folded(&world->report, groups, tree, begin(world, false));
	end(world);
	expect(world, ";Order;shop::Line ");
	expect(world, ";Order;(class unknown) ");
	begin_json(world, &json);
	check(hawk_report_tree_json(&world->report, groups, tree, &json));
	end_json(world, &json);
	expect(world, "\"Order");
}

CLASSES_TEST(trees_go_through_classes)
{
	struct hawk_site_tree dominated = {0}, merged;
	struct hawk_tree_roots groups;

	check(hawk_tree_roots_make(world->report.roots, &groups));
	check(hawk_site_tree_add_retained(&world->graph, &world->dominators, groups.groups, NULL,
					  &dominated));
	check(hawk_site_tree_finish(&dominated));
	print_tree(world, &groups, &dominated);
	check(hawk_site_tree_paths(&world->graph, &world->paths, groups.groups, NULL, &merged));
	print_tree(world, &groups, &merged);
	hawk_site_tree_deinit(&dominated);
	hawk_site_tree_deinit(&merged);
	hawk_tree_roots_deinit(&groups);
}

CLASSES_TEST(sites_are_classes_that_hold_each_other)
{
	struct hawk_site_graph graph;
	struct hawk_json json;

	check(hawk_site_graph_make(&world->graph, NULL, &graph));
	begin(world, false);
	check(hawk_report_site_graph(&world->report, &graph, &world->list, &world->screen));
	end(world);
	expect(world, "shop::Line");
	begin_json(world, &json);
	check(hawk_report_site_graph_json(&world->report, &graph, &world->list, &json));
	end_json(world, &json);
	expect(world, "\"function\":\"shop::Line\"");
	check(hawk_report_site_graph_dot(&world->report, &graph, &world->list,
					 begin(world, false)));
	end(world);
	expect(world, "Order");
	hawk_site_graph_deinit(&graph);
}

CLASSES_TEST(growth_of_classes_is_unknown)
{
	CLEANUP(free_ptr) struct hawk_site_ages *ages = NULL;
	struct hawk_growth_report report = {.pointers = &world->report, .list = &world->list};
	struct hawk_json json;

	check(hawk_site_ages_make(&world->heap, &world->reach, NULL, &ages));
	report.ages = ages;
	begin(world, false);
	hawk_report_growth(&report, &world->screen);
	end(world);
	expect(world, "Growth: unknown");
	begin_json(world, &json);
	hawk_report_growth_json(&report, &json);
	end_json(world, &json);
	expect(world, "\"life_seconds\":null");
	expect(world, "\"verdict\":\"unclear\"");
	expect(world, "\"function\":\"Order\"");
}

CLASSES_TEST(schema_says_which_class_words_point_to)
{
	const struct hawk_schema_query query = {.site = site_of(world, ORDER)};
	struct hawk_schema schema;
	struct hawk_schema_report report = {
		.pointers = &world->report, .schema = &schema, .site = query.site};
	struct hawk_json json;

	check(hawk_schema_make(&world->heap, &query, NULL, NULL, &schema));
	begin(world, false);
	hawk_report_schema(&report, &world->screen);
	end(world);
	expect(world, "Order");
	expect(world, "shop::Line");
	begin_json(world, &json);
	hawk_report_schema_json(&report, &json);
	end_json(world, &json);
	hawk_schema_deinit(&schema);
}

CLASSES_TEST(paths_and_referrers_go_through_classes)
{
	const uint64_t line = SYNTHETIC_HEAP + STEP + ORDER_BYTES;
	struct hawk_json json;

	begin(world, false);
	check(hawk_report_path(&world->report, &world->paths, line, &world->screen));
	end(world);
	expect(world, "Order");
	expect(world, "shop::Line");
	begin_json(world, &json);
	hawk_json_put_array(&json, "addresses");
	check(hawk_report_path_json(&world->report, &world->paths, line, &json));
	hawk_json_array_end(&json);
	end_json(world, &json);
	begin(world, false);
	check(hawk_report_refs(&world->report, line, &world->screen));
	end(world);
	expect(world, "Order");
	begin_json(world, &json);
	hawk_json_put_array(&json, "addresses");
	check(hawk_report_refs_json(&world->report, line, &json));
	hawk_json_array_end(&json);
	end_json(world, &json);
}

static void look_at(struct heap_world *world, uint64_t address, const char *words)
{
	struct hawk_report report = report_of(world);
	struct hawk_whatis whatis;

	hawk_whatis_find(&world->heap, world->report.types, address, &whatis);
	hawk_whatis_resolve(world->symbols, world->report.types, &whatis);
	begin(world, false);
	hawk_report_whatis_text(&report, &whatis, &world->screen);
	end(world);
	expect(world, words);
	hawk_report_whatis_json(&report, &whatis, 1, begin(world, false));
	end(world);
	expect(world, "\"age_seconds\":null");
}

CLASSES_TEST(whatis_names_the_class)
{
	look_at(world, SYNTHETIC_HEAP + 8, "    Order\n");
	expect(world, "\"function\":\"Order\"");
	look_at(world, SYNTHETIC_HEAP + NAMELESS_AT, "    (class unknown)\n");
}

CLASSES_TEST(blocks_have_no_age)
{
	for (int json = 0; json < 2; json++) {
		struct hawk_report_blocks *blocks;

		check(hawk_report_blocks_create(&world->heap, json, world->report.types, NULL, 0,
						begin(world, false), &blocks));
		hawk_report_blocks_heading(blocks);
		check(hawk_heap_walk(&world->heap, hawk_report_blocks_add, blocks, NULL));
		hawk_report_blocks_finish(blocks);
		hawk_report_blocks_destroy(blocks);
		end(world);
		expect(world, json ? "\"age_seconds\":null,\"kind\":\"unknown\"" : "  -  unknown");
	}
}

static struct hawk_error *nothing_to_load(void *context, unsigned needs)
{
	(void)context;
	(void)needs;
	return NULL;
}

static void ask(struct heap_world *world, struct hawk_sql *sql, const char *query,
		const char *answer)
{
	check(hawk_sql_run(sql, query, HAWK_SQL_CSV, begin(world, false)));
	assert_string_equal(end(world), answer);
}

CLASSES_TEST(sql_has_classes_for_functions)
{
	const struct hawk_sql_source source = {
		.target = world->world->target,
		.symbols = world->symbols,
		.heap = &world->heap,
		.graph = &world->graph,
		.reach = &world->reach,
		.dominators = &world->dominators,
		.types = world->report.types,
		.load = nothing_to_load,
	};
	struct hawk_sql *sql;

	check(hawk_sql_open(&source, &sql));
	ask(world, sql,
	    "SELECT function, inuse_objects, alloc_objects, oldest, scopes FROM sites ORDER BY 2, "
	    "1",
	    "function,inuse_objects,alloc_objects,oldest,scopes\n"
	    ",1,,,\nGhost,2,,,\nOrder,8,,,\nshop::Line,8,,,\n");
	ask(world, sql, "SELECT function, address FROM frames ORDER BY 1",
	    "function,address\nGhost,\nOrder,\nshop::Line,\n");
	ask(world, sql, "SELECT count(*), sum(size), count(kind), count(age) FROM blocks",
	    "count(*),sum(size),count(kind),count(age)\n19,880,0,0\n");
	ask(world, sql, "SELECT sum(objects) FROM leaks", "sum(objects)\n19\n");
	hawk_sql_close(sql);
}
