/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts allocations minus frees, trace by trace. A process may die in the middle of a call. So a
 * trace may have one free too many for each thread, which counts as no live block.
 */
#include "counted.h"

#include "hawk/base/cleanup.h"
#include "hawk_sampling.h"
#include "site_map.h"
#include "site_samples.h"

#include <stdlib.h>

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void add_traces(struct hawk_heap *heap, const struct hawk_trace_counters *counters)
{
	for (uint32_t id = 0; id < heap->trace_count; id++) {
		struct hawk_site *site = &heap->sites[heap->site_of_trace[id]];
		uint64_t objects = minus(counters[id].alloc_objects, counters[id].free_objects);
		uint64_t bytes = minus(counters[id].alloc_bytes, counters[id].free_bytes);

		site->inuse_objects += objects;
		site->inuse_bytes += bytes;
		heap->sums.blocks += objects;
		heap->sums.bytes += bytes;
	}
}

/* Estimates live blocks with sample=. Only the sum of sampled sizes is known, so the error is that
 * of blocks of equal size. */
static struct hawk_error *apply_samples(struct hawk_heap *heap,
					const struct hawk_trace_counters *counters)
{
	CLEANUP(free_ptr)
	struct hawk_sample_tally *tallies = calloc((size_t)heap->trace_count + 1, sizeof(*tallies));

	if (!tallies)
		return &hawk_enomem;
	for (uint32_t id = 1; heap->sample_mean && id < heap->trace_count; id++) {
		struct hawk_sample_record record = hawk_table_sample(heap->table, id);
		struct hawk_sample_tally *tally = &tallies[id];
		uint64_t sampled = minus(counters[id].alloc_objects, counters[id].free_objects);
		double weight;

		tally->weight = minus(record.alloc_weight, record.free_weight);
		tally->bytes = minus(record.alloc_bytes, record.free_bytes);
		if (!sampled)
			continue;
		weight = (double)tally->weight / (1 << HAWK_SAMPLE_WEIGHT_SHIFT) / (double)sampled;
		tally->objects_variance = (double)sampled * weight * (weight > 1 ? weight - 1 : 0);
		tally->bytes_variance = (double)tally->bytes * (double)heap->sample_mean;
	}
	return hawk_site_samples_apply(heap, tallies);
}

static void name_program(struct hawk_target *target, const struct hawk_table *table)
{
	size_t count;
	const struct hawk_table_module *modules = hawk_table_modules(table, &count);

	for (size_t i = 0; i < count; i++)
		if (modules[i].flags & HAWK_MODULE_MAIN && modules[i].path)
			hawk_target_name_program(target, modules[i].path);
}

struct hawk_error *hawk_heap_count(struct hawk_target *target, struct hawk_findings *findings,
				   struct hawk_heap *heap)
{
	CLEANUP(free_ptr) struct hawk_trace_counters *counters = NULL;
	struct hawk_error *err = hawk_table_counters(heap->table, &counters);

	name_program(target, heap->table);
	if (!(hawk_table_header(heap->table)->compatible_flags & HAWK_TABLE_LIVE_COUNTERS))
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "table-not-live",
				  "this table has no counters of frees: all sizes are totals ever "
				  "allocated, not live memory");
	if (!err)
		err = hawk_site_map_make(heap);
	if (err)
		return err;
	add_traces(heap, counters);
	err = apply_samples(heap, counters);
	if (err)
		return err;
	return hawk_site_map_finish(heap);
}
