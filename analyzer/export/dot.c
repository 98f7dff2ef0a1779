/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The site graph in Graphviz's language. Draws only the largest sites, and the edges that hold
 * most: a larger drawing is unreadable.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/export/dot.h"

enum {
	PLACES = 3,
	NAME_WIDTH = 40,
	SITES = 40,
	EDGES = 150,
};

/** Role of a site in the drawing; 0 = not drawn. */
enum { SITE = 1, HOLDER };

/** Writes a text for a quoted string of Graphviz's language. */
static void put_text(struct hawk_output *output, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			hawk_output_puts(output, "\\");
		hawk_output_append(output, text, 1);
	}
}

/** Begins a node with its site's name, up to the end of the label. */
static void begin_node(const struct hawk_dot *dot, struct hawk_output *output, uint32_t index,
		       const char *style)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_site_name_append(&text, hawk_site_name(dot->names, index), NAME_WIDTH);
	hawk_output_printf(output, "\ts%016" PRIx64 " [%slabel=\"", dot->heap->sites[index].id,
			   style);
	put_text(output, hawk_text_string(&text));
}

static void put_node(const struct hawk_dot *dot, struct hawk_output *output, uint32_t index)
{
	struct hawk_chosen blocks = hawk_chosen_of_site(dot->heap, dot->chosen, index);

	begin_node(dot, output, index, "");
	hawk_output_printf(
		output, "\\n%s in %s block%s\"];\n", hawk_quantity_bytes(blocks.bytes).text,
		hawk_quantity_count(blocks.objects).text, blocks.objects == 1 ? "" : "s");
}

static void put_edge(const struct hawk_dot *dot, const struct hawk_site_edge *edge,
		     struct hawk_output *output)
{
	const struct hawk_site *sites = dot->heap->sites;
	CLEANUP(text) struct hawk_text places = {0};

	hawk_site_edge_append_places(dot->graph, edge, PLACES, &places);
	if (edge->source == HAWK_SITE_ROOTS)
		hawk_output_puts(output, "\troots");
	else
		hawk_output_printf(output, "\ts%016" PRIx64, sites[edge->source].id);
	hawk_output_printf(output, " -> s%016" PRIx64 " [label=\"%s\\n%s\"];\n",
			   sites[edge->target].id, hawk_text_string(&places),
			   hawk_quantity_bytes(edge->counts.target_bytes).text);
}

/* Writes holders; if blocks are chosen, none of a holder's need be. */
static void put_holders(const struct hawk_dot *dot, uint8_t *shown, struct hawk_output *output)
{
	size_t edges = 0;

	for (size_t i = 0; dot->chosen && i < dot->graph->edge_count && edges < EDGES; i++) {
		const struct hawk_site_edge *edge = &dot->graph->edges[i];

		if (shown[edge->target] != SITE)
			continue;
		edges++;
		if (edge->source == HAWK_SITE_ROOTS || shown[edge->source])
			continue;
		shown[edge->source] = HOLDER;
		begin_node(dot, output, edge->source, "style=dashed, ");
		hawk_output_puts(output, "\"];\n");
	}
}

/** Marks the first `end` sites of the list; caller frees. */
static uint8_t *mark(const struct hawk_dot *dot, const struct hawk_site_list *list, size_t end)
{
	uint8_t *marks = calloc(dot->heap->site_count + 1, 1);

	for (size_t i = 0; marks && i < end; i++)
		marks[list->sites[i]] = SITE;
	return marks;
}

struct hawk_error *hawk_export_dot(const struct hawk_dot *dot, struct hawk_site_list *list,
				   struct hawk_output *output)
{
	size_t most = dot->top ? dot->top : SITES, edges = 0;
	CLEANUP(free_ptr) uint8_t *shown = NULL;
	size_t end;

	hawk_site_list_choose(list, dot->heap, dot->chosen);
	end = most < list->count ? most : list->count;
	shown = mark(dot, list, end);
	if (!shown)
		return &hawk_enomem;
	hawk_output_puts(output, "digraph sites {\n\trankdir=LR;\n\tnode [shape=box];\n"
				 "\troots [shape=ellipse];\n");
	for (size_t i = 0; i < end; i++)
		put_node(dot, output, list->sites[i]);
	put_holders(dot, shown, output);
	for (size_t i = 0; i < dot->graph->edge_count && edges < EDGES; i++) {
		const struct hawk_site_edge *edge = &dot->graph->edges[i];

		if (shown[edge->target] != SITE ||
		    (edge->source != HAWK_SITE_ROOTS && !shown[edge->source]))
			continue;
		edges++;
		put_edge(dot, edge, output);
	}
	hawk_output_puts(output, "}\n");
	return NULL;
}
