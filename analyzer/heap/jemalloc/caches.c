/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds threads' caches: free objects that look live. A cache is an array of bins in thread-local
 * storage, or in a block if the program made it. Each bin has a part of one stack of pointers.
 *
 *     bin, 5.3:  | top of stack | requests | low water, full, empty: low 16 bits of addresses |
 *     bin, 5.2:  | low water 32, count 32 | requests | end of stack |
 */
#include "hawk/base/cleanup.h"
#include "jemalloc.h"
#include "thread_words.h"

enum {
	BIN_WORDS = 3,
	BINS_MIN = 20,
	BINS_MAX = 128,
	BINS_LARGE_MIN = 2,
	LARGE_AWAY = 64, /* upper limit on words between small and large bins (5.2) */
	TLS_BYTES = 0x2400,
	MADE_MIN = 16 << 10, /* blocks that hold caches made by the program */
	MADE_MAX = 64 << 10,
	MADE_READ = 32 << 10,
	ARENA_AWAY = 16 << 10, /* upper limit on bytes from a base to its arena */
	WRONG_MAX = 1024, /* pointers of a cache that lead to no block: a thread may be at it */
};

/** The place of a bin's free objects. */
struct bin {
	uint64_t first; /**< of its pointers */
	uint64_t count;
	uint64_t order; /**< place of its part of the stack; ascends from bin to bin */
};

static bool read_old(const uint64_t *words, struct bin *ret)
{
	int32_t low_water = (int32_t)words[0];
	uint64_t count = words[0] >> 32;

	*ret = (struct bin){words[2] - 8 * count, count, words[2]};
	return words[2] && words[2] % 8 == 0 && count <= UINT16_MAX && low_water >= -1 &&
	       low_water <= (int64_t)count;
}

static bool read_new(const uint64_t *words, struct bin *ret)
{
	uint16_t full = (uint16_t)(words[2] >> 16), empty = (uint16_t)(words[2] >> 32);
	uint16_t here = (uint16_t)words[0];
	uint16_t room = (uint16_t)(empty - full), count = (uint16_t)(empty - here);

	*ret = (struct bin){words[0], count / 8, words[0] + count};
	return words[0] && words[0] % 8 == 0 && room % 8 == 0 && count % 8 == 0 && count <= room;
}

/* Returns true if `next` is the bin after `bin`. */
static bool follows(bool old, const struct bin *bin, const struct bin *next, const uint64_t *words)
{
	if (old)
		return next->order > bin->order && next->count <= (next->order - bin->order) / 8;
	return (uint16_t)(words[2] >> 16) == (uint16_t)bin->order && next->order > bin->order;
}

/* Returns the number of bins in a row from the first word on. */
static size_t count_bins(bool old, const uint64_t *words, size_t word_count, struct bin *bins)
{
	size_t count = 0;

	while (count < BINS_MAX && (count + 1) * BIN_WORDS <= word_count) {
		const uint64_t *at = words + count * BIN_WORDS;
		bool fits = old ? read_old(at, &bins[count]) : read_new(at, &bins[count]);

		if (!fits || (count && !follows(old, &bins[count - 1], &bins[count], at)))
			break;
		count++;
	}
	return count;
}

struct cache {
	struct bin bins[BINS_MAX + BINS_MAX];
	size_t count;
	size_t first, end; /**< indexes of its words */
};

/* Adds bins of large sizes, which lie some way behind the small ones (5.2). */
static void add_large(const uint64_t *words, size_t count, size_t from, struct cache *ret)
{
	for (size_t i = from; i < count && i < from + LARGE_AWAY; i++) {
		struct bin *bins = ret->bins + ret->count;
		size_t found = count_bins(true, words + i, count - i, bins);

		if (found < BINS_LARGE_MIN || bins[0].order <= bins[-1].order)
			continue;
		ret->count += found;
		ret->end = i + found * BIN_WORDS;
		return;
	}
}

/* Finds the longest row of bins among the words. */
static bool find_cache(bool old, const uint64_t *words, size_t count, struct cache *ret)
{
	size_t best = 0, best_at = 0;

	for (size_t i = 0; i + BINS_MIN * BIN_WORDS <= count; i++) {
		size_t found = count_bins(old, words + i, count - i, ret->bins);

		if (found > best) {
			best = found;
			best_at = i;
		}
	}
	if (best < BINS_MIN)
		return false;
	ret->count = count_bins(old, words + best_at, count - best_at, ret->bins);
	ret->first = best_at;
	ret->end = best_at + ret->count * BIN_WORDS;
	if (old)
		add_large(words, count, best_at + best * BIN_WORDS, ret);
	return true;
}

/* Marks a cache's stack of pointers as the allocator's own block. Used-up pointers in it lead to
 * live blocks. */
static struct hawk_error *mark_stack(struct hawk_jemalloc *jemalloc, uint64_t address)
{
	const struct hawk_slab *slab = hawk_slabs_at(&jemalloc->heap.slabs, address);
	uint64_t start;

	if (!slab)
		return NULL;
	start = address - (address - slab->start) % slab->object_bytes;
	if (!hawk_slabs_mark(&jemalloc->heap.slabs, start, HAWK_OBJECT_INTERNAL))
		return NULL;
	return hawk_claims_add(&jemalloc->heap.metadata, start, start + slab->object_bytes);
}

static void add_object(const struct hawk_jemalloc *jemalloc, uint64_t object,
		       struct hawk_slab_thread *thread)
{
	thread->cached_objects++;
	thread->cached_bytes += hawk_slabs_free_bytes(&jemalloc->heap.slabs, object);
}

/* Marks the objects of a cache, of the thread if it is not NULL. If its thread is at work, it may
 * just have given some of them back, so that they look freed twice. */
static struct hawk_error *mark_cached(struct hawk_jemalloc *jemalloc, struct hawk_near *near,
				      const struct cache *cache, struct hawk_slab_thread *thread,
				      bool in_flux)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < cache->count; i++) {
		const struct bin *bin = &cache->bins[i];
		uint64_t object;

		for (uint64_t j = 0; j < bin->count && wrong < WRONG_MAX; j++) {
			bool is_read = hawk_word(near, bin->first + 8 * j, &object);

			if (is_read &&
			    hawk_slabs_mark(&jemalloc->heap.slabs, object, HAWK_OBJECT_CACHED)) {
				if (thread)
					add_object(jemalloc, object, thread);
				continue;
			}
			wrong++;
			if (is_read && !in_flux)
				hawk_slabs_note_freed(&jemalloc->heap.slabs, object);
		}
	}
	return mark_stack(jemalloc, cache->bins[0].order - 8);
}

static bool find_any(const uint64_t *words, size_t count, struct cache *ret)
{
	return find_cache(false, words, count, ret) || find_cache(true, words, count, ret);
}

static bool is_at_work(const struct hawk_jemalloc *jemalloc, const struct hawk_thread *thread)
{
	for (size_t i = 0; i < jemalloc->root_count; i++)
		if (hawk_thread_is_inside(jemalloc->heap.target, thread,
					  jemalloc->roots[i].address))
			return true;
	return false;
}

static struct hawk_error *add_thread(struct hawk_jemalloc *jemalloc, struct hawk_near *near,
				     const struct hawk_thread *thread)
{
	uint64_t pointer = hawk_thread_pointer(thread);
	uint64_t words[TLS_BYTES / 8], start = pointer - TLS_BYTES;
	const struct hawk_mapping *mapping =
		hawk_target_mapping_at(jemalloc->heap.target, pointer - 8);
	struct hawk_error *err;
	struct cache cache;
	size_t count;

	if (!mapping)
		return NULL;
	if (mapping->start > start)
		start = (mapping->start + 7) & -UINT64_C(8);
	count = hawk_near_read(near, start, words, pointer - start) / 8;
	if (!find_any(words, count, &cache))
		return NULL;
	err = hawk_claims_add(&jemalloc->heap.metadata, start + 8 * cache.first,
			      start + 8 * cache.end);
	jemalloc->heap.caches_known = true;
	return err ? err
		   : mark_cached(jemalloc, near, &cache,
				 hawk_slab_heap_thread(&jemalloc->heap, pointer),
				 is_at_work(jemalloc, thread));
}

/* Tries a block as a cache made by the program, which holds both bins and pointers. */
static struct hawk_error *try_made(struct hawk_jemalloc *jemalloc, struct hawk_near *near,
				   uint64_t *words, uint64_t start, uint64_t bytes)
{
	size_t count =
		hawk_near_read(near, start, words, bytes < MADE_READ ? bytes : MADE_READ) / 8;
	struct cache cache;

	if (!find_any(words, count, &cache))
		return NULL;
	for (size_t i = 0; i < cache.count; i++)
		if (cache.bins[i].order < start || cache.bins[i].order > start + bytes ||
		    cache.bins[i].first < start)
			return NULL;
	return mark_cached(jemalloc, near, &cache, NULL, true);
}

static struct hawk_error *add_made(struct hawk_jemalloc *jemalloc, struct hawk_near *near)
{
	void *cursor = hawk_slab_heap_begin(&jemalloc->heap);
	uint64_t *words = malloc(MADE_READ);
	struct hawk_error *err = words && cursor ? NULL : &hawk_enomem;
	struct hawk_piece piece;

	while (!err && hawk_slab_heap_next(cursor, &piece))
		if (piece.state == HAWK_PIECE_LIVE && piece.bytes >= MADE_MIN &&
		    piece.bytes <= MADE_MAX)
			err = try_made(jemalloc, near, words, piece.start, piece.bytes);
	free(words);
	free(cursor);
	return err;
}

/* Returns the number of the arena that begins at `address`. */
static uint32_t arena_at(const void *context, uint64_t address)
{
	const struct hawk_jemalloc *jemalloc = context;
	const struct hawk_claim *base = hawk_claims_from(&jemalloc->bases, address);

	if (!base || address < base->start || address - base->start > ARENA_AWAY)
		return HAWK_NOT_KNOWN;
	for (uint32_t i = 0; i < jemalloc->heap.arena_count; i++)
		if (jemalloc->heap.arenas[i] == base->start)
			return i;
	return HAWK_NOT_KNOWN;
}

static struct hawk_error *find_thread_arenas(struct hawk_jemalloc *jemalloc)
{
	struct hawk_slab_heap *heap = &jemalloc->heap;
	CLEANUP(free_ptr) uint32_t *arenas = calloc(heap->thread_count + 1, sizeof(*arenas));

	if (!arenas)
		return &hawk_enomem;
	hawk_thread_words_find(&(struct hawk_thread_words){.target = heap->target,
							   .first = 8,
							   .last = TLS_BYTES,
							   .arena_at = arena_at,
							   .context = jemalloc},
			       arenas);
	for (size_t i = 0; i < heap->thread_count; i++) {
		heap->threads[i].arena = arenas[heap->threads[i].number];
		heap->arenas_known |= heap->threads[i].arena != HAWK_NOT_KNOWN;
	}
	return NULL;
}

struct hawk_error *hawk_jemalloc_read_caches(struct hawk_jemalloc *jemalloc)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(jemalloc->heap.target, &count);
	struct hawk_near near = {.target = jemalloc->heap.target};
	struct hawk_error *err = hawk_slab_heap_threads(&jemalloc->heap);

	if (!err)
		err = find_thread_arenas(jemalloc);
	for (size_t i = 0; !err && i < count; i++)
		err = add_thread(jemalloc, &near, &threads[i]);
	if (!err)
		err = add_made(jemalloc, &near);
	hawk_claims_sort(&jemalloc->heap.metadata);
	return err;
}
