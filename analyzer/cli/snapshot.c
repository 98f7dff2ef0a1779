/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core snapshot: the known facts of a heap in one file. Every verb that needs no contents of
 * blocks answers from it as from the core, even on a machine without the program's files.
 */
#include "hawk/analysis/threads.h"
#include "hawk/names/ask.h"
#include "hawk/names/block_type.h"
#include "hawk/snapshot/writer.h"
#include "session.h"

static uint64_t flags_of(const struct hawk_settings *settings)
{
	return (settings->sites_only ? HAWK_SNAPSHOT_SITES_ONLY : 0) |
	       (settings->paths == HAWK_PATHS_CHOICE_BASE ? HAWK_SNAPSHOT_BASE_PATHS : 0);
}

/** Returns true if blocks are to be written. */
static bool wants_blocks(const struct hawk_session *session)
{
	return session->heap->knows & HAWK_HEAP_BLOCKS && !session->settings->sites_only;
}

/** Loads all values. A process stays stopped until the file is written, since the places of
 * pointers are read meanwhile. */
static struct hawk_error *load(struct hawk_session *session)
{
	struct hawk_error *err = hawk_session_sites(session);

	if (!err && wants_blocks(session) && session->heap->refusal)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "%s (--sites-only leaves them out)",
					 session->heap->refusal);
	return !err && wants_blocks(session) ? hawk_session_graph(session) : err;
}

/** Writes what threads wait for, and asks for the names of where their locks lie. */
static struct hawk_error *write_waits(struct hawk_session *session,
				      struct hawk_snapshot_writer *writer)
{
	struct hawk_threads_wish wish = {.target = session->target,
					 .symbols = session->symbols,
					 .heap = session->heap,
					 .is_brief = true};
	struct hawk_threads threads = {0};
	struct hawk_error *err = hawk_session_types(session, &wish.types);

	if (!err)
		err = hawk_threads_make(&wish, &threads);
	if (!err) {
		hawk_threads_resolve(&wish, &threads);
		err = hawk_threads_save(&threads, writer);
	}
	hawk_threads_deinit(&threads);
	return err;
}

/** Writes types with a fresh namer: an older one would not ask again for names known before
 * questions were kept. */
static struct hawk_error *write_types(struct hawk_session *session,
				      struct hawk_snapshot_writer *writer)
{
	struct hawk_block_types *types;
	struct hawk_error *err =
		hawk_block_types_create(session->heap, &session->vtables, session->symbols, &types);

	if (err)
		return err;
	err = hawk_block_types_save(types, session->heap, writer);
	hawk_block_types_destroy(types);
	return err;
}

/** Writes what the memory is used for. */
static struct hawk_error *write_balance(struct hawk_session *session,
					struct hawk_snapshot_writer *writer)
{
	struct hawk_fragmentation fragmentation = {0};
	struct hawk_balance balance = {0};
	struct hawk_error *err = hawk_session_balance(session, &balance, &fragmentation);

	if (!err)
		err = hawk_balance_save(&balance, &fragmentation, writer);
	hawk_fragmentation_deinit(&fragmentation);
	hawk_balance_deinit(&balance);
	return err;
}

/** Writes all parts; those that ask for names come before the symbols. */
static struct hawk_error *write_parts(struct hawk_session *session,
				      struct hawk_snapshot_writer *writer)
{
	struct hawk_error *err = hawk_target_save(session->target, &session->findings,
						  session->findings_opened, writer);

	if (!err && session->heap->table)
		err = hawk_table_save(session->heap->table, writer);
	if (!err && session->graph)
		err = write_types(session, writer);
	if (!err)
		err = write_waits(session, writer);
	if (!err)
		err = hawk_names_ask(session->heap, session->graph, session->symbols);
	if (!err)
		err = hawk_symbols_save(session->symbols, writer);
	if (!err)
		err = hawk_heap_save(session->heap, writer);
	if (!err)
		err = hawk_heap_allocators_save(session->heap, &session->findings, writer);
	if (!err && wants_blocks(session))
		err = write_balance(session, writer);
	if (!err && session->graph)
		err = hawk_graph_save(session->graph, writer);
	return err ? err : hawk_snapshot_finish(writer);
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct hawk_snapshot_writer writer;
	struct hawk_error *err;

	if (hawk_target_snapshot(session->target))
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "%s is a snapshot already",
					 session->source);
	err = hawk_output_refuse_terminal(session->output, "a snapshot");
	if (err)
		return err;
	err = load(session);
	if (!err)
		err = hawk_symbols_keep_questions(session->symbols);
	if (!err) {
		hawk_snapshot_begin(&writer, session->output, flags_of(session->settings));
		err = write_parts(session, &writer);
	}
	err = hawk_session_release(session, err);
	if (!err)
		hawk_session_check(session);
	return err;
}

static const struct hawk_option options[] = {
	{"sites-only", '\0', HAWK_OPTION_FLAG, HAWK_AT(sites_only), NULL,
	 "sums by site, without blocks and pointers: the smallest file"},
	{"paths", '\0', HAWK_OPTION_CHOICE, HAWK_AT(paths), "full|base",
	 "base: names of files without their folders"},
	{0},
};

const struct hawk_verb hawk_verb_snapshot = {
	.name = "snapshot",
	.arguments = "[options] CORE | --pid PID",
	.summary = "a small file to keep, to send, and to ask again",
	.details = "Writes the facts about the heap: blocks, pointers, stacks with their names, "
		   "roots, threads, modules, mappings. It holds no contents of blocks, no "
		   "environment and no arguments. Every verb but schema reads it instead of the "
		   "core, without the program's files.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_NOWHERE,
	.answer = answer,
};
