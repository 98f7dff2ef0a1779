/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds large blocks, and small ones whose stack was taken. Each has its own span, which only the
 * map of pages leads to. The map is found by known spans: a leaf holds the span's address at its
 * first page's index.
 *
 *     2 levels (2.6 to 2.18):  root[2^17] -> leaf[2^18]
 *     3 levels (2.0 to 2.5):   root[2^12] -> node[2^12] -> leaf[2^11]
 */
#include "tcmalloc.h"

enum {
	LEAF_LOG2 = 18,
	ROOT_LOG2 = 17,
	OLD_LEAF_LOG2 = 11,
	OLD_NODE_LOG2 = 12,
	SAMPLES = 64,
	SAMPLED_DEPTH_MAX = 64,
};

static uint64_t mask(unsigned bits)
{
	return (UINT64_C(1) << bits) - 1;
}

/** The map of pages: the way to its leaves. */
struct map {
	uint64_t root;
	bool old;
	uint64_t budget; /**< to read it with */
};

/* Returns the leaf that holds the page, or 0. */
static uint64_t leaf_of(struct hawk_near *near, const struct map *map, uint64_t page)
{
	uint64_t node, leaf;

	if (!map->old)
		return hawk_word(near, map->root + 8 * (page >> LEAF_LOG2), &leaf) ? leaf : 0;
	return hawk_word(near, map->root + 8 * (page >> (OLD_LEAF_LOG2 + OLD_NODE_LOG2)), &node) &&
			       node &&
			       hawk_word(near,
					 node + 8 * (page >> OLD_LEAF_LOG2 & mask(OLD_NODE_LOG2)),
					 &leaf)
		       ? leaf
		       : 0;
}

static unsigned leaf_log2(const struct map *map)
{
	return map->old ? OLD_LEAF_LOG2 : LEAF_LOG2;
}

/* Returns the map's span for a page, or 0. */
static uint64_t span_of(struct hawk_near *near, const struct map *map, uint64_t page)
{
	uint64_t leaf = leaf_of(near, map, page), span;

	return leaf && hawk_word(near, leaf + 8 * (page & mask(leaf_log2(map))), &span) ? span : 0;
}

/* Returns true if the map holds nine tenths of some spans. */
static bool fits(const struct hawk_tcmalloc *tcmalloc, struct hawk_near *near,
		 const struct map *map)
{
	size_t step = tcmalloc->span_count / SAMPLES + 1;
	unsigned known = 0, asked = 0;

	for (size_t i = 0; i < tcmalloc->span_count; i += step, asked++) {
		struct hawk_tcmalloc_span span;

		known += hawk_tcmalloc_span(near, tcmalloc->spans[i], &span) &&
			 span_of(near, map, span.page) == tcmalloc->spans[i];
	}
	return known * 10 >= asked * 9;
}

/* Looks in modules' data for the root: newer versions keep the root itself there, older ones a
 * pointer to it. */
static bool find_map(const struct hawk_tcmalloc *tcmalloc, struct hawk_near *near, struct map *ret)
{
	struct hawk_data_words words = {0};
	struct hawk_tcmalloc_span span;
	uint64_t word;

	if (!tcmalloc->span_count || !hawk_tcmalloc_span(near, tcmalloc->spans[0], &span))
		return false;
	while (hawk_data_words_next(&words, near, &word)) {
		uint64_t leaf_word;

		if (word % 8)
			continue;
		*ret = (struct map){.root = words.at - 8 * (span.page >> LEAF_LOG2)};
		if (hawk_word(near, word + 8 * (span.page & mask(LEAF_LOG2)), &leaf_word) &&
		    leaf_word == tcmalloc->spans[0] && fits(tcmalloc, near, ret))
			return true;
		*ret = (struct map){.root = word, .old = true};
		if (span_of(near, ret, span.page) == tcmalloc->spans[0] &&
		    fits(tcmalloc, near, ret))
			return true;
	}
	return false;
}

/* Returns the number of leading frames that are the allocator's own. */
static uint32_t count_own(const struct hawk_tcmalloc *tcmalloc, const uint64_t *frames,
			  uint32_t count)
{
	const struct hawk_target *target = tcmalloc->heap.target;
	const struct hawk_module *own = hawk_target_module_at(target, tcmalloc->central);
	uint32_t i = 0;

	while (i < count && own && !own->main && hawk_target_module_at(target, frames[i]) == own)
		i++;
	return i < count ? i : 0;
}

static struct hawk_error *put_sample(struct hawk_tcmalloc *tcmalloc, uint64_t start,
				     uint64_t requested, const uint64_t *frames, uint32_t count)
{
	uint32_t own = count_own(tcmalloc, frames, count);
	uint64_t *copy;

	if (!hawk_array_reserve(&tcmalloc->samples, tcmalloc->sample_count,
				&tcmalloc->sample_capacity, sizeof(*tcmalloc->samples)))
		return &hawk_enomem;
	copy = malloc((count + 1) * sizeof(*copy));
	if (!copy)
		return &hawk_enomem;
	memcpy(copy, frames + own, (count - own) * sizeof(*copy));
	tcmalloc->samples[tcmalloc->sample_count++] =
		(struct hawk_sample){start, requested, copy, count - own};
	return NULL;
}

/* Adds the sample whose record lies at `stack`: requested bytes, depth, return addresses. A small
 * block has its class's usable bytes, though it owns a whole span of `*bytes`. */
static struct hawk_error *add_sample(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near,
				     uint64_t start, uint64_t stack, uint64_t *bytes)
{
	uint64_t record[2 + SAMPLED_DEPTH_MAX], head = 2 * sizeof(*record);
	struct hawk_error *err;

	if (hawk_near_read(near, stack, record, head) != head || record[0] > *bytes ||
	    record[1] > SAMPLED_DEPTH_MAX ||
	    hawk_near_read(near, stack + head, record + 2, record[1] * sizeof(*record)) !=
		    record[1] * sizeof(*record))
		return NULL;
	for (uint32_t i = 1; i < tcmalloc->classes && tcmalloc->class_bytes[i]; i++)
		if (record[0] <= tcmalloc->class_bytes[i]) {
			*bytes = tcmalloc->class_bytes[i];
			break;
		}
	err = put_sample(tcmalloc, start, record[0], record + 2, (uint32_t)record[1]);
	return err ? err
		   : hawk_claims_add(&tcmalloc->heap.metadata, stack,
				     stack + head + record[1] * sizeof(*record));
}

/* Adds one block with its own span. */
static struct hawk_error *add_large(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near,
				    uint64_t address, const struct hawk_tcmalloc_span *span)
{
	uint64_t start = span->page << HAWK_TCMALLOC_PAGE_LOG2;
	uint64_t usable = span->pages << HAWK_TCMALLOC_PAGE_LOG2;
	struct hawk_error *err = NULL;

	if (span->sampled)
		err = add_sample(tcmalloc, near, start, span->objects, &usable);
	if (!err)
		err = hawk_slabs_add(
			&tcmalloc->heap.slabs,
			(struct hawk_slab){.start = start, .object_bytes = usable, .count = 1});
	return err ? err : hawk_tcmalloc_claim(tcmalloc, address, span);
}

/* Adds a free span, which is still the allocator's memory. */
static struct hawk_error *add_free(struct hawk_tcmalloc *tcmalloc, uint64_t address,
				   const struct hawk_tcmalloc_span *span)
{
	struct hawk_error *err =
		hawk_claims_add(&tcmalloc->heap.free, span->page << HAWK_TCMALLOC_PAGE_LOG2,
				(span->page + span->pages) << HAWK_TCMALLOC_PAGE_LOG2);

	return err ? err : hawk_tcmalloc_claim(tcmalloc, address, span);
}

/* Reads all spans of one leaf. A large span surely has entries only for its first and last page;
 * entries between may be stale. So a span counts at its first page. */
static struct hawk_error *read_leaf(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near,
				    struct map *map, uint64_t leaf, uint64_t first_page)
{
	uint64_t bytes = UINT64_C(8) << leaf_log2(map), at = leaf, address;
	struct hawk_error *err = hawk_claims_add(&tcmalloc->heap.metadata, leaf, leaf + bytes);

	for (; !err && hawk_next_word(near, &at, leaf + bytes, &address); at += 8) {
		struct hawk_tcmalloc_span span;

		if (!hawk_tcmalloc_span(near, address, &span) ||
		    span.page != first_page + (at - leaf) / 8)
			continue;
		if (span.location)
			err = add_free(tcmalloc, address, &span);
		else if (!span.size_class)
			err = add_large(tcmalloc, near, address, &span);
	}
	hawk_charge(&map->budget, at - leaf);
	return err;
}

static struct hawk_error *read_node(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near,
				    struct map *map, uint64_t node, uint64_t first_page,
				    unsigned log2, unsigned page_log2)
{
	uint64_t at = node, end = node + (UINT64_C(8) << log2), next;
	struct hawk_error *err = NULL;

	for (; !err && map->budget && hawk_next_word(near, &at, end, &next); at += 8) {
		uint64_t page = first_page + ((at - node) / 8 << page_log2);

		err = page_log2 > leaf_log2(map) ? read_node(tcmalloc, near, map, next, page,
							     OLD_NODE_LOG2, OLD_LEAF_LOG2)
						 : read_leaf(tcmalloc, near, map, next, page);
	}
	hawk_charge(&map->budget, at - node);
	return err;
}

struct hawk_error *hawk_tcmalloc_read_large(struct hawk_tcmalloc *tcmalloc)
{
	struct hawk_near near = {.target = tcmalloc->heap.target};
	struct hawk_error *err;
	struct map map;

	tcmalloc->heap.incomplete = !find_map(tcmalloc, &near, &map);
	if (tcmalloc->heap.incomplete)
		return NULL;
	map.budget = hawk_budget_to_read(tcmalloc->heap.target);
	err = map.old ? read_node(tcmalloc, &near, &map, map.root, 0, OLD_NODE_LOG2,
				  OLD_LEAF_LOG2 + OLD_NODE_LOG2)
		      : read_node(tcmalloc, &near, &map, map.root, 0, ROOT_LOG2, LEAF_LOG2);
	tcmalloc->heap.differing += !map.budget;
	return err;
}
