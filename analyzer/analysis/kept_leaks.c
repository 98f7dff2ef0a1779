/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Keeping loss records, and taking those of some kinds from what was kept.
 */
#include "hawk_kept_leaks.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"

/** An oracle that notes what it is asked. */
struct recorder {
	const struct hawk_target *target;
	const struct hawk_vtable_oracle *oracle;
	struct {
		const struct hawk_module *module;
		uint64_t word;
	} asked[HAWK_KEPT_ASKED_MAX];
	size_t count;  /**< more than that: some are not noted */
	size_t latest; /**< words of one module come one after the other */
};

static void note(struct recorder *recorder, uint64_t word)
{
	const struct hawk_module *module = hawk_target_module_at(recorder->target, word);
	size_t i = 0;

	if (!module || recorder->count > HAWK_KEPT_ASKED_MAX ||
	    (recorder->count && recorder->asked[recorder->latest].module == module))
		return;
	while (i < recorder->count && recorder->asked[i].module != module)
		i++;
	if (i < HAWK_KEPT_ASKED_MAX) {
		recorder->latest = i;
		recorder->asked[i].module = module;
		recorder->asked[i].word = i < recorder->count ? recorder->asked[i].word : word;
	}
	recorder->count += i == recorder->count;
}

/* Of several threads one at a time. */
static struct hawk_error *is_vtable(void *context, uint64_t word, bool *ret)
{
	struct recorder *recorder = context;

	note(recorder, word);
	return recorder->oracle->is_vtable(recorder->oracle->context, word, ret);
}

/* As before, but that it is noted what is asked. */
static struct hawk_error *explain_again(struct hawk_block_graph *graph, struct recorder *recorder)
{
	const struct hawk_vtable_oracle *oracle = graph->vtables;
	const struct hawk_vtable_oracle noting = {is_vtable, recorder};
	struct hawk_error *err;

	recorder->target = graph->target;
	recorder->oracle = oracle;
	hawk_explained_deinit(&graph->explained);
	graph->has_explained = false;
	graph->vtables = oracle ? &noting : NULL;
	err = hawk_block_graph_explain(graph);
	graph->vtables = oracle;
	return err;
}

/* Takes the records over. NULL: no memory. */
static struct hawk_kept_leaks *keep(struct hawk_leaks *leaks, const struct recorder *recorder)
{
	CLEANUP(free_ptr)
	uint64_t *asked = calloc(recorder->count + 1, sizeof(*asked));
	struct hawk_kept_leaks *kept = calloc(1, sizeof(*kept));

	if (!asked || !kept) {
		free(kept);
		return NULL;
	}
	for (size_t i = 0; i < recorder->count; i++)
		asked[i] = recorder->asked[i].word;
	memcpy(kept->sums.sums, leaks->sums, sizeof(kept->sums.sums));
	memcpy(kept->sums.heuristics, leaks->heuristics, sizeof(kept->sums.heuristics));
	kept->sums.downgrade = leaks->downgrade;
	kept->count = leaks->count;
	kept->records = kept->owned = take_ptr(&leaks->records);
	kept->asked_count = recorder->count;
	kept->asked = kept->owned_asked = take_ptr(&asked);
	return kept;
}

struct hawk_error *hawk_kept_leaks_need(struct hawk_block_graph *graph)
{
	CLEANUP(free_ptr) struct recorder *recorder = NULL;
	struct hawk_leaks leaks;
	struct hawk_error *err;

	if (graph->leaks)
		return NULL;
	err = hawk_block_graph_readable(graph);
	if (err) {
		hawk_error_destroy(err);
		return NULL;
	}
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return &hawk_enomem;
	err = hawk_block_graph_need(graph, HAWK_PART_REACH);
	if (!err)
		err = explain_again(graph, recorder);
	if (!err)
		err = hawk_leaks_make(graph, &graph->explained, ~0u, NULL, &leaks);
	if (err)
		return err;
	if (leaks.count <= HAWK_KEPT_LEAKS_MAX && recorder->count <= HAWK_KEPT_ASKED_MAX) {
		graph->leaks = keep(&leaks, recorder);
		err = graph->leaks ? NULL : &hawk_enomem;
	}
	hawk_leaks_deinit(&leaks);
	return err;
}

struct hawk_error *hawk_kept_leaks_ask_again(const struct hawk_block_graph *graph)
{
	const struct hawk_vtable_oracle *oracle = graph->vtables;
	struct hawk_error *err = NULL;
	bool unused;

	for (size_t i = 0; oracle && i < graph->leaks->asked_count && !err; i++)
		err = oracle->is_vtable(oracle->context, graph->leaks->asked[i], &unused);
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
	free(kept->owned_asked);
	free(kept);
}
