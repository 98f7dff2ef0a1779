/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints the site graph: for each site, the sites whose blocks hold its blocks, and the offsets in
 * them. export/dot.c draws the same graph.
 */
#include <inttypes.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/report/pointers.h"

enum {
	DEFAULT_TOP = 10,
	HOLDERS = 3, /**< shown of each site, unless all are asked for */
	PLACES = 3,
	PLACES_WIDTH = 16,
	NAME_WIDTH_MIN = 12,
	HOLDER_COLUMN = 25,
};

static inline void hawk_cleanup_by_target(struct hawk_site_edges *by)
{
	hawk_site_edges_deinit(by);
}

size_t hawk_report_choose_sites(const struct hawk_pointer_report *report,
				struct hawk_site_list *list, size_t usual)
{
	size_t most = report->top ? report->top : usual;

	hawk_site_list_choose(list, report->heap, report->chosen);
	return most < list->count ? most : list->count;
}

/** Returns the share of the source site's blocks that hold such pointers. */
static struct hawk_quantity share_of_sources(const struct hawk_pointer_report *report,
					     const struct hawk_site_edge *edge)
{
	return hawk_quantity_share(edge->counts.sources,
				   hawk_site_blocks(&report->heap->sites[edge->source]));
}

/** "at +8 of make_cell  cells.c:30, 98.1 % of those", fitted into `width` columns. */
static void append_holder(const struct hawk_pointer_report *report,
			  const struct hawk_site_graph *graph, const struct hawk_site_edge *edge,
			  size_t width, struct hawk_text *text)
{
	CLEANUP(text) struct hawk_text places = {0}, end = {0};
	size_t used;

	hawk_site_edge_append_places(graph, edge, width == SIZE_MAX ? SIZE_MAX : PLACES, &places);
	if (places.size > PLACES_WIDTH && width != SIZE_MAX) {
		hawk_text_clear(&places);
		hawk_site_edge_append_places(graph, edge, 1, &places);
	}
	if (edge->source == HAWK_SITE_ROOTS) {
		hawk_text_printf(text, "by roots (%s)", hawk_text_string(&places));
		return;
	}
	if (edge->place_count == 1 && graph->places[edge->first_place].offset == HAWK_SITE_ANYWHERE)
		hawk_text_puts(text, "anywhere in ");
	else
		hawk_text_printf(text, "at %s of ", hawk_text_string(&places));
	hawk_text_printf(&end, ", %s of those", share_of_sources(report, edge).text);
	used = text->size + end.size;
	if (width != SIZE_MAX)
		width = width > used + NAME_WIDTH_MIN ? width - used : NAME_WIDTH_MIN;
	hawk_site_name_tell(report->names, edge->source, width, text);
	hawk_text_puts(text, hawk_text_string(&end));
}

static void put_holder(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		       const struct hawk_site_graph *graph, const struct hawk_site_edge *edge)
{
	uint64_t targets = hawk_chosen_of_site(report->heap, report->chosen, edge->target).objects;
	CLEANUP(text) struct hawk_text text = {0};

	append_holder(report, graph, edge, screen->full ? SIZE_MAX : screen->width - HOLDER_COLUMN,
		      &text);
	hawk_output_printf(screen->output, "    %10s %8s  ",
			   hawk_quantity_bytes(edge->counts.target_bytes).text,
			   hawk_quantity_share(edge->counts.targets, targets).text);
	hawk_screen_line(screen, &text);
}

static void put_site(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		     const struct hawk_site_edges *by, uint32_t index)
{
	struct hawk_chosen blocks = hawk_chosen_of_site(report->heap, report->chosen, index);
	uint32_t start = by->first[index], end = by->first[index + 1];
	CLEANUP(text) struct hawk_text text = {0};

	hawk_site_name_learn(report->names, index);
	hawk_site_name_append(&text, hawk_site_name(report->names, index),
			      screen->full ? SIZE_MAX : screen->width - 44);
	hawk_output_printf(screen->output, "%10s %12s  %016" PRIx64 "  %s\n",
			   hawk_quantity_bytes(blocks.bytes).text,
			   hawk_quantity_count(blocks.objects).text, report->heap->sites[index].id,
			   hawk_text_string(&text));
	if (start == end)
		hawk_output_puts(screen->output, "    no pointer to any of them\n");
	for (uint32_t i = start; i < end; i++) {
		if (!screen->full && i - start == HOLDERS && end - i > 1) {
			hawk_output_printf(screen->output, "    ... %s more\n",
					   hawk_quantity_count(end - i).text);
			break;
		}
		put_holder(report, screen, by->graph, &by->graph->edges[by->edges[i]]);
	}
}

/** The sites to show. */
struct site_rows {
	const struct hawk_pointer_report *report;
	const struct hawk_site_edges *by;
	const uint32_t *sites;
	size_t count;
};

static void put_sites(const void *context, const struct hawk_screen *screen)
{
	const struct site_rows *rows = context;

	for (size_t i = 0; i < rows->count; i++)
		put_site(rows->report, screen, rows->by, rows->sites[i]);
}

struct hawk_error *hawk_report_site_graph(const struct hawk_pointer_report *report,
					  const struct hawk_site_graph *graph,
					  struct hawk_site_list *list,
					  const struct hawk_screen *screen)
{
	CLEANUP(by_target) struct hawk_site_edges by = {0};
	size_t end =
		hawk_report_choose_sites(report, list, screen->full ? list->count : DEFAULT_TOP);
	struct hawk_error *err;

	if (!report->heap->knows) {
		hawk_report_put_unknown(report->heap, screen, "Sites",
					"see which sites' blocks hold which");
		return NULL;
	}
	err = hawk_site_edges_make(graph, report->heap->site_count, &by);
	if (err)
		return err;
	hawk_screen_heading(screen, "%s, and what holds their blocks (%s of %s)",
			    report->heap->knows & HAWK_HEAP_STACKS ? "Sites" : "Classes",
			    hawk_quantity_count(end).text, hawk_quantity_count(list->count).text);
	if (!end) {
		hawk_report_put_none(report, screen);
		return NULL;
	}
	hawk_report_put_sampling(report, screen);
	hawk_screen_faint(screen, "%10s %12s  %-16s  %s\n    %10s %8s  %s\n", "size", "blocks",
			  hawk_report_group_word(report->heap, 1),
			  report->heap->knows & HAWK_HEAP_STACKS ? "allocated by" : "name",
			  "held size", "blocks", "held");
	hawk_report_put_rows(report, screen, put_sites,
			     &(struct site_rows){report, &by, list->sites, end});
	return NULL;
}
