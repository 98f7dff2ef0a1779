/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Checks the heap for the verbs that print its damages.
 */
#ifndef HAWK_ANALYZER_CLI_VERIFY_H
#define HAWK_ANALYZER_CLI_VERIFY_H

#include "hawk/report/verify.h"
#include "session.h"

struct hawk_verify_session {
	struct hawk_verify verify;
	struct hawk_verify_report report;
};

/** Checks the heap of a session that has one, and makes the report. Reads. Deinitialize `ret`, also
 * after an error. */
struct hawk_error *hawk_verify_session_make(struct hawk_session *session,
					    struct hawk_verify_session *ret);
void hawk_verify_session_deinit(struct hawk_verify_session *verify);

#endif
