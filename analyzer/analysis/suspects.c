/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Selects the suspects: the largest sites until most memory is explained. A site lost through
 * another site's blocks is replaced by that site.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk/analysis/site_ages.h"
#include "hawk/analysis/suspects.h"
#include "hawk/base/cleanup.h"

enum {
	COUNT_MAX = 3,
	COUNT_MAX_FULL = HAWK_SUSPECTS_MAX,
	SHARE_MIN = 20, /**< a suspect has 1/this of the bytes */
	SHARE_MIN_FULL = 100,
	EXPLAINED_PERCENT = 90,
	HOLDER_STEPS = 3, /**< deeper ones change more often than the bug */
};

/** Sites are sorted by live bytes; those that are no suspects end the list. */
static size_t choose(const struct hawk_heap *heap, bool full, struct hawk_suspects *suspects)
{
	size_t most = full ? COUNT_MAX_FULL : COUNT_MAX, count = 0;
	uint64_t least = suspects->heap_bytes / (full ? SHARE_MIN_FULL : SHARE_MIN), seen = 0;

	for (size_t i = 0; i < heap->site_count && count < most; i++) {
		const struct hawk_site *site = &heap->sites[i];

		if (site->id == HAWK_SITE_NOT_SAMPLED)
			continue;
		if (!site->inuse_bytes || site->inuse_bytes < least ||
		    (count && seen / EXPLAINED_PERCENT >= suspects->heap_bytes / 100))
			break;
		seen += site->inuse_bytes;
		suspects->items[count++].site = (uint32_t)i;
	}
	return count;
}

static struct hawk_error *find_holders(const struct hawk_graph *graph,
				       const struct hawk_dominators *dominators,
				       struct hawk_root_namer *namer,
				       struct hawk_suspects *suspects)
{
	struct hawk_error *err = hawk_tree_roots_make(namer, &suspects->roots);

	if (!err)
		err = hawk_site_tree_add_retained(graph, dominators, suspects->roots.groups, NULL,
						  &suspects->tree);
	if (!err)
		err = hawk_site_tree_finish(&suspects->tree);
	if (err)
		return err;
	CLEANUP(free_ptr) uint32_t *tops = hawk_site_tree_tops(&suspects->tree);
	CLEANUP(free_ptr)
	uint64_t *sums = calloc((size_t)suspects->tree.count + 1, sizeof(*sums));

	if (!tops || !sums)
		return &hawk_enomem;
	for (size_t i = 0; i < suspects->count; i++)
		suspects->items[i].holder =
			hawk_site_holder_find(&suspects->tree, tops, sums, suspects->items[i].site);
	return NULL;
}

static struct hawk_error *find_retained(const struct hawk_graph *graph,
					struct hawk_suspects *suspects)
{
	uint64_t retained[HAWK_SUSPECTS_MAX];
	uint32_t sites[HAWK_SUSPECTS_MAX];
	struct hawk_error *err;

	for (size_t i = 0; i < suspects->count; i++)
		sites[i] = suspects->items[i].site;
	err = hawk_site_freed(graph, NULL, sites, suspects->count, retained);
	for (size_t i = 0; !err && i < suspects->count; i++)
		suspects->items[i].retained = retained[i];
	return err;
}

static void judge(const struct hawk_graph *graph, const struct hawk_site_ages *ages,
		  struct hawk_suspect *suspect)
{
	suspect->facts = hawk_site_ages_facts(graph, suspect->site, &ages[suspect->site], false);
	suspect->growth = hawk_growth_judge(&suspect->facts);
}

static bool is_lost(const struct hawk_suspect *suspect)
{
	const uint64_t *bytes = suspect->facts.reach_bytes;

	return suspect->facts.reach_known &&
	       2 * (bytes[HAWK_REACH_DEFINITELY_LOST] + bytes[HAWK_REACH_INDIRECTLY_LOST]) >=
		       suspect->facts.bytes;
}

/** The suspect for `site`; a new one if there is none. */
static struct hawk_suspect *suspect_of(struct hawk_suspects *suspects, uint32_t site)
{
	struct hawk_suspect *suspect = suspects->items;

	while (suspect < suspects->items + suspects->count && suspect->site != site)
		suspect++;
	if (suspect == suspects->items + suspects->count) {
		*suspect = (struct hawk_suspect){.site = site};
		suspects->count++;
	}
	return suspect;
}

/** Replaces a lost site by the site that lost it. A site that is not lost is its own origin. */
static void merge(struct hawk_suspects *suspects, const uint32_t *sites, size_t count,
		  const struct hawk_leak_origin *origins)
{
	suspects->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct hawk_suspect *suspect = suspect_of(suspects, origins[i].site);

		if (origins[i].lost.objects)
			suspect->lost = origins[i].lost;
		if (sites[i] != suspect->site)
			suspect->followers[suspect->follower_count++] = sites[i];
	}
}

static struct hawk_error *find_origins(const struct hawk_graph *graph,
				       const struct hawk_reach *reach,
				       const struct hawk_site_ages *ages,
				       struct hawk_suspects *suspects)
{
	struct hawk_leak_origin origins[HAWK_SUSPECTS_MAX], found[HAWK_SUSPECTS_MAX];
	uint32_t sites[HAWK_SUSPECTS_MAX], lost[HAWK_SUSPECTS_MAX];
	size_t count = suspects->count, lost_count = 0;
	struct hawk_error *err;

	for (size_t i = 0; i < count; i++) {
		judge(graph, ages, &suspects->items[i]);
		sites[i] = suspects->items[i].site;
		if (is_lost(&suspects->items[i]))
			lost[lost_count++] = sites[i];
	}
	if (!lost_count)
		return NULL;
	err = hawk_leak_origins(graph, reach, lost, lost_count, found);
	if (err)
		return err;
	for (size_t i = 0, at = 0; i < count; i++)
		origins[i] = at < lost_count && sites[i] == lost[at]
				     ? found[at++]
				     : (struct hawk_leak_origin){.site = sites[i]};
	merge(suspects, sites, count, origins);
	return NULL;
}

/** Live bytes of the suspect's site and its followers. */
static uint64_t explained_bytes(const struct hawk_heap *heap, const struct hawk_suspect *suspect)
{
	uint64_t bytes = suspect->facts.inuse_bytes;

	for (size_t i = 0; i < suspect->follower_count; i++)
		bytes += heap->sites[suspect->followers[i]].inuse_bytes;
	return bytes;
}

struct hawk_error *hawk_suspects_find(const struct hawk_graph *graph,
				      const struct hawk_reach *reach,
				      const struct hawk_dominators *dominators,
				      struct hawk_root_namer *namer, bool full,
				      struct hawk_suspects *ret)
{
	CLEANUP(free_ptr) struct hawk_site_ages *ages = NULL;
	struct hawk_error *err;

	*ret = (struct hawk_suspects){.heap_bytes = graph->heap->sums.bytes};
	ret->count = choose(graph->heap, full, ret);
	err = hawk_site_ages_make(graph->heap, reach, NULL, &ages);
	if (!err)
		err = find_origins(graph, reach, ages, ret);
	if (!err)
		err = find_holders(graph, dominators, namer, ret);
	for (size_t i = 0; !err && i < ret->count; i++) {
		judge(graph, ages, &ret->items[i]);
		ret->explained_bytes += explained_bytes(graph->heap, &ret->items[i]);
	}
	return err ? err : find_retained(graph, ret);
}

void hawk_suspects_deinit(struct hawk_suspects *suspects)
{
	hawk_tree_roots_deinit(&suspects->roots);
	hawk_site_tree_deinit(&suspects->tree);
	memset(suspects, 0, sizeof(*suspects));
}

size_t hawk_suspect_steps(const struct hawk_suspects *suspects, const struct hawk_suspect *suspect,
			  uint32_t sites[HAWK_SITE_TREE_DEPTH])
{
	const struct hawk_site_tree_node *nodes = suspects->tree.nodes;
	uint32_t first = nodes[suspect->holder.node].parent;
	size_t count = 0, i = 0;

	for (uint32_t at = first; at && at != suspect->holder.top && count < HAWK_SITE_TREE_DEPTH;
	     at = nodes[at].parent)
		count++;
	for (uint32_t at = first; i < count; at = nodes[at].parent)
		sites[count - ++i] = nodes[at].key;
	return count;
}

void hawk_suspect_append_holder(const struct hawk_suspects *suspects,
				const struct hawk_suspect *suspect, struct hawk_site_names *names,
				struct hawk_text *text)
{
	const struct hawk_site_tree_node *top = &suspects->tree.nodes[suspect->holder.top];
	bool root = top->kind == HAWK_TREE_ROOT || top->kind == HAWK_TREE_SEVERAL;
	uint32_t sites[HAWK_SITE_TREE_DEPTH];
	size_t count = suspect->holder.top ? hawk_suspect_steps(suspects, suspect, sites) : 0;

	if (!suspect->holder.top)
		hawk_text_puts(text, "(unknown)");
	else if (root)
		hawk_text_puts(text, suspects->roots.names[top->key]);
	else
		hawk_text_puts(text, hawk_site_tree_special_name(top->kind, HAWK_LEAKS_NO_DOUBT));
	for (size_t i = 0; i < count && i < HOLDER_STEPS; i++) {
		hawk_text_puts(text, " > ");
		hawk_site_name_append_folded(text, hawk_site_name(names, sites[i]));
	}
}
