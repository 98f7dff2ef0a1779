/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Leaks of a session, ready to report; for `leaks`, and for verbs that show them in a section.
 */
#ifndef HAWK_ANALYZER_CLI_LEAKS_H
#define HAWK_ANALYZER_CLI_LEAKS_H

#include "hawk/report/leaks.h"
#include "session.h"

struct hawk_leaks_session {
	struct hawk_explained
		explained; /**< this and `reach` only if not all heuristics were requested */
	struct hawk_reach reach;
	struct hawk_leaks leaks;
	struct hawk_leak_cycles cycles;
	struct hawk_leak_leader *leaders;
	struct hawk_suppressions *suppressions;
	struct hawk_leak_selection selection;
	struct hawk_root_namer *namer;
	struct hawk_site_names *names;
	struct hawk_leaks_report report;
};

/**
 * Loads the values needed, releases a living process, finds leaks, and adds findings about
 * uncertainty. Records are of `kinds` (bits 1u << enum hawk_reach_kind); suppressions, heuristics
 * and the query come from `settings`. Deinitialize also after an error.
 */
struct hawk_error *hawk_leaks_session_make(struct hawk_session *session, unsigned kinds,
					   struct hawk_leaks_session *ret);
void hawk_leaks_session_deinit(struct hawk_leaks_session *leaks);

#endif
