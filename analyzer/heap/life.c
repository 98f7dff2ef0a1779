/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Picks the end of a life from a target's times.
 *
 * Births use CLOCK_MONOTONIC, which stops while a machine sleeps; files use CLOCK_REALTIME. An end
 * known from a file therefore includes sleep.
 */
#include "hawk/heap/life.h"

enum {
	SECOND_NS = 1000000000,
	CLOCK_SET_SECONDS = 1000000000, /**< in 2001: an earlier start is of a clock not set yet */
	IDLE_MIN_SECONDS = 5,           /**< a core takes time to be written */
	IDLE_SHARE = 8, /**< of the life before: a smaller share of idling does not matter */
};

struct bounds {
	uint64_t start_ns; /**< CLOCK_REALTIME, all of them */
	uint64_t clock_ns; /**< the tracer's last clock reading */
	uint64_t present_ns;
};

static uint64_t units_from(uint64_t start_ns, uint64_t end_ns)
{
	return end_ns > start_ns ? (end_ns - start_ns) / HAWK_BIRTH_UNIT_NS : 0;
}

/* Whole seconds are rounded down. */
static bool is_possible(const struct bounds *bounds, uint64_t time_ns)
{
	return time_ns && time_ns + SECOND_NS >= bounds->clock_ns && time_ns <= bounds->present_ns;
}

static void set_end(struct hawk_life *life, enum hawk_life_end end, uint64_t units)
{
	life->end = end;
	life->latest_units = 0;
	if (units > life->end_units)
		life->end_units = units;
}

/* Returns the latest number in the name that can be a time of death. Other numbers hardly ever lie
 * within the bounds. */
static uint64_t time_in_name(const struct bounds *bounds, const struct hawk_end_times *times)
{
	uint64_t latest = 0;

	for (unsigned i = 0; i < HAWK_END_NAMES; i++)
		if (times->name_ns[i] > latest && is_possible(bounds, times->name_ns[i]))
			latest = times->name_ns[i];
	return latest;
}

static void use_file(struct hawk_life *life, const struct hawk_table_header *header,
		     const struct hawk_end_times *times)
{
	struct bounds bounds = {
		.start_ns = header->start_realtime_ns,
		.clock_ns = header->start_realtime_ns + life->clock_units * HAWK_BIRTH_UNIT_NS,
		.present_ns = times->present_ns,
	};
	uint64_t named;

	if (bounds.start_ns / SECOND_NS < CLOCK_SET_SECONDS || bounds.clock_ns < bounds.start_ns)
		return;
	named = time_in_name(&bounds, times);
	if (is_possible(&bounds, times->attribute_ns)) {
		set_end(life, HAWK_LIFE_ATTRIBUTE,
			units_from(bounds.start_ns, times->attribute_ns));
	} else if (named) {
		set_end(life, HAWK_LIFE_NAME, units_from(bounds.start_ns, named));
	} else if (times->file_ns + SECOND_NS >= bounds.clock_ns) {
		life->latest_units = units_from(bounds.start_ns, times->file_ns);
		if (life->latest_units < life->end_units)
			life->latest_units = life->end_units;
	}
}

struct hawk_life hawk_life_find(const struct hawk_table_header *header,
				const struct hawk_end_times *times)
{
	struct hawk_life life = {
		.clock_units = header->clock_units,
		.end_units = header->clock_units,
	};

	if (life.clock_units > UINT64_MAX / HAWK_BIRTH_UNIT_NS / 2)
		return life;
	if (times->monotonic_ns)
		set_end(&life, HAWK_LIFE_NOW,
			units_from(header->start_monotonic_ns, times->monotonic_ns));
	else if (times->realtime_ns)
		set_end(&life, HAWK_LIFE_NOW,
			units_from(header->start_realtime_ns, times->realtime_ns));
	else
		use_file(&life, header, times);
	return life;
}

bool hawk_life_may_have_idled(const struct hawk_life *life)
{
	uint64_t latest = life->latest_units ? life->latest_units : life->end_units;
	double idle = hawk_life_seconds(latest - life->clock_units);

	return latest > life->clock_units && idle > IDLE_MIN_SECONDS &&
	       idle > hawk_life_seconds(life->clock_units) / IDLE_SHARE;
}

double hawk_life_seconds(uint64_t units)
{
	return (double)units * ((double)HAWK_BIRTH_UNIT_NS / 1e9);
}

const char *hawk_life_end_name(enum hawk_life_end end)
{
	static const char *const names[] = {"clock", "now", "attribute", "name"};

	return names[end];
}
