/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds arenas by their bins: rings whose heads pretend to be chunks 16 bytes before their two
 * links, where an empty bin's links lead. `next` is a ring through all arenas of a C library, and
 * shows how far before the bins they begin. If the C library's data are missing, arenas are found
 * by the heaps that hold them.
 */
#include "glibc.h"

enum {
	BINS = 127,
	BIN_BYTES = 16,
	LINKS_OFFSET = 16,
	BINS_SOUND_MIN = 8,   /* empty, or their chunks lead back; the last one is always empty */
	BINS_STRANGE_MAX = 7, /* one may be half linked, and some overwritten */
	ARENAS_MAX = 1 << 14,
	RINGS_TRIED = 64, /* C libraries: one, or a few by dlmopen() */
	LOCK_MAX = 2,     /* values of a lock that was taken: 1, or 2 with waiters */
	NONCONTIGUOUS = 2,
	THREADS_MAX = 1 << 12,
};

/* Offsets from the first bin. */
enum {
	TOP_OFFSET = -16,
	NEXT_OFFSET = BINS * BIN_BYTES + 16, /* behind 16 bytes of bits */
	THREADS_OFFSET = NEXT_OFFSET + 16, /* from 2.23 on; earlier versions have the bytes here */
};

static const uint64_t heap_alignment = UINT64_C(64) << 20;

const struct hawk_glibc_layout hawk_glibc_layouts[HAWK_GLIBC_LAYOUTS] = {
	{.bins = 0x70, .fast_bins = 0x10, .fast_bin_count = 10}, /* 2.27 to 2.42 */
	{.bins = 0x68, .fast_bins = 0x08, .fast_bin_count = 10}, /* 2.17 to 2.26 */
	{.bins = 0x18, .mapped_gap = true},                      /* from 2.43 on */
};

struct bin {
	uint64_t first, last;
};

static bool is_empty(const struct bin *bin, uint64_t address)
{
	return bin->first == address - LINKS_OFFSET && bin->last == bin->first;
}

static bool is_linked(struct hawk_near *near, const struct bin *bin, uint64_t address)
{
	uint64_t back, forth;

	return hawk_word(near, bin->first + LINKS_OFFSET + 8, &back) &&
	       hawk_word(near, bin->last + LINKS_OFFSET, &forth) &&
	       back == address - LINKS_OFFSET && forth == back;
}

/* Returns true if the chunk that the bin leads to was not dumped, or is cut off. */
static bool is_missing(const struct hawk_target *target, const struct bin *bin)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, bin->first);

	return mapping && bin->first - mapping->start >= mapping->present_bytes;
}

/* Returns true if an arena's bins lie at `start`. */
static bool are_bins(struct hawk_near *near, uint64_t start)
{
	struct bin bins[BINS];
	unsigned sound = 0, strange = 0;

	if (hawk_near_read(near, start, bins, sizeof(bins)) != sizeof(bins) ||
	    !is_empty(&bins[BINS - 1], start + (BINS - 1) * BIN_BYTES))
		return false;
	for (unsigned i = 0; i < BINS && strange <= BINS_STRANGE_MAX; i++) {
		uint64_t at = start + i * BIN_BYTES;

		if (is_empty(&bins[i], at) || is_linked(near, &bins[i], at))
			sound++;
		else if (!is_missing(near->target, &bins[i]))
			strange++;
	}
	return sound >= BINS_SOUND_MIN && strange <= BINS_STRANGE_MAX;
}

uint32_t hawk_glibc_arena_at(const void *state, uint64_t address)
{
	const struct hawk_glibc *glibc = state;

	for (uint32_t i = 0; i < glibc->arena_count; i++)
		if (glibc->arenas[i].start == address)
			return i;
	return HAWK_NOT_KNOWN;
}

static bool is_known(const struct hawk_glibc *glibc, uint64_t start)
{
	return hawk_glibc_arena_at(glibc, start) != HAWK_NOT_KNOWN;
}

static bool read_arena(struct hawk_near *near, uint64_t start,
		       const struct hawk_glibc_layout *layout, struct hawk_glibc_arena *ret)
{
	uint64_t bins = start + layout->bins, state;

	*ret = (struct hawk_glibc_arena){
		.start = start, .layout = layout, .end = bins + THREADS_OFFSET + 16};
	if (!hawk_word(near, start, &state) || !hawk_word(near, bins + TOP_OFFSET, &ret->top) ||
	    !hawk_word(near, bins + THREADS_OFFSET, &ret->system_bytes))
		return false;
	ret->is_locked = (uint32_t)state && (uint32_t)state <= LOCK_MAX;
	ret->is_contiguous = !(state >> 32 & NONCONTIGUOUS);
	if (ret->system_bytes >= THREADS_MAX)
		return true;
	ret->end += 8;
	return hawk_word(near, bins + THREADS_OFFSET + 8, &ret->system_bytes);
}

static struct hawk_error *add_arena(struct hawk_glibc *glibc, const struct hawk_glibc_arena *arena)
{
	if (!hawk_array_reserve(&glibc->arenas, glibc->arena_count, &glibc->arena_capacity,
				sizeof(*glibc->arenas)))
		return &hawk_enomem;
	glibc->arenas[glibc->arena_count++] = *arena;
	return NULL;
}

static bool next_arena(struct hawk_near *near, const struct hawk_glibc_layout *layout,
		       uint64_t *start)
{
	return hawk_word(near, *start + layout->bins + NEXT_OFFSET, start);
}

/* Returns true if `next` leads from the arena back to it. */
static bool is_ring(struct hawk_near *near, const struct hawk_glibc_layout *layout, uint64_t start)
{
	uint64_t at = start;

	for (unsigned i = 0; i < ARENAS_MAX; i++)
		if (!next_arena(near, layout, &at) || at == start)
			return at == start;
	return false;
}

/* Adds the arenas of one C library. The first is its main one, in a module's data. */
static struct hawk_error *add_ring(struct hawk_glibc *glibc, const struct hawk_glibc_layout *layout,
				   uint64_t start)
{
	struct hawk_error *err = NULL;
	uint64_t at = start;

	do {
		struct hawk_glibc_arena arena;

		if (!read_arena(&glibc->near, at, layout, &arena))
			break;
		arena.is_main = at == start;
		arena.library = glibc->library_count;
		err = add_arena(glibc, &arena);
		if (!next_arena(&glibc->near, layout, &at))
			break;
	} while (!err && at != start && glibc->arena_count < ARENAS_MAX);
	glibc->library_count++;
	return err;
}

static struct hawk_error *try_bins(struct hawk_glibc *glibc, uint64_t bins)
{
	if (glibc->rings_tried++ >= RINGS_TRIED)
		return NULL;
	for (size_t i = 0; i < HAWK_GLIBC_LAYOUTS; i++) {
		const struct hawk_glibc_layout *layout = &hawk_glibc_layouts[i];

		if (is_ring(&glibc->near, layout, bins - layout->bins))
			return is_known(glibc, bins - layout->bins)
				       ? NULL
				       : add_ring(glibc, layout, bins - layout->bins);
	}
	return NULL;
}

/* Looks for last bins: they are empty, and no empty bin follows them. */
static struct hawk_error *search_data(struct hawk_glibc *glibc)
{
	struct hawk_data_words words = {0};
	struct hawk_error *err = NULL;
	uint64_t word;

	while (!err && hawk_data_words_next(&words, &glibc->near, &word)) {
		struct bin bins[2]; /* memory may end behind the first */
		uint64_t at = words.at, first = at - (BINS - 1) * BIN_BYTES;
		size_t bytes = hawk_near_read(&glibc->near, at, bins, sizeof(bins));

		if (bytes < BIN_BYTES || !is_empty(&bins[0], at) || first > at ||
		    (bytes == sizeof(bins) && is_empty(&bins[1], at + BIN_BYTES)))
			continue;
		if (are_bins(&glibc->near, first))
			err = try_bins(glibc, first);
	}
	return err;
}

/* Adds an arena in the heap that begins at `heap`; its library's main arena was not found. */
static struct hawk_error *try_heap(void *context, uint64_t heap)
{
	struct hawk_glibc *glibc = context;
	uint64_t words[4];
	struct hawk_glibc_arena arena;

	if (hawk_near_read(&glibc->near, heap, words, sizeof(words)) != sizeof(words) || words[1] ||
	    (words[0] != heap + 0x20 && words[0] != heap + 0x30) || words[2] > heap_alignment ||
	    is_known(glibc, words[0]))
		return NULL;
	for (size_t i = 0; i < HAWK_GLIBC_LAYOUTS; i++) {
		const struct hawk_glibc_layout *layout = &hawk_glibc_layouts[i];

		if (are_bins(&glibc->near, words[0] + layout->bins) &&
		    read_arena(&glibc->near, words[0], layout, &arena))
			return add_arena(glibc, &arena);
	}
	return NULL;
}

struct hawk_error *hawk_glibc_find_arenas(struct hawk_glibc *glibc)
{
	struct hawk_error *err = search_data(glibc);

	glibc->main_missing = !glibc->library_count;
	return err || glibc->library_count
		       ? err
		       : hawk_each_aligned(glibc->target, heap_alignment, try_heap, glibc);
}
