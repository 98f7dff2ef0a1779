/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the reports about pointers have in common: blocks in a line, the frame of documents, groups
 * of roots.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_function_name.h"
#include "hawk_quantity.h"
#include "hawk_report.h"
#include "hawk_report_pointers.h"
#include "hawk_utf8.h"

enum { NAME_WIDTH_MIN = 8, TYPE_WIDTH_MAX = 24, DOCUMENT_VERSION = 1 };

void hawk_report_site_id(const struct hawk_block_graph *graph, uint32_t site, char text[17])
{
	text[0] = '\0';
	if (site < graph->heap->site_count)
		snprintf(text, 17, "%016llx", (unsigned long long)graph->heap->sites[site].id);
}

struct hawk_chosen hawk_report_blocks_of(const struct hawk_pointer_report *report, uint32_t site)
{
	const struct hawk_site *all = &report->graph->heap->sites[site];

	return report->chosen ? report->chosen[site]
			      : (struct hawk_chosen){.objects = hawk_site_blocks(all),
						     .bytes = hawk_site_block_bytes(all)};
}

struct hawk_chosen hawk_report_chosen(const struct hawk_pointer_report *report)
{
	struct hawk_chosen sum = {0};

	for (size_t i = 0; report->chosen && i < report->graph->heap->site_count; i++) {
		sum.objects += report->chosen[i].objects;
		sum.bytes += report->chosen[i].bytes;
	}
	return sum;
}

void hawk_report_put_none(const struct hawk_pointer_report *report,
			  const struct hawk_screen *screen)
{
	hawk_output_puts(screen->output, report->filter ? "  no block matches\n" : "  none\n");
}

void hawk_report_json_chosen(const struct hawk_pointer_report *report, struct hawk_json *json)
{
	struct hawk_chosen chosen = hawk_report_chosen(report);

	if (!report->chosen)
		return;
	hawk_json_key(json, "chosen");
	hawk_json_object(json);
	hawk_json_put_integer(json, "objects", chosen.objects);
	hawk_json_put_integer(json, "bytes", chosen.bytes);
	hawk_json_object_end(json);
}

/** Columns for a type, brackets not counted, where `left` are for name and type; 0 = too few. */
static size_t type_room(const struct hawk_screen *screen, size_t left)
{
	size_t half = left > 4 ? (left - 4) / 2 : 0;

	if (screen->full)
		return SIZE_MAX;
	if (half < NAME_WIDTH_MIN)
		return 0;
	return half < TYPE_WIDTH_MAX ? half : TYPE_WIDTH_MAX;
}

struct hawk_error *hawk_report_put_block(const struct hawk_pointer_report *report,
					 const struct hawk_screen *screen, uint32_t number,
					 unsigned column)
{
	CLEANUP(text) struct hawk_text text = {0}, type_text = {0};
	const struct hawk_site_name *name;
	struct hawk_block block;
	const char *type = NULL;
	struct hawk_error *err;
	size_t used, room;

	hawk_heap_block(report->graph->heap, number, &block);
	err = hawk_site_name(report->names, hawk_heap_site_at(report->graph->heap, number), &name);
	if (!err && report->types)
		err = hawk_block_type(report->types, &block, &type);
	if (err)
		return err;
	hawk_text_printf(&text, "0x%llx  %s  ", (unsigned long long)block.start,
			 hawk_quantity_bytes(block.size).text);
	used = column + hawk_utf8_width(text.bytes ? text.bytes : "");
	room = screen->width > used ? screen->width - used : 0;
	if (type && type_room(screen, room)) {
		hawk_function_name_append(&type_text, type, type_room(screen, room));
		used = type_text.bytes ? hawk_utf8_width(type_text.bytes) + 4 : 0;
		room -= used < room ? used : room;
	}
	room = room > NAME_WIDTH_MIN ? room : NAME_WIDTH_MIN;
	hawk_site_name_append(&text, name, screen->full ? SIZE_MAX : room);
	hawk_output_append(screen->output, text.bytes, text.size);
	if (type_text.bytes)
		hawk_output_printf(screen->output, "  [%s]", type_text.bytes);
	hawk_output_puts(screen->output, "\n");
	return NULL;
}

struct hawk_error *hawk_report_json_block(const struct hawk_pointer_report *report, uint32_t number,
					  struct hawk_json *json)
{
	struct hawk_block block;
	const char *type = NULL;
	struct hawk_error *err = NULL;
	char id[17];

	hawk_heap_block(report->graph->heap, number, &block);
	if (report->types)
		err = hawk_block_type(report->types, &block, &type);
	hawk_report_site_id(report->graph, hawk_heap_site_at(report->graph->heap, number), id);
	hawk_json_put_address(json, "address", block.start);
	hawk_json_put_integer(json, "size", block.size);
	hawk_json_put_string(json, "site", id[0] ? id : NULL);
	hawk_json_put_string(json, "type", type);
	return err;
}

struct hawk_error *hawk_report_json_site_frames(const struct hawk_pointer_report *report,
						uint32_t site, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->graph->heap;
	struct hawk_error *err = NULL;
	struct hawk_stack stack;

	hawk_stack_init(&stack);
	if (site < heap->site_count)
		err = hawk_stack_of_trace(report->symbols, heap->table, heap->sites[site].trace,
					  &stack);
	hawk_json_key(json, "frames");
	hawk_report_json_stack(&stack, json);
	hawk_stack_deinit(&stack);
	return err;
}

/** Live blocks without a stack, because they were not sampled; NULL = none. */
static const struct hawk_site *not_sampled(const struct hawk_heap *heap)
{
	for (size_t i = 0; heap->sample_mean && i < heap->site_count; i++)
		if (heap->sites[i].id == HAWK_SITE_NOT_SAMPLED)
			return &heap->sites[i];
	return NULL;
}

void hawk_report_put_sampling(const struct hawk_pointer_report *report,
			      const struct hawk_screen *screen)
{
	const struct hawk_heap *heap = report->graph->heap;
	const struct hawk_site *others = not_sampled(heap);

	if (!heap->sample_mean)
		return;
	hawk_output_printf(screen->output,
			   "  Stacks are sampled, one for %s on average: figures are those of the\n"
			   "  blocks that have one, no estimates; %s more (%s) have none.\n",
			   hawk_quantity_bytes(heap->sample_mean).text,
			   hawk_quantity_count(others ? others->inuse_objects : 0).text,
			   hawk_quantity_bytes(others ? others->inuse_bytes : 0).text);
}

/** "sampled": how, and what has no site because of it. */
static void put_json_sampling(const struct hawk_heap *heap, struct hawk_json *json)
{
	const struct hawk_site *others = not_sampled(heap);

	if (!heap->sample_mean)
		return;
	hawk_json_key(json, "sampled");
	hawk_json_object(json);
	hawk_json_put_integer(json, "mean_bytes", heap->sample_mean);
	hawk_json_put_integer(json, "other_objects", others ? others->inuse_objects : 0);
	hawk_json_put_integer(json, "other_bytes", others ? others->inuse_bytes : 0);
	hawk_json_object_end(json);
}

void hawk_report_put_start_only(const struct hawk_screen *screen)
{
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_puts(screen->output,
			 "  start only: the same, if only pointers to the first byte of a "
			 "block count\n");
	hawk_screen_plain(screen);
}

struct hawk_error *hawk_report_no_block(const struct hawk_pointer_report *report, uint64_t address)
{
	const char *why;

	if (report->graph->heap->table)
		return hawk_error_create(HAWK_ERROR_NO_BLOCK, "no live block at 0x%" PRIx64,
					 address);
	why = hawk_report_has_tracer(report->graph->heap->target)
		      ? "no block is known: the trace table is missing"
		      : "no block is known: the process was not traced";
	return hawk_error_create(HAWK_ERROR_NOT_FOUND, "0x%" PRIx64 ": %s", address, why);
}

void hawk_report_json_begin(const struct hawk_pointer_report *report, struct hawk_json *json,
			    struct hawk_output *output, const char *schema, unsigned lines)
{
	hawk_json_init(json, output, lines);
	hawk_json_object(json);
	hawk_json_put_string(json, "schema", schema);
	hawk_json_put_integer(json, "version", DOCUMENT_VERSION);
	hawk_json_put_string(json, "source", report->source);
	put_json_sampling(report->graph->heap, json);
}

void hawk_report_json_end(const struct hawk_pointer_report *report, struct hawk_json *json)
{
	hawk_report_json_findings(report->findings, json);
	hawk_json_put_boolean(json, "partial", hawk_findings_partial(report->findings));
	hawk_json_object_end(json);
	hawk_json_finish(json);
}

struct hawk_error *hawk_tree_roots_make(const struct hawk_pointer_report *report,
					struct hawk_tree_roots *ret)
{
	size_t count = report->graph->roots.count;
	struct hawk_tree_roots groups = {.groups = calloc(count + 1, sizeof(*groups.groups))};
	struct hawk_error *err = groups.groups ? NULL : &hawk_enomem;

	for (size_t root = 0; root < count && !err; root++)
		err = hawk_root_group(report->roots, (uint32_t)root, &groups.groups[root]);
	groups.count = hawk_root_group_count(report->roots);
	groups.names = calloc((size_t)groups.count + 1, sizeof(*groups.names));
	if (!err && !groups.names)
		err = &hawk_enomem;
	for (uint32_t i = 0; i < groups.count && !err; i++)
		groups.names[i] = hawk_root_group_name(report->roots, i);
	if (err) {
		hawk_tree_roots_deinit(&groups);
		return err;
	}
	*ret = groups;
	return NULL;
}

void hawk_tree_roots_deinit(struct hawk_tree_roots *groups)
{
	free(groups->groups);
	free(groups->names);
	*groups = (struct hawk_tree_roots){0};
}

struct hawk_error *hawk_report_put_rows(const struct hawk_pointer_report *report,
					const struct hawk_screen *screen, hawk_rows_function *put,
					const void *context)
{
	CLEANUP(free_ptr) struct hawk_output *nowhere = malloc(sizeof(*nowhere));
	struct hawk_screen rehearsal = *screen;
	struct hawk_error *err;

	if (!nowhere)
		return &hawk_enomem;
	hawk_output_init(nowhere, -1);
	rehearsal.output = nowhere;
	hawk_site_names_mode(report->names, HAWK_NAMES_LEARN);
	err = put(context, &rehearsal);
	hawk_site_names_mode(report->names, HAWK_NAMES_TELL);
	if (!err)
		err = put(context, screen);
	hawk_site_names_mode(report->names, HAWK_NAMES_PLAIN);
	return err;
}
