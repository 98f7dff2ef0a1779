/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What verbs that follow pointers have in common: a pointer report made from a session.
 */
#ifndef HAWK_ANALYZER_CLI_POINTER_SESSION_H
#define HAWK_ANALYZER_CLI_POINTER_SESSION_H

#include "hawk/report/pointers.h"
#include "session.h"

/** The options --pid, --top, --depth, --full, --threads and --json. */
extern const struct hawk_option hawk_pointer_options[];

/** Makes a report of what the session has, the heap at least; without trees. `*ret` is to be
 * deinitialized whether that succeeds or not. */
struct hawk_error *hawk_pointer_session_open(struct hawk_session *session,
					     struct hawk_pointer_report *ret);
/** The same with graph and reach. A process runs on afterwards, unless types are to be read, or
 * `reads` says so. */
struct hawk_error *hawk_pointer_session_reach(struct hawk_session *session, bool reads,
					      struct hawk_pointer_report *ret);
void hawk_pointer_session_deinit(struct hawk_pointer_report *report);

/** The sites that hawk_wish_options choose by site, function and module. */
struct hawk_error *hawk_pointer_session_sites(struct hawk_session *session,
					      struct hawk_site_list *ret);

/* For hawk_verb.check: expressions of hawk_wish_options are checked; and operands, which are
 * addresses, or a site that becomes settings->site. */
struct hawk_error *hawk_check_wish(struct hawk_settings *settings);
struct hawk_error *hawk_check_addresses(struct hawk_settings *settings);
struct hawk_error *hawk_check_site(struct hawk_settings *settings);

#endif
