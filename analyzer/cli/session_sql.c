/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes tables from a session.
 */
#include "session_sql.h"

static void enter(const struct hawk_session *session, struct hawk_sql_source *source)
{
	source->graph = session->graph;
	source->reach = session->reach;
	source->dominators = session->dominators;
}

static struct hawk_error *load(void *context, unsigned needs, struct hawk_sql_source *source)
{
	struct hawk_session *session = context;
	struct hawk_error *err;

	if ((needs & HAWK_SQL_DOMINATORS) == HAWK_SQL_DOMINATORS)
		err = hawk_session_dominators(session);
	else if (needs & HAWK_SQL_REACH)
		err = hawk_session_reach(session);
	else
		err = needs & HAWK_SQL_GRAPH ? hawk_session_graph(session)
					     : hawk_session_edges(session);
	enter(session, source);
	return err;
}

static struct hawk_error *retained(void *context, struct hawk_sql_source *source, uint64_t **ret)
{
	struct hawk_error *err = hawk_session_retained(context, NULL, ret);

	enter(context, source);
	return err;
}

static struct hawk_error *fragmentation(void *context, struct hawk_fragmentation *ret)
{
	struct hawk_session *session = context;
	struct hawk_error *err = hawk_session_fragmentation(session, ret);

	if (!err && !ret->allocator)
		err = hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					"SQL: pins are not known: no structures of an allocator "
					"were found");
	return err;
}

struct hawk_error *hawk_session_sql(struct hawk_session *session, struct hawk_sql **ret)
{
	struct hawk_sql_source source = {
		.target = session->target,
		.symbols = session->symbols,
		.load = load,
		.retained = retained,
		.fragmentation = fragmentation,
		.context = session,
	};
	struct hawk_error *err = hawk_session_heap(session);

	source.heap = session->heap;
	if (!err)
		err = hawk_session_types(session, &source.types);
	return err ? err : hawk_sql_open(&source, ret);
}
