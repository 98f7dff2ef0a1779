/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What fuzz targets of allocators' walkers share: a heap is read from a compact description (see
 * sparse_core.h) by one walker, and what must hold whatever the input is asserted.
 */
#ifndef WALKER_INPUT_H
#define WALKER_INPUT_H

#include <stdlib.h>

#include "hawk/analysis/balance.h"
#include "hawk/analysis/fragmentation.h"
#include "hawk/heap/allocator.h"
#include "hawk/heap/heap.h"
#include "hawk/heap/source.h"
#include "hawk/heap/verify.h"
#include "sparse_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require_order(const struct hawk_heap *heap)
{
	uint64_t end = 0;

	for (size_t i = 0; i < heap->spans.count; i++) {
		const struct hawk_heap_span *span = &heap->spans.items[i];

		if (span->start < end || span->start >= span->end)
			abort();
		end = span->end;
	}
}

/** Parts add up to the whole, even if they lie. */
static inline void require_sums(const struct hawk_heap *heap)
{
	struct hawk_balance balance;
	struct hawk_fragmentation free;
	uint64_t sum = 0;

	if (hawk_balance_make(heap, heap, &balance, &free))
		abort();
	for (unsigned i = 0; i < HAWK_USES; i++)
		sum += balance.uses[i];
	if (sum != balance.bytes + balance.excess)
		abort();
	if (free.free_bytes != free.whole_bytes + free.given_back_bytes + free.cached_bytes +
				       free.pinned_bytes + free.scattered_bytes)
		abort();
	hawk_balance_deinit(&balance);
	hawk_fragmentation_deinit(&free);
}

static inline void verify(const struct hawk_heap *heap, struct hawk_findings *findings)
{
	struct hawk_heap_check check;
	struct hawk_damages damages = {0};

	if (hawk_heap_check_begin(heap, findings, &check) ||
	    hawk_heap_check_damages(&check, &damages))
		abort();
	hawk_damages_deinit(&damages);
	hawk_heap_check_end(&check);
}

static inline void read_by_walker(const struct hawk_heap_source *source, const uint8_t *data,
				  size_t size)
{
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_heap heap;

	hawk_findings_init(&findings);
	target = sparse_core_open(data, size, &findings);
	if (hawk_heap_load_from(&source, 1, target, &findings, &heap))
		abort();
	require_order(&heap);
	require_sums(&heap);
	if (heap.found_count &&
	    heap.sums.blocks > heap.allocators[0].objects[HAWK_PIECE_LIVE] +
				       heap.allocators[0].objects[HAWK_PIECE_INTERNAL])
		abort();
	verify(&heap, &findings);
	hawk_heap_deinit(&heap);
	hawk_target_close(target);
	hawk_findings_deinit(&findings);
}

#endif
