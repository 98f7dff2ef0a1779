/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Adds blocks up by type, in one pass over them.
 */
#include "hawk/analysis/type_list.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"

static int compare(const void *left, const void *right)
{
	const struct hawk_type_sum *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	if (a->blocks.bytes != b->blocks.bytes)
		return a->blocks.bytes > b->blocks.bytes ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

static uint64_t rank_of(const struct hawk_type_sum *sum, enum hawk_type_sort sort)
{
	return sort == HAWK_TYPES_BY_SIZE    ? sum->blocks.bytes
	       : sort == HAWK_TYPES_BY_COUNT ? sum->blocks.objects
					     : sum->retained;
}

/* Blocks without a header have no birth. */
static void add_birth(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block,
		      struct hawk_type_sum *sum)
{
	uint16_t head = hawk_heap_next_head(heap, near, block);
	uint64_t units = hawk_birth_decode((uint8_t)head);

	if (head && units < sum->oldest_units)
		sum->oldest_units = units;
}

static void add_blocks(const struct hawk_types *types, const uint64_t *chosen,
		       struct hawk_type_sum *sums)
{
	const struct hawk_heap *heap = types->heap;
	uint32_t count = heap->index.count;
	struct hawk_near near = {.target = heap->target};
	bool aged = heap->knows & HAWK_HEAP_AGES;
	struct hawk_progress progress;
	uint64_t reported = 0;

	hawk_progress_begin(&progress, "adding up types", count);
	for (uint32_t i = hawk_block_next_chosen(chosen, 0, count); i < count;
	     i = hawk_block_next_chosen(chosen, i + 1, count)) {
		struct hawk_type_sum *sum = &sums[hawk_types_of(types, i)];

		hawk_progress_pass(&reported, i);
		hawk_chosen_add(&sum->blocks, &heap->index, i);
		if (aged)
			add_birth(heap, &near, i, sum);
	}
	hawk_progress_end(&progress);
}

static void add(struct hawk_chosen *to, const struct hawk_chosen *more)
{
	to->objects += more->objects;
	to->bytes += more->bytes;
}

/* Drops types without blocks, and adds up the rest. */
static void keep(const struct hawk_types *types, enum hawk_type_sort sort,
		 struct hawk_type_list *list)
{
	for (size_t i = 0; i < types->count; i++) {
		const struct hawk_type *type = hawk_types_at(types, (uint32_t)i);
		struct hawk_type_sum sum = list->items[i];

		sum.rank = rank_of(&sum, sort);
		if (!sum.blocks.objects)
			continue;
		list->items[list->count++] = sum;
		add(&list->all, &sum.blocks);
		if (type->origin < HAWK_TYPE_INTERNAL)
			add(&list->known, &sum.blocks);
		if (type->origin < HAWK_TYPE_INTERNAL && type->is_guess)
			add(&list->guessed, &sum.blocks);
	}
}

struct hawk_error *hawk_type_list_make(const struct hawk_types *types, const uint64_t *chosen,
				       const uint64_t *retained, enum hawk_type_sort sort,
				       struct hawk_type_list *ret)
{
	struct hawk_type_list list = {.items = calloc(types->count, sizeof(*list.items))};

	if (!list.items)
		return &hawk_enomem;
	for (size_t i = 0; i < types->count; i++)
		list.items[i] = (struct hawk_type_sum){.type = (uint32_t)i,
						       .retained = retained ? retained[i] : 0,
						       .oldest_units = UINT64_MAX};
	add_blocks(types, chosen, list.items);
	keep(types, sort, &list);
	qsort(list.items, list.count, sizeof(*list.items), compare);
	*ret = list;
	return NULL;
}

void hawk_type_list_deinit(struct hawk_type_list *list)
{
	free(list->items);
	*list = (struct hawk_type_list){0};
}
