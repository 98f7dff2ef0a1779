/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Keeping loss records, and taking those of some kinds from what was kept.
 */
#include "hawk_kept_leaks.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"

/* Takes the records over. NULL: no memory. */
static struct hawk_kept_leaks *keep(struct hawk_leaks *leaks)
{
	struct hawk_kept_leaks *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	memcpy(kept->sums.sums, leaks->sums, sizeof(kept->sums.sums));
	memcpy(kept->sums.heuristics, leaks->heuristics, sizeof(kept->sums.heuristics));
	kept->sums.downgrade = leaks->downgrade;
	kept->count = leaks->count;
	kept->records = kept->owned = take_ptr(&leaks->records);
	return kept;
}

struct hawk_error *hawk_kept_leaks_need(struct hawk_block_graph *graph)
{
	struct hawk_leaks leaks;
	struct hawk_error *err;

	if (graph->leaks)
		return NULL;
	err = hawk_block_graph_readable(graph);
	if (err) {
		hawk_error_destroy(err);
		return NULL;
	}
	err = hawk_block_graph_need(graph, HAWK_PART_REACH);
	if (!err)
		err = hawk_block_graph_explain(graph);
	if (!err)
		err = hawk_leaks_make(graph, &graph->explained, ~0u, NULL, &leaks);
	if (err)
		return err;
	if (leaks.count <= HAWK_KEPT_LEAKS_MAX) {
		graph->leaks = keep(&leaks);
		err = graph->leaks ? NULL : &hawk_enomem;
	}
	hawk_leaks_deinit(&leaks);
	return err;
}

static bool is_of(const uint64_t *sites, const struct hawk_leak_record *record)
{
	return !sites ||
	       (record->site != UINT32_MAX && sites[record->site / 64] >> record->site % 64 & 1);
}

/* Of all records, or of those of `sites`. */
static void take_sums(const struct hawk_kept_leaks *kept, const uint64_t *sites,
		      struct hawk_leaks *leaks)
{
	memcpy(leaks->heuristics, kept->sums.heuristics, sizeof(leaks->heuristics));
	if (!sites) {
		memcpy(leaks->sums, kept->sums.sums, sizeof(leaks->sums));
		leaks->downgrade = kept->sums.downgrade;
		return;
	}
	for (size_t i = 0; i < kept->count; i++) {
		const struct hawk_leak_record *record = &kept->records[i];

		if (!is_of(sites, record))
			continue;
		leaks->sums[record->kind].objects += record->objects;
		leaks->sums[record->kind].bytes += record->bytes;
	}
}

struct hawk_error *hawk_kept_leaks_take(struct hawk_block_graph *graph, unsigned kinds,
					const uint64_t *sites, struct hawk_leaks *ret)
{
	const struct hawk_kept_leaks *kept = graph->leaks;
	struct hawk_leak_record *records;
	struct hawk_error *err = hawk_block_graph_need(graph, HAWK_PART_ROOTS);

	if (err)
		return err;
	records = calloc(kept->count + 1, sizeof(*records));
	if (!records)
		return &hawk_enomem;
	*ret = (struct hawk_leaks){
		.records = records,
		.downgraded = hawk_leaks_doubt(graph) != HAWK_LEAKS_NO_DOUBT,
	};
	for (size_t i = 0; i < kept->count; i++)
		if (kinds >> kept->records[i].kind & 1 && is_of(sites, &kept->records[i]))
			records[ret->count++] = kept->records[i];
	take_sums(kept, sites, ret);
	if (graph->parts & HAWK_PART_REACH)
		ret->reach = graph->reach;
	ret->reach.area = (struct hawk_area){0};
	return NULL;
}

void hawk_kept_leaks_destroy(struct hawk_kept_leaks *kept)
{
	if (!kept)
		return;
	free(kept->owned);
	free(kept);
}
