/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Leaks of a session, ready to be reported; for `leaks`, and for verbs that show them in a section.
 */
#ifndef HAWK_ANALYZER_CLI_LEAKS_H
#define HAWK_ANALYZER_CLI_LEAKS_H

#include "hawk/report/leaks.h"
#include "session.h"

struct hawk_leaks_session {
	struct hawk_explained explained; /**< both only if not all heuristics were asked for */
	struct hawk_reach reach;
	struct hawk_leaks leaks;
	struct hawk_leak_leader *leaders;
	struct hawk_suppressions *suppressions;
	struct hawk_leak_selection selection;
	struct hawk_root_namer *namer;
	struct hawk_leaks_report report;
};

/**
 * Loads what is needed, lets a living process go, finds leaks and adds the findings about what
 * makes them uncertain. Records are of `kinds` (bits 1u << enum hawk_reach_kind); suppressions,
 * heuristics and the query are those of `settings`. Deinitialize also after an error.
 */
struct hawk_error *hawk_leaks_session_make(struct hawk_session *session, unsigned kinds,
					   struct hawk_leaks_session *ret);
void hawk_leaks_session_deinit(struct hawk_leaks_session *leaks);

#endif
