/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds memory with chunks: the heaps of arenas, and the main arena's memory from brk() or, after a
 * failure, from mmap().
 */
#include "glibc.h"

enum {
	HEAPS_MAX = 1 << 20,
	GAP_MAX = 1 << 20 /* foreign sbrk() between two pieces */
};

/* Alignments of heaps: as built, with huge pages of 2 MiB and of 1 GiB. */
static const uint64_t heap_alignments[] = {UINT64_C(64) << 20, UINT64_C(8) << 20,
					   UINT64_C(4) << 30};

/* struct heap_info */
struct heap_info {
	uint64_t arena, before, bytes;
};

static uint64_t align(uint64_t address)
{
	return (address + HAWK_CHUNK_ALIGNMENT - 1) & -(uint64_t)HAWK_CHUNK_ALIGNMENT;
}

struct hawk_error *hawk_glibc_add_run(struct hawk_glibc *glibc, const struct hawk_glibc_run *run)
{
	struct hawk_glibc_run *added;

	if (run->base > run->start || run->start >= run->end)
		return NULL;
	if (!hawk_array_reserve(&glibc->runs, glibc->run_count, &glibc->run_capacity,
				sizeof(*glibc->runs)))
		return &hawk_enomem;
	added = &glibc->runs[glibc->run_count++];
	*added = *run;
	if (added->top < added->start || added->top >= added->end)
		added->top = 0;
	return NULL;
}

static int by_base(const void *left, const void *right)
{
	const struct hawk_glibc_run *a = left, *b = right;

	return a->base < b->base ? -1 : a->base > b->base;
}

void hawk_glibc_sort_runs(struct hawk_glibc *glibc)
{
	size_t used = 0;

	if (glibc->run_count)
		qsort(glibc->runs, glibc->run_count, sizeof(*glibc->runs), by_base);
	for (size_t i = 0; i < glibc->run_count; i++)
		if (!used || glibc->runs[i].base >= glibc->runs[used - 1].end)
			glibc->runs[used++] = glibc->runs[i];
	glibc->run_count = used;
}

const struct hawk_glibc_run *hawk_glibc_run_at(const struct hawk_glibc *glibc, uint64_t address)
{
	size_t i = hawk_array_first_above(glibc->runs, glibc->run_count, sizeof(*glibc->runs),
					  offsetof(struct hawk_glibc_run, end), address);

	return i < glibc->run_count && glibc->runs[i].start <= address ? &glibc->runs[i] : NULL;
}

static bool read_heap(struct hawk_near *near, uint64_t heap, const struct hawk_glibc_arena *arena,
		      struct heap_info *ret)
{
	return hawk_near_read(near, heap, ret, sizeof(*ret)) == sizeof(*ret) &&
	       ret->arena == arena->start;
}

/* Returns the arena's heap that holds `address`, or 0. */
static uint64_t heap_of(struct hawk_near *near, const struct hawk_glibc_arena *arena,
			uint64_t address)
{
	struct heap_info heap;

	for (size_t i = 0; i < sizeof(heap_alignments) / sizeof(heap_alignments[0]); i++) {
		uint64_t start = address & -heap_alignments[i];

		if (read_heap(near, start, arena, &heap) && address - start < heap.bytes)
			return start;
	}
	return 0;
}

/* Adds the heaps of an arena, the last one first. The last heap ends with the top, earlier heaps
 * with fence posts. */
static struct hawk_error *add_heaps(struct hawk_glibc *glibc, uint32_t number)
{
	struct hawk_glibc_arena *arena = &glibc->arenas[number];
	uint64_t first = heap_of(&glibc->near, arena, arena->start), at, sum = 0, mark = 0;
	uint64_t info_bytes = arena->start - first;
	struct hawk_error *err = NULL;

	at = first ? heap_of(&glibc->near, arena, arena->top) : 0;
	for (unsigned i = 0; at && at != mark && i < HEAPS_MAX && !err; i++) {
		struct heap_info heap;
		struct hawk_glibc_run run = {
			.base = at,
			.start = align(at == first ? arena->end : at + info_bytes),
			.top = i ? 0 : arena->top,
			.arena = number,
			.has_flag = true,
		};

		if (!read_heap(&glibc->near, at, arena, &heap) || heap.bytes < run.start - at ||
		    heap.bytes > heap_alignments[2])
			break;
		run.end = at + heap.bytes;
		sum += heap.bytes;
		err = hawk_glibc_add_run(glibc, &run);
		if (!(i & (i + 1))) /* a ring is noticed after two rounds */
			mark = at;
		at = at == first ? 0 : heap.before;
	}
	arena->found_bytes = sum;
	return err;
}

/** What a search for pieces knows, so that it walks nothing twice. */
struct known {
	uint64_t vain;  /**< chunks below were walked in vain, or lead to chunks that were */
	uint64_t sound; /**< the first sound chunk above the last piece; 0 = not known */
	uint64_t gaps;  /**< bytes before pieces at page starts: by mmap(), or by sbrk() again */
};

static bool ends_well(struct hawk_glibc *glibc, const struct hawk_glibc_run *run, uint64_t at,
		      struct known *known, uint64_t *end)
{
	*end = at;
	if (at < known->vain)
		return false;
	if (hawk_glibc_ends_well(glibc, &glibc->near, run, at, end))
		return true;
	known->vain = *end;
	return false;
}

/* Adds successive pieces, as brk() gives them, and advances `*at`. The first is [*at, end). */
static struct hawk_error *add_pieces(struct hawk_glibc *glibc, const struct hawk_glibc_run *run,
				     uint64_t *at, uint64_t end, struct known *known, uint64_t *sum)
{
	struct hawk_error *err = NULL;

	for (;;) {
		struct hawk_glibc_run piece = *run;

		piece.base = piece.start = *at;
		piece.end = end;
		if (run->top < *at || run->top >= end)
			piece.top = 0;
		*sum += end - *at;
		err = hawk_glibc_add_run(glibc, &piece);
		*at = end;
		if (err || end >= run->end || piece.top)
			return err;
		if (known->sound < end)
			known->sound = hawk_glibc_resume(glibc, &glibc->near, run,
							 end - HAWK_CHUNK_ALIGNMENT,
							 HAWK_GLIBC_SOUND_FOREIGN);
		if (known->sound - end > GAP_MAX || known->sound >= run->end ||
		    !ends_well(glibc, run, known->sound, known, &end))
			return NULL;
		*(known->sound % HAWK_GLIBC_PAGE_BYTES ? sum : &known->gaps) += known->sound - *at;
		*at = known->sound;
	}
}

struct hawk_error *hawk_glibc_claims(const struct hawk_glibc *glibc, struct hawk_claims *ret)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < glibc->run_count && !err; i++)
		err = hawk_claims_add(ret, glibc->runs[i].base, glibc->runs[i].end);
	for (size_t i = 0; i < glibc->claims.count && !err; i++)
		err = hawk_claims_add(ret, glibc->claims.items[i].start,
				      glibc->claims.items[i].end);
	hawk_claims_sort(ret);
	return err;
}

/* Searches unclaimed pages for the pieces of a main arena. */
static struct hawk_error *search_pieces(struct hawk_glibc *glibc, struct hawk_glibc_run run,
					uint64_t *sum)
{
	struct hawk_claims taken = {0};
	struct hawk_unclaimed pages;
	struct hawk_error *err = hawk_glibc_claims(glibc, &taken);
	struct known known = {0};

	hawk_unclaimed_begin(&pages, glibc->target, &taken);
	while (!err && hawk_unclaimed_page(&pages)) {
		uint64_t end;

		run.end = pages.limit;
		if (ends_well(glibc, &run, pages.at, &known, &end))
			err = add_pieces(glibc, &run, &pages.at, end, &known, sum);
		else
			pages.at++;
	}
	if (*sum + known.gaps == glibc->arenas[run.arena].system_bytes)
		*sum += known.gaps;
	hawk_claims_deinit(&taken);
	return err;
}

/* Adds the memory of a main arena. Memory in one piece is `system_bytes` long and ends with the
 * top. */
static struct hawk_error *add_main(struct hawk_glibc *glibc, uint32_t number)
{
	struct hawk_glibc_arena *arena = &glibc->arenas[number];
	const struct hawk_mapping *mapping;
	struct hawk_glibc_run run = {.arena = number, .top = arena->top};
	struct hawk_error *err;
	uint64_t size, sum = 0;

	arena->found_bytes = arena->system_bytes;
	if (!arena->system_bytes || (arena->top > arena->start && arena->top < arena->end))
		return NULL; /* nothing was ever allocated from it */
	mapping = hawk_target_mapping_at(glibc->target, arena->top);
	run.end = mapping ? mapping->end : arena->top;
	/* sbrk() gives whole pages; another end is that of an overwritten size. */
	if (hawk_word(&glibc->near, arena->top + HAWK_CHUNK_SIZE_OFFSET, &size) &&
	    hawk_chunk_bytes(size) <= run.end - arena->top &&
	    (arena->top + hawk_chunk_bytes(size)) % HAWK_GLIBC_PAGE_BYTES == 0)
		run.end = arena->top + hawk_chunk_bytes(size);
	run.start = run.base = align(run.end - arena->system_bytes);
	if (arena->is_contiguous && arena->system_bytes < run.end &&
	    hawk_target_mapping_at(glibc->target, run.start)) {
		arena->found_bytes = arena->system_bytes;
		return hawk_glibc_add_run(glibc, &run);
	}
	err = search_pieces(glibc, run, &sum);
	arena->found_bytes = sum;
	return err;
}

/* Adds the main arena's memory if the core lacks that arena. Memory from brk() begins the first
 * anonymous mapping behind the executable. */
static struct hawk_error *guess_main(struct hawk_glibc *glibc)
{
	size_t count, module_count;
	const struct hawk_mapping *mappings = hawk_target_mappings(glibc->target, &count);
	const struct hawk_module *modules = hawk_target_modules(glibc->target, &module_count);
	uint64_t program_end = 0;

	for (size_t i = 0; i < module_count; i++)
		if (modules[i].main)
			program_end = modules[i].end;
	for (size_t i = hawk_target_mapping_index(glibc->target, program_end); i < count; i++) {
		struct hawk_glibc_run run = {.base = mappings[i].start,
					     .start = align(mappings[i].start),
					     .end = mappings[i].end,
					     .arena = UINT32_MAX};

		if (!hawk_is_anonymous(glibc->target, &mappings[i]))
			continue;
		return hawk_glibc_resume(glibc, &glibc->near, &run,
					 run.start - HAWK_CHUNK_ALIGNMENT,
					 HAWK_GLIBC_SOUND) == run.start
			       ? hawk_glibc_add_run(glibc, &run)
			       : NULL;
	}
	return NULL;
}

struct hawk_error *hawk_glibc_find_runs(struct hawk_glibc *glibc)
{
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; i < glibc->arena_count && !err; i++)
		if (!glibc->arenas[i].is_main)
			err = add_heaps(glibc, i);
	hawk_glibc_sort_runs(glibc);
	/* Pieces of another library's arena are searched outside of the memory from brk(). */
	for (uint32_t i = 0; i < 2 * glibc->arena_count && !err; i++) {
		const struct hawk_glibc_arena *arena = &glibc->arenas[i % glibc->arena_count];

		if (arena->is_main && arena->is_contiguous == (i < glibc->arena_count))
			err = add_main(glibc, i % (uint32_t)glibc->arena_count);
	}
	if (!err && glibc->main_missing)
		err = guess_main(glibc);
	hawk_glibc_sort_runs(glibc);
	return err;
}
