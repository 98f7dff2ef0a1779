/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What lies at an address, as text and as JSON.
 */
#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/names/site_names.h"
#include "json/objects.h"
#include "hawk/base/quantity.h"
#include "hawk/report/whatis.h"
#include "hawk/base/text.h"

static const char *const state_names[] = {
	[HAWK_BLOCK_NONE] = NULL,
	[HAWK_BLOCK_LIVE] = "live",
	[HAWK_BLOCK_HEADER] = "header",
	[HAWK_BLOCK_DEAD] = "dead",
};

static void put_type(const char *type, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};
	size_t width = screen->full ? SIZE_MAX : screen->width - sizeof("  type ") + 1;

	if (!type)
		return;
	hawk_function_name_append(&text, type, width);
	hawk_output_puts(screen->output, "  type ");
	hawk_screen_line(screen, &text);
}

static void put_stack(const struct hawk_report *report, const struct hawk_screen *screen,
		      const struct hawk_stack *stack)
{
	size_t first = screen->full ? 0 : hawk_stack_telling_line(stack);
	struct hawk_stack_cut cut = {.first = first,
				     .end = report->depth ? first + report->depth : 0};

	hawk_screen_stack_cut(screen, stack, &cut, 4);
}

static void put_block(const struct hawk_report *report, const struct hawk_whatis *whatis,
		      const struct hawk_screen *screen)
{
	const struct hawk_block *block = &whatis->block;
	const struct hawk_site *site = hawk_heap_site(report->heap, block->trace);
	double age = hawk_heap_age_seconds(report->heap, hawk_birth_decode(block->birth));
	unsigned knows = hawk_heap_knows_of(report->heap, block->trace);
	bool stacks = knows & HAWK_HEAP_STACKS;
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_stack stack = {0};

	if (whatis->state == HAWK_BLOCK_DEAD)
		hawk_text_printf(&text, "freed block, started at 0x%llx (size and age are gone)",
				 (unsigned long long)block->start);
	else if (whatis->state == HAWK_BLOCK_HEADER)
		hawk_text_puts(&text, "header of the ");
	else
		hawk_text_printf(&text, "byte %llu of the ",
				 (unsigned long long)(whatis->address - block->start));
	if (whatis->state != HAWK_BLOCK_DEAD) {
		hawk_text_printf(&text, "live block 0x%llx, %s bytes",
				 (unsigned long long)block->start,
				 hawk_quantity_count(block->size).text);
		if (block->kind)
			hawk_text_printf(&text, ", from %s", hawk_report_kind_name(block->kind));
		if (knows & HAWK_HEAP_AGES)
			hawk_text_printf(&text, ", %s old", hawk_quantity_seconds(age).text);
	}
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 4);
	put_type(whatis->type, screen);
	if (site)
		hawk_output_printf(screen->output, "  %s site %016llx\n",
				   stacks ? "allocated at" : "of", (unsigned long long)site->id);
	hawk_stack_of_blocks(report->symbols, report->heap, block->trace, &stack);
	stack.type = NULL; /* that is said */
	if (stack.count)
		put_stack(report, screen, &stack);
	else if (!stacks)
		hawk_output_printf(screen->output, "    %s\n",
				   hawk_site_no_stack(report->heap, UINT32_MAX));
	else
		hawk_output_puts(screen->output, stack.trace_flags & HAWK_TRACE_NOT_SAMPLED
							 ? "    (not sampled: no stack was taken)\n"
							 : "    (no stack was recorded)\n");
	hawk_stack_deinit(&stack);
}

static void put_thread(const struct hawk_whatis *whatis, const struct hawk_screen *screen)
{
	const struct hawk_thread *thread = whatis->thread;
	uint64_t sp = thread->sp;

	hawk_output_puts(screen->output, "  stack of ");
	hawk_report_put_thread(thread, screen);
	if (thread->crashed)
		hawk_output_puts(screen->output, " (the one that crashed)");
	if (whatis->below_stack_pointer)
		hawk_output_printf(screen->output, ", %s bytes below its stack pointer: dead\n",
				   hawk_quantity_count(sp - whatis->address).text);
	else if (whatis->has_frame)
		hawk_output_printf(screen->output, ", in the frame of\n");
	else
		hawk_output_puts(screen->output, "\n");
	if (whatis->has_frame)
		hawk_screen_stack_line(screen, &whatis->frame_line, 4);
}

static void put_module(const struct hawk_whatis *whatis, const struct hawk_screen *screen)
{
	const struct hawk_module *module = whatis->module;

	hawk_output_puts(screen->output, "  module ");
	hawk_screen_foreign(screen, module->path[0] ? module->path : "[unnamed]");
	if (module->has_bias)
		hawk_output_printf(screen->output, " + 0x%llx",
				   (unsigned long long)(whatis->address - module->bias));
	hawk_output_puts(screen->output, "\n");
	if (whatis->symbol) {
		hawk_output_puts(screen->output, "  symbol ");
		hawk_screen_foreign(screen, whatis->symbol);
		hawk_output_printf(screen->output, " + %llu\n",
				   (unsigned long long)whatis->symbol_offset);
	}
}

/** What kinds of spans are called, in JSON and in text. */
static const char *const span_names[HAWK_SPAN_KINDS][2] = {
	[HAWK_SPAN_HEAP] = {"heap", "memory of a heap, in no live block"},
	[HAWK_SPAN_METADATA] = {"metadata", "an allocator's own memory"},
	[HAWK_SPAN_FREE] = {"free", "free memory of a heap"},
	[HAWK_SPAN_CACHED] = {"cached", "free memory of a heap, in a thread's cache"},
	[HAWK_SPAN_UNTOUCHED] = {"untouched", "memory of a heap that was never used"},
	[HAWK_SPAN_UNSOUND] = {"unsound", "memory of a heap whose live blocks are not all known"},
	[HAWK_SPAN_STACK] = {"stack", "the stack of a thread"},
	[HAWK_SPAN_GUARD] = {"guard", "next to the stack of a thread"},
	[HAWK_SPAN_UNDUMPED] = {"undumped", "kept out of cores by the program (MADV_DONTDUMP)"},
};

static void put_span(const struct hawk_whatis *whatis, const struct hawk_screen *screen)
{
	if (whatis->tracer)
		hawk_output_puts(screen->output, "  the tracer's own memory\n");
	else if (whatis->span && whatis->state == HAWK_BLOCK_NONE)
		hawk_output_printf(screen->output, "  %s\n", span_names[whatis->span->kind][1]);
}

static void put_mapping(const struct hawk_whatis *whatis, const struct hawk_screen *screen)
{
	const struct hawk_mapping *mapping = whatis->mapping;

	hawk_output_printf(screen->output, "  mapping 0x%llx-0x%llx %c%c%c, %s, ",
			   (unsigned long long)mapping->start, (unsigned long long)mapping->end,
			   mapping->flags & HAWK_MAPPING_READ ? 'r' : '-',
			   mapping->flags & HAWK_MAPPING_WRITE ? 'w' : '-',
			   mapping->flags & HAWK_MAPPING_EXEC ? 'x' : '-',
			   hawk_quantity_bytes(mapping->end - mapping->start).text);
	if (mapping->path)
		hawk_screen_foreign(screen, mapping->path);
	else
		hawk_output_puts(screen->output, "anonymous");
	if (whatis->address - mapping->start >= mapping->present_bytes)
		hawk_output_puts(screen->output, " (not in the core)");
	hawk_output_puts(screen->output, "\n");
}

void hawk_report_whatis_text(const struct hawk_report *report, const struct hawk_whatis *whatis,
			     const struct hawk_screen *screen)
{
	hawk_screen_style(screen, HAWK_STYLE_HEADING);
	hawk_output_printf(screen->output, "0x%llx", (unsigned long long)whatis->address);
	hawk_screen_plain(screen);
	hawk_output_puts(screen->output, "\n");
	if (!whatis->mapping) {
		hawk_output_puts(screen->output, "  nothing: not mapped\n");
		return;
	}
	if (whatis->state != HAWK_BLOCK_NONE)
		put_block(report, whatis, screen);
	put_span(whatis, screen);
	if (whatis->thread)
		put_thread(whatis, screen);
	if (whatis->module)
		put_module(whatis, screen);
	put_mapping(whatis, screen);
}

static void put_json_block(const struct hawk_report *report, const struct hawk_whatis *whatis,
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
	hawk_json_put_scope_path(json, "scopes", heap->table, hawk_heap_scope(heap, block->trace));
	hawk_json_put_stack(json, &stack);
	hawk_stack_deinit(&stack);
	hawk_json_object_end(json);
}

static void put_json_thread(const struct hawk_whatis *whatis, struct hawk_json *json)
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

static void put_json_module(const struct hawk_whatis *whatis, struct hawk_json *json)
{
	if (!whatis->module) {
		hawk_json_put_null(json, "module");
		return;
	}
	hawk_json_put_object(json, "module");
	hawk_json_put_string(json, "path", whatis->module->path);
	hawk_json_put_address(json, "offset", whatis->address - whatis->module->bias);
	hawk_json_put_string(json, "symbol", whatis->symbol);
	hawk_json_put_integer(json, "symbol_offset", whatis->symbol_offset);
	hawk_json_object_end(json);
}

static void put_json_mapping(const struct hawk_mapping *mapping, struct hawk_json *json)
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
		put_json_block(report, &whatis[i], &json);
		put_json_thread(&whatis[i], &json);
		put_json_module(&whatis[i], &json);
		put_json_mapping(whatis[i].mapping, &json);
		hawk_json_put_boolean(&json, "tracer", whatis[i].tracer);
		hawk_json_put_string(&json, "memory",
				     whatis[i].span ? span_names[whatis[i].span->kind][0] : NULL);
		hawk_json_object_end(&json);
	}
	hawk_json_array_end(&json);
	hawk_json_put_frame_table(&json);
	hawk_json_put_findings(&json, report->findings);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
}
