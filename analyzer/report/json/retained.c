/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites and blocks with the bytes that freeing them would free.
 */
#include "hawk/report/pointers.h"
#include "objects.h"

void hawk_report_retained_sites_json(const struct hawk_pointer_report *report,
				     const struct hawk_retained_sites *sites,
				     struct hawk_json *json)
{
	size_t end;

	if (!hawk_json_put_known_list(json, "sites", report->heap, sites->count, &end))
		return;
	for (size_t i = 0; i < end; i++) {
		const struct hawk_retained_site *site = &sites->items[i];

		hawk_json_object(json);
		hawk_json_put_site(json, "site", report->heap, site->site);
		hawk_json_put_integer(json, "objects", site->blocks.objects);
		hawk_json_put_integer(json, "shallow_bytes", site->blocks.bytes);
		hawk_report_json_retained(&site->retained, site->exact, json);
		hawk_report_json_site_stack(report, site->site, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

void hawk_report_retained_blocks_json(const struct hawk_pointer_report *report,
				      const struct hawk_retained_blocks *blocks,
				      struct hawk_json *json)
{
	const struct hawk_retained_block *items = blocks->shown.items;

	if (!report->heap->knows) {
		hawk_json_put_no_list(json, "blocks");
		return;
	}
	hawk_json_put_cut_list(json, "blocks", blocks->shown.count, blocks->count);
	for (size_t i = 0; i < blocks->shown.count; i++) {
		hawk_json_object(json);
		hawk_report_json_block(report, items[i].block, json);
		hawk_json_put_integer(json, "retained_bytes", items[i].bytes);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}
