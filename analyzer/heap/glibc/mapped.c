/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds chunks with mappings of their own, at page boundaries of unclaimed memory. struct
 * malloc_par holds their number.
 */
#include "glibc.h"

enum { ALIGNMENT_MAX = 2 << 20 /* of memalign() */ };

/** Offsets in struct malloc_par. */
static const struct parameters_layout {
	uint16_t mapped_count; /**< then its limit, its peak, and a flag, 4 bytes each */
	uint16_t mapped_bytes; /**< then their peak */
	uint16_t break_start;  /**< start of the main arena's memory */
	uint16_t tcache_count; /**< 0 = none */
	uint16_t bytes;
} parameter_layouts[] = {
	{0x3c, 0x50, 0x60, 0x78, 0x88}, /* 2.35 to 2.42 */
	{0x28, 0x38, 0x48, 0x60, 0x70}, /* 2.24 to 2.34 */
	{0x44, 0x58, 0x68, 0x80, 0x90}, /* from 2.43 on */
	{0x28, 0x38, 0x50, 0, 0x58},    /* 2.17 to 2.23 */
};

enum {
	PARAMETERS_NEAR = 0x4000, /* upper limit on their distance from the main arena */
	DEFAULT_THRESHOLD = 0x20000,
	DEFAULT_MAPPED_MAX = 65536,
	SCORE_MIN = 7,
};

static uint64_t word_at(const uint8_t *bytes, unsigned offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static uint32_t half_at(const uint8_t *bytes, unsigned offset)
{
	uint32_t half;

	memcpy(&half, bytes + offset, sizeof(half));
	return half;
}

/* Returns how well the bytes fit a struct malloc_par, 0 = not at all. */
static unsigned score(const uint8_t *bytes, const struct parameters_layout *layout,
		      uint64_t heap_start)
{
	uint32_t count = half_at(bytes, layout->mapped_count);
	uint64_t mapped = word_at(bytes, layout->mapped_bytes);
	uint64_t tests = word_at(bytes, 0x18), start = word_at(bytes, layout->break_start);
	uint64_t cached = layout->tcache_count ? word_at(bytes, layout->tcache_count) : 0;

	if (count > half_at(bytes, layout->mapped_count + 8) ||
	    half_at(bytes, layout->mapped_count + 12) > 1 ||
	    mapped > word_at(bytes, layout->mapped_bytes + 8) || !count != !mapped ||
	    cached > UINT16_MAX)
		return 0;
	return 2 * (half_at(bytes, layout->mapped_count + 4) == DEFAULT_MAPPED_MAX) +
	       (word_at(bytes, 0) == DEFAULT_THRESHOLD) + (word_at(bytes, 8) == DEFAULT_THRESHOLD) +
	       (word_at(bytes, 16) == DEFAULT_THRESHOLD) + (tests == 8 || tests == 2) +
	       2 * (word_at(bytes, 16) && word_at(bytes, 0) == 2 * word_at(bytes, 16)) +
	       4 * (start && start <= heap_start && heap_start - start < HAWK_CHUNK_ALIGNMENT) +
	       2 * (cached == 7 || cached == 16);
}

static void add_parameters(struct hawk_glibc_parameters *ret, const uint8_t *bytes,
			   const struct parameters_layout *layout)
{
	const struct hawk_allocator_setting settings[HAWK_ALLOCATOR_SETTINGS] = {
		{"trim_threshold", word_at(bytes, 0)},
		{"top_pad", word_at(bytes, 8)},
		{"mmap_threshold", word_at(bytes, 16)},
		{"arena_max", word_at(bytes, 32)},
		{"tcache_count", layout->tcache_count ? word_at(bytes, layout->tcache_count) : 0},
	};

	memcpy(ret->settings, settings, sizeof(settings));
	ret->mapped_count += half_at(bytes, layout->mapped_count);
	ret->mapped_bytes += word_at(bytes, layout->mapped_bytes);
}

/* Returns the start of a main arena's memory, 0 = not known. */
static uint64_t heap_start(const struct hawk_glibc *glibc, uint32_t arena)
{
	for (size_t i = 0; i < glibc->run_count; i++)
		if (glibc->runs[i].arena == arena)
			return glibc->runs[i].start;
	return 0;
}

/* Finds the parameters near a main arena; returns false if not found. */
static bool find_beside(struct hawk_glibc *glibc, uint32_t arena)
{
	uint64_t middle = glibc->arenas[arena].start, first = heap_start(glibc, arena);
	const struct parameters_layout *best = NULL;
	uint8_t bytes[HAWK_GLIBC_PARAMETERS_BYTES], found[HAWK_GLIBC_PARAMETERS_BYTES];
	unsigned best_score = SCORE_MIN - 1;

	for (uint64_t at = middle - PARAMETERS_NEAR; at < middle + PARAMETERS_NEAR; at += 8) {
		if (hawk_near_read(&glibc->near, at, bytes, sizeof(bytes)) != sizeof(bytes))
			continue;
		for (size_t i = 0; i < sizeof(parameter_layouts) / sizeof(*parameter_layouts);
		     i++) {
			unsigned points = score(bytes, &parameter_layouts[i], first);

			if (points <= best_score)
				continue;
			best_score = points;
			best = &parameter_layouts[i];
			memcpy(found, bytes, sizeof(found));
			glibc->arenas[arena].parameters = at;
		}
	}
	if (best)
		add_parameters(&glibc->parameters, found, best);
	return best;
}

void hawk_glibc_find_parameters(struct hawk_glibc *glibc)
{
	glibc->parameters.known = glibc->library_count;
	for (uint32_t i = 0; i < glibc->arena_count; i++)
		if (glibc->arenas[i].is_main && !find_beside(glibc, i))
			glibc->parameters.known = false;
}

/* Returns true for a chunk at `at` in a mapping that begins at `base`. */
static bool is_mapped(struct hawk_glibc *glibc, uint64_t at, uint64_t base, uint64_t limit,
		      struct hawk_glibc_run *ret)
{
	bool has_gap = glibc->arenas[0].layout->mapped_gap;
	uint64_t tail = has_gap ? HAWK_CHUNK_HEADER_BYTES : 0, gap, size;

	if (!hawk_word(&glibc->near, at, &gap) ||
	    !hawk_word(&glibc->near, at + HAWK_CHUNK_SIZE_OFFSET, &size) ||
	    (size & HAWK_CHUNK_FLAGS) != HAWK_CHUNK_MAPPED)
		return false;
	if (has_gap)
		gap &= ~UINT64_C(1); /* huge pages */
	size = hawk_chunk_bytes(size);
	if (at - gap != base || size < HAWK_CHUNK_BYTES_MIN || at >= limit || size > limit - at ||
	    tail > limit - at - size || (gap + size + tail) % HAWK_GLIBC_PAGE_BYTES)
		return false;
	*ret = (struct hawk_glibc_run){
		.base = base,
		.start = at,
		.end = at + size + tail,
		.usable = size - (has_gap ? HAWK_CHUNK_SIZE_OFFSET : HAWK_CHUNK_HEADER_BYTES),
		.arena = UINT32_MAX};
	return true;
}

/* Finds a chunk of memalign() behind `base`. Only its offset in a page shows the alignment once
 * realloc() has moved the mapping. */
static bool find_aligned(struct hawk_glibc *glibc, uint64_t base, uint64_t limit,
			 struct hawk_glibc_run *ret)
{
	uint64_t most = limit - base < ALIGNMENT_MAX ? limit - base : ALIGNMENT_MAX;

	for (uint64_t step = 2 * HAWK_CHUNK_ALIGNMENT; step <= most;
	     step += step < HAWK_GLIBC_PAGE_BYTES ? step : HAWK_GLIBC_PAGE_BYTES) {
		uint64_t at = base + step - HAWK_CHUNK_HEADER_BYTES;

		if (!glibc->arenas[0].layout->mapped_gap && at - base < HAWK_CHUNK_BYTES_MIN)
			at += step;
		if (is_mapped(glibc, at, base, limit, ret))
			return true;
	}
	return false;
}

/* Finds a chunk whose mapping begins at `base`. The header that memalign() left there still has the
 * old size after realloc(). */
static bool find_chunk(struct hawk_glibc *glibc, uint64_t base, uint64_t limit,
		       struct hawk_glibc_run *ret)
{
	struct hawk_glibc_run plain, next;
	bool is_plain = is_mapped(glibc, base, base, limit, &plain), is_aligned;
	uint64_t size;

	if (!hawk_word(&glibc->near, base + HAWK_CHUNK_SIZE_OFFSET, &size) ||
	    (size & HAWK_CHUNK_FLAGS) != HAWK_CHUNK_MAPPED)
		return false;
	is_aligned = find_aligned(glibc, base, limit, ret);
	if (is_plain && (!is_aligned || (ret->end > plain.end &&
					 is_mapped(glibc, plain.end, plain.end, limit, &next))))
		*ret = plain;
	return is_plain || is_aligned;
}

/* Returns true if a mapping or another chunk borders on this chunk. A forged chunk lies in the
 * middle of other memory. */
static bool is_bounded(const struct hawk_glibc *glibc, const struct hawk_glibc_run *run)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(glibc->target, run->base);
	const struct hawk_glibc_run *next = run + 1, *end = glibc->runs + glibc->run_count;

	return !mapping || mapping->start == run->base || mapping->end == run->end ||
	       (run > glibc->runs && run[-1].usable && run[-1].end == run->base) ||
	       (next < end && next->usable && next->base == run->end);
}

/* Drops chunks that border on nothing if more chunks were found than counted. */
static void drop_forged(struct hawk_glibc *glibc)
{
	size_t used = 0;
	uint64_t more = glibc->mapped_count - glibc->parameters.mapped_count;

	for (size_t i = 0; i < glibc->run_count; i++) {
		struct hawk_glibc_run *run = &glibc->runs[i];

		if (run->usable && more && !is_bounded(glibc, run)) {
			more--;
			glibc->mapped_count--;
			glibc->mapped_bytes -= run->end - run->base;
			run->usable = 0; /* a dropped chunk is no border for its neighbours */
			run->end = run->base;
		}
	}
	for (size_t i = 0; i < glibc->run_count; i++)
		if (glibc->runs[i].end > glibc->runs[i].base)
			glibc->runs[used++] = glibc->runs[i];
	glibc->run_count = used;
}

struct hawk_error *hawk_glibc_find_mapped(struct hawk_glibc *glibc)
{
	struct hawk_claims taken = {0};
	struct hawk_unclaimed pages;
	struct hawk_error *err;

	if (glibc->parameters.known && !glibc->parameters.mapped_count)
		return NULL;
	err = hawk_glibc_claims(glibc, &taken);
	hawk_unclaimed_begin(&pages, glibc->target, &taken);
	while (!err && glibc->arena_count && hawk_unclaimed_page(&pages)) {
		struct hawk_glibc_run run;

		if (!find_chunk(glibc, pages.at, pages.limit, &run)) {
			pages.at++;
			continue;
		}
		err = hawk_glibc_add_run(glibc, &run);
		glibc->mapped_count++;
		glibc->mapped_bytes += run.end - run.base;
		pages.at = run.end;
	}
	hawk_claims_deinit(&taken);
	hawk_glibc_sort_runs(glibc);
	if (!err && glibc->parameters.known && glibc->mapped_count > glibc->parameters.mapped_count)
		drop_forged(glibc);
	return err;
}
