/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep: mappings, minus excluded spans, window by window, page by page; then the headers found
 * pass a resolver that sets aside the older one of two that overlap.
 */
#include "hawk_sweep.h"

#include "hawk_cleanup.h"
#include "hawk_extent.h"
#include "hawk_scan.h"

#include <stdlib.h>
#include <string.h>

enum { BIRTHS = 256 };

/**
 * Decides which of overlapping blocks is set aside; blocks come in ascending order.
 *
 * A block can be set aside by a later one only as long as that begins before its end, and then one
 * of the two is out at once: so at most one block is ever undecided. An earlier one, whatever
 * became of it, sets aside a later one if it is younger and reaches into it: for that the furthest
 * end by birth is enough.
 */
struct resolver {
	uint64_t furthest[BIRTHS]; /**< end of sealed blocks by birth code */
	uint64_t furthest_of_all;
	bool has_candidate; /**< the undecided block, in the batch behind the kept ones */
	bool candidate_clipped;
	uint64_t candidate_end;
	uint8_t candidate_birth;
};

struct sweep {
	const struct hawk_target *target;
	const struct hawk_sweep_plan *plan;
	hawk_sweep_function *function;
	void *context;
	void (*progress)(void *context, uint64_t done, uint64_t all);
	void *progress_context;
	uint64_t all_bytes;

	struct hawk_extent *extents;      /**< one for each mapping */
	const struct hawk_extent *extent; /**< of the mapping at hand */
	uint64_t mapping_zero_bytes; /**< heap_zero_bytes, if the mapping at hand proves to be heap
				      */
	bool mapping_is_heap;

	struct hawk_scan_window window;
	struct hawk_scan_page page;
	struct resolver resolver;
	struct hawk_sweep_result result;
	size_t batch_count;
	/* Kept blocks, the candidate, and the block at hand, which is decoded where it will stay.
	 */
	struct hawk_block batch[HAWK_SWEEP_BATCH + 1];
};

static void hawk_cleanup_sweep(struct sweep **sweep)
{
	if (!*sweep)
		return;
	hawk_scan_window_deinit(&(*sweep)->window);
	free((*sweep)->extents);
	free(*sweep);
}

/* Sums are made here and not block by block: it is half as dear. */
static struct hawk_error *flush_batch(struct sweep *sweep)
{
	struct hawk_sweep_result *result = &sweep->result;
	size_t count = sweep->batch_count;

	for (size_t i = 0; i < count; i++) {
		result->bytes += sweep->batch[i].size;
		result->header_bytes += hawk_scan_offset_bytes(sweep->target, &sweep->batch[i]);
	}
	result->blocks += count;
	sweep->batch_count = 0;
	return count ? sweep->function(sweep->context, sweep->batch, count) : NULL;
}

/* The candidate can no longer be overlapped: it is a result. */
static inline struct hawk_error *keep_candidate(struct sweep *sweep)
{
	if (!sweep->resolver.has_candidate)
		return NULL;
	sweep->resolver.has_candidate = false;
	sweep->result.clipped += sweep->resolver.candidate_clipped;
	return ++sweep->batch_count == HAWK_SWEEP_BATCH ? flush_batch(sweep) : NULL;
}

static inline void set_candidate(struct sweep *sweep, const struct hawk_block *block)
{
	struct resolver *resolver = &sweep->resolver;

	assert(!resolver->has_candidate && sweep->batch_count < HAWK_SWEEP_BATCH);
	if (block != &sweep->batch[sweep->batch_count])
		sweep->batch[sweep->batch_count] = *block;
	resolver->has_candidate = true;
	resolver->candidate_end = block->start + block->size;
	resolver->candidate_birth = block->birth;
	resolver->candidate_clipped = resolver->candidate_end > sweep->extent->present_end;
}

static bool younger_reaches(const struct resolver *resolver, unsigned birth, uint64_t address)
{
	for (unsigned b = birth + 1; b < BIRTHS; b++)
		if (resolver->furthest[b] > address)
			return true;
	return false;
}

/* The block's header lies below the end of an earlier block. Sets `*out` if it is set aside. */
static __attribute__((noinline)) struct hawk_error *
resolve_overlap(struct sweep *sweep, const struct hawk_block *block, bool *out)
{
	struct resolver *resolver = &sweep->resolver;
	uint64_t header = block->start - HAWK_HEADER_BYTES;
	struct hawk_error *err = NULL;

	if (resolver->has_candidate && header >= resolver->candidate_end)
		err = keep_candidate(sweep);
	*out = younger_reaches(resolver, block->birth, header);
	if (resolver->has_candidate && block->birth >= resolver->candidate_birth) {
		resolver->has_candidate = false;
		sweep->result.overlapping++;
	}
	sweep->result.overlapping += *out;
	return err;
}

static inline struct hawk_error *resolve(struct sweep *sweep, const struct hawk_block *block)
{
	struct resolver *resolver = &sweep->resolver;
	uint64_t end = block->start + block->size;
	struct hawk_error *err;
	bool out = false;

	if (__builtin_expect(block->start - HAWK_HEADER_BYTES >= resolver->furthest_of_all, 1))
		err = keep_candidate(sweep);
	else
		err = resolve_overlap(sweep, block, &out);
	if (end > resolver->furthest[block->birth])
		resolver->furthest[block->birth] = end;
	if (end > resolver->furthest_of_all)
		resolver->furthest_of_all = end;
	if (!out)
		set_candidate(sweep, block);
	return err;
}

/* Whatever take_usual() did not take. */
static struct hawk_error *take_unusual(struct sweep *sweep, const uint8_t *bytes, uint64_t address,
				       unsigned granule)
{
	struct hawk_block *block =
		&sweep->batch[sweep->batch_count + sweep->resolver.has_candidate];

	if (!hawk_scan_decode(sweep->target, sweep->plan, hawk_scan_header(bytes, granule),
			      address + (uint64_t)granule * HAWK_GRANULE_BYTES, sweep->extent->end,
			      block)) {
		sweep->result.implausible++;
		return NULL;
	}
	sweep->mapping_is_heap = true;
	return resolve(sweep, block);
}

/**
 * Nearly every block is plausible, whole, and lies above all earlier ones: taken here, with
 * everything in registers, live hits from `i` on until one is different or the batch is full. The
 * same as take_unusual() otherwise, at a third of the cost. Returns the number of the next hit.
 */
static unsigned take_usual(struct sweep *sweep, const uint8_t *bytes, uint64_t address, unsigned i)
{
	struct resolver *resolver = &sweep->resolver;
	const struct hawk_scan_page *page = &sweep->page;
	const uint64_t limit = sweep->extent->present_end;
	const uint32_t trace_count = sweep->plan->trace_count;
	const uint8_t birth_max = sweep->plan->birth_max;
	const unsigned first = i;
	uint64_t furthest = resolver->furthest_of_all;
	size_t next = sweep->batch_count + resolver->has_candidate;
	uint8_t birth = resolver->candidate_birth;

	for (; i < page->live_count && next < HAWK_SWEEP_BATCH; i++) {
		struct hawk_block_header header = hawk_scan_header(bytes, page->live[i]);
		uint64_t at = address + (uint64_t)page->live[i] * HAWK_GRANULE_BYTES;
		uint64_t start = at + HAWK_HEADER_BYTES;
		uint64_t size = hawk_header_size(header.word0);
		uint32_t trace = hawk_header_trace(header.word1);
		unsigned offset_code = hawk_header_offset_code(header.word0);
		struct hawk_block *block = &sweep->batch[next];

		if (at < furthest || trace >= trace_count || start > limit ||
		    size > limit - start || offset_code == HAWK_OFFSET_LARGE ||
		    hawk_header_birth(header.word0) > birth_max)
			break;
		birth = hawk_header_birth(header.word0);
		furthest = start + size;
		resolver->furthest[birth] = furthest;
		block->start = start;
		block->size = size;
		block->trace = trace;
		block->kind = (uint8_t)hawk_header_kind(header.word0);
		block->birth = birth;
		block->offset_code = (uint8_t)offset_code;
		next++;
	}
	if (i == first)
		return i;
	sweep->mapping_is_heap = true;
	sweep->result.clipped += resolver->has_candidate && resolver->candidate_clipped;
	sweep->batch_count = next - 1;
	resolver->furthest_of_all = furthest;
	resolver->has_candidate = true;
	resolver->candidate_clipped = false;
	resolver->candidate_end = furthest;
	resolver->candidate_birth = birth;
	return i;
}

static struct hawk_error *take_page(struct sweep *sweep, const uint8_t *bytes, size_t size,
				    uint64_t address)
{
	struct hawk_scan_page *page = &sweep->page;
	const struct resolver *resolver = &sweep->resolver;
	struct hawk_error *err = NULL;

	hawk_scan_page(sweep->plan, bytes, size / HAWK_GRANULE_BYTES, address, page);
	sweep->result.dead += page->dead_count;
	if (!page->zero)
		sweep->result.touched_bytes += size;
	else if (!resolver->has_candidate || address >= resolver->candidate_end)
		sweep->mapping_zero_bytes += size;
	for (unsigned i = 0; !err && i < page->live_count;) {
		i = take_usual(sweep, bytes, address, i);
		if (i < page->live_count)
			err = take_unusual(sweep, bytes, address, page->live[i++]);
	}
	return err;
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

static struct hawk_error *take_pages(struct sweep *sweep, const uint8_t *bytes, size_t size,
				     uint64_t address)
{
	for (size_t done = 0; done < size;) {
		size_t part = least(size - done, page_left(address + done));
		struct hawk_error *err = take_page(sweep, bytes + done, part, address + done);

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
static struct hawk_error *sweep_stretch(struct sweep *sweep, uint64_t start, uint64_t end)
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
static void take_hole(struct sweep *sweep, uint64_t start, uint64_t end)
{
	const struct resolver *resolver = &sweep->resolver;

	sweep->result.swept_bytes += end - start;
	if (resolver->has_candidate && resolver->candidate_end > start)
		start = least(resolver->candidate_end, end);
	sweep->mapping_zero_bytes += end - start;
}

/* [start, end) of one mapping, in whole granules. */
static struct hawk_error *sweep_span(struct sweep *sweep, uint64_t start, uint64_t end)
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

static struct hawk_error *sweep_mapping(struct sweep *sweep, const struct hawk_mapping *mapping)
{
	const struct hawk_sweep_plan *plan = sweep->plan;
	struct hawk_span span = present_span(mapping);
	uint64_t swept_before = sweep->result.swept_bytes;
	uint64_t at = span.start;
	struct hawk_error *err;

	sweep->mapping_zero_bytes = 0;
	sweep->mapping_is_heap =
		sweep->resolver.has_candidate && sweep->resolver.candidate_end > mapping->start;
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

static struct hawk_error *sweep_all(struct sweep *sweep)
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
	err = keep_candidate(sweep);
	return err ? err : flush_batch(sweep);
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
	CLEANUP(sweep) struct sweep *sweep = NULL;
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
