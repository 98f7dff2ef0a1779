/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the list for each question anew.
 */
#include "list_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"

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

static void hawk_cleanup_list(struct list *list)
{
	free(list->blocks);
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

static struct hawk_error *find(const struct hawk_heap_source *source, struct hawk_heap *heap,
			       struct hawk_findings *findings, bool *ret)
{
	CLEANUP(list) struct list list = {0};
	const struct list_file *file = source->context;
	struct hawk_error *err = read_list(file->path, &list);

	(void)findings;
	heap->knows = HAWK_HEAP_CONTENTS | HAWK_HEAP_BLOCKS | HAWK_HEAP_ACCOUNTING;
	heap->trace_count = list.class_count;
	*ret = !err;
	return err;
}

static struct hawk_error *walk(const struct hawk_heap *heap, unsigned threads,
			       const struct hawk_heap_sink *sink, struct hawk_findings *findings,
			       struct hawk_heap_sums *ret)
{
	CLEANUP(list) struct list list = {0};
	const struct list_file *file = heap->source->context;
	struct hawk_error *err = read_list(file->path, &list);
	struct hawk_heap_sums sums = {.blocks = list.count};

	(void)threads;
	(void)findings;
	for (size_t i = 0; i < list.count; i++)
		sums.bytes += list.blocks[i].size;
	for (size_t i = 0; i < list.count && !err; i += HAWK_HEAP_BATCH) {
		size_t left = list.count - i;

		err = sink->take(sink->context, list.blocks + i,
				 left < HAWK_HEAP_BATCH ? left : HAWK_HEAP_BATCH);
	}
	*ret = sums;
	return err;
}

static const char *class_name(const struct hawk_heap *heap, uint32_t number)
{
	const struct list_file *file = heap->source->context;

	return number < LIST_CLASSES_MAX && file->names[number] ? file->names[number] : "unnamed";
}

struct hawk_heap_source list_source(const struct list_file *file)
{
	return (struct hawk_heap_source){
		.name = "list",
		.context = (void *)file,
		.find = find,
		.walk = walk,
		.class_name = class_name,
	};
}
