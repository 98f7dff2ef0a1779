/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sampler against the exponential distribution and against exact truth. Seeds are fixed: a test
 * passes always or never.
 */
#include "recorder_world.h"

#include "table/sampler.h"

enum { MEAN = 512 << 10 };

static double fraction(uint64_t p)
{
	return (double)p / (double)(UINT64_C(1) << HAWK_SAMPLE_FRACTION_BITS);
}

static double weight_of(uint64_t bytes, uint64_t mean)
{
	return (double)hawk_sample_weight(bytes, mean) / (1 << HAWK_SAMPLE_WEIGHT_SHIFT);
}

static void assert_near(double found, double wanted, double tolerance)
{
	double difference = found > wanted ? found - wanted : wanted - found;

	if (difference > tolerance * wanted)
		fail_msg("found %.12g, wanted %.12g", found, wanted);
}

TEST(probabilities_are_those_of_the_exponential_function)
{
	static const struct {
		uint64_t span, mean;
		double p;
	} cases[] = {
		{1, 1, 0.63212055882855768},
		{1, 2, 0.39346934028736658},
		{10, 1, 0.99995460007023750},
		{3, 4, 0.52763344725898530},
		{1, 1 << 19, 1.9073468138231e-6},
		{25, 1 << 19, 4.7682579878e-5},
		{1 << 20, 1 << 19, 0.86466471676338730},
		{1, UINT64_C(1) << 40, 9.0949470177251e-13},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_near(fraction(hawk_sample_probability(cases[i].span, cases[i].mean)),
			    cases[i].p, 1e-6);
	assert_near(fraction(hawk_sample_probability(1, 1)), cases[0].p, 1e-15);
	assert_near(fraction(hawk_sample_probability(10, 1)), cases[2].p, 1e-15);
}

TEST(blocks_far_larger_than_the_mean_stand_for_themselves)
{
	assert_int_equal(hawk_sample_weight(100 * (uint64_t)MEAN, MEAN),
			 1 << HAWK_SAMPLE_WEIGHT_SHIFT);
	assert_int_equal(hawk_sample_weight(UINT64_C(1) << 47, 1), 1 << HAWK_SAMPLE_WEIGHT_SHIFT);
	assert_int_equal(hawk_sample_weight(UINT64_C(1) << 47, UINT64_C(1) << 40),
			 1 << HAWK_SAMPLE_WEIGHT_SHIFT);
	assert_near(weight_of(0, MEAN), MEAN + 0.5, 1e-6);
}

TEST(gaps_are_distributed_exponentially)
{
	enum { DRAWS = 400000, BINS = 32 };
	/* Quantiles: a gap above -ln(1 - i / 32) means is as likely as 1 - i / 32. */
	uint64_t counts[BINS] = {0}, random = 42;
	double sum = 0, squares = 0, chi = 0;

	for (int i = 0; i < DRAWS; i++) {
		int64_t gap = hawk_sampler_gap(&random, MEAN);
		double in_means = (double)gap / MEAN;
		double p = fraction(hawk_sample_probability((uint64_t)gap, MEAN));

		assert_true(gap >= 0);
		sum += in_means;
		squares += in_means * in_means;
		counts[p >= 1 ? BINS - 1 : (int)(p * BINS)]++;
	}
	/* Standard errors: 0.0016, 0.007; chi-square with 31 degrees: 99.9 % lie below 61. */
	assert_near(sum / DRAWS, 1, 0.006);
	assert_near(squares / DRAWS, 2, 0.015);
	for (int i = 0; i < BINS; i++) {
		double difference = (double)counts[i] - (double)DRAWS / BINS;

		chi += difference * difference / ((double)DRAWS / BINS);
	}
	assert_true(chi < 61);
}

/** A stream of allocations of many sizes, empty ones too; the same each time. */
static uint64_t next_size(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 60) == 0 ? 0 : (*state >> 33) >> (17 + (*state >> 59));
}

struct run {
	double objects, bytes, bytes_variance;
	uint64_t sampled;
};

static struct run sample_stream(uint64_t seed, uint64_t mean, int count)
{
	struct hawk_sampler sampler = {.random = seed};
	struct run run = {0};
	uint64_t stream = 7;

	hawk_sampler_mean = mean;
	sampler.left = hawk_sampler_gap(&sampler.random, mean) + 1;
	for (int i = 0; i < count; i++) {
		uint64_t size = next_size(&stream);
		double w = weight_of(size, mean);

		if (!hawk_sampler_wants(&sampler, size))
			continue;
		run.sampled++;
		run.objects += w;
		run.bytes += w * (double)size;
		run.bytes_variance += w * (w - 1) * (double)size * (double)size;
	}
	return run;
}

TEST(estimates_are_unbiased_and_their_errors_as_predicted)
{
	enum { SEEDS = 400, COUNT = 20000 };
	double objects = 0, bytes = 0, predicted = 0, squares = 0, true_bytes = 0;
	uint64_t stream = 7;

	for (int i = 0; i < COUNT; i++)
		true_bytes += (double)next_size(&stream);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct run run = sample_stream(seed * UINT64_C(0xd6e8feb86659fd93), 4096, COUNT);
		double error = run.bytes - true_bytes;

		objects += run.objects / SEEDS;
		bytes += run.bytes / SEEDS;
		predicted += run.bytes_variance / SEEDS;
		squares += error * error / SEEDS;
	}
	/* The mean of 400 runs has a 20th of one run's standard error. */
	assert_near(objects, COUNT, 0.05);
	assert_true((bytes - true_bytes) * (bytes - true_bytes) < 9 * predicted / SEEDS);
	/* The variance of runs agrees with the one that each run estimates for itself. */
	assert_near(squares, predicted, 0.25);
}

TEST(every_allocation_above_many_means_is_sampled)
{
	struct hawk_sampler sampler = {.random = 5};

	hawk_sampler_mean = 1000;
	sampler.left = hawk_sampler_gap(&sampler.random, 1000) + 1;
	for (int i = 0; i < 100000; i++)
		assert_true(hawk_sampler_wants(&sampler, 50000));
}

TEST(empty_allocations_are_sampled_as_one_byte)
{
	struct hawk_sampler sampler = {.random = 9};
	int sampled = 0;

	hawk_sampler_mean = 100;
	sampler.left = hawk_sampler_gap(&sampler.random, 100) + 1;
	for (int i = 0; i < 1000000; i++)
		sampled += hawk_sampler_wants(&sampler, 0);
	assert_near(sampled, 9950, 0.04); /* standard error 1 % */
}

TEST(those_without_a_sampler_are_sampled_just_as_often)
{
	int sampled = 0;

	hawk_sampler_mean = 10000;
	for (int i = 0; i < 100000; i++)
		sampled += hawk_sampler_wants_stateless(999);
	assert_near(sampled, 9516, 0.1); /* seeded by the table's key: ten standard errors */
}

TEST(a_sampler_of_zeros_starts_by_itself)
{
	struct hawk_sampler sampler = {0};
	int sampled = 0;

	hawk_sampler_mean = 1 << 20;
	for (int i = 0; i < 1000; i++)
		sampled += hawk_sampler_wants(&sampler, 16);
	assert_true(sampled < 20);
	assert_int_not_equal(sampler.random, 0);
}

TEST(sums_of_a_trace_follow_its_blocks)
{
	const uint32_t trace = 20000; /* in the second segment */
	const struct hawk_sample_record *record = hawk_arena_element(HAWK_ARRAY_SAMPLES, trace);
	uint64_t weight;

	hawk_sampler_mean = MEAN;
	weight = hawk_sample_weight(100, MEAN);
	hawk_sampler_count_allocation(trace, 100);
	hawk_sampler_count_allocation(trace, 100);
	hawk_sampler_count_free(trace, false, 100);
	assert_int_equal(record->alloc_weight, 2 * weight);
	assert_int_equal(record->free_weight, weight);
	assert_int_equal(record->alloc_bytes, 2 * record->free_bytes);
	assert_near((double)record->free_bytes, weight_of(100, MEAN) * 100, 1e-6);
	hawk_sampler_move(trace, trace + 1, 100);
	assert_int_equal(record[0].alloc_weight, weight);
	assert_int_equal(record[1].alloc_weight, weight);
}

static int set_up_sampler(void **state)
{
	return set_up_recorder(state) || !hawk_sampler_init(MEAN);
}

__attribute__((constructor)) static void add_sampler(void)
{
	test_add_group(set_up_sampler, NULL);
}
