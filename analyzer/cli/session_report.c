/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes a pointer report from a session.
 */
#include "session.h"

#include <stdlib.h>

void hawk_session_close_report(struct hawk_session *session)
{
	struct hawk_pointer_report *report = &session->report;

	hawk_site_names_destroy(report->names);
	hawk_root_namer_destroy(report->roots);
	if (report->path_types)
		hawk_types_deinit((struct hawk_types *)report->path_types);
	free((struct hawk_types *)report->path_types);
	hawk_block_filter_destroy((struct hawk_block_filter *)report->filter);
	*report = (struct hawk_pointer_report){0};
}

struct hawk_error *hawk_session_report(struct hawk_session *session)
{
	struct hawk_pointer_report *ret = &session->report;
	struct hawk_block_filter *filter = NULL;
	struct hawk_error *err;

	hawk_session_close_report(session);
	*ret = (struct hawk_pointer_report){
		.source = session->source,
		.heap = session->heap,
		.graph = session->graph,
		.reach = session->reach,
		.symbols = session->symbols,
		.findings = &session->findings,
		.next = &session->next,
		.top = (size_t)session->settings->top,
		.depth = (size_t)session->settings->depth,
	};
	err = hawk_session_types(session, &ret->types);
	if (!err)
		err = hawk_site_names_create(session->heap, session->symbols, &ret->names);
	if (!err && session->graph)
		err = hawk_root_namer_create(session->graph, session->symbols, &ret->roots);
	if (!err && session->heap->knows)
		err = hawk_session_filter(session, &filter);
	ret->filter = filter;
	if (!err)
		hawk_session_check(session);
	return err;
}

struct hawk_error *hawk_session_reach_report(struct hawk_session *session, bool reads)
{
	struct hawk_error *err = hawk_session_graph(session);

	if (!session->settings->type && !reads)
		hawk_target_release(session->target);
	if (!err)
		err = hawk_session_reach(session);
	return err ? err : hawk_session_report(session);
}

/** Keeps only the requested site. */
static struct hawk_error *keep_site(const struct hawk_heap *heap,
				    const struct hawk_site_prefix *prefix,
				    struct hawk_site_list *list)
{
	size_t kept = 0;
	uint32_t site;
	struct hawk_error *err = hawk_site_prefix_find(heap, prefix, &site);

	for (size_t i = 0; !err && i < list->count; i++)
		if (list->sites[i] == site)
			list->sites[kept++] = site;
	list->count = kept;
	return err;
}

struct hawk_error *hawk_session_list_sites(struct hawk_session *session, struct hawk_site_list *ret)
{
	struct hawk_site_filter filter = {
		.function = session->settings->function,
		.module = session->settings->module,
	};
	struct hawk_error *err;

	*ret = (struct hawk_site_list){0};
	err = hawk_site_list_create(session->heap, session->symbols, &filter, ret);
	if (!err && session->settings->site.given && session->heap->knows)
		err = keep_site(session->heap, &session->settings->site.prefix, ret);
	return err;
}

struct hawk_error *hawk_check_addresses(struct hawk_settings *settings)
{
	uint64_t address;

	for (int i = 0; i < settings->count; i++)
		if (!hawk_quantity_parse_hex(settings->operands[i], &address))
			return hawk_error_create(HAWK_ERROR_USAGE,
						 "'%s' is not a hexadecimal address",
						 settings->operands[i]);
	return hawk_check_query(settings);
}

struct hawk_error *hawk_check_site(struct hawk_settings *settings)
{
	struct hawk_site_query site = {.given = true};

	if (settings->count) {
		if (!hawk_site_prefix_parse(settings->operands[0], &site.prefix))
			return hawk_error_create(HAWK_ERROR_USAGE, "'%s' is not the id of a site",
						 settings->operands[0]);
		if (settings->site.given)
			return hawk_error_create(HAWK_ERROR_USAGE, "a site, or --site: not both");
		settings->site = site;
	}
	return hawk_check_query(settings);
}

struct hawk_error *hawk_check_query(struct hawk_settings *settings)
{
	struct hawk_block_query query = hawk_settings_query(settings);

	return hawk_block_query_check(&query);
}
