/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words for growth verdicts, in plain ASCII.
 */
#include "hawk_growth_text.h"

#include <string.h>

#include "hawk_quantity.h"

/** 0 .. 1 as "none", "47.6 %", "all" */
static struct hawk_quantity percent(double share)
{
	const double whole = 1e9;

	if (share <= 0)
		return (struct hawk_quantity){{"none"}};
	if (share >= 1)
		return (struct hawk_quantity){{"all"}};
	if (share > 0.9995)
		return (struct hawk_quantity){{">99.9 %"}};
	return hawk_quantity_share((uint64_t)(share * whole), (uint64_t)whole);
}

static struct hawk_quantity time_at(const struct hawk_growth *growth, double share)
{
	if (share <= 0)
		return (struct hawk_quantity){{"0 s"}};
	return hawk_quantity_seconds(share * growth->life_seconds);
}

static void append_window(struct hawk_text *text, const struct hawk_growth *growth)
{
	hawk_text_printf(text, "%s of the blocks were made between %s and %s of its life",
			 percent(growth->share).text, time_at(growth, growth->window_start).text,
			 time_at(growth, growth->window_end).text);
}

static void append_few(struct hawk_text *text, const struct hawk_growth_facts *facts)
{
	hawk_text_printf(text, "only %s block%s %s known", hawk_quantity_count(facts->objects).text,
			 facts->objects == 1 ? "" : "s", facts->objects == 1 ? "is" : "are");
}

/** Reasons that are patterns in time. */
static void append_pattern(struct hawk_text *text, const struct hawk_growth *growth,
			   enum hawk_growth_reason reason)
{
	if (reason == HAWK_REASON_AT_START)
		hawk_text_printf(text, "%s of the blocks are from the first %s of its life",
				 percent(growth->share).text,
				 time_at(growth, growth->window_end).text);
	else if (reason == HAWK_REASON_YOUNG)
		hawk_text_printf(text, "%s of the blocks are from the last %s",
				 percent(growth->share).text,
				 time_at(growth, 1 - growth->window_start).text);
	else if (reason == HAWK_REASON_SINCE)
		hawk_text_printf(text, "blocks survive from every part of the last %s",
				 time_at(growth, 1 - growth->window_start).text);
	else if (reason == HAWK_REASON_OLD_GONE)
		hawk_text_printf(text,
				 "%s of the blocks are from the younger half of its life, as in a "
				 "full cache or a queue that grows",
				 percent(growth->share).text);
	else
		append_window(text, growth);
}

void hawk_growth_append_reason(struct hawk_text *text, const struct hawk_growth *growth,
			       const struct hawk_growth_facts *facts,
			       enum hawk_growth_reason reason)
{
	switch (reason) {
	case HAWK_REASON_YOUNG_PROCESS:
		hawk_text_printf(text, "its life of %s is too short to tell",
				 hawk_quantity_seconds(growth->life_seconds).text);
		return;
	case HAWK_REASON_FEW_BLOCKS:
		append_few(text, facts);
		return;
	case HAWK_REASON_NO_PATTERN:
		hawk_text_puts(text, "the ages of its blocks fit no pattern");
		return;
	case HAWK_REASON_EVERY_PART:
		hawk_text_puts(text, "blocks survive from every part of its life");
		return;
	case HAWK_REASON_STILL_GOING:
		hawk_text_puts(text, "it may go on: perhaps the beginning of a leak");
		return;
	case HAWK_REASON_FREED:
		hawk_text_printf(text, "%s of what it allocated was freed",
				 percent(growth->freed).text);
		return;
	case HAWK_REASON_RATE:
		hawk_text_printf(text, "it grows by %s per hour",
				 hawk_quantity_bytes((uint64_t)growth->bytes_per_hour).text);
		return;
	case HAWK_REASON_LOST:
		hawk_text_printf(text, "%s of it is lost: no root leads there",
				 percent(growth->lost).text);
		return;
	case HAWK_REASON_HELD:
		hawk_text_puts(text, "something holds it: a container without a limit?");
		return;
	case HAWK_REASON_BESIDE:
		hawk_text_printf(text, "besides, %s blocks survive from all of the later parts",
				 hawk_quantity_count(growth->beside_objects).text);
		return;
	case HAWK_REASON_SAMPLED:
		hawk_text_puts(text, "stacks were sampled, so that counts are estimates");
		return;
	case HAWK_REASON_NO_COUNTERS:
		hawk_text_puts(text, "how many were freed is not known");
		if (facts->alloc_objects && facts->missing_objects)
			hawk_text_puts(text, ", because blocks are missing");
		return;
	case HAWK_REASON_NO_RATE:
		hawk_text_printf(text, "its life of %s is too short for a rate",
				 hawk_quantity_seconds(growth->life_seconds).text);
		return;
	case HAWK_REASON_NONE:
		return;
	default:
		append_pattern(text, growth, reason);
	}
}

void hawk_growth_append_reasons(struct hawk_text *text, const struct hawk_growth *growth,
				const struct hawk_growth_facts *facts)
{
	for (unsigned i = 0; i < growth->reason_count; i++) {
		if (i)
			hawk_text_puts(text, "; ");
		hawk_growth_append_reason(text, growth, facts, growth->reasons[i]);
	}
}

void hawk_growth_append_verdict(struct hawk_text *text, const struct hawk_growth *growth)
{
	hawk_text_puts(text, hawk_growth_verdict_name(growth->verdict));
	if (growth->verdict != HAWK_GROWTH_UNCLEAR)
		hawk_text_printf(text, " (%s confidence)",
				 hawk_growth_confidence_name(growth->confidence));
}

void hawk_growth_bar(const struct hawk_growth_facts *facts, char bar[HAWK_AGE_BINS + 1])
{
	static const char levels[] = " .:-=+*#", too_short[] = "(too short)";
	const unsigned top = sizeof(levels) - 2;
	uint64_t most = 0;

	memset(bar, ' ', HAWK_AGE_BINS);
	bar[HAWK_AGE_BINS] = '\0';
	if (facts->life_seconds < 1) { // its parts are shorter than the unit of births
		memcpy(bar + 3, too_short, sizeof(too_short) - 1);
		return;
	}
	for (unsigned i = 0; i < HAWK_AGE_BINS; i++)
		if (facts->born_objects[i] > most)
			most = facts->born_objects[i];
	for (unsigned i = 0; most && i < HAWK_AGE_BINS; i++) {
		double height = (double)facts->born_objects[i] / (double)most * top;
		unsigned level = (unsigned)(height + 0.5);

		if (!level && facts->born_objects[i])
			level = 1;
		bar[i] = levels[level];
	}
}
