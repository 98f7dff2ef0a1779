/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Collects the facts about an address.
 */
#include "hawk/analysis/whatis.h"

#include "hawk/base/cleanup.h"
#include "hawk/symbols/dwarf_types.h"

/** Finds the thread with the highest stack pointer at or below `address` in its mapping. */
static void find_thread(const struct hawk_target *target, struct hawk_whatis *whatis)
{
	const struct hawk_mapping *mapping = whatis->mapping;
	const struct hawk_thread *best = NULL;
	uint64_t best_sp = 0, red_zone = hawk_target_arch(target)->red_zone_bytes;
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t sp = hawk_target_stack_start(target, &threads[i]);

		if (sp < mapping->start || sp >= mapping->end)
			continue;
		/* Stacks of threads may share a mapping when their guard pages were merged away. */
		if (!best || (sp <= whatis->address + red_zone &&
			      (sp > best_sp || best_sp > whatis->address + red_zone))) {
			best = &threads[i];
			best_sp = sp;
		}
	}
	whatis->thread = best;
	whatis->below_stack_pointer = best && whatis->address + red_zone < best_sp;
}

void hawk_whatis_find(const struct hawk_heap *heap, const struct hawk_block_types *types,
		      uint64_t address, struct hawk_whatis *ret)
{
	struct hawk_near near = {.target = heap->target};

	*ret = (struct hawk_whatis){
		.address = address,
		.mapping = hawk_target_mapping_at(heap->target, address),
		.module = hawk_target_module_at(heap->target, address),
	};
	if (!ret->mapping)
		return;
	ret->span = hawk_heap_spans_at(&heap->spans, address);
	ret->tracer = ret->span && ret->span->kind == HAWK_SPAN_METADATA &&
		      heap->origins[ret->span->source].knows & HAWK_HEAP_STACKS;
	if (heap->knows && !ret->tracer)
		ret->state = hawk_heap_at(heap, address, &ret->block);
	if (ret->state == HAWK_BLOCK_LIVE || ret->state == HAWK_BLOCK_HEADER)
		ret->words = hawk_type_words_at(hawk_block_types_modules(types), &near,
						ret->block.start, ret->block.size);
	/* Memory of a module, and a block, is no stack, whatever a register says. */
	if (!ret->module && ret->state == HAWK_BLOCK_NONE && !ret->tracer)
		find_thread(heap->target, ret);
}

void hawk_whatis_name_member(const struct hawk_types *types, struct hawk_symbols *symbols,
			     struct hawk_whatis *whatis)
{
	CLEANUP(text) struct hawk_text name = {0}, member = {0};
	uint64_t start = whatis->block.start;
	bool interior;
	uint32_t block = hawk_block_index_find(&types->heap->index, start, &interior);
	const struct hawk_type *type;

	if (whatis->state != HAWK_BLOCK_LIVE || block == HAWK_BLOCK_NOWHERE || interior)
		return;
	type = hawk_types_at(types, hawk_types_of(types, block));
	if (!type->layout)
		return;
	hawk_text_printf(&name, "%s%s", type->name, type->is_guess ? "?" : "");
	whatis->type = hawk_symbols_intern(symbols, hawk_text_string(&name));
	if (whatis->address > start && hawk_types_append_member(types, HAWK_BLOCK_NOWHERE, block,
								whatis->address - start, &member))
		whatis->member = hawk_symbols_intern(symbols, hawk_text_string(&member));
}

/* Names the variable of a module that the address lies in. */
static void name_variable(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
			  struct hawk_whatis *whatis)
{
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_dwarf_variable variable;

	if (hawk_dwarf_is_c_library(module) ||
	    !hawk_dwarf_static_at(symbols, module, whatis->address, &variable) || !variable.name[0])
		return;
	hawk_text_puts(&text, variable.name);
	hawk_dwarf_append_path(symbols, variable.type, whatis->address - variable.address, &text);
	whatis->variable = hawk_symbols_intern(symbols, hawk_text_string(&text));
}

static void name_frame(struct hawk_symbols *symbols, struct hawk_stack_line *line)
{
	const struct hawk_frame *names = NULL;
	size_t count = 0;

	line->has_module =
		hawk_symbols_module_at(symbols, line->pc - (line->exact ? 0 : 1), &line->module);
	if (line->has_module)
		hawk_error_swallow(hawk_symbols_lookup(symbols, &line->module, line->pc,
						       line->exact, &names, &count));
	if (count)
		line->name = names[count - 1]; // the function that has the frame
}

/** Finds the frame that holds the address: frames end where the next one begins. */
static void resolve_frame(struct hawk_symbols *symbols, struct hawk_whatis *whatis)
{
	struct hawk_thread_frames found;
	size_t i = 0;

	hawk_error_swallow(
		hawk_symbols_unwind(symbols, whatis->thread, HAWK_UNWIND_FRAMES_MAX, &found));
	if (found.count && !whatis->below_stack_pointer) {
		while (i + 1 < found.count && found.frames[i + 1].sp <= whatis->address)
			i++;
		whatis->has_frame = true;
		whatis->frame = (uint32_t)i;
		whatis->frame_line = (struct hawk_stack_line){.frame = (uint32_t)i,
							      .pc = found.frames[i].pc,
							      .exact = found.frames[i].exact};
		name_frame(symbols, &whatis->frame_line);
	}
	hawk_thread_frames_deinit(&found);
}

void hawk_whatis_resolve(struct hawk_symbols *symbols, struct hawk_block_types *types,
			 struct hawk_whatis *whatis)
{
	struct hawk_symbol_module module;

	if (whatis->state != HAWK_BLOCK_NONE && !whatis->type)
		whatis->type = hawk_block_type_of_words(types, &whatis->block, &whatis->words);
	if (whatis->thread) {
		resolve_frame(symbols, whatis);
	} else if (whatis->module) {
		module = hawk_symbol_module_of(whatis->module);
		hawk_error_swallow(hawk_symbols_name(symbols, &module, whatis->address,
						     &whatis->symbol, &whatis->symbol_offset));
		name_variable(symbols, &module, whatis);
	}
}
