/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports what lies at an address, as text.
 */
#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/names/site_names.h"
#include "hawk/base/quantity.h"
#include "hawk/report/whatis.h"
#include "hawk/base/text.h"

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

static void put_name(const char *what, const char *name, const struct hawk_screen *screen)
{
	if (!name)
		return;
	hawk_output_printf(screen->output, "  %s ", what);
	hawk_screen_foreign(screen, name);
	hawk_output_puts(screen->output, "\n");
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
	put_name("member", whatis->member, screen);
	if (site)
		hawk_output_printf(screen->output, "  %s site %016llx\n",
				   stacks ? "allocated at" : "of", (unsigned long long)site->id);
	hawk_stack_of_blocks(report->symbols, report->heap, block->trace, &stack);
	stack.type = NULL; /* printed already */
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
	put_name("variable", whatis->variable, screen);
	if (whatis->symbol) {
		hawk_output_puts(screen->output, "  symbol ");
		hawk_screen_foreign(screen, whatis->symbol);
		hawk_output_printf(screen->output, " + %llu\n",
				   (unsigned long long)whatis->symbol_offset);
	}
}

static const char *const span_words[HAWK_SPAN_KINDS] = {
	[HAWK_SPAN_HEAP] = "memory of a heap, in no live block",
	[HAWK_SPAN_METADATA] = "an allocator's own memory",
	[HAWK_SPAN_FREE] = "free memory of a heap",
	[HAWK_SPAN_UNTOUCHED] = "memory of a heap that was never used",
	[HAWK_SPAN_UNSOUND] = "memory of a heap whose live blocks are not all known",
	[HAWK_SPAN_UNDUMPED] = "kept out of cores by the program (MADV_DONTDUMP)",
};

static void put_span(const struct hawk_whatis *whatis, const struct hawk_screen *screen)
{
	if (whatis->tracer)
		hawk_output_puts(screen->output, "  the tracer's own memory\n");
	else if (whatis->span && whatis->state == HAWK_BLOCK_NONE)
		hawk_output_printf(screen->output, "  %s\n", span_words[whatis->span->kind]);
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

static void put_address(const struct hawk_report *report, const struct hawk_whatis *whatis,
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

void hawk_report_whatis_text(const struct hawk_report *report, const struct hawk_whatis *whatis,
			     size_t count, const struct hawk_screen *screen)
{
	for (size_t i = 0; i < count; i++) {
		hawk_output_puts(screen->output, i ? "\n" : "");
		put_address(report, &whatis[i], screen);
	}
}
