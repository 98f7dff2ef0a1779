/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Turns found headers into blocks: drops the older of two that overlap and passes on the rest. Most
 * shares need only a check of their first block.
 */
#include "sweep_state.h"

void hawk_sweep_sum(const struct hawk_target *target, const struct hawk_block *blocks, size_t count,
		    struct hawk_heap_sums *result)
{
	uint64_t bytes = 0;
	uint64_t header_bytes = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += blocks[i].size;
		header_bytes += hawk_scan_offset_bytes(target, &blocks[i]);
		if (!blocks[i].depth)
			continue;
		result->carved_objects++;
		result->carved_bytes += blocks[i].size + HAWK_HEADER_BYTES;
		bytes -= blocks[i].size + HAWK_HEADER_BYTES;
	}
	result->bytes += bytes;
	result->header_bytes += header_bytes;
	result->blocks += count;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where the blocks around the address at hand end, 0 or some address below if it lies in none. */
static uint64_t covered_end(const struct hawk_sweep_resolver *resolver)
{
	uint64_t end = resolver->settled_end;

	if (resolver->has_candidate && resolver->candidate_end > end)
		end = resolver->candidate_end;
	if (resolver->carved_count && resolver->carved[0] > end)
		end = resolver->carved[0];
	return end;
}

/* Sums are made here and not block by block: it is half as dear. */
static struct hawk_error *flush_batch(struct hawk_sweep_state *sweep)
{
	size_t count = sweep->batch_count;

	sweep->batch_count = 0;
	if (!count)
		return NULL;
	hawk_sweep_sum(sweep->target, sweep->batch, count, &sweep->result.sums);
	return sweep->taker->take(sweep->taker->context, sweep->batch, count);
}

/* The candidate can no longer be overlapped: it is a result. */
static inline struct hawk_error *keep_candidate(struct hawk_sweep_state *sweep)
{
	if (!sweep->resolver.has_candidate)
		return NULL;
	sweep->resolver.has_candidate = false;
	sweep->result.sums.clipped += sweep->resolver.candidate_clipped;
	return ++sweep->batch_count == HAWK_HEAP_BATCH ? flush_batch(sweep) : NULL;
}

static inline void set_candidate(struct hawk_sweep_state *sweep, const struct hawk_block *block)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;

	assert(!resolver->has_candidate && sweep->batch_count < HAWK_HEAP_BATCH);
	sweep->batch[sweep->batch_count] = *block;
	sweep->batch[sweep->batch_count].depth = (uint8_t)resolver->carved_count;
	resolver->has_candidate = true;
	resolver->candidate_end = block->start + block->size;
	resolver->candidate_birth = block->birth;
	resolver->candidate_clipped =
		resolver->candidate_end > sweep->extents[sweep->mapping].present_end;
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
	/* What was decided without a candidate is final. Only where memory has changed since it was
	 * looked at is there a header in it. */
	*out = header < resolver->settled_end || younger_reaches(resolver, block->birth, header) ||
	       leaves_carved(resolver, block);
	if (!err && !*out && resolver->has_candidate &&
	    is_carved(resolver, &sweep->batch[sweep->batch_count], block)) {
		resolver->carved[resolver->carved_count++] = resolver->candidate_end;
		return keep_candidate(sweep);
	}
	if (resolver->has_candidate && block->birth >= resolver->candidate_birth) {
		resolver->has_candidate = false;
		sweep->result.sums.overlapping++;
	}
	/* What is no pool's object and lies in a block that was carved up is kept as a piece of it:
	 * that block cannot be taken back any more. */
	sweep->result.sums.overlapping +=
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

static void leave_mapping(struct hawk_sweep_state *sweep)
{
	if (sweep->mapping_is_heap) {
		sweep->result.sums.heap_bytes += sweep->mapping_swept_bytes;
		sweep->result.sums.zero_bytes += sweep->mapping_zero_bytes;
	}
	sweep->mapping_swept_bytes = 0;
	sweep->mapping_zero_bytes = 0;
}

/* Goes to a share, and over the hole in front of it. */
static void enter_share(struct hawk_sweep_state *sweep, const struct hawk_sweep_share *share)
{
	uint64_t covered = covered_end(&sweep->resolver);
	uint64_t hole_bytes = share->start - share->hole;

	if (sweep->mapping != share->mapping) {
		leave_mapping(sweep);
		sweep->mapping = share->mapping;
		sweep->mapping_is_heap = covered > sweep->mappings[share->mapping].start;
	}
	sweep->result.swept_bytes += hole_bytes;
	sweep->mapping_swept_bytes += hole_bytes;
	if (covered > share->hole)
		hole_bytes = share->start - least(covered, share->start);
	sweep->mapping_zero_bytes += hole_bytes;
}

/* What is the same whatever lies around the share. */
static void count_found(struct hawk_sweep_state *sweep, const struct hawk_sweep_found *found)
{
	sweep->result.swept_bytes += found->swept_bytes;
	sweep->mapping_swept_bytes += found->swept_bytes;
	sweep->result.sums.touched_bytes += found->touched_bytes;
	sweep->result.dead += found->dead;
	sweep->result.sums.implausible += found->implausible;
	sweep->mapping_is_heap |= found->count != 0;
}

static uint64_t header_address(const struct hawk_block *block)
{
	return block->start - HAWK_HEADER_BYTES;
}

/* One by one. */
static struct hawk_error *resolve_found(struct hawk_sweep_state *sweep,
					const struct hawk_sweep_found *found)
{
	const struct hawk_span *zero = found->zeros;
	const struct hawk_span *zero_end = zero + found->zero_count;
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i <= found->count; i++) {
		uint64_t header = i < found->count ? header_address(&found->blocks[i]) : UINT64_MAX;

		for (; zero < zero_end && zero->start < header; zero++)
			if (zero->start >= covered_end(&sweep->resolver))
				sweep->mapping_zero_bytes += zero->end - zero->start;
		if (i < found->count)
			err = resolve(sweep, &found->blocks[i]);
	}
	return err;
}

/* Nothing that comes changes what came before. */
static struct hawk_error *settle(struct hawk_sweep_state *sweep)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;
	struct hawk_error *err;

	resolver->settled_end = covered_end(resolver);
	resolver->carved_count = 0;
	err = keep_candidate(sweep);
	return err ? err : flush_batch(sweep);
}

/* Blocks that lie apart, also from what is below them. */
static void count_apart(struct hawk_sweep_state *sweep, const struct hawk_sweep_found *found)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;
	uint64_t covered = covered_end(resolver);

	/* No block of the share begins below: such pages are in front of all. */
	sweep->mapping_zero_bytes += found->zero_bytes;
	for (size_t i = 0; i < found->zero_count && found->zeros[i].start < covered; i++)
		sweep->mapping_zero_bytes -= found->zeros[i].end - found->zeros[i].start;
	if (!found->count)
		return;
	sweep->result.sums.blocks += found->count;
	sweep->result.sums.bytes += found->bytes;
	sweep->result.sums.header_bytes += found->header_bytes;
	/* What the others reach, whatever their births, is below the last one's header. */
	resolver->furthest[found->blocks[found->count - 1].birth] = found->furthest;
	resolver->furthest_of_all = found->furthest;
	resolver->settled_end = found->furthest;
}

static struct hawk_error *take_all(const struct hawk_heap_sink *taker,
				   const struct hawk_sweep_found *found)
{
	struct hawk_error *err = NULL;

	for (size_t done = 0; !err && done < found->count; done += HAWK_HEAP_BATCH)
		err = taker->take(taker->context, found->blocks + done,
				  least(found->count - done, HAWK_HEAP_BATCH));
	return err;
}

/* Offers the blocks to the taker. `*apart` = it has them, `*ret` = it is to fill them. */
static struct hawk_error *offer(struct hawk_sweep_state *sweep,
				const struct hawk_sweep_found *found, struct hawk_heap_run *run,
				bool *apart, bool *ret)
{
	const struct hawk_heap_sink *taker = sweep->taker;
	struct hawk_error *err = settle(sweep);

	*apart = true;
	if (err)
		return err;
	if (!taker->fill)
		return take_all(taker, found);
	*run = (struct hawk_heap_run){
		.start = found->share.start,
		.end = found->share.end,
		.blocks = found->blocks,
		.count = found->count,
	};
	if (taker->reserve)
		err = taker->reserve(taker->context, run, apart);
	*ret = *apart;
	return err;
}

struct hawk_error *hawk_sweep_decide(struct hawk_sweep_state *sweep,
				     const struct hawk_sweep_found *found,
				     struct hawk_heap_run *run, bool *ret)
{
	bool apart = found->apart && (!found->count || header_address(&found->blocks[0]) >=
							       sweep->resolver.furthest_of_all);
	struct hawk_error *err = NULL;

	*ret = false;
	enter_share(sweep, &found->share);
	count_found(sweep, found);
	if (apart && found->count)
		err = offer(sweep, found, run, &apart, ret);
	if (err)
		return err;
	if (apart) {
		count_apart(sweep, found);
		return NULL;
	}
	sweep->wait(sweep->wait_context);
	return resolve_found(sweep, found);
}

struct hawk_error *hawk_sweep_finish(struct hawk_sweep_state *sweep)
{
	leave_mapping(sweep);
	return settle(sweep);
}
