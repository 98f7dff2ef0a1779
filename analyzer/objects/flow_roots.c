/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where the flow of types begins: variables of modules and of threads' frames, and objects of known
 * classes.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "flow.h"

/** Upper limit on links followed: 10 s. Foreign types may overlap in themselves. */
static const uint64_t STEPS_MAX = UINT64_C(1) << 30;

static void follow_variables(struct hawk_flow *flow, const struct hawk_dwarf_variables *variables)
{
	for (size_t i = 0; i < variables->count && !flow->failed; i++) {
		const struct hawk_dwarf_variable *variable = &variables->items[i];
		const struct hawk_dwarf_type *type = variable->type;
		uint32_t layout = hawk_layouts_of(flow->layouts, type);

		if (layout && variable->address)
			hawk_flow_object(flow, variable->address, layout);
		else if (layout && type->kind == HAWK_DWARF_POINTER)
			hawk_flow_pointer(flow, variable->value,
					  &(struct hawk_link){
						  .target = hawk_layouts_of(
							  flow->layouts,
							  hawk_dwarf_target(flow->symbols, type))});
		hawk_flow_drain(flow, false);
	}
}

/* Returns true if a word in the range is a pointer to a block of interest. */
static bool has_pointer(void *context, uint64_t start, uint64_t end)
{
	struct hawk_flow *flow = context;

	for (uint64_t at = start / 8 * 8; at < end; at += 8) {
		uint32_t block = hawk_flow_block(flow, hawk_flow_word(flow, at));

		if (block != HAWK_BLOCK_NOWHERE && hawk_types_bit(flow->wish->only, block))
			return true;
	}
	return false;
}

static void flow_from_modules(struct hawk_flow *flow)
{
	const struct hawk_target *target = flow->types->heap->target;
	struct hawk_dwarf_variables variables = {0};
	size_t count, thread_count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);
	const struct hawk_thread *threads = hawk_target_threads(target, &thread_count);

	for (size_t i = 0; i < count; i++) {
		struct hawk_symbol_module module = hawk_symbol_module_of(&modules[i]);

		if (hawk_dwarf_is_c_library(&module))
			continue;
		hawk_dwarf_statics(flow->symbols, &module, NULL, has_pointer, flow, &variables);
		for (size_t j = 0; module.main && j < thread_count; j++)
			hawk_dwarf_statics(flow->symbols, &module, &threads[j], has_pointer, flow,
					   &variables);
	}
	follow_variables(flow, &variables);
	hawk_dwarf_variables_deinit(&variables);
}

/* Drops what an inlined function calls by another name. */
static void drop_doubles(struct hawk_dwarf_variables *locals)
{
	size_t kept = 0;

	for (size_t i = 0, j; i < locals->count; i++) {
		for (j = 0; j < kept && locals->items[j].address != locals->items[i].address;)
			j++;
		if (j == kept || !locals->items[i].address)
			locals->items[kept++] = locals->items[i];
	}
	locals->count = kept;
}

static void flow_from_threads(struct hawk_flow *flow)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(flow->types->heap->target, &count);

	for (size_t i = 0; i < count && !flow->failed; i++) {
		struct hawk_dwarf_variables locals = {0};

		if (!hawk_types_bit(flow->wish->threads, i))
			continue;
		hawk_dwarf_locals(flow->symbols, &threads[i], &locals);
		drop_doubles(&locals);
		flow->in_frame = true;
		follow_variables(flow, &locals);
		hawk_dwarf_variables_deinit(&locals);
	}
	flow->in_frame = false;
}

/* Queues the blocks whose class is known, with its members: the virtual table lies in the module
 * that has the class. */
static void flow_from_classes(struct hawk_flow *flow)
{
	const struct hawk_block_index *index = &flow->types->heap->index;

	for (uint32_t i = 0; i < index->count && !flow->failed; i++) {
		uint32_t number = hawk_types_of(flow->types, i);
		const struct hawk_type *type = hawk_types_at(flow->types, number);
		struct hawk_flow_work work = {.block = i, .count = 1};

		if (type->origin != HAWK_TYPE_VTABLE || number >= flow->class_count)
			continue;
		if (!flow->classes[number])
			flow->classes[number] =
				1 +
				hawk_layouts_of(
					flow->layouts,
					hawk_dwarf_class(
						flow->symbols,
						hawk_flow_word(flow, hawk_block_start(index, i)),
						type->name));
		work.layout = flow->classes[number] - 1;
		if (!work.layout ||
		    flow->layouts->items[work.layout].bytes > hawk_block_size(index, i))
			continue;
		flow->types->items[number].layout = work.layout;
		hawk_flow_queue(flow, &work, type->is_guess);
	}
	hawk_flow_drain(flow, false);
}

struct hawk_error *hawk_types_from_dwarf(struct hawk_types *types, struct hawk_symbols *symbols,
					 const struct hawk_types_wish *wish)
{
	size_t count = types->heap->index.count;

	types->layouts = calloc(1, sizeof(*types->layouts));
	CLEANUP(free_ptr) uint64_t *seen = calloc(count / 64 + 1, sizeof(*seen));
	CLEANUP(free_ptr) uint32_t *classes = calloc(types->count, sizeof(*classes));
	struct hawk_flow flow = {.types = types,
				 .symbols = symbols,
				 .wish = wish,
				 .layouts = types->layouts,
				 .seen = seen,
				 .classes = classes,
				 .class_count = types->count,
				 .left = STEPS_MAX,
				 .near = {.target = types->heap->target},
				 .words = {.target = types->heap->target},
				 .exact = hawk_heap_all_know(types->heap, HAWK_HEAP_EXACT)};

	struct hawk_error *err;

	if (!seen || !classes || !types->layouts)
		return &hawk_enomem;
	types->layouts->symbols = symbols;
	flow_from_classes(&flow);
	flow_from_modules(&flow);
	flow_from_threads(&flow);
	hawk_flow_drain(&flow, true);
	free(flow.queues[0].items);
	free(flow.queues[1].items);
	err = hawk_flow_shapes(&flow);
	return flow.failed || flow.layouts->failed ? &hawk_enomem : err;
}
