/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The rules, in the order tried. The first part of a life is start-up; the last holds blocks too
 * young to be freed. Patterns are sought between them.
 */
#include "hawk/analysis/growth.h"

#include <string.h>

enum {
	BINS = HAWK_AGE_BINS,
	FIRST = 1,       /**< of the parts between start-up and now */
	LAST = BINS - 2, /**< likewise */
	BLOCKS_MIN = 16,
	BLOCKS_GOOD = 64,
	SINCE_BINS_MIN = 5,   /**< parts that a growth which began late must fill */
	STARTUP_BINS_MAX = 4, /**< parts that start-up takes at most, if these are short */
	BURST_BINS_MAX = 4,   /**< parts that a burst fills at most */
	OCCUPIED_SHARE = 4,   /**< a part is occupied if it has 1/this of the average */
	SHAPE_PERCENT = 75,   /**< of the parts that must be occupied */
	BESIDE_BLOCKS = 64,
	MISSING_SHARE =
		50, /**< counters speak for a site that allocated this times what is missing */
};

static const double LIFE_MIN_SECONDS = 2;
static const double LIFE_SHORT_SECONDS = 10;
static const double LIFE_GOOD_SECONDS = 600;
static const double STARTUP_SECONDS = 60;   /* that start-up takes, if not all in the first part */
static const double LIFE_RATE_SECONDS = 60; /* a shorter life says nothing of an hour */

struct judge {
	const struct hawk_growth_facts *facts;
	struct hawk_growth *growth;
	double all;     /**< objects, in HAWK_AGE_ONE */
	bool is_proven; /**< lost: whatever its ages, and however few */
};

static void say(struct judge *judge, enum hawk_growth_reason reason)
{
	struct hawk_growth *growth = judge->growth;

	if (growth->reason_count < HAWK_GROWTH_REASONS_MAX)
		growth->reasons[growth->reason_count++] = reason;
}

static double sum(const uint64_t *bins, int first, int last)
{
	double all = 0;

	for (int i = first; i <= last; i++)
		all += (double)bins[i];
	return all;
}

/** Share of the parts from `first` to `last` in which a fair number of blocks was born, percent. */
static unsigned occupied(const struct judge *judge, int first, int last)
{
	const uint64_t *bins = judge->facts->born_objects;
	double fair = sum(bins, first, last) / (last - first + 1) / OCCUPIED_SHARE;
	unsigned count = 0;

	for (int i = first; i <= last; i++)
		count += fair > 0 && (double)bins[i] >= fair;
	return 100 * count / (unsigned)(last - first + 1);
}

static void set_window(struct judge *judge, int first, int last)
{
	struct hawk_growth *growth = judge->growth;

	growth->window_start = (double)first / BINS;
	growth->window_end = (double)(last + 1) / BINS;
	growth->share = sum(judge->facts->born_objects, first, last) / judge->all;
}

/** Sets the rate from the surviving blocks of the younger half of the time from `first` on, without
 * the last part.
 */
static void set_rate(struct judge *judge, int first)
{
	const struct hawk_growth_facts *facts = judge->facts;
	int from = first + (LAST - first) / 2;
	double bytes = sum(facts->born_bytes, from, LAST) / HAWK_AGE_ONE;
	double hours = facts->life_seconds * (LAST - from + 1) / BINS / 3600;

	judge->growth->is_rate_known = facts->life_seconds >= LIFE_RATE_SECONDS;
	if (!judge->growth->is_rate_known)
		return;
	/* Births of sampled sites are those of the samples. */
	if (facts->sampled && facts->bytes)
		bytes *= (double)facts->inuse_bytes / (double)facts->bytes;
	judge->growth->bytes_per_hour = bytes / hours;
}

/** Blocks of the younger half between start-up and now, 0 .. 1. */
static double youth(const struct judge *judge, int first)
{
	const uint64_t *bins = judge->facts->born_objects;
	int middle = first + (LAST - first + 1) / 2;
	double young = sum(bins, middle, LAST), old = sum(bins, first, middle - 1);

	return young + old > 0 ? young / (young + old) : 0;
}

static void decide(struct judge *judge, enum hawk_growth_verdict verdict,
		   enum hawk_growth_confidence confidence)
{
	judge->growth->verdict = verdict;
	judge->growth->confidence = confidence;
}

static bool freed_at_least(const struct judge *judge, double share)
{
	return judge->growth->freed_known && judge->growth->freed >= share;
}

/** Returns true if blocks are kept since the beginning; later blocks may be a separate leak. */
static bool is_startup(struct judge *judge)
{
	const uint64_t *bins = judge->facts->born_objects;
	double later = sum(bins, FIRST, LAST);

	if ((double)bins[0] < 0.95 * judge->all)
		return false;
	set_window(judge, 0, 0);
	say(judge, HAWK_REASON_AT_START);
	decide(judge, HAWK_GROWTH_STARTUP, HAWK_CONFIDENCE_HIGH);
	if (later >= (double)BESIDE_BLOCKS * HAWK_AGE_ONE &&
	    occupied(judge, FIRST, LAST) >= SHAPE_PERCENT) {
		judge->growth->beside_objects = (uint64_t)(later / HAWK_AGE_ONE);
		set_rate(judge, FIRST);
		judge->growth->confidence = HAWK_CONFIDENCE_MEDIUM;
		say(judge, HAWK_REASON_BESIDE);
	}
	return true;
}

/** Returns true if hardly any block was freed, and each quarter of the life added clearly fewer. */
static bool is_saturating(struct judge *judge)
{
	const uint64_t *bins = judge->facts->born_objects;
	double quarters[4];

	if (!judge->growth->freed_known || judge->growth->freed > 0.02 ||
	    judge->facts->objects < BLOCKS_GOOD)
		return false;
	for (int i = 0; i < 4; i++)
		quarters[i] = sum(bins, i * BINS / 4, (i + 1) * BINS / 4 - 1);
	for (int i = 1; i < 4; i++)
		if (quarters[i] <= 0 || quarters[i] > 0.85 * quarters[i - 1])
			return false;
	if (quarters[3] > 0.5 * quarters[1])
		return false;
	set_window(judge, 0, BINS / 4 - 1);
	judge->growth->last_share = quarters[3] / judge->all;
	say(judge, HAWK_REASON_SLOWS);
	set_rate(judge, FIRST);
	decide(judge, HAWK_GROWTH_SATURATES, HAWK_CONFIDENCE_MEDIUM);
	return true;
}

/** Returns true if blocks of every part of its life are left, as many old as young ones. */
static bool is_leak(struct judge *judge)
{
	double young = youth(judge, FIRST);

	if (occupied(judge, FIRST, LAST) < SHAPE_PERCENT || young < 0.25)
		return false;
	/* If most are freed, survivors that get fewer with age belong to a cache. */
	if (freed_at_least(judge, 0.3) && young > 0.65)
		return false;
	/* They must be significant compared with blocks in use now. */
	if (sum(judge->facts->born_objects, 0, LAST) < 0.2 * judge->all)
		return false;
	set_window(judge, 0, BINS - 1);
	say(judge, HAWK_REASON_EVERY_PART);
	set_rate(judge, FIRST);
	decide(judge, HAWK_GROWTH_LEAK,
	       judge->growth->freed_known && judge->growth->freed <= 0.1 ? HAWK_CONFIDENCE_HIGH
									 : HAWK_CONFIDENCE_MEDIUM);
	return true;
}

static bool is_steady(struct judge *judge)
{
	double newest = sum(judge->facts->born_objects, BINS - 2, BINS - 1);

	if (newest < 0.9 * judge->all || !freed_at_least(judge, 0.9))
		return false;
	set_window(judge, BINS - 2, BINS - 1);
	say(judge, HAWK_REASON_YOUNG);
	decide(judge, HAWK_GROWTH_STEADY, HAWK_CONFIDENCE_HIGH);
	return true;
}

/** Returns true if blocks come and go roughly in order of age. A growing queue leaves the same ages
 * as a full cache. */
static bool is_cache(struct judge *judge)
{
	const uint64_t *bins = judge->facts->born_objects;
	double newest = sum(bins, BINS - 2, BINS - 1);

	if (!freed_at_least(judge, 0.3) || newest < 0.02 * judge->all)
		return false;
	if (sum(bins, BINS / 2, BINS - 1) < 0.6 * judge->all)
		return false;
	set_window(judge, BINS / 2, BINS - 1);
	say(judge, HAWK_REASON_OLD_GONE);
	decide(judge, HAWK_GROWTH_CACHE,
	       freed_at_least(judge, 0.7) ? HAWK_CONFIDENCE_HIGH : HAWK_CONFIDENCE_MEDIUM);
	return true;
}

/** Returns true if growth began in the middle of the life, and has not stopped. */
static bool is_late_leak(struct judge *judge)
{
	const uint64_t *bins = judge->facts->born_objects;
	int first = FIRST;

	if (freed_at_least(judge, 0.3))
		return false;
	while (first < BINS && sum(bins, 0, first) <= 0.05 * judge->all)
		first++;
	if (LAST - first + 1 < SINCE_BINS_MIN || occupied(judge, first, LAST) < SHAPE_PERCENT ||
	    youth(judge, first) < 0.25)
		return false;
	set_window(judge, first, BINS - 1);
	say(judge, HAWK_REASON_SINCE);
	set_rate(judge, first);
	decide(judge, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_MEDIUM);
	return true;
}

/** The shortest window with nine of ten blocks. */
static bool is_burst(struct judge *judge)
{
	const uint64_t *bins = judge->facts->born_objects;

	for (int width = 1; width <= BURST_BINS_MAX; width++)
		for (int first = 0; first + width <= BINS; first++) {
			if (sum(bins, first, first + width - 1) < 0.9 * judge->all)
				continue;
			set_window(judge, first, first + width - 1);
			say(judge, HAWK_REASON_WINDOW);
			decide(judge, HAWK_GROWTH_BURST, HAWK_CONFIDENCE_HIGH);
			if (first + width >= BINS - 1) {
				say(judge, HAWK_REASON_STILL_GOING);
				judge->growth->confidence = HAWK_CONFIDENCE_LOW;
			}
			return true;
		}
	return false;
}

/** Returns true if growth has stopped: a long burst. */
static bool has_stopped(struct judge *judge)
{
	const uint64_t *bins = judge->facts->born_objects;
	int last = BINS - 1;

	while (last > 0 && sum(bins, last, BINS - 1) <= 0.05 * judge->all)
		last--;
	if (last >= BINS * 3 / 4)
		return false;
	set_window(judge, 0, last);
	say(judge, HAWK_REASON_WINDOW);
	decide(judge, HAWK_GROWTH_BURST, HAWK_CONFIDENCE_MEDIUM);
	return true;
}

/** Returns true if ages tell nothing, but no block was ever freed. */
static bool only_grows(struct judge *judge)
{
	const struct hawk_growth *growth = judge->growth;

	if (!growth->freed_known || growth->freed > 0)
		return false;
	say(judge, HAWK_REASON_NONE_FREED);
	set_rate(judge, FIRST);
	decide(judge, HAWK_GROWTH_GROWS, HAWK_CONFIDENCE_LOW);
	return true;
}

static void limit_confidence(struct judge *judge, enum hawk_growth_confidence most)
{
	if (judge->growth->confidence > most && !judge->is_proven)
		judge->growth->confidence = most;
}

/** Makes lost memory a leak, whatever its ages: nobody can free it. */
static void prove_leak(struct judge *judge)
{
	struct hawk_growth *growth = judge->growth;

	if (!hawk_growth_is_judged(growth) || growth->verdict == HAWK_GROWTH_CACHE)
		growth->reason_count = 0;
	memmove(growth->reasons + 1, growth->reasons,
		growth->reason_count * sizeof(*growth->reasons));
	growth->reasons[0] = HAWK_REASON_LOST;
	growth->reason_count++;
	judge->is_proven = true;
	decide(judge, HAWK_GROWTH_LEAK, HAWK_CONFIDENCE_HIGH);
}

/** Adds facts that hold for any pattern. */
static void add_reach(struct judge *judge)
{
	const struct hawk_growth_facts *facts = judge->facts;
	struct hawk_growth *growth = judge->growth;
	uint64_t lost = facts->reach_bytes[HAWK_REACH_DEFINITELY_LOST] +
			facts->reach_bytes[HAWK_REACH_INDIRECTLY_LOST];
	uint64_t all = lost + facts->reach_bytes[HAWK_REACH_REACHABLE] +
		       facts->reach_bytes[HAWK_REACH_POSSIBLY];

	if (!facts->reach_known || !all)
		return;
	growth->lost = (double)lost / (double)all;
	if (growth->lost >= 0.5)
		prove_leak(judge);
	else if (growth->verdict == HAWK_GROWTH_LEAK)
		say(judge, HAWK_REASON_HELD);
}

static void find_pattern(struct judge *judge)
{
	if (judge->facts->no_ages) {
		say(judge, HAWK_REASON_NO_AGES);
		return;
	}
	if (judge->facts->life_seconds < LIFE_MIN_SECONDS) {
		say(judge, HAWK_REASON_YOUNG_PROCESS);
		return;
	}
	if (judge->facts->objects < BLOCKS_MIN || judge->all <= 0) {
		if (judge->all > 0 && is_startup(judge))
			limit_confidence(judge, HAWK_CONFIDENCE_MEDIUM);
		else
			say(judge, HAWK_REASON_FEW_BLOCKS);
		return;
	}
	if (!is_startup(judge) && !is_saturating(judge) && !is_leak(judge) && !is_steady(judge) &&
	    !is_cache(judge) && !is_late_leak(judge) && !is_burst(judge) && !has_stopped(judge) &&
	    !only_grows(judge))
		say(judge, HAWK_REASON_NO_PATTERN);
}

/** Returns true if its first reason says how many were freed. */
static bool says_freed(const struct hawk_growth *growth)
{
	return growth->reason_count && (growth->reasons[0] == HAWK_REASON_NO_PATTERN ||
					growth->reasons[0] == HAWK_REASON_NONE_FREED);
}

struct hawk_growth hawk_growth_judge(const struct hawk_growth_facts *facts)
{
	struct hawk_growth growth = {.life_seconds = facts->life_seconds,
				     .is_rate_known = !facts->no_ages};
	struct judge judge = {
		.facts = facts,
		.growth = &growth,
		.all = sum(facts->born_objects, 0, BINS - 1),
	};

	if (facts->alloc_objects && facts->alloc_objects >= facts->inuse_objects &&
	    facts->missing_objects <= facts->alloc_objects / MISSING_SHARE) {
		growth.freed_known = true;
		growth.freed = 1 - (double)facts->inuse_objects / (double)facts->alloc_objects;
	}
	find_pattern(&judge);
	add_reach(&judge);
	if (growth.freed_known && !says_freed(&growth))
		say(&judge, HAWK_REASON_FREED);
	else if (!growth.freed_known)
		say(&judge, HAWK_REASON_NO_COUNTERS);
	if (!growth.is_rate_known && !facts->no_ages)
		say(&judge, HAWK_REASON_NO_RATE);
	else if (growth.bytes_per_hour > 0)
		say(&judge, HAWK_REASON_RATE);
	if (facts->sampled) {
		say(&judge, HAWK_REASON_SAMPLED);
		limit_confidence(&judge, HAWK_CONFIDENCE_MEDIUM);
	}
	if (facts->objects < BLOCKS_GOOD || facts->life_seconds < LIFE_GOOD_SECONDS)
		limit_confidence(&judge, HAWK_CONFIDENCE_MEDIUM);
	if (facts->life_seconds < LIFE_SHORT_SECONDS)
		limit_confidence(&judge, HAWK_CONFIDENCE_LOW);
	return growth;
}

const char *hawk_growth_verdict_name(enum hawk_growth_verdict verdict)
{
	static const char *const names[HAWK_GROWTH_VERDICTS] = {
		[HAWK_GROWTH_UNCLEAR] = "unclear",
		[HAWK_GROWTH_LEAK] = "leak",
		[HAWK_GROWTH_CACHE] = "cache or growing queue",
		[HAWK_GROWTH_STARTUP] = "start-up",
		[HAWK_GROWTH_BURST] = "burst",
		[HAWK_GROWTH_STEADY] = "steady",
		[HAWK_GROWTH_GROWS] = "only grows",
		[HAWK_GROWTH_SATURATES] = "saturating",
	};

	return names[verdict];
}

bool hawk_growth_is_judged(const struct hawk_growth *growth)
{
	return growth->verdict != HAWK_GROWTH_UNCLEAR && growth->verdict != HAWK_GROWTH_GROWS;
}

bool hawk_growth_is_startup(const struct hawk_growth_facts *facts)
{
	struct judge judge = {.facts = facts};
	double all = sum(facts->born_objects, 0, BINS - 1), later;
	int end = 1;

	while (end < STARTUP_BINS_MAX && facts->life_seconds * (end + 1) / BINS <= STARTUP_SECONDS)
		end++;
	later = sum(facts->born_objects, end, BINS - 1);
	if (facts->no_ages || facts->life_seconds < LIFE_MIN_SECONDS || all <= 0 ||
	    later > 0.05 * all)
		return false;
	return later < (double)BESIDE_BLOCKS * HAWK_AGE_ONE ||
	       occupied(&judge, end, LAST) < SHAPE_PERCENT;
}

const char *hawk_growth_confidence_name(enum hawk_growth_confidence confidence)
{
	static const char *const names[] = {"low", "medium", "high"};

	return names[confidence];
}
