/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Selects the suspects: the largest sites until most memory is explained, and sites that leak. A
 * site lost through another site's blocks is replaced by that site; suspect_groups.c joins the
 * others.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk/analysis/site_ages.h"
#include "hawk/base/cleanup.h"
#include "suspect_groups.h"

enum {
	LARGE_MAX = 3,
	SHOWN_MAX = 5,
	SHARE_MIN = 20, /**< a large suspect has 1/this of the bytes */
	LARGE_MAX_FULL = 8,
	SHOWN_MAX_FULL = 10,
	SHARE_MIN_FULL = 100,
	CANDIDATES = 10, /**< large sites, before they are joined */
	CANDIDATE_SHARE = 100,
	EXPLAINED_PERCENT = 90,
	HOLDER_STEPS = 3, /**< deeper ones change more often than the bug */
};

/** Marks of a site. */
enum { STARTUP = 1, LOST = 2, LEAK = 4, CHOSEN = 8 };

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

/* Returns true for what the program itself allocates. */
static bool is_program_site(const struct hawk_heap *heap, const struct hawk_site *site)
{
	const struct hawk_class *class = hawk_heap_class(heap, site->trace);

	return site->id != HAWK_SITE_NOT_SAMPLED && !(class && class->kind == HAWK_CLASS_INTERNAL);
}

static uint8_t mark_of(const struct hawk_suspect *suspect)
{
	const struct hawk_growth *growth = &suspect->growth;

	if (is_lost(suspect))
		return LOST;
	if (hawk_growth_is_startup(&suspect->facts))
		return STARTUP;
	return growth->verdict == HAWK_GROWTH_LEAK && growth->confidence == HAWK_CONFIDENCE_HIGH
		       ? LEAK
		       : 0;
}

static struct hawk_error *mark_sites(const struct hawk_graph *graph,
				     const struct hawk_site_ages *ages,
				     struct hawk_suspects *suspects, uint8_t **ret)
{
	const struct hawk_heap *heap = graph->heap;
	uint8_t *marks = calloc(heap->site_count + 1, 1);

	*ret = marks;
	if (!marks)
		return &hawk_enomem;
	for (size_t i = 0; i < heap->site_count; i++) {
		struct hawk_suspect suspect = {.site = (uint32_t)i};

		if (!heap->sites[i].inuse_bytes || !is_program_site(heap, &heap->sites[i]))
			continue;
		judge(graph, ages, &suspect);
		marks[i] = mark_of(&suspect);
		if (marks[i] & STARTUP)
			suspects->startup_bytes += heap->sites[i].inuse_bytes;
	}
	return NULL;
}

static void add(struct hawk_suspects *suspects, uint8_t *marks, size_t site)
{
	suspects->items[suspects->count++] = (struct hawk_suspect){
		.site = (uint32_t)site,
		.leaks = marks[site] & (LOST | LEAK),
	};
	marks[site] |= CHOSEN;
}

/** Sites are sorted by live bytes. */
static void choose_large(const struct hawk_heap *heap, uint8_t *marks,
			 struct hawk_suspects *suspects)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < heap->site_count && suspects->count < CANDIDATES; i++) {
		const struct hawk_site *site = &heap->sites[i];

		if (!is_program_site(heap, site) || marks[i] & STARTUP)
			continue;
		if (!site->inuse_bytes ||
		    site->inuse_bytes < suspects->heap_bytes / CANDIDATE_SHARE ||
		    (seen && seen / EXPLAINED_PERCENT >= suspects->heap_bytes / 100))
			break;
		seen += site->inuse_bytes;
		add(suspects, marks, i);
	}
}

static void choose_marked(const struct hawk_heap *heap, uint8_t mark, uint8_t *marks,
			  struct hawk_suspects *suspects)
{
	for (size_t i = 0; i < heap->site_count && suspects->count < HAWK_SUSPECTS_MAX; i++)
		if (marks[i] == mark)
			add(suspects, marks, i);
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
		bool leaks = suspects->items[i].leaks;
		struct hawk_suspect *suspect = suspect_of(suspects, origins[i].site);

		suspect->leaks |= leaks;
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

/** Live bytes of the suspect: its structure, what it lost, or its site. */
static uint64_t bytes_of(const struct hawk_suspect *suspect)
{
	if (suspect->part_count)
		return suspect->blocks.bytes;
	return suspect->follower_count ? suspect->lost.bytes : suspect->facts.inuse_bytes;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_suspect *a = left, *b = right;

	if (a->is_first != b->is_first)
		return a->is_first ? -1 : 1;
	if (bytes_of(a) != bytes_of(b))
		return bytes_of(a) > bytes_of(b) ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

/** Keeps the largest ones, and those that leak. */
static void limit(struct hawk_suspects *suspects, bool has_ages, bool full)
{
	uint64_t least = suspects->heap_bytes / (full ? SHARE_MIN_FULL : SHARE_MIN);
	size_t kept = 0, large = full ? LARGE_MAX_FULL : LARGE_MAX;

	for (size_t i = 0; i < suspects->count && !has_ages; i++)
		suspects->items[i].is_first =
			suspects->items[i].leaks && bytes_of(&suspects->items[i]) >= least;
	qsort(suspects->items, suspects->count, sizeof(*suspects->items), compare);
	for (size_t i = 0; i < suspects->count; i++) {
		uint64_t bytes = bytes_of(&suspects->items[i]);

		if ((!large || bytes < least) && !suspects->items[i].leaks)
			continue;
		if (kept == (size_t)(full ? SHOWN_MAX_FULL : SHOWN_MAX))
			break;
		large -= large && bytes >= least;
		suspects->items[kept++] = suspects->items[i];
		suspects->explained_bytes += bytes;
	}
	suspects->count = kept;
	if (suspects->explained_bytes > suspects->heap_bytes) /* structures can have common parts */
		suspects->explained_bytes = suspects->heap_bytes;
}

/** Returns a block of the suspect's site; the number of blocks = none. The middle one is more
 * typical than the first, which is often of the start. */
static uint32_t find_example(const struct hawk_heap *heap, const struct hawk_suspect *suspect)
{
	uint64_t before = suspect->facts.sampled ? 0 : suspect->facts.inuse_objects / 2;
	uint32_t ret = heap->index.count;

	for (uint32_t block = 0; block < heap->index.count; block++) {
		if (hawk_heap_site_at(heap, block) != suspect->site)
			continue;
		ret = block;
		if (!before--)
			break;
	}
	return ret;
}

static void find_examples(const struct hawk_heap *heap, const struct hawk_module_words *modules,
			  struct hawk_suspects *suspects)
{
	struct hawk_near near = {.target = heap->target};

	for (size_t i = 0; i < suspects->count; i++) {
		struct hawk_suspect *suspect = &suspects->items[i];
		uint32_t block = find_example(heap, suspect);

		suspect->example = block;
		if (modules && block < heap->index.count)
			suspect->words = hawk_type_words_at(modules, &near,
							    hawk_block_start(&heap->index, block),
							    hawk_block_size(&heap->index, block));
	}
}

struct hawk_error *hawk_suspects_find(const struct hawk_graph *graph,
				      const struct hawk_reach *reach,
				      const struct hawk_dominators *dominators,
				      struct hawk_root_namer *namer, struct hawk_site_names *names,
				      const struct hawk_module_words *modules, bool full,
				      struct hawk_suspects *ret)
{
	CLEANUP(free_ptr) struct hawk_site_ages *ages = NULL;
	CLEANUP(free_ptr) uint8_t *marks = NULL;
	struct hawk_error *err;

	*ret = (struct hawk_suspects){.heap_bytes = graph->heap->sums.bytes};
	err = hawk_site_ages_make(graph->heap, reach, NULL, &ages);
	if (!err)
		err = mark_sites(graph, ages, ret, &marks);
	if (err)
		return err;
	choose_large(graph->heap, marks, ret);
	choose_marked(graph->heap, LOST, marks, ret);
	choose_marked(graph->heap, LEAK, marks, ret);
	err = find_origins(graph, reach, ages, ret);
	for (size_t i = 0; !err && i < ret->count; i++)
		judge(graph, ages, &ret->items[i]);
	if (!err)
		err = hawk_suspects_group(graph, dominators, namer, names, marks, ret);
	if (err)
		return err;
	for (size_t i = 0; i < ret->count; i++)
		judge(graph, ages, &ret->items[i]);
	limit(ret, graph->heap->knows & HAWK_HEAP_AGES, full);
	find_examples(graph->heap, modules, ret);
	return find_retained(graph, ret);
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
