/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Divides touched memory outside of heaps: stacks of threads, and anonymous mappings that nobody
 * known has. Stacks are known by the C library; the first thread's is the kernel's.
 */
#include "hawk/heap/heap.h"

#include "hawk/heap/touched.h"
#include "hawk/libc/stacks.h"
#include "walker.h"

/* glibc keeps so much of ended threads' stacks for new ones, unless glibc.pthread.stack_cache_size
 * says otherwise. More are of threads that were neither joined nor detached. */
static const uint64_t KEPT_BYTES = UINT64_C(40) << 20;

static uint64_t touched_of(const struct hawk_touched *touched, const struct hawk_claims *claims)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < claims->count; i++)
		sum += hawk_touched_between(touched, claims->items[i].start, claims->items[i].end);
	return sum;
}

static struct hawk_error *add_first_stack(const struct hawk_target *target,
					  struct hawk_claims *claims)
{
	const struct hawk_mapping *mapping =
		hawk_target_mapping_at(target, hawk_target_stack_top(target) - 1);

	return mapping ? hawk_claims_add(claims, mapping->start, mapping->end) : NULL;
}

/* Sums stacks up, and adds them to what is known. */
static struct hawk_error *add_stacks(const struct hawk_target *target,
				     const struct hawk_touched *touched, struct hawk_claims *known,
				     struct hawk_outside *ret)
{
	struct hawk_stacks stacks = {0};
	struct hawk_claims live = {0}, ended = {0};
	uint64_t reserved = 0;
	struct hawk_error *err = hawk_stacks_find(target, &stacks);

	if (!err)
		err = add_first_stack(target, &live);
	for (size_t i = 0; i < stacks.count && !err; i++) {
		const struct hawk_stack *stack = &stacks.items[i];

		err = hawk_claims_add(stack->ended ? &ended : &live, stack->start, stack->end);
		if (!err)
			err = hawk_claims_add(known, stack->start, stack->end);
		if (stack->ended) {
			ret->ended_stacks++;
			reserved += stack->end - stack->start;
		}
	}
	hawk_claims_sort(&live);
	hawk_claims_sort(&ended);
	ret->stack_bytes = touched_of(touched, &live);
	if (reserved > KEPT_BYTES)
		ret->ended_stack_bytes = touched_of(touched, &ended);
	else
		ret->ended_stacks = 0;
	hawk_claims_deinit(&live);
	hawk_claims_deinit(&ended);
	hawk_stacks_deinit(&stacks);
	return err ? err : add_first_stack(target, known);
}

static struct hawk_error *add_extents(const struct hawk_heap *heap, struct hawk_claims *known)
{
	size_t count = 0;
	const struct hawk_table_extent *extents =
		heap->table ? hawk_table_extents(heap->table, &count) : NULL;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++)
		err = hawk_claims_add(known, extents[i].address,
				      extents[i].address + extents[i].bytes);
	return err;
}

/* Sums the run's bytes that lie in anonymous mappings and are not known. */
static uint64_t unknown_of(const struct hawk_target *target, const struct hawk_touched_run *run,
			   const struct hawk_claims *known)
{
	uint64_t at = run->start, sum = 0;

	while (at < run->end) {
		const struct hawk_claim *claim = hawk_claims_from(known, at);
		const struct hawk_mapping *mapping = hawk_target_mapping_at(target, at);
		uint64_t end = mapping && mapping->end < run->end ? mapping->end : run->end;

		if (claim && claim->start <= at) {
			at = claim->end;
			continue;
		}
		if (claim && claim->start < end)
			end = claim->start;
		if (mapping && hawk_is_anonymous(target, mapping))
			sum += end - at;
		at = end;
	}
	return sum;
}

struct hawk_error *hawk_outside_find(const struct hawk_heap *heap,
				     const struct hawk_touched *touched, struct hawk_outside *ret)
{
	struct hawk_claims known = {0};
	struct hawk_error *err = hawk_claims_of_spans(&heap->spans, &known);

	if (!err)
		err = add_stacks(heap->target, touched, &known, ret);
	if (!err)
		err = add_extents(heap, &known);
	hawk_claims_sort(&known);
	for (size_t i = 0; i < touched->count && !err; i++)
		ret->unknown_bytes += unknown_of(heap->target, &touched->runs[i], &known);
	hawk_claims_deinit(&known);
	return err;
}
