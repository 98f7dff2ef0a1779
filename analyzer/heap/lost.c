/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reports the number of blocks whose traces are missing from the table or unreadable.
 */
#include "hawk/heap/lost.h"

#include "hawk/base/quantity.h"

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
