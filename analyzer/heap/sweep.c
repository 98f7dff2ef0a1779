/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep: mappings, minus excluded spans, window by window, page by page. What becomes of the
 * headers found is in sweep_blocks.c.
 */
#include "hawk_sweep.h"

#include "hawk_cleanup.h"
#include "hawk_sweep_state.h"

#include <stdlib.h>
#include <string.h>

static void hawk_cleanup_sweep(struct hawk_sweep_state **sweep)
{
	if (!*sweep)
		return;
	hawk_scan_window_deinit(&(*sweep)->window);
	free((*sweep)->extents);
	free(*sweep);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bytes from `address` to the end of its page. */
static uint64_t page_left(uint64_t address)
{
	return HAWK_SCAN_PAGE_BYTES - address % HAWK_SCAN_PAGE_BYTES;
}

static struct hawk_error *take_pages(struct hawk_sweep_state *sweep, const uint8_t *bytes,
				     size_t size, uint64_t address)
{
	for (size_t done = 0; done < size;) {
		size_t part = least(size - done, page_left(address + done));
		struct hawk_error *err =
			hawk_sweep_take_page(sweep, bytes + done, part, address + done);

		if (err)
			return err;
		done += part;
	}
	return NULL;
}

static uint64_t granule_up(uint64_t address)
{
	return (address + HAWK_GRANULE_BYTES - 1) & -(uint64_t)HAWK_GRANULE_BYTES;
}

/* [start, end) of one stretch of data; what cannot be read is skipped page by page. Windows end at
 * page boundaries, wherever the stretch begins. */
static struct hawk_error *sweep_stretch(struct hawk_sweep_state *sweep, uint64_t start,
					uint64_t end)
{
	uint64_t step;

	for (uint64_t at = start; at < end; at += step) {
		const uint8_t *bytes;
		size_t got;
		struct hawk_error *err;

		step = least(end - at, sweep->window.window_bytes - at % HAWK_SCAN_PAGE_BYTES);
		err = hawk_scan_window_read(&sweep->window, at, step, &bytes, &got);
		if (!err)
			err = take_pages(sweep, bytes, got, at);
		if (err)
			return err;
		sweep->result.swept_bytes += got;
		if (got < step)
			step = least(step, got + page_left(at + got));
		if (sweep->progress)
			sweep->progress(sweep->progress_context, sweep->result.swept_bytes,
					sweep->all_bytes);
	}
	return NULL;
}

/* A hole of a sparse core: zeros that need not be looked at. */
static void take_hole(struct hawk_sweep_state *sweep, uint64_t start, uint64_t end)
{
	const struct hawk_sweep_resolver *resolver = &sweep->resolver;

	sweep->result.swept_bytes += end - start;
	if (hawk_sweep_covered_end(resolver) > start)
		start = least(hawk_sweep_covered_end(resolver), end);
	sweep->mapping_zero_bytes += end - start;
}

/* [start, end) of one mapping, in whole granules. */
static struct hawk_error *sweep_span(struct hawk_sweep_state *sweep, uint64_t start, uint64_t end)
{
	uint64_t data_start;
	uint64_t data_end;

	for (uint64_t at = start; at < end; at = data_end) {
		struct hawk_error *err;

		if (!hawk_target_next_data(sweep->target, at, end, &data_start, &data_end))
			data_start = data_end = end;
		data_start &= -(uint64_t)HAWK_GRANULE_BYTES;
		data_end = granule_up(data_end);
		take_hole(sweep, at, data_start);
		err = sweep_stretch(sweep, data_start, data_end);
		if (err)
			return err;
	}
	return NULL;
}

/* What is there of a mapping, in whole granules. */
static struct hawk_span present_span(const struct hawk_mapping *mapping)
{
	uint64_t present = least(mapping->present_bytes, mapping->end - mapping->start);
	uint64_t end = (mapping->start + present) & -(uint64_t)HAWK_GRANULE_BYTES;
	uint64_t start = granule_up(mapping->start);

	if (start < mapping->start || start > end)
		start = end;
	return (struct hawk_span){start, end};
}

static struct hawk_error *sweep_mapping(struct hawk_sweep_state *sweep,
					const struct hawk_mapping *mapping)
{
	const struct hawk_sweep_plan *plan = sweep->plan;
	struct hawk_span span = present_span(mapping);
	uint64_t swept_before = sweep->result.swept_bytes;
	uint64_t at = span.start;
	struct hawk_error *err;

	sweep->mapping_zero_bytes = 0;
	sweep->mapping_is_heap = hawk_sweep_covered_end(&sweep->resolver) > mapping->start;
	for (size_t i = 0; i < plan->excluded_count && at < span.end; i++) {
		if (plan->excluded[i].end <= at)
			continue;
		if (plan->excluded[i].start >= span.end)
			break;
		if (plan->excluded[i].start > at) {
			err = sweep_span(sweep, at,
					 plan->excluded[i].start & -(uint64_t)HAWK_GRANULE_BYTES);
			if (err)
				return err;
		}
		at = granule_up(plan->excluded[i].end);
	}
	if (at < span.end) {
		err = sweep_span(sweep, at, span.end);
		if (err)
			return err;
	}
	if (sweep->mapping_is_heap) {
		sweep->result.heap_bytes += sweep->result.swept_bytes - swept_before;
		sweep->result.heap_zero_bytes += sweep->mapping_zero_bytes;
	}
	return NULL;
}

static struct hawk_error *sweep_all(struct hawk_sweep_state *sweep)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(sweep->target, &count);
	struct hawk_error *err;

	for (size_t i = 0; i < count; i++)
		if (hawk_scan_wants(&mappings[i])) {
			struct hawk_span span = present_span(&mappings[i]);

			sweep->all_bytes += span.end - span.start;
		}
	for (size_t i = 0; i < count; i++) {
		if (!hawk_scan_wants(&mappings[i]))
			continue;
		sweep->extent = &sweep->extents[i];
		err = sweep_mapping(sweep, &mappings[i]);
		if (err)
			return err;
	}
	return hawk_sweep_finish(sweep);
}

static void report_findings(const struct hawk_sweep_result *result, struct hawk_findings *findings)
{
	if (result->overlapping)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, false, "block-overlap",
				  "%llu sealed headers overlap a younger block and were set aside",
				  (unsigned long long)result->overlapping);
	if (result->implausible)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "block-implausible",
				  "%llu sealed headers have a size, trace, birth or alignment that "
				  "cannot be and were left out",
				  (unsigned long long)result->implausible);
	if (result->clipped)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "block-clipped",
				  "the end of %llu live blocks is not in the core",
				  (unsigned long long)result->clipped);
}

struct hawk_error *hawk_sweep(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
			      hawk_sweep_function *function, void *context,
			      void (*progress)(void *context, uint64_t done, uint64_t all),
			      void *progress_context, struct hawk_findings *findings,
			      struct hawk_sweep_result *ret)
{
	CLEANUP(sweep) struct hawk_sweep_state *sweep = NULL;
	struct hawk_error *err;

	sweep = calloc(1, sizeof(*sweep));
	if (!sweep)
		return &hawk_enomem;
	sweep->target = target;
	sweep->plan = plan;
	sweep->function = function;
	sweep->context = context;
	sweep->progress = progress;
	sweep->progress_context = progress_context;
	hawk_scan_window_init(&sweep->window, target, plan->window_bytes);
	err = hawk_extents_create(target, &sweep->extents);
	if (err)
		return err;
	err = sweep_all(sweep);
	if (err)
		return err;
	report_findings(&sweep->result, findings);
	*ret = sweep->result;
	return NULL;
}
