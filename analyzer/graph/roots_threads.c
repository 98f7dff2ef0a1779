/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A thread's memory: the live part of its stack, and its thread-local storage.
 */
#include "roots_ranges.h"

#include <string.h>

enum {
	HANDLER_BYTES_MAX = 256 << 10, /* of frames on an alternate stack */
	STEP_BYTES = 4096,
	CONTEXT_BYTES_MAX = 1024,
};

/* Returns the start of thread-local storage, never below the stack pointer if it lies on top of the
 * stack. */
static uint64_t tls_start(const struct hawk_roots_finder *finder, uint64_t sp, uint64_t tls)
{
	uint64_t start =
		hawk_tls_start(hawk_target_arch(finder->heap->target), tls, finder->tls_bytes);

	return start > sp ? start : sp;
}

/* Returns true if a mapping's lower end is that of a stack: a guard keeps other memory from joining
 * it. */
static bool has_guard(const struct hawk_roots_finder *finder, const struct hawk_mapping *mapping)
{
	const unsigned rights = HAWK_MAPPING_READ | HAWK_MAPPING_WRITE | HAWK_MAPPING_EXEC;
	const struct hawk_mapping *below =
		mapping->start ? hawk_target_mapping_at(finder->heap->target, mapping->start - 1)
			       : NULL;

	return !below || !(below->flags & rights);
}

/* Returns true if all of the mapping below the stack pointer is one stack that glibc does not list:
 * the first thread's, or one with its thread-local storage on top. Other memory with a stack
 * pointer in it (a coroutine's, a signal handler's, a garbage collector's) may hold anything. */
static bool is_stack(const struct hawk_roots_finder *finder, const struct hawk_thread *thread,
		     uint64_t sp, const struct hawk_mapping *mapping)
{
	uint64_t top = hawk_target_stack_top(finder->heap->target);
	uint64_t tls = thread->thread_pointer;

	if (!top || (top >= mapping->start && top < mapping->end))
		return true;
	return thread->tid != hawk_target_process(finder->heap->target)->pid && tls > sp &&
	       tls < mapping->end && has_guard(finder, mapping);
}

/* Adds the own stack of a thread that runs on another one: all of it may be in use. */
static struct hawk_error *add_left_stack(const struct hawk_roots_finder *finder,
					 const struct hawk_stack *own, uint32_t owner)
{
	return hawk_roots_add_range(finder->ranges,
				    (struct hawk_root_range){.start = own->start,
							     .end = own->descriptor,
							     .kind = HAWK_ROOT_STACK,
							     .owner = owner});
}

static uint64_t word_at(const uint8_t *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Returns true if the kernel put `bytes` at `address` when it called a handler on an alternate
 * stack. */
static bool is_context(const struct hawk_arch_context *context, const uint8_t *bytes,
		       uint64_t address)
{
	uint64_t stack = word_at(bytes, context->stack);

	return word_at(bytes, 0) <= context->flags_max && !word_at(bytes, context->link) &&
	       stack <= address && address - stack < word_at(bytes, context->stack_bytes) &&
	       (word_at(bytes, context->mark) & UINT16_MAX) == context->mark_low;
}

/* Returns the lowest stack pointer in use. It is not `sp` in a signal handler whose stack is a
 * variable of an outer function: the interrupted code lies below that, but not below `start`. */
static uint64_t lowest_sp(const struct hawk_roots_finder *finder, uint64_t sp, uint64_t start)
{
	const struct hawk_arch_context *context = &hawk_target_arch(finder->heap->target)->context;
	uint8_t bytes[STEP_BYTES + CONTEXT_BYTES_MAX];
	uint64_t at = sp & -(uint64_t)HAWK_WORD_BYTES, lowest = sp;
	size_t size = STEP_BYTES;

	for (; size >= STEP_BYTES && at + STEP_BYTES <= sp + HANDLER_BYTES_MAX; at += STEP_BYTES) {
		size = hawk_target_read_some(finder->heap->target, at, bytes,
					     STEP_BYTES + context->bytes);
		for (size_t i = 0; i < STEP_BYTES && i + context->bytes <= size;
		     i += HAWK_WORD_BYTES) {
			uint64_t interrupted;

			if (!is_context(context, bytes + i, at + i))
				continue;
			interrupted = word_at(bytes + i, context->sp);
			if (interrupted >= start && interrupted < lowest)
				lowest = interrupted;
		}
	}
	return lowest;
}

/* Adds the live part of the stack, and claims the dead part below it for nobody. The stack ends at
 * the first of these: the end of its block or mapping, thread-local storage above it (as in glibc),
 * the next stack. */
struct hawk_error *hawk_roots_add_stack(const struct hawk_roots_finder *finder,
					const struct hawk_thread *thread, uint32_t owner)
{
	uint64_t sp = hawk_target_stack_start(finder->heap->target, thread);
	uint64_t tls = thread->thread_pointer;
	const struct hawk_mapping *mapping = hawk_target_mapping_at(finder->heap->target, sp);
	const struct hawk_stack *own = hawk_stacks_of(&finder->stacks, tls);
	struct hawk_root_range range = {.kind = HAWK_ROOT_STACK, .owner = owner};
	bool elsewhere = own && !(sp >= own->start && sp < own->descriptor);
	struct hawk_error *err = elsewhere ? add_left_stack(finder, own, owner) : NULL;
	bool interior, whole;
	uint32_t block = hawk_block_index_find(&finder->heap->index, sp, &interior);
	uint64_t red_zone = hawk_target_arch(finder->heap->target)->red_zone_bytes;

	if (err)
		return err;
	if (!mapping || sp - mapping->start >= mapping->present_bytes) {
		finder->ranges->threads_without_stack++;
		return NULL;
	}
	whole = !elsewhere && (own || is_stack(finder, thread, sp, mapping));
	range.end = hawk_stacks_next(&finder->stacks, sp + 1);
	if (range.end > mapping->end)
		range.end = mapping->end;
	if (tls > sp && tls < mapping->end && whole)
		range.end = tls_start(finder, sp, tls);
	if (whole)
		sp = lowest_sp(finder, sp, own ? own->start : mapping->start);
	range.start = sp - mapping->start > red_zone ? sp - red_zone : mapping->start;
	if (block != HAWK_BLOCK_NOWHERE) {
		uint64_t start = hawk_block_start(&finder->heap->index, block);

		range.in_block = true;
		range.end = start + hawk_block_size(&finder->heap->index, block);
		if (range.start < start)
			range.start = start;
	} else if (whole) {
		err = hawk_roots_claim_nobodys(finder, own ? own->start : mapping->start,
					       range.start);
	}
	return err ? err : hawk_roots_add_range(finder->ranges, range);
}

/* Returns the end of the last block that begins below `address`, 0 if none does. */
static uint64_t block_end_below(const struct hawk_roots_finder *finder, uint64_t address)
{
	uint32_t first = hawk_block_index_first(&finder->heap->index, address);

	if (!first)
		return 0;
	return hawk_block_start(&finder->heap->index, first - 1) +
	       hawk_block_size(&finder->heap->index, first - 1);
}

/* Adds memory around the thread pointer, up to the next block, the stack, or the end of the
 * mapping. */
struct hawk_error *hawk_roots_add_tls(const struct hawk_roots_finder *finder,
				      const struct hawk_thread *thread, uint32_t owner)
{
	uint64_t tls = thread->thread_pointer;
	uint64_t sp = hawk_target_stack_start(finder->heap->target, thread);
	const struct hawk_mapping *mapping = hawk_target_mapping_at(finder->heap->target, tls);
	const struct hawk_stack *own = hawk_stacks_of(&finder->stacks, tls);
	struct hawk_root_range range = {
		.kind = HAWK_ROOT_TLS,
		.owner = owner,
		.vector = hawk_tls_vector_of(hawk_target_arch(finder->heap->target), tls),
	};
	struct hawk_span around =
		hawk_tls_around(hawk_target_arch(finder->heap->target), tls, finder->tls_bytes);
	uint64_t below;

	if (!tls || !mapping)
		return NULL;
	range.start = around.start > mapping->start ? around.start : mapping->start;
	range.end = around.end < mapping->end ? around.end : mapping->end;
	if (own && own->end < range.end)
		range.end = own->end;
	below = block_end_below(finder, tls);
	if (below > tls)
		return NULL; /* a block holds no roots */
	if (below > range.start)
		range.start = below;
	if (sp >= mapping->start && sp < tls)
		range.start = tls_start(finder, sp, tls);
	return hawk_roots_add_range(finder->ranges, range);
}
