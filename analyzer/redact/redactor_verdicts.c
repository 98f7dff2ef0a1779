/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Heuristics of leaks decide by numbers in blocks: lengths, counts, flags. Each interior pointer is
 * explained twice, by the original's bytes and by the redacted ones. If the verdicts differ, the
 * numbers read are kept; or, if zeros would explain a pointer that was unexplained, they become
 * ones.
 *
 * So this file needs no knowledge of the heuristics' reads, and an unexplained pointer keeps
 * nothing of its target block.
 */
#include "redactor.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/graph/heuristics_explain.h"
#include "hawk/graph/pointers.h"

enum { READS_MAX = 64 /* of one verdict */ };

/** Words read to explain a pointer that would be redacted. */
struct reads {
	struct hawk_redactor *redactor;
	struct {
		uint64_t address;
		size_t size;
	} items[READS_MAX];
	size_t count;
};

struct finder {
	struct hawk_redactor *redactor;
	const struct hawk_graph *graph;
	struct hawk_explainer before, after;
	struct hawk_explainer_filter filter;
	struct reads reads;
	struct hawk_near near;
	/* Becomes the redactor's: results are used only afterwards, so that no verdict depends on
	 * earlier ones. */
	uint64_t *items;
	size_t count;
	size_t capacity;
};

/* Replaces the bytes by the redacted ones. */
static void see(void *context, uint64_t address, void *bytes, size_t size)
{
	struct reads *reads = context;
	uint64_t start = address & -(uint64_t)HAWK_GRANULE_BYTES;
	uint64_t end = (address + size + HAWK_GRANULE_BYTES - 1) & -(uint64_t)HAWK_GRANULE_BYTES;
	uint8_t from[HAWK_EXPLAINER_READ_MAX + 3 * HAWK_GRANULE_BYTES] = {0}, to[sizeof(from)];

	if (!size || size > HAWK_EXPLAINER_READ_MAX || end < start)
		return;
	hawk_target_read_some(reads->redactor->target, start, from, (size_t)(end - start));
	hawk_redactor_apply(reads->redactor, start, from, (size_t)(end - start), to);
	if (!memcmp(bytes, to + (address - start), size))
		return;
	memcpy(bytes, to + (address - start), size);
	if (reads->count == READS_MAX)
		return;
	reads->items[reads->count].address = address;
	reads->items[reads->count++].size = size;
}

static struct hawk_error *keep_reads(struct finder *finder, bool fill)
{
	const struct reads *reads = &finder->reads;

	for (size_t i = 0; i < reads->count; i++) {
		if (!hawk_array_reserve(&finder->items, finder->count, &finder->capacity,
					sizeof(*finder->items)))
			return &hawk_enomem;
		finder->items[finder->count++] =
			reads->items[i].address << 8 | reads->items[i].size << 1 | fill;
	}
	return NULL;
}

static unsigned explain_after(struct finder *finder, uint32_t block, uint64_t pointer)
{
	finder->reads.count = 0;
	return hawk_explainer_explain(&finder->after, block, pointer);
}

static struct hawk_error *judge(struct finder *finder, uint32_t block, uint64_t pointer)
{
	unsigned before = hawk_explainer_explain(&finder->before, block, pointer);
	struct hawk_error *err;

	if (before == explain_after(finder, block, pointer))
		return NULL;
	/* Explain again: a virtual table that the explainer remembered was not read. */
	memset(finder->after.verdicts, 0, sizeof(finder->after.verdicts));
	(void)explain_after(finder, block, pointer);
	err = keep_reads(finder, !before);
	memset(finder->after.verdicts, 0, sizeof(finder->after.verdicts));
	return err;
}

static struct hawk_error *judge_pointers(void *context, const struct hawk_pointer *pointers,
					 size_t count)
{
	struct finder *finder = context;
	const struct hawk_block_index *index = &finder->graph->heap->index;
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		uint64_t at = hawk_block_start(index, pointers[i].source) + pointers[i].offset;
		uint64_t value;

		if (pointers[i].edge & HAWK_EDGE_INTERIOR &&
		    hawk_near_read(&finder->near, at, &value, sizeof(value)) == sizeof(value))
			err = judge(finder, pointers[i].edge >> 1, value);
	}
	return err;
}

static bool read_register(const struct finder *finder, const struct hawk_root *root, uint64_t *ret)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(finder->near.target, &count);
	const struct hawk_thread *thread = &threads[root->owner];
	uint64_t at = root->address - HAWK_ROOT_VECTORS;

	if (root->owner >= count)
		return false;
	if (root->address < HAWK_REGISTERS_MAX) {
		*ret = thread->registers[root->address];
		return true;
	}
	if (root->address < HAWK_ROOT_VECTORS || at + sizeof(*ret) > thread->vectors_bytes)
		return false;
	memcpy(ret, thread->vectors + at, sizeof(*ret));
	return true;
}

static struct hawk_error *judge_roots(struct finder *finder)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < finder->graph->roots.count; i++) {
		const struct hawk_root *root = &finder->graph->roots.items[i];
		uint64_t value;

		if (!(root->edge & HAWK_ROOT_INTERIOR))
			continue;
		if (root->kind == HAWK_ROOT_REGISTER
			    ? read_register(finder, root, &value)
			    : hawk_near_read(&finder->near, root->address, &value, sizeof(value)) ==
				      sizeof(value))
			err = judge(finder, root->edge >> 1, value);
	}
	return err;
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Sorts the items and drops repeats. */
static void sort_items(struct finder *finder)
{
	size_t kept = 0;

	if (finder->count)
		qsort(finder->items, finder->count, sizeof(*finder->items), compare);
	for (size_t i = 0; i < finder->count; i++)
		if (!kept || finder->items[i] != finder->items[kept - 1])
			finder->items[kept++] = finder->items[i];
	finder->count = kept;
}

static struct hawk_error *find_all(struct finder *finder)
{
	struct hawk_error *err = judge_roots(finder);

	if (!err)
		err = hawk_pointers_read(finder->graph, 0, finder->graph->count, NULL,
					 judge_pointers, finder);
	return err;
}

struct hawk_error *hawk_redactor_find_verdicts(struct hawk_redactor *redactor,
					       const struct hawk_graph *graph,
					       const struct hawk_vtables *vtables)
{
	struct finder *finder = calloc(1, sizeof(*finder));
	struct hawk_error *err;

	if (!finder)
		return &hawk_enomem;
	finder->redactor = redactor;
	finder->graph = graph;
	finder->reads.redactor = redactor;
	finder->filter = (struct hawk_explainer_filter){see, &finder->reads};
	finder->near.target = redactor->target;
	finder->before = (struct hawk_explainer){
		.near = {.target = redactor->target},
		.heap = graph->heap,
		.heuristics = HAWK_HEURISTICS_ALL,
		.vtables = vtables,
	};
	finder->after = finder->before;
	finder->after.filter = &finder->filter;
	err = find_all(finder);
	sort_items(finder);
	redactor->verdicts = finder->items;
	redactor->verdict_count = finder->count;
	free(finder);
	return err;
}
