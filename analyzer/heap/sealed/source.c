/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sealed headers as the source of a heap: the table says what to look for, the sweep finds it.
 */
#include "hawk/heap/heap.h"

#include "hawk/base/progress.h"
#include "hawk/libc/chunk.h"
#include "scan.h"
#include "sweep.h"

#include <stdlib.h>

/* Everything of the tracer's but the blocks that it handed out itself; overlapping extents of a
 * damaged table become one span. */
static struct hawk_error *make_metadata(const struct hawk_table *table,
					struct hawk_heap_regions *regions)
{
	size_t count;
	const struct hawk_table_extent *extents = hawk_table_extents(table, &count);
	struct hawk_span *spans = calloc(count + 1, sizeof(*spans));
	size_t used = 0;

	if (!spans)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++) {
		struct hawk_span span = {extents[i].address, extents[i].address + extents[i].bytes};

		if (extents[i].kind == HAWK_EXTENT_BOOTSTRAP)
			continue;
		if (used && span.start <= spans[used - 1].end) {
			if (span.end > spans[used - 1].end)
				spans[used - 1].end = span.end;
			continue;
		}
		spans[used++] = span;
	}
	regions->metadata = (struct hawk_spans){spans, used};
	return NULL;
}

/* Of the twin only what never changes is of use. */
static struct hawk_error *make_undumped(const struct hawk_table *table,
					struct hawk_heap_regions *regions)
{
	const struct hawk_table_header *header = hawk_table_header(table);
	struct hawk_span *spans;

	if (hawk_table_is_twin(table))
		return NULL;
	spans = calloc(HAWK_TABLE_UNDUMPED, sizeof(*spans));
	if (!spans)
		return &hawk_enomem;
	regions->undumped.items = spans;
	regions->undumped_known = header->undumped_watched == 1 && !header->undumped_lost;
	for (size_t i = 0; i < HAWK_TABLE_UNDUMPED; i++) {
		const struct hawk_table_undumped *range = &header->undumped[i];

		if (range->start && range->end)
			spans[regions->undumped.count++] =
				(struct hawk_span){range->start, range->end};
		else if (range->start)
			regions->undumped_known = false;
	}
	return NULL;
}

static void report_discarded(const struct hawk_heap *heap, struct hawk_findings *findings)
{
	static const char outcome[] = "blocks that lay there still count as live and look lost, so "
				      "nothing is called lost";
	unsigned long long times = heap->discarded_heaps;

	if (times == 1)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "heaps-discarded",
				  "an arena of the allocator was reset or destroyed: until its "
				  "memory is used again, %s",
				  outcome);
	else if (times)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "heaps-discarded",
				  "arenas of the allocator were reset or destroyed %llu times: "
				  "until their memory is used again, %s",
				  times, outcome);
}

static struct hawk_error *find(const struct hawk_heap_source *source, struct hawk_heap *heap,
			       struct hawk_findings *findings, bool *ret)
{
	struct hawk_target *target = heap->target;
	const struct hawk_table_header *header;
	struct hawk_error *err = hawk_table_find(hawk_target_table(target), findings, &heap->table);

	(void)source;
	*ret = heap->table;
	if (err || !heap->table)
		return err;
	header = hawk_table_header(heap->table);
	heap->knows = HAWK_HEAP_STACKS | HAWK_HEAP_COUNTERS;
	if (!hawk_target_process(target)->table_file)
		heap->knows |= HAWK_HEAP_AGES | HAWK_HEAP_CONTENTS | HAWK_HEAP_EXACT |
			       HAWK_HEAP_BLOCKS | HAWK_HEAP_ACCOUNTING;
	heap->totals = hawk_table_totals(heap->table);
	heap->dropped_objects = header->dropped_objects;
	heap->dropped_bytes = header->dropped_bytes;
	heap->discarded_heaps = header->discarded_heaps;
	report_discarded(heap, findings);
	heap->sample_mean = hawk_table_sample_mean(heap->table);
	heap->trace_count = header->trace_count;
	heap->life = hawk_life_find(header, &hawk_target_process(target)->end);
	err = make_undumped(heap->table, &heap->regions);
	return err ? err : make_metadata(heap->table, &heap->regions);
}

static struct hawk_sweep_plan plan_of(const struct hawk_heap *heap)
{
	return (struct hawk_sweep_plan){
		.key = hawk_table_header(heap->table)->key,
		.trace_count = hawk_table_trace_limit(heap->table),
		.birth_max = hawk_table_birth_limit(heap->table),
		.excluded = heap->regions.metadata,
	};
}

static void report_reading(void *context, uint64_t done, uint64_t all)
{
	(void)context;
	hawk_progress_reach_of(done, all);
}

static struct hawk_error *walk(const struct hawk_heap *heap, unsigned threads,
			       const struct hawk_heap_sink *sink, struct hawk_findings *findings,
			       struct hawk_heap_sums *ret)
{
	struct hawk_sweep_plan plan = plan_of(heap);
	struct hawk_sweep_result result;
	struct hawk_progress progress;
	struct hawk_error *err;

	hawk_progress_begin_bytes(&progress, "reading memory", 0);
	err = hawk_sweep_parallel(heap->target, &plan, threads, sink, report_reading, NULL,
				  findings, &result);
	hawk_progress_end(&progress);
	if (!err)
		*ret = result.sums;
	return err;
}

static enum hawk_block_state at(const struct hawk_heap *heap, uint64_t address,
				struct hawk_block *ret)
{
	struct hawk_sweep_plan plan = plan_of(heap);

	return hawk_block_at(heap->target, &plan, address, ret);
}

/* Below the header: padding, then what the allocator writes in front of its blocks. */
static bool extent(const struct hawk_target *target, const struct hawk_block *block,
		   struct hawk_span *ret)
{
	struct hawk_block sealed = {.start = block->start};
	uint64_t word;

	if (hawk_target_read_some(target, block->start - HAWK_HEADER_BYTES, &word, sizeof(word)) !=
	    sizeof(word))
		return false;
	sealed.offset_code = (uint8_t)hawk_header_offset_code(word);
	return hawk_chunk_heap(target, block->start - hawk_scan_offset_bytes(target, &sealed),
			       block->start + block->size, ret);
}

const struct hawk_heap_source hawk_heap_sealed = {
	.name = "sweep",
	.has_headers = true,
	.find = find,
	.walk = walk,
	.at = at,
	.extent = extent,
};
