/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes the values that a session keeps, each once, when a verb first needs it.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/snapshot/reader.h"
#include "session.h"

enum {
	STACK_BYTES_MIN = 1 << 20, /**< least for each of many threads */
	STACK_BYTES_MAX = 8 << 20,
	STACKS_CAPTURE_BYTES = 256 << 20,
};

/** Live: captures the stacks of all threads for use after the release, within limits. */
static void capture_stacks(struct hawk_session *session)
{
	uint64_t left = STACKS_CAPTURE_BYTES;
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(session->target, &count);
	uint64_t most = left / (count + 1);

	/* Deep recursion fills a whole stack; each of many threads gets its share at least. */
	if (most > STACK_BYTES_MAX)
		most = STACK_BYTES_MAX;
	if (most < STACK_BYTES_MIN)
		most = STACK_BYTES_MIN;
	for (size_t i = 0; i < count && left; i++) {
		uint64_t sp = threads[i].sp;
		const struct hawk_mapping *mapping = hawk_target_mapping_at(session->target, sp);
		uint64_t bytes = mapping ? mapping->end - sp : 0;

		if (bytes > most)
			bytes = most;
		if (bytes > left)
			bytes = left;
		left -= bytes;
		if (bytes) // on failure the stack has fewer frames, and a remark
			hawk_error_destroy(hawk_target_capture(session->target, sp, bytes));
	}
}

static void drop_dominators(struct hawk_session *session)
{
	if (session->dominators)
		hawk_dominators_deinit(session->dominators);
	free(session->dominators);
	session->dominators = NULL;
}

void hawk_session_drop_types(struct hawk_session *session)
{
	if (session->type_table)
		hawk_types_deinit(session->type_table);
	free(session->type_table);
	session->type_table = NULL;
}

void hawk_session_drop_heap(struct hawk_session *session)
{
	hawk_session_drop_types(session);
	hawk_block_types_destroy(session->types);
	session->types = NULL;
	if (session->paths)
		hawk_paths_deinit(session->paths);
	drop_dominators(session);
	if (session->reach)
		hawk_reach_deinit(session->reach);
	if (session->graph)
		hawk_graph_deinit(session->graph);
	if (session->allocators)
		hawk_heap_deinit(session->allocators);
	if (session->heap)
		hawk_heap_deinit(session->heap);
	hawk_vtables_deinit(&session->vtables);
	free(session->paths);
	free(session->reach);
	free(session->graph);
	free(session->allocators);
	free(session->heap);
	session->paths = NULL;
	session->reach = NULL;
	session->graph = NULL;
	session->allocators = NULL;
	session->heap = NULL;
}

static bool has_sites_only(const struct hawk_session *session)
{
	const struct hawk_snapshot *snapshot = hawk_target_snapshot(session->target);

	return snapshot && hawk_snapshot_flags(snapshot) & HAWK_SNAPSHOT_SITES_ONLY;
}

bool hawk_session_has_blocks(const struct hawk_session *session)
{
	return !hawk_target_process(session->target)->table_file && !has_sites_only(session);
}

/** Fails if the input has only counts by site. */
static struct hawk_error *need_blocks(const struct hawk_session *session)
{
	if (has_sites_only(session))
		return hawk_error_create(
			HAWK_ERROR_UNSUPPORTED,
			"%s: this snapshot holds sites and no blocks (it was made "
			"with --sites-only); \"hawk-core analyze\" and \"hawk-core "
			"export\" can read it",
			session->source);
	if (hawk_target_process(session->target)->table_file)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "%s: a table file has counts by stack and no blocks; only "
					 "\"hawk-core analyze\" can read it",
					 session->source);
	return NULL;
}

struct hawk_error *hawk_session_contents(const struct hawk_session *session)
{
	if (!session->heap->knows || session->heap->knows & HAWK_HEAP_CONTENTS)
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "%s: a snapshot holds no contents of blocks; ask the core",
				 session->source);
}

static bool runs_on(const struct hawk_session *session)
{
	return hawk_target_process(session->target)->live && hawk_target_pause_ns(session->target);
}

struct hawk_error *hawk_session_readable(const struct hawk_session *session)
{
	if (!runs_on(session) || (session->heap && !session->heap->knows))
		return NULL;
	return hawk_error_create(HAWK_ERROR_NOT_FOUND,
				 "the process runs on, and its memory was not kept");
}

/* Returns true if blocks are to be named by types. Those of a site or type that an answer named
 * have to be found again. */
static bool wants_types(const struct hawk_settings *settings)
{
	return !settings->no_types && (settings->types || settings->site.given || settings->type);
}

/* Gives untraced blocks classes of their types, if any can flow. A redacted core lacks the numbers
 * that containers are known by. */
static struct hawk_error *name_types(struct hawk_session *session)
{
	const struct hawk_types_wish wish = {.flows = true, .folds = true};
	const struct hawk_heap *heap = session->heap;
	const struct hawk_types *types;
	struct hawk_error *err;

	if (!wants_types(session->settings) || heap->table || !(heap->knows & HAWK_HEAP_CONTENTS) ||
	    !heap->index.count || hawk_target_process(session->target)->redacted ||
	    !hawk_heap_types_flow(&session->vtables))
		return NULL;
	err = hawk_session_type_table(session, &wish, &types);
	return err ? err : hawk_types_name_blocks(types, session->symbols, session->heap);
}

struct hawk_error *hawk_session_sums(struct hawk_session *session, uint64_t blocks_max,
				     uint64_t typed_blocks_max)
{
	static const unsigned guests[] = {
		[HAWK_GUEST_CHOICE_DEFAULT] = HAWK_GUESTS_ALL,
		[HAWK_GUEST_CHOICE_ALL] = HAWK_GUESTS_ALL,
		[HAWK_GUEST_CHOICE_LUA] = HAWK_GUEST_LUA,
		[HAWK_GUEST_CHOICE_PYTHON] = HAWK_GUEST_PYTHON,
		[HAWK_GUEST_CHOICE_JAVA] = HAWK_GUEST_JAVA,
		[HAWK_GUEST_CHOICE_NONE] = 0,
	};
	const struct hawk_heap_wish wish = {.vtables = &session->vtables,
					    .traced_only = session->settings->no_native,
					    .guests = guests[session->settings->guest],
					    .blocks_max = blocks_max,
					    .typed_blocks_max = typed_blocks_max};
	struct hawk_error *err;

	if (session->heap)
		return NULL;
	CLEANUP(free_ptr) struct hawk_heap *heap = calloc(1, sizeof(*heap));
	if (!heap)
		return &hawk_enomem;
	capture_stacks(session);
	session->vtables.target = session->target;
	session->vtables.symbols = session->symbols;
	err = hawk_heap_load_as(&wish, session->target, &session->findings, heap);
	if (err)
		return err;
	session->heap = take_ptr(&heap);
	return name_types(session);
}

struct hawk_error *hawk_session_sites(struct hawk_session *session)
{
	return hawk_session_sums(session, HAWK_BLOCKS_MAX, 0);
}

struct hawk_error *hawk_session_heap(struct hawk_session *session)
{
	struct hawk_error *err = need_blocks(session);

	if (!err)
		err = hawk_session_sites(session);
	if (!err && session->heap->refusal)
		err = hawk_error_create(HAWK_ERROR_UNSUPPORTED, "%s", session->heap->refusal);
	return err;
}

struct hawk_error *hawk_session_allocators(struct hawk_session *session,
					   const struct hawk_heap **ret)
{
	struct hawk_error *err;

	*ret = session->allocators ? session->allocators : session->heap;
	if (session->allocators || !(session->heap->knows & HAWK_HEAP_HEADERS) ||
	    hawk_target_snapshot(session->target) || session->settings->no_native)
		return NULL;
	CLEANUP(free_ptr) struct hawk_heap *allocators = calloc(1, sizeof(*allocators));
	if (!allocators)
		return &hawk_enomem;
	err = hawk_session_readable(session);
	if (!err)
		err = hawk_heap_find_allocators(session->heap, allocators);
	if (!err)
		*ret = session->allocators = take_ptr(&allocators);
	return err;
}

struct hawk_error *hawk_session_balance(struct hawk_session *session, struct hawk_balance *ret,
					struct hawk_fragmentation *fragmentation)
{
	const struct hawk_heap *allocators;
	bool is_there;
	struct hawk_error *err = hawk_balance_read(session->heap, ret, fragmentation, &is_there);

	if (err || is_there)
		return err;
	err = hawk_session_allocators(session, &allocators);
	return err ? err : hawk_balance_make(session->heap, allocators, ret, fragmentation);
}

struct hawk_error *hawk_session_fragmentation(struct hawk_session *session,
					      struct hawk_fragmentation *ret)
{
	const struct hawk_heap *allocators;
	struct hawk_balance balance;
	bool is_there;
	struct hawk_error *err = hawk_balance_read(session->heap, &balance, ret, &is_there);

	hawk_balance_deinit(&balance);
	if (err || is_there)
		return err;
	err = hawk_session_allocators(session, &allocators);
	return err ? err : hawk_fragmentation_make(session->heap, allocators, NULL, NULL, ret);
}

static struct hawk_error *make_graph(struct hawk_session *session, struct hawk_findings *findings)
{
	struct hawk_error *err = hawk_session_heap(session);
	size_t before;

	if (err || session->graph)
		return err;
	CLEANUP(free_ptr) struct hawk_graph *graph = calloc(1, sizeof(*graph));
	if (!graph)
		return &hawk_enomem;
	err = hawk_session_readable(session);
	if (!err)
		err = hawk_vtables_find(&session->vtables);
	if (!err)
		err = hawk_graph_make(session->heap, &session->vtables, findings, graph);
	if (!err)
		session->graph = take_ptr(&graph);
	before = session->findings.count;
	if (!err)
		err = hawk_symbols_open_for_graph(session->symbols);
	hawk_findings_sort(&session->findings, before);
	return err;
}

struct hawk_error *hawk_session_edges(struct hawk_session *session)
{
	return make_graph(session, &session->graph_findings);
}

struct hawk_error *hawk_session_graph(struct hawk_session *session)
{
	struct hawk_error *err = make_graph(session, &session->findings);

	if (!err)
		hawk_findings_add_all(&session->findings, &session->graph_findings);
	return err;
}

struct hawk_error *hawk_session_reach(struct hawk_session *session)
{
	struct hawk_error *err = hawk_session_graph(session);

	if (err || session->reach)
		return err;
	CLEANUP(free_ptr) struct hawk_reach *reach = calloc(1, sizeof(*reach));
	if (!reach)
		return &hawk_enomem;
	err = hawk_reach_make(session->graph, &session->graph->explained, reach);
	if (!err)
		session->reach = take_ptr(&reach);
	return err;
}

struct hawk_error *hawk_session_dominators(struct hawk_session *session)
{
	struct hawk_error *err = hawk_session_reach(session);

	if (err || session->dominators)
		return err;
	CLEANUP(free_ptr) struct hawk_dominators *dominators = calloc(1, sizeof(*dominators));
	if (!dominators)
		return &hawk_enomem;
	err = hawk_dominators_make(session->graph, session->reach, dominators);
	if (!err)
		session->dominators = take_ptr(&dominators);
	return err;
}

struct hawk_error *hawk_session_retained_by(struct hawk_session *session,
					    const struct hawk_block_groups *groups,
					    const uint64_t *chosen, uint64_t **ret)
{
	struct hawk_error *err = hawk_session_dominators(session);

	if (err)
		return err;
	*ret = calloc(groups->count + 1, sizeof(**ret));
	if (!*ret)
		return &hawk_enomem;
	return hawk_dominators_retained_by(session->dominators, groups, chosen, *ret);
}

struct hawk_error *hawk_session_retained(struct hawk_session *session, const uint64_t *chosen,
					 uint64_t **ret)
{
	struct hawk_block_groups sites = hawk_heap_groups(session->heap);

	return hawk_session_retained_by(session, &sites, chosen, ret);
}

struct hawk_error *hawk_session_paths(struct hawk_session *session)
{
	struct hawk_error *err = hawk_session_graph(session);

	if (err || session->paths)
		return err;
	CLEANUP(free_ptr) struct hawk_paths *paths = calloc(1, sizeof(*paths));
	if (!paths)
		return &hawk_enomem;
	err = hawk_paths_find(session->graph, paths);
	if (!err)
		session->paths = take_ptr(&paths);
	return err;
}

struct hawk_error *hawk_session_path_types(struct hawk_session *session, const uint32_t *blocks,
					   size_t count)
{
	struct hawk_error *err = hawk_session_paths(session);

	if (!err)
		err = hawk_paths_prepare(session->paths, blocks, count);
	if (err || !session->heap->knows || !(session->heap->knows & HAWK_HEAP_CONTENTS))
		return err;
	CLEANUP(free_ptr) struct hawk_types *types = calloc(1, sizeof(*types));
	if (!types)
		return &hawk_enomem;
	err = hawk_path_types_make(session->graph, session->paths, blocks, count,
				   session->report.types, session->symbols, types);
	if (err)
		return err;
	hawk_root_namer_ask_variables(session->report.roots);
	session->report.path_types = take_ptr(&types);
	return NULL;
}

struct hawk_error *hawk_session_choose(struct hawk_session *session,
				       const struct hawk_block_filter *filter,
				       struct hawk_selection *ret)
{
	const struct hawk_selector *selector = hawk_block_filter_selector(filter);

	return selector ? hawk_selection_make(session->heap, selector, ret) : NULL;
}

struct hawk_error *hawk_session_types(struct hawk_session *session, struct hawk_block_types **ret)
{
	struct hawk_error *err = NULL;

	/* Tables of a process that runs on cannot be found any more. */
	if (!session->types && session->heap->knows && !runs_on(session))
		err = hawk_vtables_find(&session->vtables);
	if (!err && !session->types)
		err = hawk_block_types_create(session->heap, &session->vtables, session->symbols,
					      &session->types);
	*ret = session->types;
	return err;
}

struct hawk_error *hawk_session_type_table(struct hawk_session *session,
					   const struct hawk_types_wish *wish,
					   const struct hawk_types **ret)
{
	struct hawk_block_types *names;
	struct hawk_error *err = NULL;

	if (wish->flows && session->type_table &&
	    (!session->type_table->flows || session->type_table->folds != wish->folds))
		hawk_session_drop_types(session);
	if (!session->type_table) {
		CLEANUP(free_ptr) struct hawk_types *types = calloc(1, sizeof(*types));

		err = types ? hawk_session_types(session, &names) : &hawk_enomem;
		if (!err)
			err = hawk_session_readable(session);
		if (!err)
			err = hawk_types_make(session->heap, names, session->symbols, wish, types);
		if (!err)
			session->type_table = take_ptr(&types);
	}
	*ret = session->type_table;
	return err;
}

struct hawk_block_query hawk_settings_query(const struct hawk_settings *settings)
{
	return (struct hawk_block_query){
		.site = settings->site.given ? &settings->site.prefix : NULL,
		.size = settings->size.given ? &settings->size.range : NULL,
		.age = settings->age.given ? &settings->age.range : NULL,
		.type = settings->type,
		.function = settings->function,
		.module = settings->module,
	};
}

bool hawk_settings_choose_blocks(const struct hawk_settings *settings)
{
	return settings->size.given || settings->age.given || settings->type;
}

struct hawk_error *hawk_session_filter(struct hawk_session *session, struct hawk_block_filter **ret)
{
	struct hawk_block_query query = hawk_settings_query(session->settings);
	const struct hawk_types *types = NULL;
	struct hawk_error *err = NULL;

	*ret = NULL;
	if (hawk_block_query_is_all(&query))
		return NULL;
	if (query.age && session->heap->knows && !(session->heap->knows & HAWK_HEAP_AGES))
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "--age: ages of blocks need the tracer: hawk-core run -- "
					 "PROGRAM");
	if (query.type)
		err = hawk_session_type_table(session, &(struct hawk_types_wish){0}, &types);
	if (err)
		return err;
	return hawk_block_filter_create(session->heap, session->symbols, types, &query, ret);
}
