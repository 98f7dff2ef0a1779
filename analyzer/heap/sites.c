/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes sites from traces. Several traces make one site if a library was loaded again elsewhere, or
 * if threads met the same new stack at once.
 */
#include "site_map.h"

#include "hawk/base/cleanup.h"
#include "site_id.h"

#include <stdlib.h>
#include <string.h>

/** A hash table over the ids of sites: index of the site + 1, 0 = empty. Ids are hashes already. */
struct site_map {
	uint32_t *buckets;
	size_t bucket_count; /* a power of two, at least twice the sites */
	struct hawk_site *sites;
	size_t count;
	size_t capacity;
};

static void hawk_cleanup_site_map(struct site_map *map)
{
	free(map->buckets);
	free(map->sites);
}

static uint32_t *find_bucket(const struct site_map *map, uint64_t id)
{
	size_t mask = map->bucket_count - 1;
	size_t i = (size_t)id & mask;

	while (map->buckets[i] && map->sites[map->buckets[i] - 1].id != id)
		i = (i + 1) & mask;
	return &map->buckets[i];
}

static struct hawk_error *grow(struct site_map *map)
{
	size_t capacity = map->capacity ? 2 * map->capacity : 1024;
	struct hawk_site *sites = reallocarray(map->sites, capacity, sizeof(*sites));
	uint32_t *buckets;

	if (!sites)
		return &hawk_enomem;
	map->sites = sites;
	buckets = calloc(2 * capacity, sizeof(*buckets));
	if (!buckets)
		return &hawk_enomem;
	free(map->buckets);
	map->buckets = buckets;
	map->bucket_count = 2 * capacity;
	map->capacity = capacity;
	for (size_t i = 0; i < map->count; i++)
		*find_bucket(map, map->sites[i].id) = (uint32_t)i + 1;
	return NULL;
}

/* Finds or adds the site with `id`; a new one gets `trace`. */
static struct hawk_error *intern(struct site_map *map, uint64_t id, uint32_t trace, uint32_t *ret)
{
	uint32_t *bucket;
	struct hawk_error *err;

	if (map->count == map->capacity) {
		err = grow(map);
		if (err)
			return err;
	}
	bucket = find_bucket(map, id);
	if (!*bucket) {
		map->sites[map->count++] = (struct hawk_site){
			.id = id,
			.trace = trace,
			.oldest_units = UINT64_MAX,
		};
		*bucket = (uint32_t)map->count;
	}
	*ret = *bucket - 1;
	return NULL;
}

static struct hawk_error *make_identities(const struct hawk_table *table, uint64_t **ret)
{
	size_t count;
	const struct hawk_table_module *modules = hawk_table_modules(table, &count);
	uint64_t *identities = malloc((count + 1) * sizeof(*identities));

	if (!identities)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++)
		identities[i] = hawk_site_module_identity(&modules[i]);
	*ret = identities;
	return NULL;
}

static struct hawk_error *intern_special(struct site_map *map)
{
	uint32_t index;
	struct hawk_error *err = intern(map, HAWK_SITE_NO_STACK, 0, &index);

	assert(err || index == HAWK_SITE_MAP_NO_STACK);
	if (!err)
		err = intern(map, HAWK_SITE_LOST, UINT32_MAX, &index);
	assert(err || index == HAWK_SITE_MAP_LOST);
	return err;
}

/* Makes a site of each class, with the same id in every heap. */
static struct hawk_error *intern_classes(const struct hawk_heap *heap, struct site_map *map)
{
	struct hawk_error *err = NULL;

	for (uint32_t id = heap->class_first; !err && id < heap->trace_count; id++)
		err = intern(
			map,
			hawk_site_class_id(heap->target, &heap->classes[id - heap->class_first]),
			id, &heap->site_of_trace[id]);
	return err;
}

static struct hawk_error *intern_traces(const struct hawk_heap *heap, struct site_map *map,
					const struct hawk_trace_counters *counters)
{
	CLEANUP(free_ptr) struct hawk_trace *trace = malloc(sizeof(*trace));
	CLEANUP(free_ptr) uint64_t *identities = NULL;
	struct hawk_error *err = trace ? make_identities(heap->table, &identities) : &hawk_enomem;

	for (uint32_t id = 0; !err && id < heap->class_first; id++) {
		uint32_t site = id ? HAWK_SITE_MAP_LOST : HAWK_SITE_MAP_NO_STACK;

		if (id == HAWK_TRACE_ID_NOT_SAMPLED && heap->sample_mean)
			err = intern(map, HAWK_SITE_NOT_SAMPLED, id, &site);
		else if (id && hawk_table_trace(heap->table, id, trace))
			err = intern(map, hawk_site_id_with(heap->table, identities, trace), id,
				     &site);
		if (err)
			break;
		heap->site_of_trace[id] = site;
		map->sites[site].alloc_objects += counters[id].alloc_objects;
		map->sites[site].alloc_bytes += counters[id].alloc_bytes;
	}
	return err;
}

struct hawk_error *hawk_site_map_make(struct hawk_heap *heap)
{
	CLEANUP(site_map) struct site_map map = {0};
	CLEANUP(free_ptr) struct hawk_trace_counters *counters = NULL;
	struct hawk_error *err;

	heap->site_of_trace = malloc((heap->trace_count + 1) * sizeof(*heap->site_of_trace));
	if (!heap->site_of_trace)
		return &hawk_enomem;
	err = intern_special(&map);
	if (!err && heap->knows & HAWK_HEAP_STACKS)
		err = hawk_table_counters(heap->table, &counters);
	if (!err && heap->knows & HAWK_HEAP_STACKS)
		err = intern_traces(heap, &map, counters);
	if (!err)
		err = intern_classes(heap, &map);
	if (err)
		return err;
	heap->site_count = map.count;
	heap->sites = take_ptr(&map.sites);
	heap->lost_site = HAWK_SITE_MAP_LOST;
	return NULL;
}

static int compare_sites(const void *left, const void *right, void *context)
{
	const struct hawk_site *sites = context;
	const struct hawk_site *a = &sites[*(const uint32_t *)left];
	const struct hawk_site *b = &sites[*(const uint32_t *)right];

	if (a->inuse_bytes != b->inuse_bytes)
		return a->inuse_bytes > b->inuse_bytes ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static bool is_empty(const struct hawk_site *site)
{
	return !site->inuse_objects && !site->inuse_bytes && !site->alloc_objects &&
	       !site->alloc_bytes;
}

/* A dropped site has no place. */
static void move_place(const struct hawk_heap *heap, const uint32_t *place, uint32_t *site)
{
	if (*site < heap->site_count)
		*site = place[*site];
}

struct hawk_error *hawk_site_map_finish(struct hawk_heap *heap)
{
	CLEANUP(free_ptr) uint32_t *order = malloc((heap->site_count + 1) * sizeof(*order));
	CLEANUP(free_ptr) uint32_t *place = malloc((heap->site_count + 1) * sizeof(*place));
	struct hawk_site *sorted = malloc((heap->site_count + 1) * sizeof(*sorted));
	size_t count = 0;

	if (!order || !place || !sorted) {
		free(sorted);
		return &hawk_enomem;
	}
	for (size_t i = 0; i < heap->site_count; i++) {
		place[i] = UINT32_MAX;
		if (!is_empty(&heap->sites[i]))
			order[count++] = (uint32_t)i;
	}
	qsort_r(order, count, sizeof(*order), compare_sites, heap->sites);
	for (size_t i = 0; i < count; i++) {
		sorted[i] = heap->sites[order[i]];
		place[order[i]] = (uint32_t)i;
		if (!sorted[i].inuse_objects)
			sorted[i].oldest_units = 0;
	}
	for (uint32_t id = 0; id < heap->trace_count; id++)
		move_place(heap, place, &heap->site_of_trace[id]);
	move_place(heap, place, &heap->lost_site);
	free(heap->sites);
	heap->sites = sorted;
	heap->site_count = count;
	return NULL;
}

const struct hawk_site *hawk_heap_site(const struct hawk_heap *heap, uint32_t trace)
{
	uint32_t index = trace < heap->trace_count ? heap->site_of_trace[trace] : heap->lost_site;

	return index < heap->site_count ? &heap->sites[index] : NULL;
}
