/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A direct-mapped cache: pages a multiple of the cache's size apart share a slot, and the latest
 * stays. Slots are locked in groups, so threads rarely wait.
 */
#include "page_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/area.h"

enum { LOCKS = 64 };

struct slot {
	uint64_t key;   /* the page's number + 1; 0 = none */
	uint32_t bytes; /* present bytes of the page */
};

struct hawk_page_cache {
	struct hawk_page_source source;
	struct hawk_area area;
	struct slot *slots; /* behind the pages */
	size_t slot_count;
	pthread_mutex_t locks[LOCKS];
};

struct hawk_page_cache *hawk_page_cache_create(const struct hawk_page_source *source, size_t bytes)
{
	struct hawk_page_cache *cache = calloc(1, sizeof(*cache));
	struct hawk_error *err;

	if (!cache)
		return NULL;
	cache->source = *source;
	cache->slot_count = 1;
	while (2 * cache->slot_count <= bytes / HAWK_PAGE_BYTES)
		cache->slot_count *= 2;
	err = hawk_area_create_sparse(&cache->area,
				      cache->slot_count * (HAWK_PAGE_BYTES + sizeof(struct slot)));
	if (err) {
		hawk_error_destroy(err);
		free(cache);
		return NULL;
	}
	cache->slots =
		(struct slot *)((char *)cache->area.bytes + cache->slot_count * HAWK_PAGE_BYTES);
	for (unsigned i = 0; i < LOCKS; i++)
		(void)pthread_mutex_init(&cache->locks[i], NULL);
	return cache;
}

void hawk_page_cache_destroy(struct hawk_page_cache *cache)
{
	if (!cache)
		return;
	for (unsigned i = 0; i < LOCKS; i++)
		(void)pthread_mutex_destroy(&cache->locks[i]);
	hawk_area_destroy(&cache->area);
	free(cache);
}

/** Reads up to `bytes` at `offset` in a page; returns the number present. */
static size_t read_page(struct hawk_page_cache *cache, const void *where, uint64_t number,
			size_t offset, void *to, size_t bytes)
{
	size_t at = number & (cache->slot_count - 1);
	uint8_t *page = (uint8_t *)cache->area.bytes + at * HAWK_PAGE_BYTES;
	pthread_mutex_t *lock = &cache->locks[at % LOCKS];
	struct slot *slot = &cache->slots[at];
	size_t there = 0;

	(void)pthread_mutex_lock(lock);
	if (slot->key != number + 1) {
		there = cache->source.read(cache->source.context, where, number * HAWK_PAGE_BYTES,
					   page);
		/* Queries for words that are no addresses must not evict pages. */
		if (there)
			*slot = (struct slot){number + 1, (uint32_t)there};
	}
	if (slot->key == number + 1) {
		there = slot->bytes > offset ? slot->bytes - offset : 0;
		if (there > bytes)
			there = bytes;
		memcpy(to, page + offset, there);
	}
	(void)pthread_mutex_unlock(lock);
	return there;
}

size_t hawk_page_cache_read(struct hawk_page_cache *cache, const void *where, uint64_t address,
			    void *to, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		uint64_t number = (address + done) / HAWK_PAGE_BYTES;
		size_t offset = (address + done) % HAWK_PAGE_BYTES;
		size_t rest = HAWK_PAGE_BYTES - offset;
		size_t want = bytes - done < rest ? bytes - done : rest;
		size_t got = read_page(cache, where, number, offset, (uint8_t *)to + done, want);

		done += got;
		if (got < want)
			break;
	}
	return done;
}
