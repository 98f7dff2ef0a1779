/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * From sealed headers to blocks: doubts what a header says, sets aside the older one of two that
 * overlap, and hands on the rest in batches.
 */
#include "hawk_sweep_state.h"

#include "hawk_cpu.h"

/* Sums are made here and not block by block: it is half as dear. */
static struct hawk_error *flush_batch(struct hawk_sweep_state *sweep)
{
	struct hawk_sweep_result *result = &sweep->result;
	size_t count = sweep->batch_count;
	uint64_t header_bytes = 0;
	uint64_t bytes = 0;
	size_t first =
		hawk_cpu_has_avx512() ? hawk_sweep_sum_avx512(sweep->batch, count, &bytes) : 0;

	header_bytes = first * HAWK_HEADER_BYTES;
	for (size_t i = first; i < count; i++) {
		bytes += sweep->batch[i].size;
		header_bytes += hawk_scan_offset_bytes(sweep->target, &sweep->batch[i]);
		if (!sweep->batch[i].depth)
			continue;
		result->carved_objects++;
		result->carved_bytes += sweep->batch[i].size + HAWK_HEADER_BYTES;
		bytes -= sweep->batch[i].size + HAWK_HEADER_BYTES;
	}
	result->bytes += bytes;
	result->header_bytes += header_bytes;
	result->blocks += count;
	sweep->batch_count = 0;
	return count ? sweep->function(sweep->context, sweep->batch, count) : NULL;
}

/* The candidate can no longer be overlapped: it is a result. */
static inline struct hawk_error *keep_candidate(struct hawk_sweep_state *sweep)
{
	if (!sweep->resolver.has_candidate)
		return NULL;
	sweep->resolver.has_candidate = false;
	sweep->result.clipped += sweep->resolver.candidate_clipped;
	return ++sweep->batch_count == HAWK_SWEEP_BATCH ? flush_batch(sweep) : NULL;
}

static inline void set_candidate(struct hawk_sweep_state *sweep, const struct hawk_block *block)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;

	assert(!resolver->has_candidate && sweep->batch_count < HAWK_SWEEP_BATCH);
	if (block != &sweep->batch[sweep->batch_count])
		sweep->batch[sweep->batch_count] = *block;
	sweep->batch[sweep->batch_count].depth = (uint8_t)resolver->carved_count;
	resolver->has_candidate = true;
	resolver->candidate_end = block->start + block->size;
	resolver->candidate_birth = block->birth;
	resolver->candidate_clipped = resolver->candidate_end > sweep->extent->present_end;
}

static bool younger_reaches(const struct hawk_sweep_resolver *resolver, unsigned birth,
			    uint64_t address)
{
	for (unsigned b = birth + 1; b < HAWK_SWEEP_BIRTHS; b++)
		if (resolver->furthest[b] > address)
			return true;
	return false;
}

/* Whether the block, a pool's, was carved out of the candidate. */
static bool is_carved(const struct hawk_sweep_resolver *resolver,
		      const struct hawk_block *candidate, const struct hawk_block *block)
{
	return block->kind == HAWK_KIND_POOL && block->birth >= resolver->candidate_birth &&
	       block->start - HAWK_HEADER_BYTES >= candidate->start &&
	       block->start + block->size <= resolver->candidate_end &&
	       resolver->carved_count < HAWK_BLOCK_DEPTH_MAX;
}

/* Whether the block goes on behind the innermost block in which it lies. */
static bool leaves_carved(const struct hawk_sweep_resolver *resolver,
			  const struct hawk_block *block)
{
	return resolver->carved_count &&
	       block->start + block->size > resolver->carved[resolver->carved_count - 1];
}

/* The block's header lies below the end of an earlier block. Sets `*out` if it is set aside. */
static __attribute__((noinline)) struct hawk_error *
resolve_overlap(struct hawk_sweep_state *sweep, const struct hawk_block *block, bool *out)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;
	uint64_t header = block->start - HAWK_HEADER_BYTES;
	struct hawk_error *err = NULL;

	if (resolver->has_candidate && header >= resolver->candidate_end)
		err = keep_candidate(sweep);
	while (resolver->carved_count && resolver->carved[resolver->carved_count - 1] <= header)
		resolver->carved_count--;
	*out = younger_reaches(resolver, block->birth, header) || leaves_carved(resolver, block);
	if (!err && !*out && resolver->has_candidate &&
	    is_carved(resolver, &sweep->batch[sweep->batch_count], block)) {
		resolver->carved[resolver->carved_count++] = resolver->candidate_end;
		return keep_candidate(sweep);
	}
	if (resolver->has_candidate && block->birth >= resolver->candidate_birth) {
		resolver->has_candidate = false;
		sweep->result.overlapping++;
	}
	/* What is no pool's object and lies in a block that was carved up is kept as a piece of it:
	 * that block cannot be taken back any more. */
	sweep->result.overlapping +=
		*out || (resolver->carved_count && block->kind != HAWK_KIND_POOL);
	return err;
}

static inline struct hawk_error *resolve(struct hawk_sweep_state *sweep,
					 const struct hawk_block *block)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;
	uint64_t end = block->start + block->size;
	struct hawk_error *err;
	bool out = false;

	if (__builtin_expect(block->start - HAWK_HEADER_BYTES >= resolver->furthest_of_all, 1))
		err = keep_candidate(sweep);
	else
		err = resolve_overlap(sweep, block, &out);
	if (block->start - HAWK_HEADER_BYTES >= resolver->furthest_of_all)
		resolver->carved_count = 0;
	if (end > resolver->furthest[block->birth])
		resolver->furthest[block->birth] = end;
	if (end > resolver->furthest_of_all)
		resolver->furthest_of_all = end;
	if (!out)
		set_candidate(sweep, block);
	return err;
}

/* Whatever take_usual() did not take. */
static struct hawk_error *take_unusual(struct hawk_sweep_state *sweep, uint64_t address,
				       unsigned number)
{
	struct hawk_block *block =
		&sweep->batch[sweep->batch_count + sweep->resolver.has_candidate];
	struct hawk_block_header header = {sweep->page.words0[number], sweep->page.words1[number]};

	if (!hawk_scan_decode(sweep->target, sweep->plan, header,
			      address + (uint64_t)sweep->page.live[number] * HAWK_GRANULE_BYTES,
			      sweep->extent->end, block)) {
		sweep->result.implausible++;
		return NULL;
	}
	sweep->mapping_is_heap = true;
	return resolve(sweep, block);
}

size_t hawk_sweep_usual_plain(struct hawk_sweep_state *sweep, uint64_t address, unsigned i,
			      size_t next)
{
	const struct hawk_scan_page *page = &sweep->page;
	const uint64_t limit = sweep->extent->present_end;
	const uint32_t trace_count = sweep->plan->trace_count;
	const uint8_t birth_max = sweep->plan->birth_max;
	uint64_t furthest = sweep->resolver.furthest_of_all;

	for (; i < page->live_count && next < HAWK_SWEEP_BATCH; i++) {
		uint64_t word0 = page->words0[i];
		uint64_t at = address + (uint64_t)page->live[i] * HAWK_GRANULE_BYTES;
		uint64_t start = at + HAWK_HEADER_BYTES;
		uint64_t size = hawk_header_size(word0);
		uint32_t trace = hawk_header_trace(page->words1[i]);
		unsigned offset_code = hawk_header_offset_code(word0);
		uint8_t birth = hawk_header_birth(word0);
		struct hawk_block *block = &sweep->batch[next];

		if (at < furthest || trace >= trace_count || start > limit ||
		    size > limit - start || offset_code == HAWK_OFFSET_LARGE || birth > birth_max)
			break;
		furthest = start + size;
		block->start = start;
		block->size = size;
		block->trace = trace;
		block->kind = (uint8_t)hawk_header_kind(word0);
		block->birth = birth;
		block->offset_code = (uint8_t)offset_code;
		block->depth = 0;
		next++;
	}
	return next;
}

/**
 * Nearly every block is plausible, whole, and lies above all earlier ones: taken here, with
 * everything in registers, live hits from `i` on until one is different or the batch is full. The
 * same as take_unusual() otherwise, at a third of the cost. Returns the number of the next hit.
 */
static unsigned take_usual(struct hawk_sweep_state *sweep, uint64_t address, unsigned i)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;
	size_t first = sweep->batch_count + resolver->has_candidate;
	size_t next = hawk_cpu_has_avx512() ? hawk_sweep_usual_avx512(sweep, address, i, first)
					    : hawk_sweep_usual_plain(sweep, address, i, first);
	const struct hawk_block *last;

	if (next == first)
		return i;
	last = &sweep->batch[next - 1];
	sweep->mapping_is_heap = true;
	sweep->result.clipped += resolver->has_candidate && resolver->candidate_clipped;
	sweep->batch_count = next - 1;
	resolver->furthest_of_all = last->start + last->size;
	/* What the others reach, whatever their births, is below the last one's header. */
	resolver->furthest[last->birth] = resolver->furthest_of_all;
	resolver->has_candidate = true;
	resolver->carved_count = 0;
	resolver->candidate_clipped = false;
	resolver->candidate_end = resolver->furthest_of_all;
	resolver->candidate_birth = last->birth;
	return i + (unsigned)(next - first);
}

struct hawk_error *hawk_sweep_take_page(struct hawk_sweep_state *sweep, const uint8_t *bytes,
					size_t size, uint64_t address)
{
	struct hawk_scan_page *page = &sweep->page;
	const struct hawk_sweep_resolver *resolver = &sweep->resolver;
	struct hawk_error *err = NULL;

	hawk_scan_page(sweep->plan, bytes, size / HAWK_GRANULE_BYTES, address, page);
	sweep->result.dead += page->dead_count;
	if (!page->zero)
		sweep->result.touched_bytes += size;
	else if (address >= hawk_sweep_covered_end(resolver))
		sweep->mapping_zero_bytes += size;
	for (unsigned i = 0; !err && i < page->live_count;) {
		i = take_usual(sweep, address, i);
		if (i < page->live_count)
			err = take_unusual(sweep, address, i++);
	}
	return err;
}

struct hawk_error *hawk_sweep_finish(struct hawk_sweep_state *sweep)
{
	struct hawk_error *err = keep_candidate(sweep);

	return err ? err : flush_batch(sweep);
}
