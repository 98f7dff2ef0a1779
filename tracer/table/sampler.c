/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Points and sums. Avoids floating point: the host may read the exception flags.
 */
#include "sampler.h"

#include "arena.h"
#include "file.h"
#include "traces.h"

enum {
	LOG_BITS = 24, /**< fraction bits of a logarithm: an error of 10^-7 in a gap of one mean */
};

/** ln 2 as a fraction of 2^32. */
static const uint64_t LN2 = 2977044472;

uint64_t hawk_sampler_mean;
uint32_t hawk_sampler_skipped;

/** Generator state shared by calls without a sampler. */
static uint64_t shared_random;

static uint64_t no_pc(const struct hawk_frames *self, uint32_t index)
{
	(void)self;
	(void)index;
	return 0;
}

bool hawk_sampler_init(uint64_t mean)
{
	struct hawk_frames nothing = {
		.pc = no_pc,
		.count = 1,
		.flags = HAWK_TRACE_NOT_SAMPLED,
		.hash = UINT64_C(0x6e6f742073616d70),
	};

	hawk_sampler_mean = mean;
	if (!mean)
		return true;
	hawk_sampler_skipped = hawk_traces_intern(&nothing);
	shared_random = hawk_table_header->key.k[0] ^ UINT64_C(0xd1b54a32d192ed03);
	hawk_table_header->sample_mean = mean;
	hawk_arena_require(HAWK_TABLE_SAMPLED);
	return hawk_sampler_skipped == HAWK_TRACE_ID_NOT_SAMPLED;
}

/** splitmix64's finalizer, by Sebastiano Vigna (public domain). */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/** Returns log2 of a number other than 0, times 2^LOG_BITS. Each squaring gives one bit of
 * fraction. */
static uint64_t log2_fixed(uint64_t value)
{
	unsigned whole = 63 - (unsigned)__builtin_clzll(value);
	uint64_t fraction = value << (63 - whole); /* 1 .. 2, in units of 2^-63 */
	uint64_t result = whole;

	for (int i = 0; i < LOG_BITS; i++) {
		unsigned __int128 square = (unsigned __int128)fraction * fraction;
		uint64_t carry = (uint64_t)(square >> 127);

		fraction = (uint64_t)(square >> (63 + carry));
		result = result << 1 | carry;
	}
	return result;
}

static int64_t gap_of(uint64_t uniform, uint64_t mean)
{
	/* -log2 of a number in (0, 1] with 2^64 values. */
	uint64_t bits = (UINT64_C(64) << LOG_BITS) - log2_fixed(uniform | !uniform);
	unsigned __int128 gap = (unsigned __int128)(bits * LN2) * mean;

	return (int64_t)(gap >> (LOG_BITS + 32));
}

int64_t hawk_sampler_gap(uint64_t *random, uint64_t mean)
{
	*random += UINT64_C(0x9e3779b97f4a7c15);
	return gap_of(mix(*random), mean);
}

bool hawk_sampler_reach(struct hawk_sampler *sampler, uint64_t span)
{
	bool reached = true;

	if (!sampler->random) {
		sampler->random =
			mix(hawk_table_header->key.k[1] ^ (uint64_t)(uintptr_t)sampler) | 1;
		sampler->left =
			hawk_sampler_gap(&sampler->random, hawk_sampler_mean) - (int64_t)span + 1;
		reached = sampler->left <= 0;
	}
	/* The process is memoryless: the gap beyond the block is independent of the gap before
	 * it. */
	if (reached)
		sampler->left = hawk_sampler_gap(&sampler->random, hawk_sampler_mean) + 1;
	return reached;
}

bool hawk_sampler_wants_stateless(uint64_t bytes)
{
	const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t random = __atomic_add_fetch(&shared_random, step, __ATOMIC_RELAXED);

	return (uint64_t)gap_of(mix(random), hawk_sampler_mean) < hawk_sample_span(bytes);
}

/** Adds a weight to a pair of sums, or subtracts it. */
static void add(uint64_t *objects, uint64_t *sum, uint64_t bytes, bool less)
{
	uint64_t weight = hawk_sample_weight(bytes, hawk_sampler_mean);
	uint64_t weighted = hawk_sample_weighted_bytes(weight, bytes);

	__atomic_fetch_add(objects, less ? 0 - weight : weight, __ATOMIC_RELAXED);
	__atomic_fetch_add(sum, less ? 0 - weighted : weighted, __ATOMIC_RELAXED);
}

static void add_allocation(uint32_t trace, uint64_t bytes, bool less)
{
	struct hawk_sample_record *record;

	hawk_file_check_fork();
	record = hawk_arena_element(HAWK_ARRAY_SAMPLES, trace);
	if (record)
		add(&record->alloc_weight, &record->alloc_bytes, bytes, less);
}

void hawk_sampler_count_allocation(uint32_t trace, uint64_t bytes)
{
	add_allocation(trace, bytes, false);
}

void hawk_sampler_count_free(uint32_t trace, bool taken_back, uint64_t bytes)
{
	struct hawk_sample_record *record;

	hawk_file_check_fork();
	record = hawk_arena_element(HAWK_ARRAY_SAMPLES, trace);
	if (record)
		add(&record->free_weight, &record->free_bytes, bytes, taken_back);
}

void hawk_sampler_move(uint32_t from, uint32_t to, uint64_t bytes)
{
	add_allocation(to, bytes, false);
	add_allocation(from, bytes, true);
}
