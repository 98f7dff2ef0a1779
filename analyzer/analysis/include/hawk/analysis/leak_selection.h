/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Selects the loss records to report: suppressions, kinds, and the words of the command line for
 * both.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_LEAK_SELECTION_H
#define HAWK_ANALYZER_ANALYSIS_LEAK_SELECTION_H

#include "hawk/analysis/leaks.h"
#include "hawk/analysis/suppressions.h"
#include "hawk/symbols/symbols.h"

enum {
	HAWK_LEAKS_KINDS_LISTED = 1u << HAWK_REACH_DEFINITELY_LOST | 1u << HAWK_REACH_POSSIBLY,
	HAWK_LEAKS_KINDS_LOST = HAWK_LEAKS_KINDS_LISTED | 1u << HAWK_REACH_INDIRECTLY_LOST,
	HAWK_LEAKS_KINDS_ALL = HAWK_LEAKS_KINDS_LOST | 1u << HAWK_REACH_REACHABLE,
};

struct hawk_leak_selection {
	const struct hawk_leak_record **records; /**< in order, suppressed ones left out */
	size_t count;
	size_t kind_counts[HAWK_REACH_KINDS];         /**< records of each kind */
	struct hawk_reach_sum sums[HAWK_REACH_KINDS]; /**< without suppressed records */
	struct hawk_reach_sum suppressed;
};

/** Applies `suppressions` (NULL = none) to all records, counts in them, and keeps the records of
 * `kinds`: bits 1u << enum hawk_reach_kind. `*ret` points into `leaks`; deinitialize it in any
 * case. */
struct hawk_error *hawk_leak_selection_make(const struct hawk_heap *heap,
					    struct hawk_symbols *symbols,
					    const struct hawk_leaks *leaks,
					    struct hawk_suppressions *suppressions, unsigned kinds,
					    struct hawk_leak_selection *ret);
void hawk_leak_selection_deinit(struct hawk_leak_selection *selection);

/** "definite,possible": bits 1u << enum hawk_reach_kind; HAWK_ERROR_USAGE for other words. */
struct hawk_error *hawk_leaks_parse_kinds(const char *text, unsigned *ret);

/** "all", "none", "stdstring,newarray": bits of enum hawk_heuristic; likewise. */
struct hawk_error *hawk_leaks_parse_heuristics(const char *text, unsigned *ret);

#endif
