/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports about a heap without stacks: every verb, as text and as JSON, names sites by classes, and
 * omits unknown stacks, ages and counters.
 */
#include "hawk/analysis/refs.h"
#include "hawk/analysis/retained.h"
#include "hawk/analysis/leak_selection.h"
#include "hawk/analysis/site_ages.h"
#include "hawk/analysis/site_graph.h"
#include "hawk/analysis/site_tree.h"
#include "hawk/analysis/whatis.h"
#include "hawk/base/cleanup.h"
#include "hawk/export/dot.h"
#include "hawk/export/export.h"
#include "hawk/export/object_graph.h"
#include "hawk/names/class_name.h"
#include "hawk/profile/sources.h"
#include "hawk/query/sql.h"
#include "hawk/report/blocks.h"
#include "hawk/report/growth.h"
#include "hawk/report/leaks.h"
#include "hawk/report/report.h"
#include "hawk/report/schema.h"
#include "hawk/report/suspects.h"
#include "hawk/report/whatis.h"
#include "hawk/snapshot/writer.h"
#include "target/core/file.h"
#include "class_world.h"

#include <unistd.h>

/** Index into the heap's sites. */
static uint32_t site_of(const struct class_world *world, enum class class)
{
	return world->heap.site_of_trace[world->numbers[class]];
}

static struct hawk_report report_of(struct class_world *world)
{
	return (struct hawk_report){
		.target = world->world->target,
		.symbols = world->symbols,
		.heap = &world->heap,
		.findings = &world->world->findings,
		.list = &world->list,
	};
}

static void print(struct class_world *world, const struct hawk_report *report, bool full)
{
	class_world_begin(world, full);
	check(hawk_report_text(report, &world->screen));
	class_world_end(world);
}

CLASS_TEST(the_heap_adds_up)
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
	assert_string_equal(hawk_class_name(world->symbols,
					    hawk_heap_class(&world->heap, world->numbers[GHOST])),
			    "Ghost");
	assert_null(hawk_class_name(world->symbols,
				    hawk_heap_class(&world->heap, world->numbers[NAMELESS])));
	assert_null(hawk_heap_class(&world->heap, world->numbers[GHOST] + 1));
}

CLASS_TEST(analyze_lists_classes)
{
	struct hawk_report report = report_of(world);

	for (int full = 0; full < 2; full++) {
		print(world, &report, full);
		class_world_expect(world, "Heap: 19 live blocks, 880 B");
		class_world_expect(world, "      Order\n");
		class_world_expect(world, "      shop::Line\n");
	}
	class_world_expect(world, "      (class unknown)\n");
	hawk_report_json(&report, class_world_begin(world, false));
	class_world_end(world);
	class_world_expect(world, "\"source\":\"list\"");
	class_world_expect(world, "\"inuse_objects\":19");
	class_world_expect(world, "\"alloc_objects\":null");
	class_world_expect(world, "\"kind\":\"class\"");
	class_world_expect(world, "\"function\":\"Ghost\"");
}

CLASS_TEST(analyze_groups_classes_in_place_of_functions)
{
	const struct hawk_profile_style style = {.plumbing = false};
	struct hawk_report report = report_of(world);
	struct hawk_profile_groups groups;
	struct hawk_profile *profile;

	check(hawk_profile_of_sites(&world->heap, world->symbols, &world->list, false, &style,
				    &profile));
	check(hawk_profile_groups_make(profile, HAWK_PROFILE_BY_FUNCTION, profile->shown_column,
				       false, &groups));
	report.profile = profile;
	report.groups = &groups;
	print(world, &report, false);
	class_world_expect(world, " Order\n");
	class_world_expect(world, " (class unknown)\n");
	check(hawk_report_json(&report, class_world_begin(world, false)));
	class_world_end(world);
	class_world_expect(world, "\"name\":\"shop::Line\"");
	hawk_profile_groups_deinit(&groups);
	check(hawk_profile_groups_make(profile, HAWK_PROFILE_BY_FILE, UINT32_MAX, true, &groups));
	print(world, &report, true);
	class_world_expect(world, " (unknown)\n");
	hawk_profile_groups_deinit(&groups);
	hawk_profile_destroy(profile);
	report.groups = NULL;
	report.by_scope = true;
	print(world, &report, false);
	class_world_expect(world, "none: no HAWK_SCOPE was entered");
	check(hawk_report_json(&report, class_world_begin(world, false)));
	class_world_end(world);
	report.by_scope = false;
	report.sorted = true;
	report.sort = HAWK_SITE_SORT_TOTAL;
	print(world, &report, false);
}

CLASS_TEST(a_function_filter_takes_classes)
{
	const struct hawk_site_filter filter = {.function = "^Gho"};
	struct hawk_site_list list;

	check(hawk_site_list_create(&world->heap, world->symbols, &filter, &list));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.sites[0], site_of(world, GHOST));
	hawk_site_list_deinit(&list);
}

CLASS_TEST(suspects_are_classes)
{
	struct hawk_suspects found = {0};
	struct hawk_next next = {0};
	struct hawk_suspects_report report = {
		.pointers = &world->report, .next = &next, .found = &found};
	struct hawk_json json;

	check(hawk_suspects_find(&world->graph, &world->reach, &world->dominators,
				 world->report.roots, world->report.names, NULL, true, &found));
	assert_true(found.count >= 1);
	hawk_next_of_suspects(&report, &next);
	class_world_begin(world, true);
	hawk_report_suspects(&report, &world->screen);
	class_world_end(world);
	class_world_expect(world, "Order");
	class_world_expect(world, "Ages of blocks need the tracer.");
	class_world_begin_json(world, &json);
	hawk_report_suspects_json(&report, &json);
	class_world_end_json(world, &json);
	class_world_expect(world, "ages of blocks need the tracer");
	hawk_next_deinit(&next);
	hawk_suspects_deinit(&found);
}

CLASS_TEST(leaks_are_of_classes)
{
	const struct hawk_leak_cycles cycles = {0};
	struct hawk_leaks leaks;
	struct hawk_leak_selection selection;
	struct hawk_leaks_report report = {
		.heap = &world->heap,
		.graph = &world->graph,
		.symbols = world->symbols,
		.namer = world->report.roots,
		.types = world->report.types,
		.names = world->report.names,
		.leaks = &leaks,
		.cycles = &cycles,
		.selection = &selection,
		.findings = &world->world->findings,
	};

	check(hawk_leaks_make(&world->graph, &world->graph.explained, &world->reach,
			      HAWK_LEAKS_KINDS_ALL, NULL, &leaks));
	check(hawk_leak_selection_make(&world->heap, world->symbols, &leaks, NULL,
				       HAWK_LEAKS_KINDS_ALL, &selection));
	assert_int_equal(selection.sums[HAWK_REACH_DEFINITELY_LOST].objects, 1);
	assert_int_equal(selection.sums[HAWK_REACH_INDIRECTLY_LOST].bytes, GHOST_BYTES);
	class_world_begin(world, true);
	hawk_leaks_report_text(&report, &world->screen);
	class_world_end(world);
	class_world_expect(world, "      Ghost\n");
	class_world_expect(world, "first block");
	hawk_leaks_report_json(&report, class_world_begin(world, false));
	class_world_end(world);
	class_world_expect(world, "\"function\":\"Ghost\"");
	class_world_expect(world, "\"oldest_seconds\":null");
	hawk_leak_selection_deinit(&selection);
	hawk_leaks_deinit(&leaks);
}

CLASS_TEST(retained_sizes_are_of_classes)
{
	CLEANUP(free_ptr)
	uint64_t *bounds = calloc(world->heap.site_count, sizeof(*bounds));
	const struct hawk_selection all = {0};
	struct hawk_retained_blocks blocks;
	struct hawk_retained_sites sites;
	struct hawk_json json;

	check(hawk_retained_sites_make(&world->graph, &all, &world->list, bounds, world->list.count,
				       &sites));
	class_world_begin(world, false);
	hawk_report_retained_sites(&world->report, &sites, &world->screen);
	class_world_end(world);
	class_world_expect(world, "      Order\n");
	class_world_begin_json(world, &json);
	hawk_report_retained_sites_json(&world->report, &sites, &json);
	class_world_end_json(world, &json);
	class_world_expect(world, "\"function\":\"Order\"");
	hawk_retained_sites_deinit(&sites);
	check(hawk_retained_blocks_choose(&world->heap, &world->dominators, &all, 10, &blocks));
	class_world_begin(world, false);
	hawk_report_retained_blocks(&world->report, &blocks, &world->screen);
	class_world_end(world);
	class_world_expect(world, "Order\n");
	class_world_begin_json(world, &json);
	hawk_report_retained_blocks_json(&world->report, &blocks, &json);
	class_world_end_json(world, &json);
	hawk_retained_blocks_deinit(&blocks);
}

static void print_tree(struct class_world *world, const struct hawk_tree_roots *groups,
		       const struct hawk_site_tree *tree)
{
	struct hawk_tree_view view = hawk_report_tree_view(&world->report, false, false, false);
	struct hawk_tree_rows rows;
	struct hawk_json json;

	check(hawk_site_tree_show(tree, &view, &rows));
	class_world_begin(world, false);
	hawk_report_tree(&world->report, groups, &rows, &world->screen);
	class_world_end(world);
	class_world_expect(world, "Order");
	class_world_begin_json(world, &json);
	hawk_report_tree_json(&world->report, groups, &rows, &json);
	class_world_end_json(world, &json);
	class_world_expect(world, "\"Order");
	hawk_tree_rows_deinit(&rows);
}

CLASS_TEST(trees_go_through_classes)
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

CLASS_TEST(sites_are_classes_that_hold_each_other)
{
	struct hawk_site_graph graph;
	const struct hawk_dot dot = {
		.heap = &world->heap, .names = world->report.names, .graph = &graph};
	struct hawk_json json;

	check(hawk_site_graph_make(&world->graph, NULL, &graph));
	class_world_begin(world, false);
	check(hawk_report_site_graph(&world->report, &graph, &world->list, &world->screen));
	class_world_end(world);
	class_world_expect(world, "shop::Line");
	class_world_begin_json(world, &json);
	check(hawk_report_site_graph_json(&world->report, &graph, &world->list, &json));
	class_world_end_json(world, &json);
	class_world_expect(world, "\"function\":\"shop::Line\"");
	check(hawk_export_dot(&dot, &world->list, class_world_begin(world, false)));
	class_world_end(world);
	class_world_expect(world, "Order");
	hawk_site_graph_deinit(&graph);
}

CLASS_TEST(nodes_of_a_heap_snapshot_are_classes)
{
	const struct hawk_object_graph snapshot = {
		.graph = &world->graph,
		.reach = &world->reach,
		.roots = world->report.roots,
		.names = world->report.names,
		.types = world->report.types,
	};

	check(hawk_export_heap_snapshot(&snapshot, class_world_begin(world, false)));
	class_world_end(world);
	class_world_expect(world, "\"shop::Line\"");
	class_world_expect(world, "\"node_count\":");
}

CLASS_TEST(growth_of_classes_is_unknown)
{
	CLEANUP(free_ptr) struct hawk_site_ages *ages = NULL;
	struct hawk_growth_report report = {.pointers = &world->report, .list = &world->list};
	struct hawk_json json;

	check(hawk_site_ages_make(&world->heap, &world->reach, NULL, &ages));
	report.ages = ages;
	class_world_begin(world, false);
	hawk_report_growth(&report, &world->screen);
	class_world_end(world);
	class_world_expect(world, "Growth: unknown");
	class_world_begin_json(world, &json);
	hawk_report_growth_json(&report, &json);
	class_world_end_json(world, &json);
	class_world_expect(world, "\"life_seconds\":null");
	class_world_expect(world, "\"verdict\":\"unclear\"");
	class_world_expect(world, "\"function\":\"Order\"");
}

CLASS_TEST(schema_says_which_class_words_point_to)
{
	const struct hawk_schema_query query = {.site = site_of(world, ORDER)};
	struct hawk_schema schema;
	struct hawk_schema_report report = {
		.pointers = &world->report, .schema = &schema, .site = query.site};
	struct hawk_json json;

	check(hawk_schema_make(&world->heap, &query, NULL, NULL, &schema));
	class_world_begin(world, false);
	hawk_report_schema(&report, &world->screen);
	class_world_end(world);
	class_world_expect(world, "Order");
	class_world_expect(world, "shop::Line");
	class_world_begin_json(world, &json);
	hawk_report_schema_json(&report, &json);
	class_world_end_json(world, &json);
	hawk_schema_deinit(&schema);
}

CLASS_TEST(paths_and_referrers_go_through_classes)
{
	const uint64_t line = SYNTHETIC_HEAP + STEP + ORDER_BYTES;
	struct hawk_refs refs = {0};
	struct hawk_path_targets targets = {.blocks = &refs.block, .count = 1};
	struct hawk_json json;

	check(hawk_refs_find(&world->graph, NULL, line, &refs));
	class_world_begin(world, false);
	check(hawk_report_paths(&world->report, &world->paths, &targets, &world->screen));
	class_world_end(world);
	class_world_expect(world, "Order");
	class_world_expect(world, "shop::Line");
	class_world_begin_json(world, &json);
	check(hawk_report_paths_json(&world->report, &world->paths, &targets, &json));
	class_world_end_json(world, &json);
	class_world_begin(world, false);
	hawk_report_refs(&world->report, &refs, 1, &world->screen);
	class_world_end(world);
	class_world_expect(world, "Order");
	class_world_begin_json(world, &json);
	hawk_report_refs_json(&world->report, &refs, 1, &json);
	class_world_end_json(world, &json);
	hawk_refs_deinit(&refs);
}

static void look_at(struct class_world *world, uint64_t address, const char *words)
{
	struct hawk_report report = report_of(world);
	struct hawk_whatis whatis;

	hawk_whatis_find(&world->heap, world->report.types, address, &whatis);
	hawk_whatis_resolve(world->symbols, world->report.types, &whatis);
	class_world_begin(world, false);
	hawk_report_whatis_text(&report, &whatis, 1, &world->screen);
	class_world_end(world);
	class_world_expect(world, words);
	hawk_report_whatis_json(&report, &whatis, 1, class_world_begin(world, false));
	class_world_end(world);
	class_world_expect(world, "\"age_seconds\":null");
}

CLASS_TEST(whatis_names_the_class)
{
	look_at(world, SYNTHETIC_HEAP + 8, "    Order\n");
	class_world_expect(world, "\"function\":\"Order\"");
	look_at(world, SYNTHETIC_HEAP + NAMELESS_AT, "    (class unknown)\n");
}

CLASS_TEST(whatis_says_what_memory_between_blocks_is)
{
	struct hawk_report report = report_of(world);
	struct hawk_whatis whatis;

	hawk_whatis_find(&world->heap, world->report.types, SYNTHETIC_HEAP + MEMORY_BYTES - 8,
			 &whatis);
	class_world_begin(world, false);
	hawk_report_whatis_text(&report, &whatis, 1, &world->screen);
	class_world_end(world);
	class_world_expect(world, "  memory of a heap, in no live block\n");
	hawk_report_whatis_json(&report, &whatis, 1, class_world_begin(world, false));
	class_world_end(world);
	class_world_expect(world, "\"memory\":\"heap\"");
}

CLASS_TEST(blocks_have_no_age)
{
	const struct hawk_blocks_report report = {
		.heap = &world->heap,
		.types = world->report.types,
	};

	class_world_begin(world, false);
	check(hawk_report_blocks(&report, &world->screen));
	class_world_end(world);
	class_world_expect(world, "state  class             type\n");
	check(hawk_report_blocks_json(&report, class_world_begin(world, false)));
	class_world_end(world);
	class_world_expect(world, "\"age_seconds\":null,\"kind\":\"unknown\"");
}

static struct hawk_error *nothing_to_load(void *context, unsigned needs,
					  struct hawk_sql_source *source)
{
	(void)context;
	(void)source;
	(void)needs;
	return NULL;
}

static void ask(struct class_world *world, struct hawk_sql *sql, const char *query,
		const char *answer)
{
	check(hawk_sql_run(sql, query, HAWK_SQL_CSV, 0, class_world_begin(world, false)));
	assert_string_equal(class_world_end(world), answer);
}

CLASS_TEST(sql_has_classes_for_functions)
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

/** Checks that a snapshot of the heap gives the same answers. */
static void expect_same_in_snapshot(struct class_world *world, struct hawk_heap *heap)
{
	const struct hawk_heap *own = &world->heap;

	assert_int_equal(heap->origin_count, own->origin_count);
	assert_int_equal(heap->knows, own->knows & ~(unsigned)HAWK_HEAP_CONTENTS);
	assert_int_equal(heap->site_count, own->site_count);
	for (size_t i = 0; i < own->site_count; i++) {
		assert_int_equal(heap->sites[i].id, own->sites[i].id);
		assert_int_equal(heap->sites[i].inuse_bytes, own->sites[i].inuse_bytes);
	}
	assert_int_equal(heap->index.count, own->index.count);
	for (uint32_t i = 0; i < own->index.count; i++) {
		assert_int_equal(hawk_block_start(&heap->index, i),
				 hawk_block_start(&own->index, i));
		assert_int_equal(heap->index.traces[i], own->index.traces[i]);
	}
	assert_int_equal(heap->spans.count, own->spans.count);
	assert_string_equal(
		hawk_class_name(world->symbols, hawk_heap_class(heap, world->numbers[GHOST])),
		"Ghost");
}

/* Opens a snapshot of the world with `graph`, or with only the record of one. The
 * caller frees `*bytes` after the target. */
static struct hawk_target *open_snapshot(struct class_world *world, const struct hawk_graph *graph,
					 const struct hawk_snapshot_piece *record, uint8_t **bytes)
{
	struct hawk_findings *findings = &world->world->findings;
	struct hawk_output *output = class_world_begin(world, false);
	struct hawk_snapshot_writer writer;
	struct hawk_core_file *file;
	struct hawk_target *target;
	off_t size;

	hawk_snapshot_begin(&writer, output, 0);
	check(hawk_target_save(world->world->target, findings, 0, &writer));
	check(hawk_heap_save(&world->heap, &writer));
	check(graph ? hawk_graph_save(graph, &writer)
		    : hawk_snapshot_put(&writer, HAWK_SNAPSHOT_GRAPH, record));
	check(hawk_snapshot_finish(&writer));
	check(hawk_output_finish(output));
	size = lseek(output->fd, 0, SEEK_END);
	*bytes = malloc((size_t)size);
	assert_int_equal(pread(output->fd, *bytes, (size_t)size, 0), size);
	close(output->fd);
	check(hawk_core_file_over(*bytes, (size_t)size, &file));
	check(hawk_core_open_file(file, NULL, findings, &target));
	return target;
}

CLASS_TEST(a_snapshot_has_what_sources_said)
{
	struct hawk_findings *findings = &world->world->findings;
	CLEANUP(free_ptr) uint8_t *bytes = NULL;
	struct hawk_target *target = open_snapshot(world, &world->graph, NULL, &bytes);
	struct hawk_graph graph;
	struct hawk_heap heap;

	check(hawk_heap_load(target, NULL, findings, &heap));
	expect_same_in_snapshot(world, &heap);
	check(hawk_graph_make(&heap, NULL, findings, &graph));
	assert_int_equal(graph.edge_count, world->graph.edge_count);
	hawk_graph_deinit(&graph);
	hawk_heap_deinit(&heap);
	hawk_target_close(target);
}

CLASS_TEST(a_snapshot_that_numbers_parts_of_blocks_is_refused_as_older)
{
	struct hawk_findings *findings = &world->world->findings;
	struct hawk_snapshot_piece record = {.items = 1};
	CLEANUP(free_ptr) uint8_t *bytes = NULL;
	struct hawk_target *target;
	struct hawk_graph graph;
	struct hawk_heap heap;

	hawk_column_put(&record.column, world->graph.count + 1);
	target = open_snapshot(world, NULL, &record, &bytes);
	check(hawk_heap_load(target, NULL, findings, &heap));
	check_fails(hawk_graph_make(&heap, NULL, findings, &graph), HAWK_ERROR_FORMAT,
		    "older version");
	hawk_column_deinit(&record.column);
	hawk_heap_deinit(&heap);
	hawk_target_close(target);
}

CLASS_TEST(exports_of_profiles_have_classes)
{
	static struct hawk_error *(*const writers[])(const struct hawk_export *,
						     struct hawk_output *) = {
		hawk_export_pprof,  hawk_export_folded,    hawk_export_dhat,
		hawk_export_massif, hawk_export_heaptrack, hawk_export_ndjson};
	const struct hawk_profile_style style = {.plumbing = false};
	struct hawk_export export = {
		.process = hawk_target_process(world->world->target),
		.heap = &world->heap,
		.findings = &world->world->findings,
		.blocks_max = HAWK_EXPORT_BLOCKS_MAX,
	};
	struct hawk_profile *profile;

	check(hawk_profile_of_sites(&world->heap, world->symbols, &world->list, false, &style,
				    &profile));
	export.profile = profile;
	export.column = profile->shown_column;
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		check(writers[i](&export, class_world_begin(world, false)));
		class_world_take(world);
		if (i) /* the first one is compressed */
			class_world_expect(world, "Ghost");
	}
	hawk_profile_destroy(profile);
}
