/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * stats=1: the tracer's own counters, printed to stderr when the process exits. Sums over all slots
 * while other threads may still run, so the numbers are approximate.
 */
#include "table/arena.h"
#include "init.h"
#include "base/options.h"
#include "table/place.h"
#include "base/say.h"
#include "table/threads.h"

struct sums {
	uint64_t allocations; /**< blocks given a sealed header */
	uint64_t frees;
	uint64_t changed;   /**< stacks that differed from the thread's last one */
	uint64_t looked_up; /**< of these: not in the cache, looked up in the table */
	uint64_t dropped;   /**< no stack or no header, for lack of room */
};

static void add_slot(struct sums *sums, const struct hawk_slot *slot)
{
	const struct hawk_head *head;

	if (!slot->hold)
		return;
	head = hawk_threads_head(slot);
	sums->allocations += head->record.alloc_objects_untraced;
	sums->frees += head->record.free_objects;
	sums->dropped += head->record.dropped_objects;
	sums->changed += slot->changed_stacks;
	sums->looked_up += slot->looked_up_stacks;
	for (uint32_t i = 0; i < HAWK_COUNTER_ENTRIES; i++)
		sums->allocations += head->counters[i].objects;
}

static uint64_t allocations_of(const struct hawk_trace_record *record)
{
	const unsigned unused = 64 - HAWK_COUNTER_OBJECTS_BITS;
	uint64_t objects = hawk_counter_objects(record->alloc_objects, record->alloc_bytes);

	/* May be negative, see hawk_counter_objects(). */
	return (uint64_t)((int64_t)(objects << unused) >> unused);
}

static struct sums add_up(void)
{
	const struct hawk_table_header *header = hawk_table_header;
	struct sums sums = {.allocations = header->orphan_alloc_objects,
			    .frees = header->orphan_free_objects,
			    .dropped = header->dropped_objects};

	for (uint32_t i = 0; i < header->thread_count; i++)
		add_slot(&sums, hawk_threads_slot(i));
	for (uint32_t i = 1; i < header->trace_count; i++) {
		unsigned segment = hawk_segment_of(i, HAWK_TRACE_SEGMENT_LOG2);

		if (segment < HAWK_TRACE_SEGMENTS && header->trace_segments[segment])
			sums.allocations += allocations_of(hawk_arena_trace(i));
	}
	return sums;
}

static void say_line(const char *name, uint64_t value)
{
	hawk_say("libhawk_tracer: ");
	hawk_say(name);
	hawk_say(" ");
	hawk_say_number(value);
	hawk_say("\n");
}

__attribute__((destructor)) static void print_at_exit(void)
{
	struct sums sums;

	if (hawk_options.stats && hawk_init_lacks_memory)
		hawk_say("libhawk_tracer: not tracing: ulimit -v or -d is below 32 MiB; "
			 "use max_table=8M to trace anyway\n");
	if (!hawk_options.stats || hawk_phase != HAWK_PHASE_TRACING)
		return;
	sums = add_up();
	say_line("allocations", sums.allocations);
	say_line("frees", sums.frees);
	say_line("unchanged_stacks", sums.allocations - sums.changed);
	say_line("changed_stacks", sums.changed);
	say_line("looked_up_stacks", sums.looked_up);
	say_line("distinct_stacks", hawk_table_header->trace_count - 1);
	say_line("rules_made", hawk_unwind_stats.rule_misses);
	say_line("complex_frames", hawk_unwind_stats.complex_rules);
	say_line("frames_without_rules", hawk_unwind_stats.no_rule);
	say_line("pages_probed", hawk_unwind_stats.probes);
	say_line("threads", hawk_table_header->thread_count);
	say_line("modules", hawk_table_header->module_count);
	say_line("table_bytes", hawk_place_bytes());
	say_line("table_limit", hawk_place_limit);
	say_line("dropped", sums.dropped);
}
