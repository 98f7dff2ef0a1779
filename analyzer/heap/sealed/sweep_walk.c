/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cuts the memory to sweep into shares, in ascending order.
 */
#include "sweep_state.h"

#include "hawk/base/numbers.h"

static uint64_t granule_down(uint64_t address)
{
	return address & -(uint64_t)HAWK_GRANULE_BYTES;
}

static uint64_t granule_up(uint64_t address)
{
	return granule_down(address + HAWK_GRANULE_BYTES - 1);
}

/* Returns the present part of a mapping, in whole granules. */
static struct hawk_span present_span(const struct hawk_mapping *mapping)
{
	uint64_t present = hawk_least(mapping->present_bytes, mapping->end - mapping->start);
	uint64_t end = granule_down(mapping->start + present);
	uint64_t start = granule_up(mapping->start);

	if (start < mapping->start || start > end)
		start = end;
	return (struct hawk_span){start, end};
}

void hawk_sweep_walk_init(struct hawk_sweep_walk *walk, const struct hawk_target *target,
			  const struct hawk_sweep_plan *plan, size_t bytes)
{
	*walk = (struct hawk_sweep_walk){
		.target = target,
		.plan = plan,
		.share_bytes = bytes ? HAWK_SCAN_PAGE_BYTES : HAWK_SWEEP_SHARE_BYTES,
	};
	while (2 * walk->share_bytes <= hawk_least(bytes, HAWK_SWEEP_SHARE_BYTES_MAX))
		walk->share_bytes *= 2;
	walk->mappings = hawk_target_mappings(target, &walk->mapping_count);
	for (size_t i = 0; i < walk->mapping_count; i++)
		if (hawk_scan_wants(&walk->mappings[i])) {
			struct hawk_span span = present_span(&walk->mappings[i]);

			walk->all_bytes += span.end - span.start;
		}
}

static bool next_mapping(struct hawk_sweep_walk *walk)
{
	while (walk->mapping_next < walk->mapping_count) {
		const struct hawk_mapping *mapping = &walk->mappings[walk->mapping_next++];
		struct hawk_span span = present_span(mapping);

		if (!hawk_scan_wants(mapping))
			continue;
		walk->at = span.start;
		walk->mapping_end = span.end;
		walk->excluded = 0;
		return true;
	}
	return false;
}

/* Steps over an excluded span. */
static void step_over(struct hawk_sweep_walk *walk, const struct hawk_span *excluded)
{
	uint64_t end = granule_up(excluded->end);

	walk->at = end < excluded->end ? walk->mapping_end : end;
	walk->excluded++;
}

/* Advances to the memory before the next excluded span or the mapping's end. */
static bool next_span(struct hawk_sweep_walk *walk)
{
	for (;;) {
		const struct hawk_span *excluded;

		if (walk->at >= walk->mapping_end) {
			if (!next_mapping(walk))
				return false;
			continue;
		}
		walk->span_end = walk->mapping_end;
		if (walk->excluded == walk->plan->excluded_count)
			return true;
		excluded = &walk->plan->excluded[walk->excluded];
		if (excluded->start >= walk->mapping_end)
			return true;
		walk->span_end = granule_down(excluded->start);
		if (walk->span_end > walk->at)
			return true;
		if (excluded->end > walk->at)
			step_over(walk, excluded);
		else
			walk->excluded++;
	}
}

/* Advances to the next data of the span. */
static void next_data(struct hawk_sweep_walk *walk)
{
	uint64_t start = walk->span_end;
	uint64_t end = walk->span_end;

	if (!hawk_target_next_data(walk->target, walk->at, walk->span_end, &start, &end))
		start = end = walk->span_end;
	walk->hole = walk->at;
	walk->at = granule_down(start);
	walk->data_end = granule_up(end);
}

bool hawk_sweep_walk_next(struct hawk_sweep_walk *walk, struct hawk_sweep_share *ret)
{
	uint64_t end;

	if (walk->at >= walk->data_end) {
		if (walk->at >= walk->span_end && !next_span(walk))
			return false;
		next_data(walk);
	}
	end = (walk->at & -walk->share_bytes) + walk->share_bytes;
	*ret = (struct hawk_sweep_share){
		.mapping = walk->mapping_next - 1,
		.hole = walk->hole,
		.start = walk->at,
		.end = end > walk->at ? hawk_least(end, walk->data_end) : walk->data_end,
		.data_end = walk->data_end,
	};
	walk->at = walk->hole = ret->end;
	return true;
}
