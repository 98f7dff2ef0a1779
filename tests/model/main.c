/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Explores one scenario, in a process of its own: set-up has no way back.
 *
 *     hawk_model SCENARIO | --list
 *
 * Exit code 0: all properties hold in every execution; 3: one does not, and here is the schedule.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "scenarios.h"

static const struct model_scenario *const scenarios[] = {
	&scenario_traces_same,      &scenario_traces_chain,      &scenario_traces_tail,
	&scenario_traces_next,      &scenario_traces_table,      &scenario_traces_no_table,
	&scenario_rules_growth,     &scenario_rules_ways_growth, &scenario_traces_border,
	&scenario_traces_no_memory, &scenario_slots_threads,     &scenario_slots_handler,
	&scenario_slots_flush,      &scenario_slots_flush_twice, &scenario_slots_new,
	&scenario_rules_linger,     &scenario_slots_three,       &scenario_arena_words,
	&scenario_arena_limit,      &scenario_rules_unload,      &scenario_arena_short,
	&scenario_rules_ways,       &scenario_modules_first,     &scenario_modules_reload,
	&scenario_file_growth,      &scenario_file_full,         &scenario_file_claims,
	&scenario_known_full,       &scenario_known_growth,      &scenario_labels_chain,
	&scenario_labels_same,      &scenario_labels_border,     &scenario_labels_no_memory,
	&scenario_live_handler,     &scenario_live_both,         &scenario_record,
};

enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };

static void on_fault(int number)
{
	model_fail("signal %d", number);
}

static int explore(const struct model_scenario *scenario)
{
	uint64_t executions;

	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	executions = model_explore(scenario);
	printf("%s: %lu executions, up to %u preemptions\n", scenario->name, executions,
	       scenario->preemptions);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < SCENARIOS; i++)
			printf("%s: %s\n", scenarios[i]->name, scenarios[i]->properties);
		return 0;
	}
	for (size_t i = 0; argc == 2 && i < SCENARIOS; i++)
		if (!strcmp(argv[1], scenarios[i]->name))
			return explore(scenarios[i]);
	fprintf(stderr, "usage: hawk_model SCENARIO | --list\n");
	return 2;
}
