/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports what lies at an address, as JSON.
 */
#include "hawk/report/whatis.h"

#include "objects.h"

static const char *const state_names[] = {
	[HAWK_BLOCK_NONE] = NULL,
	[HAWK_BLOCK_LIVE] = "live",
	[HAWK_BLOCK_HEADER] = "header",
	[HAWK_BLOCK_DEAD] = "dead",
};

static const char *const span_names[HAWK_SPAN_KINDS] = {
	[HAWK_SPAN_HEAP] = "heap",       [HAWK_SPAN_METADATA] = "metadata",
	[HAWK_SPAN_FREE] = "free",       [HAWK_SPAN_UNTOUCHED] = "untouched",
	[HAWK_SPAN_UNSOUND] = "unsound", [HAWK_SPAN_UNDUMPED] = "undumped",
};

static void put_block(const struct hawk_report *report, const struct hawk_whatis *whatis,
		      struct hawk_json *json)
{
	const struct hawk_block *block = &whatis->block;
	const struct hawk_heap *heap = report->heap;
	const struct hawk_site *site;
	struct hawk_stack stack = {0};

	if (whatis->state == HAWK_BLOCK_NONE) {
		hawk_json_put_null(json, "block");
		return;
	}
	hawk_json_put_object(json, "block");
	hawk_json_put_address(json, "address", block->start);
	hawk_json_put_string(json, "state", state_names[whatis->state]);
	if (whatis->state != HAWK_BLOCK_DEAD) {
		hawk_json_put_signed_if(json, "offset", true,
					(int64_t)(whatis->address - block->start));
		hawk_json_put_integer(json, "size", block->size);
		hawk_json_put_string(json, "kind", hawk_report_kind_name(block->kind));
		hawk_json_put_seconds_if(
			json, "age_seconds",
			hawk_heap_knows_of(heap, block->trace) & HAWK_HEAP_AGES,
			hawk_heap_age_seconds(heap, hawk_birth_decode(block->birth)));
	}
	site = hawk_heap_site(heap, block->trace);
	hawk_json_put_site(json, "site", heap, site ? (uint32_t)(site - heap->sites) : UINT32_MAX);
	hawk_stack_of_blocks(report->symbols, heap, block->trace, &stack);
	hawk_json_put_string(json, "type", whatis->type);
	hawk_json_put_string(json, "member", whatis->member);
	hawk_json_put_scope_path(json, "scopes", heap->table, hawk_heap_scope(heap, block->trace));
	hawk_json_put_stack(json, &stack);
	hawk_stack_deinit(&stack);
	hawk_json_object_end(json);
}

static void put_thread(const struct hawk_whatis *whatis, struct hawk_json *json)
{
	struct hawk_stack stack = {.lines = (struct hawk_stack_line *)&whatis->frame_line,
				   .count = whatis->has_frame};

	if (!whatis->thread) {
		hawk_json_put_null(json, "thread");
		return;
	}
	hawk_json_put_object(json, "thread");
	hawk_json_put_integer(json, "tid", whatis->thread->tid);
	hawk_json_put_boolean(json, "dead_part", whatis->below_stack_pointer);
	hawk_json_put_integer_if(json, "frame", whatis->has_frame, whatis->frame);
	hawk_json_put_stack(json, &stack);
	hawk_json_object_end(json);
}

static void put_module(const struct hawk_whatis *whatis, struct hawk_json *json)
{
	if (!whatis->module) {
		hawk_json_put_null(json, "module");
		return;
	}
	hawk_json_put_object(json, "module");
	hawk_json_put_string(json, "path", whatis->module->path);
	hawk_json_put_address(json, "offset", whatis->address - whatis->module->bias);
	hawk_json_put_string(json, "variable", whatis->variable);
	hawk_json_put_string(json, "symbol", whatis->symbol);
	hawk_json_put_integer(json, "symbol_offset", whatis->symbol_offset);
	hawk_json_object_end(json);
}

static void put_mapping(const struct hawk_mapping *mapping, struct hawk_json *json)
{
	if (!mapping) {
		hawk_json_put_null(json, "mapping");
		return;
	}
	hawk_json_put_object(json, "mapping");
	hawk_json_put_address(json, "start", mapping->start);
	hawk_json_put_address(json, "end", mapping->end);
	hawk_json_put_boolean(json, "read", mapping->flags & HAWK_MAPPING_READ);
	hawk_json_put_boolean(json, "write", mapping->flags & HAWK_MAPPING_WRITE);
	hawk_json_put_boolean(json, "execute", mapping->flags & HAWK_MAPPING_EXEC);
	hawk_json_put_integer(json, "present_bytes", mapping->present_bytes);
	hawk_json_put_string(json, "path", mapping->path);
	hawk_json_object_end(json);
}

void hawk_report_whatis_json(const struct hawk_report *report, const struct hawk_whatis *whatis,
			     size_t count, struct hawk_output *output)
{
	struct hawk_json json;

	hawk_json_init(&json, output, 2);
	hawk_json_object(&json);
	hawk_json_put_string(&json, "schema", "hawk-core/whatis");
	hawk_json_put_integer(&json, "version", HAWK_JSON_VERSION);
	hawk_json_put_array(&json, "addresses");
	for (size_t i = 0; i < count; i++) {
		hawk_json_object(&json);
		hawk_json_put_address(&json, "address", whatis[i].address);
		put_block(report, &whatis[i], &json);
		put_thread(&whatis[i], &json);
		put_module(&whatis[i], &json);
		put_mapping(whatis[i].mapping, &json);
		hawk_json_put_boolean(&json, "tracer", whatis[i].tracer);
		hawk_json_put_string(&json, "memory",
				     whatis[i].span ? span_names[whatis[i].span->kind] : NULL);
		hawk_json_object_end(&json);
	}
	hawk_json_array_end(&json);
	hawk_report_next_json(report->next, &json);
	hawk_json_put_frame_table(&json);
	hawk_json_put_findings(&json, report->findings);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
}
