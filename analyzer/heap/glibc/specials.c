/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds free chunks that look used: in arenas' fast bins and in threads' caches, which thread-local
 * storage leads to. From 2.32 on links are mangled with their own address; their targets show which
 * form it is.
 *
 *     cache:  | counts of bins | first blocks of bins |       block: | next | key |
 */
#include "glibc.h"
#include "hawk/libc/tls.h"

enum {
	EXACT_BINS = 64, /* bins of one size each; later bins have ranges */
	BINS_MAX = 76,
	CACHED_MAX = UINT16_MAX, /* upper limit on chunks in a thread's bin */
	TLS_BYTES = 1 << 20,     /* searched from thread pointers on */
	THREADS_TRIED = 256,
	LIBRARIES_MAX = 4,
	MANGLE_SHIFT = 12,
};

/** Forms of a thread's cache, distinguished by the size of its chunk. */
static const struct form {
	uint16_t least, most;
	uint8_t bins, count_bytes;
	bool counts_slots; /**< counts are of free places left */
} forms[] = {
	{0x290, 0x2a0, 64, 2, false}, /* 2.30 to 2.41 */
	{0x300, 0x320, 76, 2, true},  /* from 2.42 on */
	{0x250, 0x260, 64, 1, false}, /* 2.26 to 2.29 */
};

static const struct form *form_of(uint64_t bytes)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (bytes >= forms[i].least && bytes <= forms[i].most)
			return &forms[i];
	return NULL;
}

/* Returns the bytes of a chunk in a run, 0 = no chunk. */
static uint64_t chunk_bytes(struct hawk_glibc *glibc, uint64_t chunk)
{
	const struct hawk_glibc_run *run = hawk_glibc_run_at(glibc, chunk);
	uint64_t size;

	if (chunk % HAWK_CHUNK_ALIGNMENT || !run || run->usable ||
	    !hawk_word(&glibc->near, chunk + HAWK_CHUNK_SIZE_OFFSET, &size))
		return 0;
	return hawk_chunk_bytes(size);
}

/** A list of free chunks. */
struct list {
	struct hawk_glibc *glibc;
	uint64_t head;     /**< address of the first link */
	uint64_t bytes;    /**< of each chunk; 0 = any */
	uint32_t to_chunk; /**< offset in a chunk to which links lead */
	uint32_t owner;
	uint8_t state; /**< enum hawk_piece_state of its chunks */
};

static bool fits(const struct list *list, uint64_t link)
{
	uint64_t bytes;

	if (link < list->to_chunk)
		return false;
	bytes = chunk_bytes(list->glibc, link - list->to_chunk);
	return bytes >= HAWK_CHUNK_BYTES_MIN && (!list->bytes || bytes == list->bytes);
}

/* Returns true if the process had the chunk's memory, but the core lacks it. */
static bool is_absent(const struct list *list, uint64_t link)
{
	uint64_t size = link - list->to_chunk + HAWK_CHUNK_SIZE_OFFSET, word;

	return hawk_target_mapping_at(list->glibc->target, size) &&
	       !hawk_word(&list->glibc->near, size, &word);
}

/* Records a link that leads nowhere. `chunk` has it; 0 = the list's head. */
static void add_break(const struct list *list, uint64_t chunk, uint64_t target, uint64_t found)
{
	struct hawk_glibc *glibc = list->glibc;

	if (glibc->break_count == HAWK_GLIBC_BREAKS_MAX || is_absent(list, target) ||
	    is_absent(list, found))
		return;
	glibc->breaks[glibc->break_count++] = (struct hawk_glibc_break){
		.chunk = chunk,
		.word = chunk ? chunk + HAWK_CHUNK_LINK_OFFSET : list->head,
		.target = hawk_glibc_run_at(glibc, target - list->to_chunk)
				  ? target - list->to_chunk
				  : 0,
		.found = found,
		.bytes = list->bytes,
		.is_end = !found,
	};
}

/* Follows the link, mangled or plain; returns false if it leads nowhere. 0 ends the list. */
static bool follow(const struct list *list, uint64_t *link)
{
	uint64_t chunk = *link - list->to_chunk;
	uint64_t field = chunk + HAWK_CHUNK_LINK_OFFSET, word, mangled;

	if (!hawk_word(&list->glibc->near, field, &word))
		return false;
	*link = mangled = word ^ field >> MANGLE_SHIFT;
	if (!*link || fits(list, *link)) {
		list->glibc->links_mangled = true;
		return true;
	}
	*link = word;
	if (word && fits(list, word))
		return true;
	if (word || list->glibc->links_mangled)
		add_break(list, chunk, mangled, word);
	return !word;
}

static struct hawk_error *add_special(struct hawk_glibc *glibc, uint64_t chunk, uint8_t state,
				      uint32_t owner)
{
	if (!hawk_array_reserve(&glibc->specials, glibc->special_count, &glibc->special_capacity,
				sizeof(*glibc->specials)))
		return &hawk_enomem;
	glibc->specials[glibc->special_count++] = (struct hawk_glibc_special){chunk, owner, state};
	return NULL;
}

/* Cuts a ring of `period` chunks, found behind chunk `first` of the specials, to one round and its
 * first chunk once more: that one was freed twice. */
static void cut_ring(struct hawk_glibc *glibc, size_t first, size_t period)
{
	struct hawk_glibc_special *specials = glibc->specials;

	while (first + period < glibc->special_count &&
	       specials[first].start != specials[first + period].start)
		first++;
	if (first + period < glibc->special_count)
		glibc->special_count = first + period + 1;
}

/* Adds chunks up to the list's end or the first impossible link. A ring is detected within two
 * rounds: the mark moves at powers of two (Brent). */
static struct hawk_error *add_list(const struct list *list, uint64_t link, uint64_t most)
{
	struct hawk_glibc *glibc = list->glibc;
	struct hawk_error *err = NULL;
	uint64_t mark = 0, count = 0, marked = 0;
	size_t first = glibc->special_count;

	if (link && !fits(list, link)) {
		add_break(list, 0, link, link);
		return NULL;
	}
	for (; !err && link && count < most; count++) {
		bool is_ring = link == mark;

		glibc->lists_cross |= glibc->special_count >= glibc->special_most;
		if (glibc->lists_cross)
			break;
		err = add_special(glibc, link - list->to_chunk, list->state, list->owner);
		if (!err && is_ring) {
			cut_ring(glibc, first, count - marked);
			break;
		}
		if (!(count & (count + 1))) {
			mark = link;
			marked = count;
		}
		if (!follow(list, &link))
			break;
	}
	return err;
}

static struct hawk_error *add_fast_bins(struct hawk_glibc *glibc,
					const struct hawk_glibc_arena *arena)
{
	struct list list = {.glibc = glibc, .state = HAWK_PIECE_FAST};
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < arena->layout->fast_bin_count && !err; i++) {
		uint64_t first;

		list.head = arena->start + arena->layout->fast_bins + 8 * i;
		list.bytes = HAWK_CHUNK_BYTES_MIN + (uint64_t)i * HAWK_CHUNK_ALIGNMENT;
		if (hawk_word(&glibc->near, list.head, &first))
			err = add_list(&list, first, UINT32_MAX);
	}
	return err;
}

struct cache {
	uint64_t block;
	const struct form *form;
	uint64_t links[BINS_MAX];
	unsigned used; /**< sound bins that are not empty */
};

static struct list list_of(struct hawk_glibc *glibc, unsigned bin, uint32_t thread)
{
	return (struct list){
		.glibc = glibc,
		.to_chunk = HAWK_CHUNK_HEADER_BYTES,
		.bytes = bin < EXACT_BINS
				 ? HAWK_CHUNK_BYTES_MIN + (uint64_t)bin * HAWK_CHUNK_ALIGNMENT
				 : 0,
		.state = HAWK_PIECE_CACHED,
		.owner = thread,
	};
}

/* Reads a possible thread's cache; returns false if it is none. */
static bool read_cache(struct hawk_glibc *glibc, uint64_t block, struct cache *ret)
{
	const struct form *form =
		form_of(block < HAWK_CHUNK_HEADER_BYTES
				? 0
				: chunk_bytes(glibc, block - HAWK_CHUNK_HEADER_BYTES));
	uint8_t counts[2 * BINS_MAX];
	unsigned wrong = 0, strange = 0;
	size_t bytes;

	*ret = (struct cache){.block = block, .form = form};
	if (!form)
		return false;
	bytes = (size_t)form->bins * form->count_bytes;
	if (hawk_near_read(&glibc->near, block, counts, bytes) != bytes ||
	    hawk_near_read(&glibc->near, block + bytes, ret->links, 8 * (size_t)form->bins) !=
		    8 * (size_t)form->bins)
		return false;
	for (unsigned i = 0; i < form->bins; i++) {
		struct list list = list_of(glibc, i, 0);
		uint8_t *count = &counts[i * form->count_bytes];
		bool counted = count[0] || (form->count_bytes == 2 && count[1]);

		if (ret->links[i] && !fits(&list, ret->links[i]))
			strange++; /* one may be overwritten, or its chunk's size */
		else
			ret->used += ret->links[i] != 0;
		wrong += !form->counts_slots && counted != (ret->links[i] != 0);
	}
	return wrong <= 1 /* a thread may be changing it */ && strange <= (ret->used ? 1 : 0);
}

static struct hawk_error *add_cache(struct hawk_glibc *glibc, const struct cache *cache,
				    uint32_t thread)
{
	struct hawk_error *err = add_special(glibc, cache->block - HAWK_CHUNK_HEADER_BYTES,
					     HAWK_PIECE_INTERNAL, thread);

	for (unsigned i = 0; i < cache->form->bins && !err; i++) {
		struct list list = list_of(glibc, i, thread);

		list.head = cache->block + (uint64_t)cache->form->bins * cache->form->count_bytes +
			    8 * (uint64_t)i;
		err = add_list(&list, cache->links[i], CACHED_MAX);
	}
	return err;
}

/** Distances of caches' addresses from the thread pointer: one for each C library, and equal in
 * all threads. */
struct offsets {
	uint64_t items[LIBRARIES_MAX];
	size_t count, most;
};

/* Reads the word of a thread at `distance`. */
static bool thread_word(struct hawk_near *near, uint64_t pointer, uint64_t distance, uint64_t *ret)
{
	return hawk_word(near, hawk_tls_at(hawk_target_arch(near->target), pointer, distance), ret);
}

/* Returns true if one of the distances leads to the cache. */
static bool is_known(struct hawk_near *near, const struct offsets *offsets, uint64_t pointer,
		     uint64_t block)
{
	uint64_t value;

	for (size_t i = 0; i < offsets->count; i++)
		if (thread_word(near, pointer, offsets->items[i], &value) && value == block)
			return true;
	return false;
}

static void find_offsets(struct hawk_glibc *glibc, uint64_t pointer, struct offsets *ret)
{
	const struct hawk_arch *arch = hawk_target_arch(glibc->target);
	const struct hawk_mapping *mapping = hawk_target_mapping_at(glibc->target, pointer);
	uint64_t most = !mapping                              ? 0
			: arch->tls_variant == HAWK_TLS_BELOW ? pointer - mapping->start
							      : mapping->end - pointer;
	uint64_t value;
	struct cache cache;

	if (most > TLS_BYTES)
		most = TLS_BYTES;
	for (uint64_t distance = 8; distance <= most && ret->count < ret->most; distance += 8) {
		if (!thread_word(&glibc->near, pointer, distance, &value))
			break;
		if (value && value % HAWK_CHUNK_ALIGNMENT == 0 &&
		    read_cache(glibc, value, &cache) && cache.used &&
		    !is_known(&glibc->near, ret, pointer, value))
			ret->items[ret->count++] = distance;
	}
}

/* Adds the cache of each thread. Sets `*complete` to false if the core lacks some thread's storage.
 */
static struct hawk_error *add_threads(struct hawk_glibc *glibc, bool *complete)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(glibc->target, &count);
	struct hawk_error *err = NULL;
	struct offsets offsets = {.most = glibc->library_count ? glibc->library_count : 1};

	if (offsets.most > LIBRARIES_MAX)
		offsets.most = LIBRARIES_MAX;
	*complete = count && !hawk_target_is_incomplete(glibc->target);
	for (size_t i = 0; i < count && i < THREADS_TRIED && offsets.count < offsets.most; i++)
		find_offsets(glibc, hawk_thread_pointer(&threads[i]), &offsets);
	glibc->cache_distance = offsets.count ? offsets.items[0] : 0;
	for (size_t i = 0; i < count && !err; i++) {
		uint64_t pointer = hawk_thread_pointer(&threads[i]), block;
		struct cache cache;

		*complete &= hawk_word(&glibc->near, pointer, &block);
		for (size_t j = 0; j < offsets.count && !err; j++) {
			if (!thread_word(&glibc->near, pointer, offsets.items[j], &block))
				*complete = false;
			else if (read_cache(glibc, block, &cache))
				err = add_cache(glibc, &cache, (uint32_t)i);
		}
	}
	return err;
}

static int by_start(const void *left, const void *right)
{
	const struct hawk_glibc_special *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void sort(struct hawk_glibc *glibc)
{
	if (glibc->special_count)
		qsort(glibc->specials, glibc->special_count, sizeof(*glibc->specials), by_start);
}

/* Finds caches of threads that the core lacks, among all chunks of a cache's size. */
static struct hawk_error *add_by_shape(struct hawk_glibc *glibc)
{
	struct hawk_glibc_cursor cursor;
	struct hawk_glibc_chunk chunk;
	struct hawk_error *err = NULL;
	struct cache cache;

	sort(glibc);
	hawk_glibc_begin(&cursor, glibc);
	while (!err && hawk_glibc_next(&cursor, &chunk))
		if (chunk.state == HAWK_PIECE_LIVE && form_of(chunk.bytes) &&
		    read_cache(glibc, chunk.start + HAWK_CHUNK_HEADER_BYTES, &cache) &&
		    cache.used) {
			err = add_cache(glibc, &cache, UINT32_MAX);
			cursor.special = glibc->special_count; /* specials added from here on are
								  not sorted */
		}
	return err;
}

struct hawk_error *hawk_glibc_find_specials(struct hawk_glibc *glibc)
{
	struct hawk_error *err = NULL;
	bool complete = false;

	glibc->special_most = hawk_target_present_bytes(glibc->target) / HAWK_CHUNK_BYTES_MIN;
	for (size_t i = 0; i < glibc->arena_count && !err; i++)
		err = add_fast_bins(glibc, &glibc->arenas[i]);
	if (!err)
		err = add_threads(glibc, &complete);
	if (!err && !complete)
		err = add_by_shape(glibc);
	sort(glibc);
	return err;
}
