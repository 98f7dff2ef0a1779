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

static const struct model_scenario *const files[] = {
	scenarios_arena, scenarios_file,    scenarios_known, scenarios_labels,
	scenarios_live,  scenarios_modules, scenarios_slots, scenarios_traces};

enum { FILES = sizeof(files) / sizeof(files[0]) };

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
	bool list = argc == 2 && !strcmp(argv[1], "--list");

	for (size_t i = 0; argc == 2 && i < FILES; i++)
		for (const struct model_scenario *at = files[i]; at->name; at++)
			if (list)
				printf("%s: %s\n", at->name, at->properties);
			else if (!strcmp(argv[1], at->name))
				return explore(at);
	if (list)
		return 0;
	fprintf(stderr, "usage: hawk_model SCENARIO | --list\n");
	return 2;
}
