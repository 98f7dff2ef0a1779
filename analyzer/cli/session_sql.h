/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tables of a session.
 */
#ifndef HAWK_ANALYZER_CLI_SESSION_SQL_H
#define HAWK_ANALYZER_CLI_SESSION_SQL_H

#include "hawk/query/sql.h"
#include "session.h"

/** Opens the tables of the session's values; further values are loaded on demand. Close them before
 * the session. */
struct hawk_error *hawk_session_sql(struct hawk_session *session, struct hawk_sql **ret);

#endif
