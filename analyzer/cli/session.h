/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The state of a reading verb: the target, its symbols, the findings, the output.
 */
#ifndef HAWK_ANALYZER_CLI_SESSION_H
#define HAWK_ANALYZER_CLI_SESSION_H

#include "bar.h"
#include "hawk/analysis/balance.h"
#include "hawk/analysis/block_filter.h"
#include "hawk/analysis/selection.h"
#include "cli.h"
#include "hawk/graph/dominators.h"
#include "hawk/objects/types.h"
#include "hawk/analysis/path_types.h"
#include "hawk/report/next.h"
#include "hawk/report/pointers.h"
#include "hawk/report/report.h"
#include "hawk/analysis/site_freed.h"

struct hawk_session {
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_symbols *symbols;
	struct hawk_vtables vtables; /**< found for the graph, or the heap */

	/* Values made from the target, each once, from the earlier ones: see hawk_session_heap()
	 * and the functions below it. NULL until made. */
	struct hawk_heap *heap;
	struct hawk_heap *allocators; /**< below a traced heap */
	struct hawk_graph *graph;
	struct hawk_reach *reach; /**< by all pointers */
	struct hawk_dominators *dominators;
	struct hawk_paths *paths;
	struct hawk_block_types *types;      /**< their names */
	struct hawk_types *type_table;       /**< of all blocks */
	struct hawk_findings graph_findings; /**< not reported yet */

	const struct hawk_settings *settings; /**< of the current question */
	const struct hawk_settings *opened;   /**< with which the target was opened */
	int code;                             /**< exit code, as far as the verb sets it */
	bool checked;
	bool failed;            /**< the answer failed */
	bool answer_complete;   /**< set by a verb to override findings */
	size_t findings_opened; /**< number of findings from opening the target */
	size_t findings_said;   /**< number of findings printed to stderr already */
	uint64_t unpacking_ns;  /**< time spent opening compressed files, on a terminal */
	const char *source;     /**< the core's path; NULL for a process */
	struct hawk_output *output;
	struct hawk_screen screen;
	struct hawk_pointer_report
		report;        /**< of the current question; see hawk_session_report() */
	struct hawk_next next; /**< what to ask after the current question */
	struct hawk_bar bar;
};

/** Opens the output alone, as hawk_session_open() does. */
struct hawk_error *hawk_session_begin(struct hawk_session *session,
				      const struct hawk_settings *settings, const char *core);

/** Opens `core`, or the process of settings->pid if `core` is NULL. The caller deinitializes the
 * session, also after an error. */
struct hawk_error *hawk_session_open(struct hawk_session *session,
				     const struct hawk_settings *settings, const char *core);

/** Sets the settings of the next question, and screen and progress accordingly; drops findings
 * that the answer to the last one added. */
void hawk_session_renew(struct hawk_session *session, const struct hawk_settings *settings);

/** Appends the words that name `core`, or the process if it is NULL, and options for its files. */
void hawk_settings_append_core(const struct hawk_settings *settings, const char *core,
			       struct hawk_text *words);

/** Empties session->next, and names the target there. */
void hawk_session_begin_next(struct hawk_session *session);

/** Returns false if the target came through a pipe, or is a process that ends after the answer. */
bool hawk_session_can_ask_again(const struct hawk_session *session);

/** Sends the answer to settings->output from now on, or to standard output. */
struct hawk_error *hawk_session_set_output(struct hawk_session *session,
					   const struct hawk_settings *settings);

/*
 * Make the values that verbs need, in this order: each is made once, with the earlier ones, and
 * shows its progress. heap->knows is 0 if the heap is unknown and so has no blocks. A process stays
 * stopped until the verb releases the target, which must follow the last function that reads it.
 * Later calls fail with HAWK_ERROR_NOT_FOUND.
 */
/** Makes the sites with their counts, and the accounting; for a table file, too; and the blocks, if
 * they are at most `blocks_max`, or at most `typed_blocks_max` of which types may be told. Reads.
 */
struct hawk_error *hawk_session_sums(struct hawk_session *session, uint64_t blocks_max,
				     uint64_t typed_blocks_max);
/** As hawk_session_sums(), with as many blocks as can be numbered. Reads. */
struct hawk_error *hawk_session_sites(struct hawk_session *session);
/** As hawk_session_sites(), with blocks. Fails with HAWK_ERROR_UNSUPPORTED if blocks are absent or
 * too many. Reads. */
struct hawk_error *hawk_session_heap(struct hawk_session *session);
/** Returns the heap whose `found` and `spans` are the allocators' own: the session's, or if it was
 * traced one beside it. Reads. */
struct hawk_error *hawk_session_allocators(struct hawk_session *session,
					   const struct hawk_heap **ret);

/** Makes the balance and fragmentation, or reads a snapshot's. Deinitialize both also after an
 * error. */
struct hawk_error *hawk_session_balance(struct hawk_session *session, struct hawk_balance *ret,
					struct hawk_fragmentation *fragmentation);

/** Makes fragmentation alone, or reads a snapshot's; likewise. */
struct hawk_error *hawk_session_fragmentation(struct hawk_session *session,
					      struct hawk_fragmentation *ret);
/** Makes the graph for its edges alone: missing roots are not reported. Reads. */
struct hawk_error *hawk_session_edges(struct hawk_session *session);
/** Reads. */
struct hawk_error *hawk_session_graph(struct hawk_session *session);
struct hawk_error *hawk_session_reach(struct hawk_session *session);
struct hawk_error *hawk_session_dominators(struct hawk_session *session);
struct hawk_error *hawk_session_paths(struct hawk_session *session);

/** Returns true if single blocks can be known: not in a table file or a snapshot of sites alone. */
bool hawk_session_has_blocks(const struct hawk_session *session);

/** Returns HAWK_ERROR_UNSUPPORTED if the contents of blocks are missing, as in a snapshot. */
struct hawk_error *hawk_session_contents(const struct hawk_session *session);

/** Returns HAWK_ERROR_NOT_FOUND if a process was released, so that its memory cannot be read any
 * more. */
struct hawk_error *hawk_session_readable(const struct hawk_session *session);

/** Adds up the bytes that groups retain through their blocks in `chosen` (NULL = all): a lower
 * bound; caller frees. */
struct hawk_error *hawk_session_retained_by(struct hawk_session *session,
					    const struct hawk_block_groups *groups,
					    const uint64_t *chosen, uint64_t **ret);
/** As hawk_session_retained_by(), by site. */
struct hawk_error *hawk_session_retained(struct hawk_session *session, const uint64_t *chosen,
					 uint64_t **ret);

/** Chooses the blocks that `filter` lets pass; a NULL filter gives zeros, meaning all. Reads if the
 * filter has types. */
struct hawk_error *hawk_session_choose(struct hawk_session *session,
				       const struct hawk_block_filter *filter,
				       struct hawk_selection *ret);

/** Returns the namer of blocks' types, made on first use. */
struct hawk_error *hawk_session_types(struct hawk_session *session, struct hawk_block_types **ret);

/** Returns the types of all blocks, made on first use. Those that flow last until the next
 * question; they take longer. Without a wish for these, the types that are there will do. Reads. */
struct hawk_error *hawk_session_type_table(struct hawk_session *session,
					   const struct hawk_types_wish *wish,
					   const struct hawk_types **ret);
void hawk_session_drop_types(struct hawk_session *session);

/** Prepares the paths to `blocks`, and sets session->report.path_types: what debug information
 * knows of the blocks on them. Variables of roots are named from now on. Reads. */
struct hawk_error *hawk_session_path_types(struct hawk_session *session, const uint32_t *blocks,
					   size_t count);

/** Returns the query in the options of HAWK_TAKES_QUERY; points into `settings`. */
struct hawk_block_query hawk_settings_query(const struct hawk_settings *settings);

/** Returns true if the settings may choose only some blocks of a site. */
bool hawk_settings_choose_blocks(const struct hawk_settings *settings);

/** Makes the filter for the query; `*ret` is NULL if every block is wanted. Needs the table. */
struct hawk_error *hawk_session_filter(struct hawk_session *session,
				       struct hawk_block_filter **ret);

/** Makes session->report from the session's values, the heap at least; without trees. It is closed
 * after the answer, or by the next report. */
struct hawk_error *hawk_session_report(struct hawk_session *session);
/** As hawk_session_report(), with graph and reach. Releases a process, unless types are to be read
 * or `reads` is set. */
struct hawk_error *hawk_session_reach_report(struct hawk_session *session, bool reads);
void hawk_session_close_report(struct hawk_session *session);

/** Lists the sites that HAWK_TAKES_QUERY chooses by site, function and module. */
struct hawk_error *hawk_session_list_sites(struct hawk_session *session,
					   struct hawk_site_list *ret);

/* For hawk_verb.check: check expressions of HAWK_TAKES_QUERY, and operands: addresses, or a site
 * that becomes settings->site. */
struct hawk_error *hawk_check_query(struct hawk_settings *settings);
struct hawk_error *hawk_check_addresses(struct hawk_settings *settings);
struct hawk_error *hawk_check_site(struct hawk_settings *settings);

/** Releases a process after all reading. Returns `err`, or an error in its place if the process
 * ended meanwhile. */
struct hawk_error *hawk_session_release(struct hawk_session *session, struct hawk_error *err);

/** Adds findings after all reading: the reason for an unknown heap, and troubles with the target.
 */
void hawk_session_check(struct hawk_session *session);

/** Prefixes the file name if `err` is about the contents of a snapshot. */
struct hawk_error *hawk_session_name_snapshot(const struct hawk_session *session,
					      struct hawk_error *err);

/** Prints to stderr the findings that make the answer incomplete, for verbs whose output has no
 * place for them. */
void hawk_session_print_partial(struct hawk_session *session);

/** Forgets the heap and all that depends on it. */
void hawk_session_drop_heap(struct hawk_session *session);

/** Flushes the output, and completes its file or, after a failure, removes it. Returns the exit
 * code: `code` unless writing failed. */
int hawk_session_finish(struct hawk_session *session, int code);

void hawk_session_deinit(struct hawk_session *session);

#endif
