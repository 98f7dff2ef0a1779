/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Places of the site graph as text.
 */
#include <inttypes.h>

#include "hawk/analysis/site_graph.h"
#include "hawk/names/root_name.h"

void hawk_site_edge_append_places(const struct hawk_site_graph *graph,
				  const struct hawk_site_edge *edge, size_t most,
				  struct hawk_text *text)
{
	for (uint32_t i = 0; i < edge->place_count && i < most; i++) {
		const struct hawk_site_place *place = &graph->places[edge->first_place + i];

		if (edge->source == HAWK_SITE_ROOTS)
			hawk_text_printf(text, "%s%s", i ? ", " : "",
					 hawk_root_kind_name((enum hawk_root_kind)place->offset));
		else if (place->offset == HAWK_SITE_ANYWHERE)
			hawk_text_printf(text, "%sanywhere", i ? ", " : "");
		else
			hawk_text_printf(text, "%s+%" PRIu64, i ? ", " : "", place->offset);
	}
	if (edge->place_count > most)
		hawk_text_puts(text, ", ...");
}
