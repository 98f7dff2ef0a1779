/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sums up weights by trace, then by site.
 */
#include "site_samples.h"

#include "hawk/base/cleanup.h"
#include "hawk_sampling.h"
#include "site_map.h"

#include <emmintrin.h>
#include <stdlib.h>

void hawk_site_samples_add_blocks(const struct hawk_block *blocks, size_t count, uint64_t mean,
				  uint32_t trace_count, struct hawk_sample_tally *tallies)
{
	const double unit = 1 << HAWK_SAMPLE_WEIGHT_SHIFT;

	for (size_t i = 0; i < count; i++) {
		const struct hawk_block *block = &blocks[i];
		struct hawk_sample_tally *tally =
			&tallies[block->trace < trace_count ? block->trace : trace_count];
		uint64_t weight;
		double w, variance;

		/* Not sampled, like nearly all blocks. */
		if (block->trace <= HAWK_TRACE_ID_NOT_SAMPLED)
			continue;
		weight = hawk_sample_weight(block->size, mean);
		w = (double)weight / unit;
		variance = w * (w - 1);
		tally->weight += weight;
		tally->bytes += hawk_sample_weighted_bytes(weight, block->size);
		tally->objects_variance += variance;
		tally->bytes_variance += variance * (double)block->size * (double)block->size;
	}
}

/* Uses SSE2, part of x86-64, to avoid a library call. */
static uint64_t square_root(double value)
{
	__m128d number = _mm_set_sd(value);

	return (uint64_t)_mm_cvtsd_f64(_mm_sqrt_sd(number, number));
}

static uint64_t rounded(uint64_t weight)
{
	return (weight >> HAWK_SAMPLE_WEIGHT_SHIFT) +
	       (weight >> (HAWK_SAMPLE_WEIGHT_SHIFT - 1) & 1);
}

static void add(struct hawk_sample_tally *to, const struct hawk_sample_tally *from)
{
	to->weight += from->weight;
	to->bytes += from->bytes;
	to->objects_variance += from->objects_variance;
	to->bytes_variance += from->bytes_variance;
}

/** Estimates of one site. */
struct sums {
	struct hawk_sample_tally live;
	uint64_t alloc_weight;
	uint64_t alloc_bytes;
	bool estimated;
};

static void apply_site(struct hawk_site *site, const struct sums *sums, uint64_t mean)
{
	struct hawk_site_sample *sample = &site->sample;

	sample->estimated = true;
	sample->inuse_objects = site->inuse_objects;
	sample->inuse_bytes = site->inuse_bytes;
	sample->alloc_objects = site->alloc_objects;
	sample->alloc_bytes = site->alloc_bytes;
	site->inuse_objects = rounded(sums->live.weight);
	site->inuse_bytes = sums->live.bytes;
	site->alloc_objects = rounded(sums->alloc_weight);
	site->alloc_bytes = sums->alloc_bytes;
	sample->inuse_objects_error = square_root(sums->live.objects_variance);
	sample->inuse_bytes_error = square_root(sums->live.bytes_variance);
	/* The variance of an allocation of s bytes, s^2 (1 - p) / p, is at most s times the mean.
	 */
	sample->alloc_bytes_error = square_root((double)sums->alloc_bytes * (double)mean);
}

struct hawk_error *hawk_site_samples_apply(struct hawk_heap *heap,
					   const struct hawk_sample_tally *tallies)
{
	struct sums *sums;

	if (!heap->sample_mean)
		return NULL;
	sums = calloc(heap->site_count + 1, sizeof(*sums));
	if (!sums)
		return &hawk_enomem;
	for (uint32_t id = HAWK_TRACE_ID_NOT_SAMPLED + 1; id < heap->trace_count; id++) {
		struct hawk_sample_record record = hawk_table_sample(heap->table, id);
		struct sums *site = &sums[heap->site_of_trace[id]];

		site->estimated = true;
		site->alloc_weight += record.alloc_weight;
		site->alloc_bytes += record.alloc_bytes;
		if (tallies)
			add(&site->live, &tallies[id]);
	}
	if (tallies && tallies[heap->trace_count].weight) {
		sums[HAWK_SITE_MAP_LOST].estimated = true;
		add(&sums[HAWK_SITE_MAP_LOST].live, &tallies[heap->trace_count]);
	}
	for (size_t i = 0; i < heap->site_count; i++)
		if (sums[i].estimated)
			apply_site(&heap->sites[i], &sums[i], heap->sample_mean);
	free(sums);
	return NULL;
}
