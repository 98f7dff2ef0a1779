/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Every page has one slot, which it shares with those that are a multiple of the cache's size away;
 * whoever comes last stays. Of a shared cache slots are locked in groups, so that threads hardly
 * ever wait for each other.
 */
#include "page_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hawk_near.h"

enum { LOCKS = 64, LINE_BYTES = 64 };

struct slot {
	uint64_t key;   /* the page's number + 1; 0 = none */
	uint32_t bytes; /* of the page, that are there */
};

struct lock {
	_Alignas(LINE_BYTES) pthread_mutex_t mutex;
};

struct hawk_page_cache {
	struct hawk_page_source source;
	struct slot *slots;
	uint8_t *pages; /* one for each slot; the slots are behind them */
	size_t slot_count;
	bool is_shared;
	struct lock locks[]; /* LOCKS, or none */
};

static void *map(size_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (start == MAP_FAILED)
		return NULL;
	/* What lies beside a page that was read was not. */
	(void)madvise(start, bytes, MADV_NOHUGEPAGE);
	return start;
}

static size_t bytes_of(size_t slots)
{
	return slots * (HAWK_PAGE_BYTES + sizeof(struct slot));
}

struct hawk_page_cache *hawk_page_cache_create(const struct hawk_page_source *source, size_t bytes,
					       bool is_shared)
{
	size_t locks = is_shared ? LOCKS : 0;
	struct hawk_page_cache *cache =
		aligned_alloc(LINE_BYTES, sizeof(*cache) + locks * sizeof(cache->locks[0]));
	size_t slots = 1;

	if (!cache)
		return NULL;
	while (2 * slots <= bytes / HAWK_PAGE_BYTES)
		slots *= 2;
	*cache = (struct hawk_page_cache){
		.source = *source,
		.slot_count = slots,
		.pages = map(bytes_of(slots)),
	};
	if (!cache->pages) {
		free(cache);
		return NULL;
	}
	cache->slots = (struct slot *)(cache->pages + slots * HAWK_PAGE_BYTES);
	for (size_t i = 0; i < locks; i++)
		(void)pthread_mutex_init(&cache->locks[i].mutex, NULL);
	cache->is_shared = is_shared;
	return cache;
}

void hawk_page_cache_destroy(struct hawk_page_cache *cache)
{
	if (!cache)
		return;
	for (unsigned i = 0; cache->is_shared && i < LOCKS; i++)
		(void)pthread_mutex_destroy(&cache->locks[i].mutex);
	munmap(cache->pages, bytes_of(cache->slot_count));
	free(cache);
}

/** How many of up to `bytes` at `offset` in the page of that number are there. */
static size_t read_page(struct hawk_page_cache *cache, const void *where, uint64_t number,
			size_t offset, void *to, size_t bytes)
{
	size_t at = number & (cache->slot_count - 1);
	struct slot *slot = &cache->slots[at];
	uint8_t *page = cache->pages + at * HAWK_PAGE_BYTES;
	size_t there;

	if (slot->key != number + 1) {
		there = cache->source.read(cache->source.context, where, number * HAWK_PAGE_BYTES,
					   page);
		/* Numbers that are no addresses are asked for too: they do not drive pages out. */
		if (!there)
			return 0;
		*slot = (struct slot){number + 1, (uint32_t)there};
	}
	there = slot->bytes > offset ? slot->bytes - offset : 0;
	if (there > bytes)
		there = bytes;
	memcpy(to, page + offset, there);
	return there;
}

static size_t lock_and_read_page(struct hawk_page_cache *cache, const void *where, uint64_t number,
				 size_t offset, void *to, size_t bytes)
{
	size_t slot = number & (cache->slot_count - 1);
	pthread_mutex_t *mutex = &cache->locks[slot % LOCKS].mutex;
	size_t there;

	(void)pthread_mutex_lock(mutex);
	there = read_page(cache, where, number, offset, to, bytes);
	(void)pthread_mutex_unlock(mutex);
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
		uint8_t *at = (uint8_t *)to + done;
		size_t got = cache->is_shared
				     ? lock_and_read_page(cache, where, number, offset, at, want)
				     : read_page(cache, where, number, offset, at, want);

		done += got;
		if (got < want)
			break;
	}
	return done;
}

static size_t read_target_page(const void *context, const void *where, uint64_t page, uint8_t *to)
{
	(void)where;
	return hawk_target_read_some(context, page, to, HAWK_PAGE_BYTES);
}

void hawk_near_keep_pages(struct hawk_near *near, size_t bytes)
{
	if (hawk_target_process(near->target)->live && !near->pages)
		near->pages = hawk_page_cache_create(
			&(struct hawk_page_source){read_target_page, near->target}, bytes, false);
}

void hawk_near_drop_pages(struct hawk_near *near)
{
	hawk_page_cache_destroy(near->pages);
	near->pages = NULL;
}

size_t hawk_near_read_elsewhere(struct hawk_near *near, uint64_t address, void *to, size_t bytes)
{
	const struct hawk_mapping *mapping = NULL;
	const uint8_t *view = NULL;

	if (near->pages)
		return hawk_page_cache_read(near->pages, NULL, address, to, bytes);
	/* No mapping of a process is there as a whole. */
	if (!hawk_target_process(near->target)->live)
		mapping = hawk_target_mapping_at(near->target, address);
	if (mapping && mapping->present_bytes)
		view = hawk_target_view(near->target, mapping->start,
					(size_t)mapping->present_bytes);
	if (view) {
		near->bytes = view;
		near->start = mapping->start;
		near->end = mapping->start + mapping->present_bytes;
	}
	return hawk_target_read_some(near->target, address, to, bytes);
}
