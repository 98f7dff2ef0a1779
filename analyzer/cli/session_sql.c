/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * From a session to tables.
 */
#include "session_sql.h"

static struct hawk_error *load(void *context, unsigned needs)
{
	struct hawk_session *session = context;

	if ((needs & HAWK_SQL_DOMINATORS) == HAWK_SQL_DOMINATORS)
		return hawk_session_dominators(session, HAWK_EDGES_ALL);
	if (needs & HAWK_SQL_REACH)
		return hawk_session_reach(session);
	return needs & HAWK_SQL_GRAPH ? hawk_session_graph(session) : hawk_session_edges(session);
}

static struct hawk_error *retained(void *context, struct hawk_site_retained **ret)
{
	return hawk_session_retained(context, NULL, true, ret);
}

struct hawk_error *hawk_session_sql(struct hawk_session *session, struct hawk_sql **ret)
{
	struct hawk_sql_source source = {
		.target = session->target,
		.symbols = session->symbols,
		.heap = &session->heap,
		.graph = &session->graph,
		.reach = &session->reach,
		.dominators = &session->dominators,
		.load = load,
		.retained = retained,
		.context = session,
	};
	struct hawk_error *err = hawk_session_heap(session);

	if (!err)
		err = hawk_session_types(session, &source.types);
	return err ? err : hawk_sql_open(&source, ret);
}
