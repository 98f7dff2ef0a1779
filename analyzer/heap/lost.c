/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts blocks whose traces are missing from the table or unreadable.
 */
#include "hawk/heap/lost.h"

#include "hawk/base/quantity.h"

static bool is_lost(const struct hawk_heap *heap, uint32_t trace)
{
	return trace >= heap->trace_count || heap->site_of_trace[trace] == heap->lost_site;
}

void hawk_heap_lost_take(struct hawk_heap_lost *lost, const struct hawk_block *blocks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct hawk_block *block = &blocks[i];

		lost->latest[block->depth] = is_lost(lost->heap, block->trace);
		if (lost->latest[block->depth]) {
			lost->objects++;
			lost->bytes += block->size;
		}
		if (block->depth && lost->latest[block->depth - 1])
			lost->bytes -= block->size + HAWK_HEADER_BYTES;
	}
}

void hawk_heap_lost_report(const struct hawk_heap *heap, uint64_t objects, uint64_t bytes,
			   struct hawk_findings *findings)
{
	if (objects && heap->knows & HAWK_HEAP_STACKS &&
	    !(heap->table && hawk_table_is_twin(heap->table)))
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "stack-lost",
				  "the stacks of %s live blocks (%s) cannot be read",
				  hawk_quantity_count(objects).text,
				  hawk_quantity_bytes(bytes).text);
}
