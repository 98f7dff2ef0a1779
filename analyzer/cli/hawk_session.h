/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What every reading verb opens and closes: the target, its symbols, the findings, the output.
 */
#ifndef HAWK_SESSION_H
#define HAWK_SESSION_H

#include "hawk_cli.h"
#include "hawk_report.h"

struct hawk_session {
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_symbols *symbols;
	struct hawk_heap heap;
	bool table_loaded; /**< heap has its table and sites, with counts only if heap_loaded */
	bool heap_loaded;
	bool checked;
	const char *source; /**< the core's path; NULL for a process */
	struct hawk_output *output;
	struct hawk_screen screen;
	struct hawk_progress {
		bool wanted;
		bool shown;
		uint64_t start_ns;
		uint64_t printed_ns;
	} progress;
};

/** Opens `core`, or the process of settings->pid if `core` is NULL. The session is deinit'ed by the
 * caller, also after an error. */
struct hawk_error *hawk_session_open(struct hawk_session *session,
				     const struct hawk_settings *settings, const char *core);

/**
 * The parts of a session that verbs ask for; each is loaded once, with what it depends on, and
 * shows its progress. heap.table is NULL if the process was not traced. A process stays stopped
 * until the verb releases the target.
 */
/** The trace table: sites and traces, without counts of live blocks. */
struct hawk_error *hawk_session_load_table(struct hawk_session *session);
/** The sites with their counts, and the accounting. */
struct hawk_error *hawk_session_load_heap(struct hawk_session *session);

/** After all reading: adds the findings "not-traced" if no table was found, and what went wrong
 * with the target meanwhile. */
void hawk_session_check(struct hawk_session *session);

/** On stderr: the findings that make the answer incomplete, for verbs whose output has no place for
 * them. */
void hawk_session_print_partial(const struct hawk_session *session);

/** A progress callback for sweeps; `session` is the context. Prints after a second, on a terminal.
 */
void hawk_session_progress(void *session, uint64_t done, uint64_t all);
void hawk_session_end_progress(struct hawk_session *session);

/** Flushes the output; the exit code, which is `code` unless writing failed. */
int hawk_session_finish(struct hawk_session *session, int code);

void hawk_session_deinit(struct hawk_session *session);

#endif
