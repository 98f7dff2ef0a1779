/* SPDX-License-Identifier: Apache-2.0 */
/** @file The receipt cache: a hash of lists and an age list, bounded by the number of entries. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "orderd.h"

enum { BUCKETS = 4096 };

struct entry {
	uint64_t key;
	char *text;
	struct entry *next_in_bucket;
	struct entry *newer;
};

struct cache {
	pthread_mutex_t lock;
	size_t capacity, count;
	struct entry *oldest, *newest;
	struct entry *buckets[BUCKETS];
};

struct cache *cache_create(size_t capacity)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		abort();
	pthread_mutex_init(&cache->lock, NULL);
	cache->capacity = capacity;
	return cache;
}

static void evict_oldest(struct cache *cache)
{
	struct entry *victim = cache->oldest;
	struct entry **link = &cache->buckets[victim->key % BUCKETS];

	while (*link != victim)
		link = &(*link)->next_in_bucket;
	*link = victim->next_in_bucket;
	cache->oldest = victim->newer;
	if (!cache->oldest)
		cache->newest = NULL;
	cache->count--;
	free(victim->text);
	free(victim);
}

void cache_put(struct cache *cache, uint64_t key, char *text)
{
	struct entry *entry = malloc(sizeof(*entry));

	if (!entry)
		abort();
	entry->key = key;
	entry->text = text;
	entry->newer = NULL;
	pthread_mutex_lock(&cache->lock);
	entry->next_in_bucket = cache->buckets[key % BUCKETS];
	cache->buckets[key % BUCKETS] = entry;
	if (cache->newest)
		cache->newest->newer = entry;
	else
		cache->oldest = entry;
	cache->newest = entry;
	if (++cache->count > cache->capacity)
		evict_oldest(cache);
	pthread_mutex_unlock(&cache->lock);
}

char *cache_get(struct cache *cache, uint64_t key)
{
	char *copy = NULL;

	pthread_mutex_lock(&cache->lock);
	for (struct entry *at = cache->buckets[key % BUCKETS]; at; at = at->next_in_bucket) {
		if (at->key == key) {
			copy = strdup(at->text);
			break;
		}
	}
	pthread_mutex_unlock(&cache->lock);
	return copy;
}

void cache_destroy(struct cache *cache)
{
	while (cache->oldest)
		evict_oldest(cache);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}
