/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What every reading verb opens and closes: the target, its symbols, the findings, the output.
 */
#ifndef HAWK_ANALYZER_CLI_SESSION_H
#define HAWK_ANALYZER_CLI_SESSION_H

#include "bar.h"
#include "hawk/analysis/block_filter.h"
#include "hawk/analysis/selection.h"
#include "cli.h"
#include "hawk/graph/dominators.h"
#include "hawk/analysis/paths.h"
#include "hawk/report/pointers.h"
#include "hawk/report/report.h"
#include "hawk/analysis/site_freed.h"

struct hawk_session {
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_symbols *symbols;
	struct hawk_vtables vtables; /**< found for the graph, or the heap */

	/* What has been made of the target, each once, from those before it: see
	 * hawk_session_heap() and those below. NULL before that. */
	struct hawk_heap *heap;
	struct hawk_graph *graph;
	struct hawk_reach *reach; /**< by all pointers */
	struct hawk_dominators *dominators;
	struct hawk_paths *paths;
	struct hawk_block_types *types;
	struct hawk_findings graph_findings; /**< that have not been said */

	const struct hawk_settings *settings; /**< of the question that is being answered */
	int code;                             /**< exit code, as far as the verb sets it */
	bool checked;
	bool failed;            /**< there is no answer */
	bool answer_complete;   /**< set by a verb: whatever findings say */
	size_t findings_opened; /**< of the findings: from opening the target */
	size_t findings_said;   /**< of the findings: on stderr already */
	uint64_t unpacking_ns;  /**< that opening compressed files took on a terminal */
	const char *source;     /**< the core's path; NULL for a process */
	struct hawk_output *output;
	struct hawk_screen screen;
	struct hawk_pointer_report report; /**< of the question; hawk_session_report() */
	struct hawk_bar bar;
};

/** Opens the output alone, as hawk_session_open() does. */
struct hawk_error *hawk_session_begin(struct hawk_session *session,
				      const struct hawk_settings *settings, const char *core);

/** Opens `core`, or the process of settings->pid if `core` is NULL. The session is deinit'ed by the
 * caller, also after an error. */
struct hawk_error *hawk_session_open(struct hawk_session *session,
				     const struct hawk_settings *settings, const char *core);

/** Sets the settings of the next of several questions, and screen and progress by them. */
void hawk_session_renew(struct hawk_session *session, const struct hawk_settings *settings);

/** The answer goes to settings->output from now on, or to standard output. */
struct hawk_error *hawk_session_set_output(struct hawk_session *session,
					   const struct hawk_settings *settings);

/*
 * What verbs ask for, in this order: each is made once, with those before it, and shows its
 * progress. heap->knows is 0 if the heap is unknown: then there are no blocks. A process
 * stands still until the verb releases the target; that must be after the last of those that read
 * it. After that they are HAWK_ERROR_NOT_FOUND.
 */
/** The sites with their counts, and the accounting; of a table file, too. Reads. */
struct hawk_error *hawk_session_sites(struct hawk_session *session);
/** The same with blocks; HAWK_ERROR_UNSUPPORTED where there are none, or too many. Reads. */
struct hawk_error *hawk_session_heap(struct hawk_session *session);
/** The graph, for its edges alone: that roots are missing is not said. Reads. */
struct hawk_error *hawk_session_edges(struct hawk_session *session);
/** Reads. */
struct hawk_error *hawk_session_graph(struct hawk_session *session);
struct hawk_error *hawk_session_reach(struct hawk_session *session);
struct hawk_error *hawk_session_dominators(struct hawk_session *session);
struct hawk_error *hawk_session_paths(struct hawk_session *session);

/** Returns true if single blocks can be known: not of a table file, nor of sites alone. */
bool hawk_session_has_blocks(const struct hawk_session *session);

/** HAWK_ERROR_UNSUPPORTED if the contents of blocks are not there: in a snapshot. */
struct hawk_error *hawk_session_contents(const struct hawk_session *session);

/** HAWK_ERROR_NOT_FOUND if a process was released, so that its memory cannot be read any more. */
struct hawk_error *hawk_session_readable(const struct hawk_session *session);

/** Adds up what sites retain by those of their blocks in `chosen` (NULL = all): a lower bound;
 * caller frees. */
struct hawk_error *hawk_session_retained(struct hawk_session *session, const uint64_t *chosen,
					 uint64_t **ret);

/** The blocks that `filter` lets pass; zeros if that is NULL: all. Reads if types are asked for. */
struct hawk_error *hawk_session_choose(struct hawk_session *session,
				       const struct hawk_block_filter *filter,
				       struct hawk_selection *ret);

/** The namer of blocks' types, made when it is first asked for. */
struct hawk_error *hawk_session_types(struct hawk_session *session, struct hawk_block_types **ret);

/** What the options of HAWK_TAKES_QUERY say; points into `settings`. */
struct hawk_block_query hawk_settings_query(const struct hawk_settings *settings);

/** Whether these take some blocks of a site, and not all. */
bool hawk_settings_choose_blocks(const struct hawk_settings *settings);

/** The filter for that, `*ret` = NULL if every block is wanted. Needs the table. */
struct hawk_error *hawk_session_filter(struct hawk_session *session,
				       struct hawk_block_filter **ret);

/** Makes session->report of what the session has, the heap at least; without trees. Closed after
 * the answer, or by the next one. */
struct hawk_error *hawk_session_report(struct hawk_session *session);
/** The same with graph and reach. A process runs on afterwards, unless types are to be read, or
 * `reads` says so. */
struct hawk_error *hawk_session_reach_report(struct hawk_session *session, bool reads);
void hawk_session_close_report(struct hawk_session *session);

/** The sites that HAWK_TAKES_QUERY chooses by site, function and module. */
struct hawk_error *hawk_session_list_sites(struct hawk_session *session,
					   struct hawk_site_list *ret);

/* For hawk_verb.check: expressions of HAWK_TAKES_QUERY are checked; and operands, which are
 * addresses, or a site that becomes settings->site. */
struct hawk_error *hawk_check_query(struct hawk_settings *settings);
struct hawk_error *hawk_check_addresses(struct hawk_settings *settings);
struct hawk_error *hawk_check_site(struct hawk_settings *settings);

/** After all reading: lets a process go on. Returns `err`, or that the process ended meanwhile,
 * which takes its place. */
struct hawk_error *hawk_session_release(struct hawk_session *session, struct hawk_error *err);

/** After all reading: adds why the heap is unknown, if it is, and what went wrong
 * with the target meanwhile. */
void hawk_session_check(struct hawk_session *session);

/** Says which file is meant if `err` is about the contents of a snapshot. */
struct hawk_error *hawk_session_name_snapshot(const struct hawk_session *session,
					      struct hawk_error *err);

/** On stderr: the findings that make the answer incomplete, for verbs whose output has no place for
 * them. */
void hawk_session_print_partial(struct hawk_session *session);

/** Forgets the heap and all that depends on it. */
void hawk_session_drop_heap(struct hawk_session *session);

/** Flushes the output, and completes or, if there is no answer, removes its file. Returns the exit
 * code, which is `code` unless writing failed. */
int hawk_session_finish(struct hawk_session *session, int code);

void hawk_session_deinit(struct hawk_session *session);

#endif
