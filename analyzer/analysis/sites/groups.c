/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A hash table of groups; each remembers the last stack that it was counted for.
 */
#include "hawk/analysis/groups.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/cleanup.h"

struct entry {
	struct hawk_group group;
	uint64_t stack; /* number of the last stack counted in cum */
};

struct hawk_groups {
	enum hawk_group_by by;
	uint64_t stacks;
	struct entry *entries;
	size_t count;
	size_t capacity;
	uint32_t *buckets; /* index + 1; twice the capacity, a power of two */
	struct hawk_group *sorted;
};

struct hawk_error *hawk_groups_create(enum hawk_group_by by, struct hawk_groups **ret)
{
	struct hawk_groups *groups = calloc(1, sizeof(*groups));

	if (!groups)
		return &hawk_enomem;
	groups->by = by;
	*ret = groups;
	return NULL;
}

void hawk_groups_destroy(struct hawk_groups *groups)
{
	if (!groups)
		return;
	free(groups->entries);
	free(groups->buckets);
	free(groups->sorted);
	free(groups);
}

static bool equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static uint64_t hash_name(const char *name, uint64_t seed)
{
	return name ? XXH3_64bits_withSeed(name, strlen(name), seed) : seed + 1;
}

/* What a frame is counted under. */
static void choose_key(const struct hawk_groups *groups, const struct hawk_group_frame *frame,
		       const char **name, const char **module)
{
	switch (groups->by) {
	case HAWK_GROUP_BY_FUNCTION:
		*name = frame->function;
		*module = frame->module;
		return;
	case HAWK_GROUP_BY_FILE:
		*name = frame->file;
		*module = frame->file ? NULL : frame->module;
		return;
	case HAWK_GROUP_BY_MODULE:
		break;
	}
	*name = frame->module;
	*module = NULL;
}

static uint32_t *find_bucket(const struct hawk_groups *groups, const char *name, const char *module)
{
	size_t mask = 2 * groups->capacity - 1;
	size_t i = hash_name(module, hash_name(name, 0)) & mask;

	for (; groups->buckets[i]; i = (i + 1) & mask) {
		const struct hawk_group *group = &groups->entries[groups->buckets[i] - 1].group;

		if (equal(group->name, name) && equal(group->module, module))
			break;
	}
	return &groups->buckets[i];
}

static struct hawk_error *grow(struct hawk_groups *groups)
{
	size_t capacity = groups->capacity ? 2 * groups->capacity : 256;
	struct entry *entries = reallocarray(groups->entries, capacity, sizeof(*entries));
	uint32_t *buckets;

	if (!entries)
		return &hawk_enomem;
	groups->entries = entries;
	buckets = calloc(2 * capacity, sizeof(*buckets));
	if (!buckets)
		return &hawk_enomem;
	free(groups->buckets);
	groups->buckets = buckets;
	groups->capacity = capacity;
	for (size_t i = 0; i < groups->count; i++)
		*find_bucket(groups, entries[i].group.name, entries[i].group.module) =
			(uint32_t)i + 1;
	return NULL;
}

static struct hawk_error *find_entry(struct hawk_groups *groups,
				     const struct hawk_group_frame *frame, struct entry **ret)
{
	const char *name;
	const char *module;
	uint32_t *bucket;

	if (groups->count == groups->capacity) {
		struct hawk_error *err = grow(groups);

		if (err)
			return err;
	}
	choose_key(groups, frame, &name, &module);
	bucket = find_bucket(groups, name, module);
	if (!*bucket) {
		groups->entries[groups->count++] =
			(struct entry){.group = {.name = name, .module = module}};
		*bucket = (uint32_t)groups->count;
	}
	*ret = &groups->entries[*bucket - 1];
	return NULL;
}

void hawk_group_counts_add(struct hawk_group_counts *to, const struct hawk_group_counts *counts)
{
	to->sites += counts->sites;
	to->inuse_objects += counts->inuse_objects;
	to->inuse_bytes += counts->inuse_bytes;
	to->alloc_objects += counts->alloc_objects;
	to->alloc_bytes += counts->alloc_bytes;
}

static size_t find_flat(const struct hawk_group_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!frames[i].plumbing)
			return i;
	return 0;
}

struct hawk_error *hawk_groups_add(struct hawk_groups *groups,
				   const struct hawk_group_frame *frames, size_t count,
				   const struct hawk_group_counts *counts)
{
	static const struct hawk_group_frame nothing;
	size_t flat;

	if (!count) {
		frames = &nothing;
		count = 1;
	}
	flat = find_flat(frames, count);
	groups->stacks++;
	for (size_t i = 0; i < count; i++) {
		struct entry *entry;
		struct hawk_error *err = find_entry(groups, &frames[i], &entry);

		if (err)
			return err;
		entry->group.own |= !frames[i].plumbing || i == flat;
		if (i == flat)
			hawk_group_counts_add(&entry->group.flat, counts);
		if (entry->stack != groups->stacks)
			hawk_group_counts_add(&entry->group.cum, counts);
		entry->stack = groups->stacks;
	}
	return NULL;
}

/** The functions of a stack, or the class; scopes are no group of this kind. `frames` has room for
 * all lines. */
static size_t convert(const struct hawk_stack *stack, struct hawk_group_frame *frames)
{
	size_t telling = hawk_stack_telling_line(stack), count = 0;

	for (size_t i = 0; i < stack->count; i++) {
		const struct hawk_stack_line *line = &stack->lines[i];

		if (line->kind != HAWK_LINE_SCOPE)
			frames[count++] = (struct hawk_group_frame){
				.function = line->name.function,
				.file = line->name.file,
				.module = line->has_module ? line->module.path : NULL,
				.plumbing = i < telling,
			};
	}
	return count;
}

static struct hawk_error *add_site(const struct hawk_heap *heap, struct hawk_symbols *symbols,
				   uint32_t index, struct hawk_stack *stack,
				   struct hawk_groups *groups)
{
	const struct hawk_site *site = &heap->sites[index];
	struct hawk_group_counts counts = {
		.sites = 1,
		.inuse_objects = site->inuse_objects,
		.inuse_bytes = site->inuse_bytes,
		.alloc_objects = site->alloc_objects,
		.alloc_bytes = site->alloc_bytes,
	};
	CLEANUP(free_ptr) struct hawk_group_frame *frames = NULL;

	hawk_stack_of_blocks(symbols, heap, site->trace, stack);
	frames = calloc(stack->count + 1, sizeof(*frames));
	if (!frames)
		return &hawk_enomem;
	return hawk_groups_add(groups, frames, convert(stack, frames), &counts);
}

struct hawk_error *hawk_groups_of_sites(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					const struct hawk_site_list *list, enum hawk_group_by by,
					struct hawk_groups **ret)
{
	struct hawk_stack stack = {0};
	struct hawk_groups *groups;
	struct hawk_error *err = hawk_groups_create(by, &groups);

	if (err)
		return err;
	for (size_t i = 0; i < list->count && !err; i++)
		err = add_site(heap, symbols, list->sites[i], &stack, groups);
	hawk_stack_deinit(&stack);
	if (err)
		hawk_groups_destroy(groups);
	else
		*ret = groups;
	return err;
}

struct order {
	enum hawk_site_sort sort;
	bool by_cum;
};

uint64_t hawk_group_counts_key(const struct hawk_group_counts *counts, enum hawk_site_sort sort)
{
	switch (sort) {
	case HAWK_SITE_SORT_COUNT:
		return counts->inuse_objects;
	case HAWK_SITE_SORT_TOTAL:
		return counts->alloc_bytes;
	case HAWK_SITE_SORT_SIZE:
		break;
	}
	return counts->inuse_bytes;
}

static int compare_keys(const struct hawk_group_counts *a, const struct hawk_group_counts *b,
			enum hawk_site_sort sort)
{
	uint64_t key_a = hawk_group_counts_key(a, sort);
	uint64_t key_b = hawk_group_counts_key(b, sort);

	return key_a > key_b ? -1 : key_a < key_b;
}

static int compare_names(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b;
	return strcmp(a, b);
}

static int compare_groups(const void *left, const void *right, void *context)
{
	const struct hawk_group *a = left;
	const struct hawk_group *b = right;
	const struct order *order = context;
	int by_flat = compare_keys(&a->flat, &b->flat, order->sort);
	int by_cum = compare_keys(&a->cum, &b->cum, order->sort);
	int first = order->by_cum ? by_cum : by_flat;
	int second = order->by_cum ? by_flat : by_cum;

	if (first)
		return first;
	if (second)
		return second;
	first = compare_names(a->name, b->name);
	return first ? first : compare_names(a->module, b->module);
}

struct hawk_error *hawk_groups_sorted(struct hawk_groups *groups, enum hawk_site_sort sort,
				      bool by_cum, const struct hawk_group **ret, size_t *count)
{
	struct order order = {sort, by_cum};
	struct hawk_group *sorted =
		reallocarray(groups->sorted, groups->count + 1, sizeof(*sorted));

	if (!sorted)
		return &hawk_enomem;
	groups->sorted = sorted;
	for (size_t i = 0; i < groups->count; i++)
		sorted[i] = groups->entries[i].group;
	qsort_r(sorted, groups->count, sizeof(*sorted), compare_groups, &order);
	*ret = sorted;
	*count = groups->count;
	return NULL;
}
