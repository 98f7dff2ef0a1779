/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One sweep folded into sites: a few additions per block, whatever the number of blocks.
 */
#include "hawk_sites.h"

#include "hawk_site_map.h"

#include <stdlib.h>
#include <string.h>

/* Everything of the tracer's but the blocks that it handed out itself; overlapping extents of a
 * damaged table become one span. */
static struct hawk_error *make_excluded(const struct hawk_table *table,
					struct hawk_sweep_plan *plan)
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
	plan->excluded = spans;
	plan->excluded_count = used;
	return NULL;
}

static struct hawk_error *load(struct hawk_target *target, struct hawk_findings *findings,
			       struct hawk_heap *heap)
{
	struct hawk_error *err = hawk_table_find(target, findings, &heap->table);

	if (err || !heap->table)
		return err;
	heap->plan.key = hawk_table_header(heap->table)->key;
	heap->plan.trace_count = hawk_table_trace_limit(heap->table);
	heap->plan.birth_max = hawk_table_birth_limit(heap->table);
	heap->totals = hawk_table_totals(heap->table);
	err = make_excluded(heap->table, &heap->plan);
	return err ? err : hawk_site_map_make(heap);
}

static struct hawk_error *add_blocks(void *context, const struct hawk_block *blocks, size_t count)
{
	struct hawk_heap *heap = context;

	for (size_t i = 0; i < count; i++) {
		const struct hawk_block *block = &blocks[i];
		uint32_t index = block->trace < heap->trace_count
					 ? heap->site_of_trace[block->trace]
					 : HAWK_SITE_MAP_LOST;
		struct hawk_site *site = &heap->sites[index];
		uint64_t birth = hawk_birth_decode(block->birth);

		site->inuse_objects++;
		site->inuse_bytes += block->size;
		if (birth < site->oldest_units)
			site->oldest_units = birth;
		if (birth > site->newest_units)
			site->newest_units = birth;
	}
	return NULL;
}

static void report_lost(const struct hawk_heap *heap, struct hawk_findings *findings)
{
	const struct hawk_site *lost = &heap->sites[HAWK_SITE_MAP_LOST];

	if (lost->inuse_objects && !hawk_table_is_twin(heap->table))
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "stack-lost",
				  "the stacks of %llu live blocks (%llu bytes) cannot be read",
				  (unsigned long long)lost->inuse_objects,
				  (unsigned long long)lost->inuse_bytes);
}

static struct hawk_error *sweep(struct hawk_target *target, struct hawk_findings *findings,
				void (*progress)(void *context, uint64_t done, uint64_t all),
				void *progress_context, struct hawk_heap *heap)
{
	struct hawk_error *err = hawk_sweep(target, &heap->plan, add_blocks, heap, progress,
					    progress_context, findings, &heap->sweep);

	if (!err)
		err = hawk_accounting_make(target, heap->table, &heap->sweep, &heap->accounting);
	if (err)
		return err;
	report_lost(heap, findings);
	return hawk_site_map_finish(heap, true);
}

struct hawk_error *hawk_heap_load(struct hawk_target *target, struct hawk_findings *findings,
				  void (*progress)(void *context, uint64_t done, uint64_t all),
				  void *progress_context, struct hawk_heap *ret)
{
	struct hawk_heap heap = {0};
	struct hawk_error *err = load(target, findings, &heap);

	if (!err && heap.table)
		err = sweep(target, findings, progress, progress_context, &heap);
	hawk_target_release(target);
	if (err) {
		hawk_heap_deinit(&heap);
		return err;
	}
	*ret = heap;
	return NULL;
}

struct hawk_error *hawk_heap_load_table(struct hawk_target *target, struct hawk_findings *findings,
					struct hawk_heap *ret)
{
	struct hawk_heap heap = {0};
	struct hawk_error *err = load(target, findings, &heap);

	if (!err && heap.table)
		err = hawk_site_map_finish(&heap, false);
	if (err) {
		hawk_heap_deinit(&heap);
		return err;
	}
	*ret = heap;
	return NULL;
}

void hawk_heap_deinit(struct hawk_heap *heap)
{
	hawk_table_close(heap->table);
	free((void *)heap->plan.excluded);
	free(heap->sites);
	free(heap->site_of_trace);
	memset(heap, 0, sizeof(*heap));
}

double hawk_heap_age_seconds(const struct hawk_heap *heap, uint64_t birth_units)
{
	uint64_t now = heap->table ? hawk_table_header(heap->table)->clock_units : 0;

	if (birth_units >= now)
		return 0;
	return (double)(now - birth_units) * ((double)HAWK_BIRTH_UNIT_NS / 1e9);
}
