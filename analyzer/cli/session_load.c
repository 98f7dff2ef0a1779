/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The parts of a session: loaded once each, when a verb asks for them.
 */
#include "hawk_session.h"

enum {
	STACK_BYTES_MIN = 1 << 20, /**< of one thread, if there are many */
	STACK_BYTES_MAX = 8 << 20,
	STACKS_CAPTURE_BYTES = 256 << 20,
};

/** Live: keeps the stacks of all threads for after the release, within limits. */
static void capture_stacks(struct hawk_session *session)
{
	uint64_t left = STACKS_CAPTURE_BYTES;
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(session->target, &count);
	uint64_t most = left / (count + 1);

	/* Deep recursion fills a whole stack; of many threads each gets its share at least. */
	if (most > STACK_BYTES_MAX)
		most = STACK_BYTES_MAX;
	if (most < STACK_BYTES_MIN)
		most = STACK_BYTES_MIN;
	for (size_t i = 0; i < count && left; i++) {
		uint64_t sp = threads[i].registers[HAWK_RSP];
		const struct hawk_mapping *mapping = hawk_target_mapping_at(session->target, sp);
		uint64_t bytes = mapping ? mapping->end - sp : 0;

		if (bytes > most)
			bytes = most;
		if (bytes > left)
			bytes = left;
		left -= bytes;
		if (bytes) // without it the stack has fewer frames, and says so
			hawk_error_destroy(hawk_target_capture(session->target, sp, bytes));
	}
}

void hawk_session_drop_heap(struct hawk_session *session)
{
	hawk_block_types_destroy(session->types);
	session->types = NULL;
	hawk_block_graph_deinit(&session->graph);
	hawk_heap_deinit(&session->heap);
	session->heap = (struct hawk_heap){0};
	session->table_loaded = session->heap_loaded = session->graph_loaded = false;
}

/** Whoever asks for more than counts by site. */
static struct hawk_error *refuse_table_file(const struct hawk_session *session)
{
	if (!hawk_target_process(session->target)->table_file)
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "%s: a table file has counts by stack and no blocks; only "
				 "\"hawk-core analyze\" can read it",
				 session->source);
}

struct hawk_error *hawk_session_load_table(struct hawk_session *session)
{
	struct hawk_error *err = refuse_table_file(session);

	if (err || session->table_loaded)
		return err;
	capture_stacks(session);
	err = hawk_heap_load_table(session->target, &session->findings, &session->heap);
	session->table_loaded = !err;
	return err;
}

struct hawk_error *hawk_session_load_heap(struct hawk_session *session)
{
	struct hawk_error *err;

	if (session->heap_loaded)
		return NULL;
	if (!session->table_loaded)
		capture_stacks(session);
	hawk_session_drop_heap(session);
	err = hawk_heap_load(session->target, &session->findings, &session->heap);
	session->table_loaded = session->heap_loaded = !err;
	hawk_target_release(session->target);
	return err;
}

/** Virtual tables that are in files only are known by their symbols. */
static struct hawk_error *is_vtable(void *context, uint64_t word, bool *ret)
{
	struct hawk_session *session = context;
	struct hawk_block_types *types;
	struct hawk_error *err = hawk_session_types(session, &types);

	*ret = !err && hawk_block_type_of_vtable(types, word);
	return err;
}

/** From one sweep, if nobody has swept before. */
static struct hawk_error *start_graph(struct hawk_session *session, unsigned parts)
{
	if (session->heap_loaded) {
		hawk_block_graph_init(&session->graph, &session->heap, &session->findings);
		session->graph.vtables = &session->vtables;
		return hawk_block_graph_need(&session->graph, parts | HAWK_PART_INDEX);
	}
	if (!session->table_loaded)
		capture_stacks(session);
	return hawk_heap_load_graph(session->target, &session->findings, parts, &session->graph,
				    &session->heap);
}

static void prepare_graph(struct hawk_session *session)
{
	if (!session->heap_loaded)
		hawk_session_drop_heap(session);
	session->vtables = (struct hawk_vtable_oracle){is_vtable, session};
	session->graph.vtables = &session->vtables;
}

struct hawk_error *hawk_session_load_graph(struct hawk_session *session,
					   const struct hawk_settings *settings, unsigned parts)
{
	struct hawk_error *err = refuse_table_file(session);

	if (err)
		return err;
	if (session->graph_loaded)
		return hawk_block_graph_need(&session->graph,
					     parts & ~(unsigned)HAWK_PART_CONTENTS);
	(void)settings;
	prepare_graph(session);
	err = start_graph(session, parts);
	session->table_loaded = session->heap_loaded = session->graph_loaded = !err;
	return err;
}

struct hawk_error *hawk_session_types(struct hawk_session *session, struct hawk_block_types **ret)
{
	struct hawk_error *err = NULL;

	if (!session->types)
		err = hawk_block_types_create(session->target, session->heap.table,
					      session->symbols, &session->types);
	*ret = session->types;
	return err;
}

struct hawk_block_wish hawk_settings_wish(const struct hawk_settings *settings)
{
	return (struct hawk_block_wish){
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

struct hawk_error *hawk_session_filter(struct hawk_session *session,
				       const struct hawk_settings *settings,
				       struct hawk_block_filter **ret)
{
	struct hawk_block_wish wish = hawk_settings_wish(settings);
	struct hawk_block_types *types;
	struct hawk_error *err;

	*ret = NULL;
	if (hawk_block_wish_is_all(&wish))
		return NULL;
	err = hawk_session_types(session, &types);
	if (err)
		return err;
	return hawk_block_filter_create(&session->heap, session->symbols, types, &wish, ret);
}
