/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The site graph.
 */
#include "hawk/base/cleanup.h"
#include "hawk/report/pointers.h"
#include "objects.h"

static void put_counts(const struct hawk_site_counts *counts, struct hawk_json *json)
{
	hawk_json_put_integer(json, "pointers", counts->pointers);
	hawk_json_put_integer(json, "interior", counts->interior);
	hawk_json_put_integer(json, "sources", counts->sources);
	hawk_json_put_integer(json, "targets", counts->targets);
	hawk_json_put_integer(json, "target_bytes", counts->target_bytes);
}

static void put_place(const struct hawk_site_edge *edge, const struct hawk_site_place *place,
		      struct hawk_json *json)
{
	hawk_json_object(json);
	if (edge->source == HAWK_SITE_ROOTS) {
		hawk_json_put_string(json, "kind",
				     hawk_root_kind_name((enum hawk_root_kind)place->offset));
	} else {
		hawk_json_put_integer_if(json, "offset", !(place->offset == HAWK_SITE_ANYWHERE),
					 place->offset);
	}
	put_counts(&place->counts, json);
	hawk_json_object_end(json);
}

static void put_edge(const struct hawk_pointer_report *report, const struct hawk_site_graph *graph,
		     const struct hawk_site_edge *edge, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->heap;

	hawk_json_object(json);
	hawk_json_put_site(json, "source", heap, edge->source);
	hawk_json_put_site(json, "target", heap, edge->target);
	put_counts(&edge->counts, json);
	hawk_json_put_array(json, "places");
	for (uint32_t i = 0; i < edge->place_count; i++)
		put_place(edge, &graph->places[edge->first_place + i], json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}

static void put_nodes(const struct hawk_pointer_report *report, const struct hawk_site_list *list,
		      struct hawk_json *json)
{
	size_t end;

	if (!hawk_json_put_known_list(json, "sites", report->heap, list->count, &end))
		return;
	for (size_t i = 0; i < end; i++) {
		struct hawk_chosen blocks =
			hawk_chosen_of_site(report->heap, report->chosen, list->sites[i]);

		hawk_json_object(json);
		hawk_json_put_site(json, "site", report->heap, list->sites[i]);
		hawk_json_put_integer(json, "inuse_objects", blocks.objects);
		hawk_json_put_integer(json, "inuse_bytes", blocks.bytes);
		hawk_report_json_site_stack(report, list->sites[i], json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

/** Writes the largest edges to the sites `shown`. */
static void put_edges(const struct hawk_pointer_report *report, const struct hawk_site_graph *graph,
		      const bool *shown, struct hawk_json *json)
{
	size_t all = 0, left;

	for (size_t i = 0; i < graph->edge_count; i++)
		all += shown[graph->edges[i].target];
	if (!hawk_json_put_known_list(json, "edges", report->heap, all, &left))
		return;
	for (size_t i = 0; i < graph->edge_count && left; i++) {
		if (!shown[graph->edges[i].target])
			continue;
		put_edge(report, graph, &graph->edges[i], json);
		left--;
	}
	hawk_json_array_end(json);
}

struct hawk_error *hawk_report_site_graph_json(const struct hawk_pointer_report *report,
					       const struct hawk_site_graph *graph,
					       struct hawk_site_list *list, struct hawk_json *json)
{
	size_t end = hawk_report_choose_sites(report, list, list->count);
	CLEANUP(free_ptr) bool *shown = calloc(report->heap->site_count + 1, sizeof(*shown));

	if (!shown)
		return &hawk_enomem;
	for (size_t i = 0; i < end; i++)
		shown[list->sites[i]] = true;
	put_nodes(report, list, json);
	put_edges(report, graph, shown, json);
	return NULL;
}
