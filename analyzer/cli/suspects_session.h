/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suspects of a session, for the end of analyze: whether to look for them, and the looking.
 */
#ifndef HAWK_ANALYZER_CLI_SUSPECTS_SESSION_H
#define HAWK_ANALYZER_CLI_SUSPECTS_SESSION_H

#include "pointer_session.h"
#include "hawk/report/suspects.h"

struct hawk_suspects_session {
	struct hawk_pointer_report pointers;
	struct hawk_suspects suspects;
	struct hawk_text target; /**< of commands */
	struct hawk_text skipped;
	bool wanted; /**< there is a section, be it only with the reason why there are none */
};

/** Whether analyze should sweep for the graph at once: suspects may be asked for. */
bool hawk_suspects_wanted(const struct hawk_session *session, const struct hawk_settings *settings);

/**
 * After the heap was loaded. Says in `ret->suspects.skipped` why there are none. Deinitialize also
 * after an error.
 */
struct hawk_error *hawk_suspects_session_make(struct hawk_session *session,
					      const struct hawk_settings *settings,
					      struct hawk_suspects_session *ret);
void hawk_suspects_session_deinit(struct hawk_suspects_session *suspects);

#endif
