/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the list once.
 */
#include "list_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct list {
	struct hawk_block *blocks;
	size_t count;
	uint32_t class_count;
};

static int compare(const void *left, const void *right)
{
	const struct hawk_block *a = left;
	const struct hawk_block *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static struct hawk_error *add(struct list *list, uint64_t start, uint64_t size, uint32_t class)
{
	void *moved = reallocarray(list->blocks, list->count + 1, sizeof(*list->blocks));

	if (!moved)
		return &hawk_enomem;
	list->blocks = moved;
	list->blocks[list->count++] =
		(struct hawk_block){.start = start, .size = size, .trace = class};
	if (class >= list->class_count)
		list->class_count = class + 1;
	return NULL;
}

static struct hawk_error *read_list(const char *path, struct list *list)
{
	FILE *file = fopen(path, "re");
	struct hawk_error *err = NULL;
	uint64_t start, size;
	uint32_t class;
	int got;

	if (!file)
		return hawk_error_create(HAWK_ERROR_NOT_FOUND, "%s cannot be opened", path);
	while ((got = fscanf(file, "%" SCNi64 " %" SCNi64 " %" SCNi32, (int64_t *)&start,
			     (int64_t *)&size, (int32_t *)&class)) == 3 &&
	       !err)
		err = add(list, start, size, class);
	fclose(file);
	if (!err && got != EOF)
		err = hawk_error_create(HAWK_ERROR_FORMAT, "%s: a line is no block", path);
	if (list->count)
		qsort(list->blocks, list->count, sizeof(*list->blocks), compare);
	return err;
}

static void forget(struct hawk_heap_found *found)
{
	struct list *list = found->state;

	if (list)
		free(list->blocks);
	free(list);
}

static struct hawk_error *find(const struct hawk_heap_search *search, struct hawk_heap_found *ret,
			       bool *is_there)
{
	const struct list_file *file = ret->source->context;
	struct list *list = calloc(1, sizeof(*list));
	struct hawk_error *err = list ? read_list(file->path, list) : &hawk_enomem;

	(void)search;
	ret->state = list;
	ret->knows = HAWK_HEAP_CONTENTS | HAWK_HEAP_BLOCKS | HAWK_HEAP_ACCOUNTING |
		     (file->exact ? HAWK_HEAP_EXACT : 0);
	ret->small_granules = file->small_granules;
	ret->blocks_apart = !file->small_granules; /* made of a heap with headers */
	ret->class_count = list ? list->class_count : 0;
	for (size_t i = 0; !err && i < file->span_count; i++)
		err = hawk_heap_spans_add(&ret->spans, file->spans[i]);
	*is_there = !err && list->count;
	return err;
}

static struct hawk_error *walk(struct hawk_heap_walk *walk, const struct hawk_block **ret,
			       size_t *count)
{
	const struct list *list = walk->found->state;
	uint64_t left = list->count - walk->at[0];

	*ret = list->blocks + walk->at[0];
	*count = left < HAWK_HEAP_BATCH ? left : HAWK_HEAP_BATCH;
	walk->at[0] += *count;
	return NULL;
}

static void find_class(const struct hawk_heap_found *found, uint32_t number, struct hawk_class *ret)
{
	const struct list_file *file = found->source->context;

	ret->kind = HAWK_CLASS_TYPE;
	ret->name = "unnamed";
	ret->offset = number;
	if (number >= LIST_CLASSES_MAX || !file->names[number])
		return;
	ret->name = file->names[number];
	ret->offset = 0;
}

struct hawk_heap_source list_source(const struct list_file *file)
{
	return (struct hawk_heap_source){
		.name = "list",
		.context = file,
		.find = find,
		.walk = walk,
		.class = find_class,
		.forget = forget,
	};
}
