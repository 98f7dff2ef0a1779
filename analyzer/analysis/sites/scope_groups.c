/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One pass over the sites, one over the labels from the largest id: parents have smaller ones.
 */
#include "hawk/analysis/scope_groups.h"

#include <stdlib.h>

static void add_group(struct hawk_scope_group *to, const struct hawk_scope_group *group)
{
	to->sites += group->sites;
	to->inuse_objects += group->inuse_objects;
	to->inuse_bytes += group->inuse_bytes;
	to->alloc_objects += group->alloc_objects;
	to->alloc_bytes += group->alloc_bytes;
}

static void add_sites(const struct hawk_heap *heap, const uint32_t *sites, size_t site_count,
		      struct hawk_scope_group *groups)
{
	for (size_t i = 0; i < site_count; i++) {
		const struct hawk_site *site = &heap->sites[sites[i]];
		const struct hawk_scope_group group = {
			.sites = 1,
			.inuse_objects = site->inuse_objects,
			.inuse_bytes = site->inuse_bytes,
			.alloc_objects = site->alloc_objects,
			.alloc_bytes = site->alloc_bytes,
		};

		add_group(&groups[hawk_heap_scope(heap, site->trace)], &group);
	}
}

static uint64_t key_of(const struct hawk_scope_group *group, enum hawk_site_sort sort)
{
	return sort == HAWK_SITE_SORT_COUNT   ? group->inuse_objects
	       : sort == HAWK_SITE_SORT_TOTAL ? group->alloc_bytes
					      : group->inuse_bytes;
}

static int compare_groups(const void *left, const void *right, void *context)
{
	const struct hawk_scope_group *a = left;
	const struct hawk_scope_group *b = right;
	uint64_t key_a = key_of(a, *(const enum hawk_site_sort *)context);
	uint64_t key_b = key_of(b, *(const enum hawk_site_sort *)context);

	if (key_a != key_b)
		return key_a > key_b ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return a->label < b->label ? -1 : a->label > b->label;
}

/* Adds each scope's sums to its parent, and leaves out labels that are no scopes. */
static size_t finish(const struct hawk_table *table, struct hawk_scope_group *groups,
		     uint32_t label_count)
{
	size_t count = 1;

	for (uint32_t id = label_count; id-- > 1;) {
		const struct hawk_table_label *label = hawk_table_label(table, id);

		if (label && label->parent)
			add_group(&groups[label->parent], &groups[id]);
	}
	for (uint32_t id = 1; id < label_count; id++) {
		const struct hawk_table_label *label = hawk_table_label(table, id);

		if (!label || label->kind != HAWK_LABEL_SCOPE)
			continue;
		groups[count] = groups[id];
		groups[count].label = id;
		groups[count].entries = label->entries;
		groups[count].total_ns = label->total_ns;
		count++;
	}
	return count;
}

struct hawk_error *hawk_scope_groups_make(const struct hawk_heap *heap, const uint32_t *sites,
					  size_t site_count, enum hawk_site_sort sort,
					  struct hawk_scope_group **ret, size_t *count)
{
	uint32_t label_count = hawk_table_label_count(heap->table);
	struct hawk_scope_group *groups = calloc(label_count + 1, sizeof(*groups));

	if (!groups)
		return &hawk_enomem;
	add_sites(heap, sites, site_count, groups);
	*count = finish(heap->table, groups, label_count);
	qsort_r(groups, *count, sizeof(*groups), compare_groups, &sort);
	*ret = groups;
	return NULL;
}

size_t hawk_scope_path(const struct hawk_table *table, uint32_t label, uint32_t *labels, size_t max)
{
	size_t count = 0;

	for (; label && count < max; label = hawk_table_label(table, label)->parent)
		labels[count++] = label;
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t swap = labels[i];

		labels[i] = labels[count - 1 - i];
		labels[count - 1 - i] = swap;
	}
	return count;
}

void hawk_scope_append_path(struct hawk_text *text, const struct hawk_table *table, uint32_t label)
{
	uint32_t labels[HAWK_SCOPE_PATH_MAX];
	size_t count = hawk_scope_path(table, label, labels, HAWK_SCOPE_PATH_MAX);

	for (size_t i = 0; i < count; i++) {
		if (i)
			hawk_text_puts(text, "/");
		hawk_text_puts(text, hawk_table_label(table, labels[i])->name);
	}
}
