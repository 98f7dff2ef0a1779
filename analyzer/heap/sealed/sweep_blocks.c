/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Turns found headers into blocks: drops the older of two that overlap and passes on the rest. Most
 * shares need only a check of their first block.
 */
#include "sweep_state.h"

#include "hawk/base/numbers.h"

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

/* Returns the end of the blocks around the current address; 0 or a lower address if it lies in
 * none. */
static uint64_t covered_end(const struct hawk_sweep_resolver *resolver)
{
	uint64_t end = resolver->settled_end;

	if (resolver->has_candidate && resolver->candidate_end > end)
		end = resolver->candidate_end;
	if (resolver->carved_count && resolver->carved[0] > end)
		end = resolver->carved[0];
	return end;
}

/* Begins a batch with the candidate. Summing here rather than block by block halves the cost. */
static void begin_batch(struct hawk_sweep_state *sweep)
{
	sweep->batch[0] = sweep->batch[sweep->batch_count];
	sweep->batch_count = 0;
}

static void end_batch(struct hawk_sweep_state *sweep)
{
	hawk_sweep_sum(sweep->target, sweep->batch, sweep->batch_count, &sweep->result.sums);
}

/* Keeps the candidate as a result: nothing can overlap it any more. */
static inline void keep_candidate(struct hawk_sweep_state *sweep)
{
	if (!sweep->resolver.has_candidate)
		return;
	sweep->resolver.has_candidate = false;
	sweep->result.sums.clipped += sweep->resolver.candidate_clipped;
	sweep->batch_count++;
}

static inline void set_candidate(struct hawk_sweep_state *sweep, const struct hawk_block *block)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;

	assert(!resolver->has_candidate);
	sweep->batch[sweep->batch_count] = *block;
	sweep->batch[sweep->batch_count].depth = (uint8_t)resolver->carved_count;
	resolver->has_candidate = true;
	resolver->candidate_end = block->start + block->size;
	resolver->candidate_birth = block->birth;
	resolver->candidate_clipped =
		resolver->candidate_end > sweep->extents[sweep->mapping].present_end;
}

static void set_aside(struct hawk_sweep_state *sweep, const struct hawk_block *block,
		      const struct hawk_block *younger)
{
	hawk_damages_add(sweep->damages, &(struct hawk_damage){
						 .kind = HAWK_DAMAGE_OVERLAP,
						 .address = block->start,
						 .neighbour = younger->start,
					 });
}

static bool younger_reaches(const struct hawk_sweep_resolver *resolver, unsigned birth,
			    uint64_t address)
{
	for (unsigned b = birth + 1; b < HAWK_SWEEP_BIRTHS; b++)
		if (resolver->furthest[b] > address)
			return true;
	return false;
}

/* Returns true if the block, a pool's, was carved out of the candidate. */
static bool is_carved(const struct hawk_sweep_resolver *resolver,
		      const struct hawk_block *candidate, const struct hawk_block *block)
{
	return block->kind == HAWK_KIND_POOL && block->birth >= resolver->candidate_birth &&
	       block->start - HAWK_HEADER_BYTES >= candidate->start &&
	       block->start + block->size <= resolver->candidate_end &&
	       resolver->carved_count < HAWK_BLOCK_DEPTH_MAX;
}

/* Returns true if the block ends behind the innermost block in which it lies. */
static bool leaves_carved(const struct hawk_sweep_resolver *resolver,
			  const struct hawk_block *block)
{
	return resolver->carved_count &&
	       block->start + block->size > resolver->carved[resolver->carved_count - 1];
}

/* The block's header lies below the end of an earlier block. Returns true if it is set aside. */
static __attribute__((noinline)) bool resolve_overlap(struct hawk_sweep_state *sweep,
						      const struct hawk_block *block)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;
	struct hawk_block *candidate = &sweep->batch[sweep->batch_count];
	uint64_t header = block->start - HAWK_HEADER_BYTES;
	bool out;

	if (resolver->has_candidate && header >= resolver->candidate_end)
		keep_candidate(sweep);
	while (resolver->carved_count && resolver->carved[resolver->carved_count - 1] <= header)
		resolver->carved_count--;
	/* Blocks decided without a candidate are final. They hold a header only if memory has
	 * changed since it was read. */
	out = header < resolver->settled_end || younger_reaches(resolver, block->birth, header) ||
	      leaves_carved(resolver, block);
	if (!out && resolver->has_candidate && is_carved(resolver, candidate, block)) {
		resolver->carved[resolver->carved_count++] = resolver->candidate_end;
		keep_candidate(sweep);
		return false;
	}
	if (resolver->has_candidate && block->birth >= resolver->candidate_birth) {
		resolver->has_candidate = false;
		set_aside(sweep, candidate, block);
	}
	/* A block in a carved-up block is kept as its piece even if no pool's object: the outer
	 * block can no longer be set aside. */
	if (out || (resolver->carved_count && block->kind != HAWK_KIND_POOL))
		set_aside(sweep, block, candidate);
	return out;
}

static inline void resolve(struct hawk_sweep_state *sweep, const struct hawk_block *block)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;
	uint64_t end = block->start + block->size;
	bool out = false;

	if (__builtin_expect(block->start - HAWK_HEADER_BYTES >= resolver->furthest_of_all, 1))
		keep_candidate(sweep);
	else
		out = resolve_overlap(sweep, block);
	if (block->start - HAWK_HEADER_BYTES >= resolver->furthest_of_all)
		resolver->carved_count = 0;
	if (end > resolver->furthest[block->birth])
		resolver->furthest[block->birth] = end;
	if (end > resolver->furthest_of_all)
		resolver->furthest_of_all = end;
	if (!out)
		set_candidate(sweep, block);
}

/* Adds the counts that do not depend on neighbouring shares. */
static void count_found(struct hawk_sweep_state *sweep, const struct hawk_sweep_found *found)
{
	sweep->result.swept_bytes += found->share.start - found->share.hole + found->swept_bytes;
	sweep->result.dead += found->dead;
	for (size_t i = 0; i < found->implausible && i < HAWK_SWEEP_BAD_MAX; i++)
		hawk_damages_add(sweep->damages, &(struct hawk_damage){
							 .kind = HAWK_DAMAGE_HEADER,
							 .address = found->bad[i].address,
							 .found = found->bad[i].word,
						 });
	if (found->implausible > HAWK_SWEEP_BAD_MAX)
		sweep->damages->counts[HAWK_DAMAGE_HEADER] +=
			found->implausible - HAWK_SWEEP_BAD_MAX;
}

static uint64_t header_address(const struct hawk_block *block)
{
	return block->start - HAWK_HEADER_BYTES;
}

/* Resolves blocks one by one. */
static void resolve_found(struct hawk_sweep_state *sweep, const struct hawk_sweep_found *found)
{
	for (size_t i = 0; i < found->count; i++)
		resolve(sweep, &found->blocks[i]);
}

/* Settles all earlier blocks: later ones cannot change them. */
static void settle(struct hawk_sweep_state *sweep)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;

	resolver->settled_end = covered_end(resolver);
	resolver->carved_count = 0;
	keep_candidate(sweep);
}

/* Counts blocks that lie apart from each other and from all blocks below. */
static void count_apart(struct hawk_sweep_state *sweep, const struct hawk_sweep_found *found)
{
	struct hawk_sweep_resolver *resolver = &sweep->resolver;

	if (!found->count)
		return;
	sweep->result.sums.blocks += found->count;
	sweep->result.sums.bytes += found->bytes;
	sweep->result.sums.header_bytes += found->header_bytes;
	/* All other blocks end below the last one's header, whatever their births. */
	resolver->furthest[found->blocks[found->count - 1].birth] = found->furthest;
	resolver->furthest_of_all = found->furthest;
	resolver->settled_end = found->furthest;
}

void hawk_sweep_decide(struct hawk_sweep_state *sweep, const struct hawk_sweep_found *found,
		       bool *apart)
{
	*apart = found->apart && (!found->count || header_address(&found->blocks[0]) >=
							   sweep->resolver.furthest_of_all);
	begin_batch(sweep);
	sweep->mapping = found->share.mapping;
	count_found(sweep, found);
	if (!*apart) {
		resolve_found(sweep, found);
	} else {
		if (found->count)
			settle(sweep);
		count_apart(sweep, found);
	}
	end_batch(sweep);
}

void hawk_sweep_finish(struct hawk_sweep_state *sweep)
{
	begin_batch(sweep);
	settle(sweep);
	end_batch(sweep);
}
