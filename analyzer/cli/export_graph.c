/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core export of graphs: loads what the writers need.
 */
#include "export_graph.h"

#include <stdlib.h>

#include "hawk/analysis/leaks.h"
#include "hawk/base/cleanup.h"
#include "hawk/export/dot.h"
#include "hawk/export/object_graph.h"
#include "hawk/output/file.h"
#include "session_sql.h"

struct hawk_error *hawk_export_graph_check(const struct hawk_settings *settings,
					   enum hawk_export_graph format)
{
	if (settings->what || settings->plumbing || settings->base)
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "--what, --plumbing and --base are for formats of stacks");
	if (format == HAWK_EXPORT_DOT)
		return NULL;
	if (settings->focus || settings->ignore || settings->min_bytes)
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "this format has all blocks: no --focus, --ignore, "
					 "--min-bytes");
	if (settings->pid) /* it would stay stopped while the file is written */
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "this format is written from a core: "
					 "\"gcore %llu\" makes one",
					 (unsigned long long)settings->pid);
	return NULL;
}

static struct hawk_error *load_objects(struct hawk_session *session, struct hawk_object_graph *ret)
{
	struct hawk_error *err = hawk_session_reach(session);

	if (!err)
		err = hawk_session_report(session);
	if (err || !session->heap->knows)
		return err ? err
			   : hawk_error_create(HAWK_ERROR_NOT_FOUND, "there is no heap: %s",
					       hawk_heap_unknown_text(session->heap));
	*ret = (struct hawk_object_graph){
		.graph = session->graph,
		.reach = session->reach,
		.symbols = session->symbols,
		.roots = session->report.roots,
		.names = session->report.names,
		.types = session->report.types,
		.in_doubt = hawk_leaks_doubt(session->graph) != HAWK_LEAKS_NO_DOUBT,
	};
	return NULL;
}

static struct hawk_error *export_heap_snapshot(struct hawk_session *session)
{
	struct hawk_object_graph objects;
	struct hawk_error *err = load_objects(session, &objects);

	return err ? err : hawk_export_heap_snapshot(&objects, session->output);
}

static struct hawk_error *export_hprof(struct hawk_session *session)
{
	struct hawk_object_graph objects;
	struct hawk_error *err = hawk_output_refuse_terminal(session->output, "a heap dump");

	if (!err)
		err = load_objects(session, &objects);
	return err ? err : hawk_export_hprof(&objects, session->output);
}

static const struct hawk_findings *get_findings(void *context)
{
	struct hawk_session *session = context;

	hawk_session_check(session);
	return &session->findings;
}

static struct hawk_error *save_tables(struct hawk_session *session, int fd)
{
	const struct hawk_sql_about about = {
		.version = HAWK_VERSION,
		.source = session->source,
		.findings = get_findings,
		.context = session,
	};
	struct hawk_sql *sql = NULL;
	struct hawk_error *err = hawk_session_sql(session, &sql);

	if (!err)
		err = hawk_sql_save(sql, fd, &about);
	hawk_sql_close(sql);
	return err;
}

/** Writes the tables through an unnamed file, since SQLite seeks in its output. */
static struct hawk_error *save_to_pipe(struct hawk_session *session)
{
	const char *folder = getenv("TMPDIR");
	CLEANUP(text) struct hawk_text path = {0};
	CLEANUP(close_fd) int fd = -1;
	struct hawk_output_file *file;
	struct hawk_error *err;
	int errnum;

	hawk_text_printf(&path, "%s/hawk-core", folder && *folder ? folder : "/var/tmp");
	if (path.failed)
		return &hawk_enomem;
	errnum = hawk_output_file_create(path.bytes, false, &fd, &file);
	if (errnum)
		return hawk_error_os(errnum, "cannot make a temporary file (TMPDIR) like",
				     path.bytes);
	err = save_tables(session, fd);
	if (!err)
		err = hawk_output_append_file(session->output, fd);
	hawk_output_file_destroy(file);
	return err;
}

static struct hawk_error *export_sqlite(struct hawk_session *session)
{
	struct hawk_error *err = hawk_output_refuse_terminal(session->output, "a database");

	if (err)
		return err;
	return session->output->file ? save_tables(session, session->output->fd)
				     : save_to_pipe(session);
}

/** As `sites --dot`, for the sites that --focus, --ignore and --min-bytes leave. */
static struct hawk_error *export_dot(struct hawk_session *session)
{
	const struct hawk_site_filter filter = {
		.focus = session->settings->focus,
		.ignore = session->settings->ignore,
		.min_bytes = session->settings->min_bytes,
	};
	struct hawk_site_graph graph = {0};
	struct hawk_site_list list = {0};
	struct hawk_error *err = hawk_session_graph(session);
	struct hawk_dot dot = {.heap = session->heap, .graph = &graph};

	if (!err)
		err = hawk_session_readable(session);
	if (!err)
		err = hawk_site_graph_make(session->graph, NULL, &graph);
	if (!err)
		err = hawk_session_report(session);
	err = hawk_session_release(session, err);
	dot.names = session->report.names;
	if (!err)
		err = hawk_site_list_create(session->heap, session->symbols, &filter, &list);
	if (!err)
		err = hawk_export_dot(&dot, &list, session->output);
	hawk_site_list_deinit(&list);
	hawk_site_graph_deinit(&graph);
	return err;
}

struct hawk_error *hawk_export_graph_answer(struct hawk_session *session,
					    enum hawk_export_graph format)
{
	static struct hawk_error *(*const answers[])(struct hawk_session *) = {
		[HAWK_EXPORT_HEAP_SNAPSHOT] = export_heap_snapshot,
		[HAWK_EXPORT_HPROF] = export_hprof,
		[HAWK_EXPORT_SQLITE] = export_sqlite,
		[HAWK_EXPORT_DOT] = export_dot,
	};

	return answers[format](session);
}
