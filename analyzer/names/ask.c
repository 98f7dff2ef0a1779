/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Asks for every name that an answer may show, so that a snapshot has them.
 */
#include "hawk/names/ask.h"

#include "hawk/names/root_name.h"
#include "hawk/names/stack.h"

static void ask_sites(const struct hawk_heap *heap, struct hawk_symbols *symbols)
{
	struct hawk_stack stack;

	hawk_stack_init(&stack);
	for (size_t i = 0; i < heap->site_count; i++)
		hawk_stack_of_blocks(symbols, heap, heap->sites[i].trace, &stack);
	hawk_stack_deinit(&stack);
}

/* Asks about all frames, not only those that a stack lists: data on a stack is named by its
 * frame. */
static void ask_frames(struct hawk_symbols *symbols, const struct hawk_thread *thread)
{
	struct hawk_thread_frames frames;

	hawk_error_swallow(hawk_symbols_unwind(symbols, thread, HAWK_UNWIND_FRAMES_MAX, &frames));
	for (size_t i = 0; i < frames.count; i++) {
		const struct hawk_stack_frame *frame = &frames.frames[i];
		struct hawk_symbol_module module;
		const struct hawk_frame *names;
		size_t count;

		if (hawk_symbols_module_at(symbols, frame->pc - !frame->exact, &module))
			hawk_error_swallow(hawk_symbols_lookup(symbols, &module, frame->pc,
							       frame->exact, &names, &count));
	}
	hawk_thread_frames_deinit(&frames);
}

static struct hawk_error *ask_roots(const struct hawk_graph *graph, struct hawk_symbols *symbols)
{
	struct hawk_tree_roots groups;
	struct hawk_root_namer *namer;
	struct hawk_error *err = hawk_root_namer_create(graph, symbols, &namer);

	if (err)
		return err;
	err = hawk_tree_roots_make(namer, &groups);
	if (!err)
		hawk_tree_roots_deinit(&groups);
	hawk_root_namer_destroy(namer);
	return err;
}

struct hawk_error *hawk_names_ask(const struct hawk_heap *heap, const struct hawk_graph *graph,
				  struct hawk_symbols *symbols)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(heap->target, &count);

	ask_sites(heap, symbols);
	for (size_t i = 0; i < count; i++)
		ask_frames(symbols, &threads[i]);
	return graph ? ask_roots(graph, symbols) : NULL;
}
