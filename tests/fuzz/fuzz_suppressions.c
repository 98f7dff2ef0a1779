/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Any bytes as a suppression file: it is refused with a line, or matched against a stack within
 * bounds.
 */
#include <stdint.h>
#include <stdlib.h>

#include "hawk/analysis/suppressions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const by_new[] = {"_Znwm", "operator new(unsigned long)", NULL};

static const char *const aliases[] = {"b", "b@@V", NULL};

static const struct hawk_suppression_frame frames[] = {
	{.function = "a(b)",
	 .symbol = "_Z1a1b",
	 .plain = "a",
	 .aliases = aliases,
	 .file = "/c/d.cc",
	 .line = 3,
	 .module = "/e/f",
	 .mapped = "/g/f"},
	{0},
	{.function = "main", .symbol = "main", .file = "/c/m.cc", .line = 9, .module = "/e/f"},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct hawk_suppression_stack stack = {frames, 3, by_new};
	struct hawk_suppressions *suppressions;

	if (size > 1 << 16 || hawk_suppressions_create(&suppressions))
		return 0;
	hawk_error_destroy(hawk_suppressions_parse(suppressions, "input", data, size));
	for (int kind = 1; kind < HAWK_REACH_KINDS; kind++) {
		struct hawk_suppression *found =
			hawk_suppressions_match(suppressions, (enum hawk_reach_kind)kind, &stack);

		if (found && (!found->text || !found->line))
			abort();
	}
	hawk_suppressions_destroy(suppressions);
	return 0;
}
