/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Growth verdicts as a pure function of births and counters.
 */
#include "test.h"
#include "hawk/analysis/growth.h"
#include "hawk/report/growth.h"

enum { HOUR = 3600, BLOCK = 100 };

/** A site that has lived ten hours: births in thousandths of `objects`. */
static struct hawk_growth_facts facts_of(uint64_t objects, uint64_t allocated,
					 const unsigned parts[HAWK_AGE_BINS])
{
	struct hawk_growth_facts facts = {
		.life_seconds = 10 * HOUR,
		.objects = objects,
		.bytes = objects * BLOCK,
		.inuse_objects = objects,
		.inuse_bytes = objects * BLOCK,
		.alloc_objects = allocated,
		.alloc_bytes = allocated * BLOCK,
	};
	uint64_t all = 0;

	for (unsigned i = 0; i < HAWK_AGE_BINS; i++)
		all += parts[i];
	for (unsigned i = 0; i < HAWK_AGE_BINS && all; i++) {
		facts.born_objects[i] = objects * HAWK_AGE_ONE * parts[i] / all;
		facts.born_bytes[i] = facts.born_objects[i] * BLOCK;
	}
	return facts;
}

#define FACTS(objects, allocated, ...)                                                             \
	facts_of(objects, allocated, (const unsigned[HAWK_AGE_BINS]){__VA_ARGS__})

static bool has(const struct hawk_growth *growth, enum hawk_growth_reason reason)
{
	for (unsigned i = 0; i < growth->reason_count; i++)
		if (growth->reasons[i] == reason)
			return true;
	return false;
}

static struct hawk_growth expect(struct hawk_growth_facts facts, enum hawk_growth_verdict verdict,
				 enum hawk_growth_confidence confidence)
{
	struct hawk_growth growth = hawk_growth_judge(&facts);

	assert_string_equal(hawk_growth_verdict_name(growth.verdict),
			    hawk_growth_verdict_name(verdict));
	assert_string_equal(hawk_growth_confidence_name(growth.confidence),
			    hawk_growth_confidence_name(confidence));
	return growth;
}

#define FLAT 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10

TEST(survivors_of_all_ages_are_a_leak)
{
	struct hawk_growth growth;

	growth = expect(FACTS(160000, 160100, FLAT), HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
	assert_true(has(&growth, HAWK_REASON_EVERY_PART));
	/* 16 MB in ten hours. */
	assert_in_range((uint64_t)growth.bytes_per_hour, 1590000, 1610000);
	/* Uneven, but everywhere; a load that follows the time of the day. */
	expect(FACTS(160000, 160100, 5, 12, 20, 12, 5, 4, 12, 20, 12, 5, 4, 12, 20, 12, 5, 6),
	       HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
	/* One in a hundred is forgotten. */
	expect(FACTS(160000, 16000000, FLAT), HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
}

TEST(a_leak_that_began_late_is_one)
{
	struct hawk_growth growth;

	growth = expect(
		FACTS(100000, 100000, 0, 0, 0, 0, 0, 0, 0, 0, 10, 10, 10, 10, 10, 10, 10, 10),
		HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
	assert_true(has(&growth, HAWK_REASON_SINCE));
	assert_true(growth.window_start == 0.5);
	assert_in_range((uint64_t)growth.bytes_per_hour, 1900000, 2100000);
}

TEST(what_was_made_first_is_start_up)
{
	struct hawk_growth growth;

	expect(FACTS(1000, 1000, 100), HAWK_GROWTH_STARTUP, HAWK_CONFIDENCE_HIGH);
	expect(FACTS(3, 3, 100), HAWK_GROWTH_STARTUP, HAWK_CONFIDENCE_MEDIUM);
	growth = expect(FACTS(100000, 100000, 1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
			HAWK_GROWTH_STARTUP, HAWK_CONFIDENCE_MEDIUM);
	assert_true(has(&growth, HAWK_REASON_BESIDE));
	assert_in_range(growth.beside_objects, 1300, 1500);
	assert_true(growth.bytes_per_hour > 0);
}

TEST(a_site_filled_within_the_first_minute_was_filled_at_start)
{
	struct hawk_growth_facts facts = FACTS(3, 3, 50, 30, 20);

	assert_false(hawk_growth_is_startup(&facts)); /* in two hours */
	facts.life_seconds = 200;
	assert_true(hawk_growth_is_startup(&facts));
	facts.no_ages = true;
	assert_false(hawk_growth_is_startup(&facts));
	facts = FACTS(100000, 100000, 1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
	assert_false(hawk_growth_is_startup(&facts)); /* others grow beside */
	facts = FACTS(1000, 1000, 1000);
	assert_true(hawk_growth_is_startup(&facts));
	facts.life_seconds = 1;
	assert_false(hawk_growth_is_startup(&facts));
}

TEST(what_was_made_at_once_is_a_burst)
{
	struct hawk_growth growth;

	growth = expect(FACTS(5000, 5000, 0, 0, 0, 0, 0, 90, 10), HAWK_GROWTH_BURST,
			HAWK_CONFIDENCE_HIGH);
	assert_true(growth.window_start == 5.0 / 16 && growth.window_end == 6.0 / 16);
	growth = expect(FACTS(5000, 5000, [14] = 1, [15] = 99), HAWK_GROWTH_BURST,
			HAWK_CONFIDENCE_LOW);
	assert_true(has(&growth, HAWK_REASON_STILL_GOING));
	/* Filled slowly to its limit, and never since. */
	expect(FACTS(5000, 5000, 10, 10, 10, 10, 10, 10, 10), HAWK_GROWTH_BURST,
	       HAWK_CONFIDENCE_MEDIUM);
}

TEST(the_older_the_fewer_is_a_cache)
{
	/* First in, first out. */
	expect(FACTS(4000, 16000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 10, 10, 10),
	       HAWK_GROWTH_CACHE, HAWK_CONFIDENCE_HIGH);
	/* Random replacement: exponential ages. */
	expect(FACTS(4000, 40000, 0, 0, 1, 1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 94, 140),
	       HAWK_GROWTH_CACHE, HAWK_CONFIDENCE_HIGH);
	expect(FACTS(4000, 8000, 0, 0, 0, 0, 0, 0, 1, 2, 8, 10, 10, 10, 10, 10, 10, 10),
	       HAWK_GROWTH_CACHE, HAWK_CONFIDENCE_MEDIUM);
}

TEST(ever_fewer_births_without_frees_are_a_filling_cache)
{
	/* A thousand keys asked for at random. */
	struct hawk_growth growth = expect(
		FACTS(880, 880, 125, 109, 96, 84, 73, 64, 56, 49, 43, 38, 33, 29, 25, 22, 19, 17),
		HAWK_GROWTH_SATURATES, HAWK_CONFIDENCE_MEDIUM);

	assert_true(has(&growth, HAWK_REASON_SLOWS));
	assert_true(growth.bytes_per_hour > 0);
	assert_in_range((uint64_t)(growth.last_share * 100), 8, 10);
	/* Keys whose frequencies differ: births as 1/time. */
	expect(FACTS(3400, 3400, 1000, 500, 333, 250, 200, 167, 143, 125, 111, 100, 91, 83, 77, 71,
		     67, 63),
	       HAWK_GROWTH_SATURATES, HAWK_CONFIDENCE_MEDIUM);
}

TEST(steady_growth_after_a_full_start_does_not_saturate)
{
	/* A table filled at start, then a leak. */
	expect(FACTS(16000, 16000, 500, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10),
	       HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
	/* Slowing down, but some were freed: not a cache that fills. */
	expect(FACTS(880, 1000, 125, 109, 96, 84, 73, 64, 56, 49, 43, 38, 33, 29, 25, 22, 19, 17),
	       HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
}

TEST(young_blocks_that_die_soon_are_work_in_progress)
{
	expect(FACTS(500, 500000, [14] = 1, [15] = 99), HAWK_GROWTH_STEADY, HAWK_CONFIDENCE_HIGH);
	/* The same with a few old ones that are kept by chance. */
	expect(FACTS(500, 500000, [0] = 1, [3] = 1, [12] = 1, [14] = 1, [15] = 96),
	       HAWK_GROWTH_STEADY, HAWK_CONFIDENCE_HIGH);
}

TEST(thin_data_are_unclear)
{
	struct hawk_growth_facts facts = FACTS(160000, 160000, FLAT);
	struct hawk_growth growth;

	facts.life_seconds = 1;
	growth = expect(facts, HAWK_GROWTH_UNCLEAR, HAWK_CONFIDENCE_LOW);
	assert_true(has(&growth, HAWK_REASON_YOUNG_PROCESS));
	growth = expect(FACTS(3, 3, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1), HAWK_GROWTH_UNCLEAR,
			HAWK_CONFIDENCE_LOW);
	assert_true(has(&growth, HAWK_REASON_FEW_BLOCKS));
	expect(FACTS(0, 0, 0), HAWK_GROWTH_UNCLEAR, HAWK_CONFIDENCE_LOW);
	/* Blocks whose births cannot be read. */
	expect(FACTS(1000, 1000, 0), HAWK_GROWTH_UNCLEAR, HAWK_CONFIDENCE_LOW);
}

/** What `reasons` of a site with ages of no pattern are, in words. */
static void expect_no_pattern(uint64_t allocated, enum hawk_growth_verdict verdict,
			      const char *reasons)
{
	struct hawk_growth_facts facts =
		FACTS(40319, allocated, 40, 0, 0, 30, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 10);
	struct hawk_text text = {0};
	struct hawk_growth growth;

	facts.life_seconds = 22;
	growth = expect(facts, verdict, HAWK_CONFIDENCE_LOW);
	hawk_growth_append_verdict(&text, &growth);
	hawk_text_puts(&text, ": ");
	hawk_growth_append_reasons(&text, &growth, &facts);
	assert_string_equal(hawk_text_string(&text), reasons);
	hawk_text_deinit(&text);
}

TEST(ages_without_a_pattern_leave_what_was_freed)
{
	struct hawk_growth_facts lost =
		FACTS(1000, 1000, 40, 0, 0, 30, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 10);

	expect_no_pattern(40319, HAWK_GROWTH_GROWS,
			  "only grows: none of 40,319 was freed in 22 s; its life of 22 s is too "
			  "short for a rate");
	expect_no_pattern(50000, HAWK_GROWTH_UNCLEAR,
			  "unclear: 19.4 % of 50,000 was freed in 22 s, and the ages of the others "
			  "fit no pattern");
	expect_no_pattern(0, HAWK_GROWTH_UNCLEAR,
			  "unclear: the ages of its blocks fit no pattern; how many were freed is "
			  "not known");
	lost.reach_known = true;
	lost.reach_bytes[HAWK_REACH_DEFINITELY_LOST] = lost.bytes;
	expect(lost, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
}

TEST(less_is_known_less_is_claimed)
{
	struct hawk_growth_facts facts = FACTS(160000, 160000, FLAT);
	struct hawk_growth growth;

	expect(facts, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
	facts.sampled = true;
	expect(facts, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
	facts.sampled = false;
	facts.life_seconds = 60;
	expect(facts, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
	facts.life_seconds = 3;
	expect(facts, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_LOW);
	growth = expect(FACTS(160000, 0, FLAT), HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
	assert_true(has(&growth, HAWK_REASON_NO_COUNTERS) && !growth.freed_known);
	/* More live than ever allocated: damaged counters are none. */
	growth = expect(FACTS(160000, 5, FLAT), HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
	assert_false(growth.freed_known);
	expect(FACTS(40, 40, FLAT), HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
}

TEST(what_nobody_can_free_is_a_leak)
{
	struct hawk_growth_facts facts = FACTS(3, 3, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1);
	struct hawk_growth growth;

	facts.reach_known = true;
	facts.reach_bytes[HAWK_REACH_DEFINITELY_LOST] = 250;
	facts.reach_bytes[HAWK_REACH_REACHABLE] = 50;
	growth = expect(facts, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
	assert_int_equal(growth.reasons[0], HAWK_REASON_LOST);
	/* Proven is proven, however short its life and whenever it was made. */
	facts.life_seconds = 0.5;
	facts.sampled = true;
	expect(facts, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
	facts = FACTS(1000, 1000, 100);
	facts.reach_known = true;
	facts.reach_bytes[HAWK_REACH_DEFINITELY_LOST] = facts.bytes;
	growth = expect(facts, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
	assert_true(growth.reasons[0] == HAWK_REASON_LOST && has(&growth, HAWK_REASON_AT_START));
	facts = FACTS(160000, 16000000, FLAT);
	facts.reach_known = true;
	facts.reach_bytes[HAWK_REACH_INDIRECTLY_LOST] = facts.bytes;
	expect(facts, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
	facts.reach_bytes[HAWK_REACH_INDIRECTLY_LOST] = 0;
	facts.reach_bytes[HAWK_REACH_REACHABLE] = facts.bytes;
	growth = expect(facts, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
	assert_true(has(&growth, HAWK_REASON_HELD));
}

TEST(a_short_life_gives_no_rate)
{
	struct hawk_growth_facts facts = FACTS(160000, 160000, FLAT);
	struct hawk_text text = {0};
	struct hawk_growth growth;

	facts.life_seconds = 60;
	growth = hawk_growth_judge(&facts);
	assert_true(growth.is_rate_known && growth.bytes_per_hour > 0);
	facts.life_seconds = 59;
	growth = hawk_growth_judge(&facts);
	assert_true(!growth.is_rate_known && growth.bytes_per_hour == 0);
	assert_true(has(&growth, HAWK_REASON_NO_RATE) && !has(&growth, HAWK_REASON_RATE));
	hawk_growth_append_reasons(&text, &growth, &facts);
	assert_non_null(strstr(text.bytes, "its life of 59 s is too short for a rate"));
	hawk_text_deinit(&text);
}

TEST(blocks_that_are_not_in_the_core_are_not_freed_ones)
{
	struct hawk_growth_facts facts =
		FACTS(4000, 16000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 10, 10, 10);
	struct hawk_text text = {0};
	struct hawk_growth growth;

	facts.missing_objects = 100;
	growth = expect(facts, HAWK_GROWTH_CACHE, HAWK_CONFIDENCE_HIGH);
	assert_true(growth.freed_known);
	facts.missing_objects = 12000;
	growth = hawk_growth_judge(&facts);
	assert_false(growth.freed_known);
	assert_int_not_equal(growth.verdict, HAWK_GROWTH_CACHE);
	assert_true(has(&growth, HAWK_REASON_NO_COUNTERS) && !has(&growth, HAWK_REASON_FREED));
	hawk_growth_append_reasons(&text, &growth, &facts);
	assert_non_null(strstr(text.bytes, "not known, because blocks are missing"));
	hawk_text_deinit(&text);
}

TEST(one_core_cannot_tell_a_cache_from_a_queue_that_grows)
{
	/* Ten in, seven out, the oldest first. */
	struct hawk_growth_facts facts =
		FACTS(30000, 100000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 10, 10, 10, 10);
	struct hawk_growth growth;
	struct hawk_text text = {0};

	growth = expect(facts, HAWK_GROWTH_CACHE, HAWK_CONFIDENCE_HIGH);
	hawk_growth_append_verdict(&text, &growth);
	assert_non_null(strstr(text.bytes, "cache or growing queue"));
	hawk_text_deinit(&text);
}

TEST(any_numbers_give_a_verdict_with_reasons)
{
	uint64_t seed = 1;

	for (unsigned round = 0; round < 20000; round++) {
		struct hawk_growth_facts facts = {.life_seconds = (double)(seed >> 40)};
		struct hawk_text text = {0};
		char bar[HAWK_AGE_BINS + 1];
		struct hawk_growth growth;

		for (unsigned i = 0; i < HAWK_AGE_BINS; i++) {
			seed = seed * 6364136223846793005U + 1442695040888963407U;
			facts.born_objects[i] = seed >> (seed & 63);
			facts.born_bytes[i] = seed >> (seed >> 8 & 63);
		}
		facts.objects = facts.inuse_objects = seed >> 30;
		facts.alloc_objects = seed >> (20 + (seed & 31));
		growth = hawk_growth_judge(&facts);
		assert_true(growth.reason_count >= 1 &&
			    growth.reason_count <= HAWK_GROWTH_REASONS_MAX);
		assert_true(growth.verdict < HAWK_GROWTH_VERDICTS);
		hawk_growth_append_reasons(&text, &growth, &facts);
		assert_true(text.size > 10);
		hawk_growth_bar(&facts, bar);
		hawk_text_deinit(&text);
	}
}

TEST(the_bar_shows_every_birth)
{
	struct hawk_growth_facts facts = FACTS(100000, 100000, 0, 1000, 500, 1);
	char bar[HAWK_AGE_BINS + 1];

	hawk_growth_bar(&facts, bar);
	assert_string_equal(bar, " #-.            ");
	facts = FACTS(0, 0, 0);
	hawk_growth_bar(&facts, bar);
	assert_string_equal(bar, "                ");
	facts = FACTS(160000, 160000, FLAT);
	facts.life_seconds = 0.9;
	hawk_growth_bar(&facts, bar);
	assert_string_equal(bar, "   (too short)  ");
}
