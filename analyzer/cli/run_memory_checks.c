/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Does the program get enough address space for the tracer? See tracer/hawk_cap.h.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "hawk_quantity.h"
#include "hawk_run_checks.h"
#include "hawk_trace_table.h"

static void check(const char *option, int resource, struct hawk_text *warnings)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur >= HAWK_TABLE_ADDRESS_SPACE_MIN)
		return;
	hawk_text_printf(
		warnings,
		"the program is not traced: ulimit %s is %s, and below %s the tracer stands "
		"aside; raise it, or set max_table=8M\n",
		option, hawk_quantity_bytes(limit.rlim_cur).text,
		hawk_quantity_bytes(HAWK_TABLE_ADDRESS_SPACE_MIN).text);
}

static bool sets_table_size(const char *tracer_options)
{
	return tracer_options && strstr(tracer_options, "max_table=");
}

void hawk_run_check_memory(const char *tracer_options, struct hawk_text *warnings)
{
	if (sets_table_size(tracer_options) || sets_table_size(getenv("HAWK_OPTS")))
		return;
	check("-v", RLIMIT_AS, warnings);
	check("-d", RLIMIT_DATA, warnings);
}
