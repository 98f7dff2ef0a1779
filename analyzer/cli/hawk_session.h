/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What every reading verb opens and closes: the target, its symbols, the findings, the output.
 */
#ifndef HAWK_SESSION_H
#define HAWK_SESSION_H

#include "hawk_bar.h"
#include "hawk_block_filter.h"
#include "hawk_block_graph.h"
#include "hawk_cli.h"
#include "hawk_report.h"

struct hawk_session {
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_symbols *symbols;
	struct hawk_heap heap;
	struct hawk_block_graph graph;  /**< see hawk_session_load_graph() */
	struct hawk_block_types *types; /**< NULL before hawk_session_types() */
	struct hawk_vtable_oracle vtables;
	bool table_loaded; /**< heap has its table and sites, with counts only if heap_loaded */
	bool heap_loaded;
	bool graph_loaded;
	bool checked;
	bool answer_complete;  /**< set by a verb: whatever findings say */
	size_t findings_said;  /**< of the findings: on stderr already */
	uint64_t unpacking_ns; /**< that opening compressed files took on a terminal */
	const char *source;    /**< the core's path; NULL for a process */
	struct hawk_output *output;
	struct hawk_screen screen;
	struct hawk_bar bar;
};

/** Opens `core`, or the process of settings->pid if `core` is NULL. The session is deinit'ed by the
 * caller, also after an error. */
struct hawk_error *hawk_session_open(struct hawk_session *session,
				     const struct hawk_settings *settings, const char *core);

/** Screen and progress as `settings` want them, for the next of several questions. */
void hawk_session_renew(struct hawk_session *session, const struct hawk_settings *settings);

/** The answer goes to `fd` from now on. */
void hawk_session_set_output(struct hawk_session *session, int fd);

/**
 * The parts of a session that verbs ask for; each is loaded once, with what it depends on, and
 * shows its progress. heap.table is NULL if the process was not traced. A process stays stopped
 * until the verb releases the target.
 */
/** The trace table: sites and traces, without counts of live blocks. */
struct hawk_error *hawk_session_load_table(struct hawk_session *session);
/** The sites with their counts, and the accounting. */
struct hawk_error *hawk_session_load_heap(struct hawk_session *session);

/**
 * The sites with their counts, the block index, and `parts` (enum hawk_block_graph_part) of
 * session->graph. A process is let go as soon as its memory is no longer needed, unless `parts` has
 * HAWK_PART_CONTENTS.
 */
struct hawk_error *hawk_session_load_graph(struct hawk_session *session,
					   const struct hawk_settings *settings, unsigned parts);

/** The namer of blocks' types, made when it is first asked for. */
struct hawk_error *hawk_session_types(struct hawk_session *session, struct hawk_block_types **ret);

/** What hawk_wish_options say; points into `settings`. */
struct hawk_block_wish hawk_settings_wish(const struct hawk_settings *settings);

/** Whether these take some blocks of a site, and not all. */
bool hawk_settings_choose_blocks(const struct hawk_settings *settings);

/** The filter for that, `*ret` = NULL if every block is wanted. The table must be loaded. */
struct hawk_error *hawk_session_filter(struct hawk_session *session,
				       const struct hawk_settings *settings,
				       struct hawk_block_filter **ret);

/** After all reading: lets a process go on. Returns `err`, or that the process ended meanwhile,
 * which takes its place. */
struct hawk_error *hawk_session_release(struct hawk_session *session, struct hawk_error *err);

/** After all reading: adds the findings "not-traced" if no table was found, and what went wrong
 * with the target meanwhile. */
void hawk_session_check(struct hawk_session *session);

/** On stderr: the findings that make the answer incomplete, for verbs whose output has no place for
 * them. */
void hawk_session_print_partial(struct hawk_session *session);

/** Forgets the heap and all that depends on it. */
void hawk_session_drop_heap(struct hawk_session *session);

/** A progress callback for sweeps; `session` is the context. */
void hawk_session_progress(void *session, uint64_t done, uint64_t all);

/** Flushes the output; the exit code, which is `code` unless writing failed. */
int hawk_session_finish(struct hawk_session *session, int code);

void hawk_session_deinit(struct hawk_session *session);

#endif
