/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walks what sources found, once: blocks go to the block index and to sums by trace, which become
 * sites.
 */
#include "load_blocks.h"

#include "hawk/base/cleanup.h"
#include "counted.h"
#include "guest.h"
#include "heaps.h"
#include "join.h"
#include "hawk/heap/lost.h"
#include "hawk/heap/touched.h"
#include "hawk/base/parallel.h"
#include "hawk/base/quantity.h"
#include "site_map.h"
#include "site_samples.h"
#include "unknown.h"

#include <stdlib.h>
#include <string.h>

/** The live blocks of one trace. */
struct tally {
	uint64_t objects;
	uint64_t bytes;
	uint8_t oldest; /**< birth codes */
	uint8_t newest;
};

/** The sums of one walk. */
struct tallies {
	uint32_t trace_count;
	/** By number of trace or class; the last one takes traces that are not in the table. */
	struct tally *items;
	struct hawk_block_index *index;
	uint64_t blocks_max; /**< the index takes at most */
	char *refusal; /**< the reason why the index lacks further blocks; NULL = it has all */
	struct hawk_heaps_walk heaps;
	struct hawk_touched touched; /**< empty: not asked */
	size_t run;                  /**< the first one that ends above `covered` */
	uint64_t covered;            /**< the end of all blocks so far */
	uint64_t untouched_bytes;    /**< of these */
	/** By depth: the number among `items` of the latest block that may be carved up. */
	uint32_t latest[HAWK_BLOCK_DEPTH_MAX + 1];
	uint64_t sample_mean;
	struct hawk_sample_tally *samples; /**< as `items`; NULL without a mean */
	uint64_t carved_objects, carved_bytes;
};

/* Counts a block, nested blocks included. Returns the tally's number. */
static inline uint32_t add_block(const struct tallies *tallies, const struct hawk_block *block)
{
	uint32_t number = block->trace < tallies->trace_count ? block->trace : tallies->trace_count;
	struct tally *tally = &tallies->items[number];

	if (!tally->objects || block->birth < tally->oldest)
		tally->oldest = block->birth;
	if (block->birth > tally->newest)
		tally->newest = block->birth;
	tally->objects++;
	tally->bytes += block->size;
	return number;
}

/* Counts a block's bytes in pages of zeros, but those of blocks around it. */
static void add_untouched(struct tallies *tallies, const struct hawk_target *target,
			  const struct hawk_block *block)
{
	const struct hawk_touched *touched = &tallies->touched;
	uint64_t start = block->start > tallies->covered ? block->start : tallies->covered;
	uint64_t end = block->start + block->size;

	if (start >= end)
		return;
	tallies->covered = end;
	while (tallies->run < touched->count && touched->runs[tallies->run].end <= start)
		tallies->run++;
	if (tallies->run < touched->count && touched->runs[tallies->run].start <= start &&
	    touched->runs[tallies->run].end >= end)
		return;
	tallies->untouched_bytes += hawk_target_present_between(target, start, end) -
				    hawk_touched_between(touched, start, end);
}

/* Goes on counting when blocks can no longer be numbered. */
static struct hawk_error *refuse(struct tallies *tallies, struct hawk_error *err)
{
	if (!err || hawk_error_code(err) != HAWK_ERROR_UNSUPPORTED)
		return err;
	tallies->refusal = strdup(hawk_error_message(err));
	hawk_error_destroy(err);
	return tallies->refusal ? NULL : &hawk_enomem;
}

/* Numbers blocks. */
static struct hawk_error *index_blocks(struct tallies *tallies, const struct hawk_block *blocks,
				       size_t count)
{
	if (tallies->refusal)
		return NULL;
	if (tallies->index->count + count > tallies->blocks_max)
		return refuse(tallies, hawk_error_create(HAWK_ERROR_UNSUPPORTED,
							 "only sums of the blocks were made"));
	return refuse(tallies, hawk_block_index_add(tallies->index, blocks, count));
}

static struct hawk_error *take_blocks(struct tallies *tallies, const struct hawk_block *blocks,
				      size_t count)
{
	struct hawk_error *err;

	for (size_t i = 0; i < count; i++) {
		const struct hawk_block *block = &blocks[i];

		tallies->latest[block->depth] = add_block(tallies, block);
		add_untouched(tallies, tallies->heaps.heap->target, block);
		if (!block->depth)
			continue;
		/* Carved bytes no longer belong to the outer block. */
		tallies->items[tallies->latest[block->depth - 1]].bytes -=
			block->size + HAWK_HEADER_BYTES;
		tallies->carved_objects++;
		tallies->carved_bytes += block->size + HAWK_HEADER_BYTES;
	}
	if (tallies->samples)
		hawk_site_samples_add_blocks(blocks, count, tallies->sample_mean,
					     tallies->trace_count, tallies->samples);
	err = hawk_heaps_take(&tallies->heaps, blocks, count);
	return err ? err : index_blocks(tallies, blocks, count);
}

static struct hawk_error *make_tallies(const struct hawk_heap *heap, struct tallies *tallies)
{
	size_t count = (size_t)heap->trace_count + 1;

	tallies->trace_count = heap->trace_count;
	tallies->blocks_max = heap->blocks_max;
	tallies->heaps.heap = heap;
	tallies->sample_mean = heap->sample_mean;
	tallies->items = calloc(count, sizeof(*tallies->items));
	if (heap->sample_mean)
		tallies->samples = calloc(count, sizeof(*tallies->samples));
	return tallies->items && !(heap->sample_mean && !tallies->samples) ? NULL : &hawk_enomem;
}

static void free_tallies(struct tallies *tallies)
{
	free(tallies->items);
	free(tallies->samples);
	free(tallies->refusal);
	hawk_touched_deinit(&tallies->touched);
	hawk_heaps_end(&tallies->heaps);
}

static void add_tally(struct hawk_site *site, const struct tally *tally)
{
	uint64_t oldest = hawk_birth_decode(tally->oldest);
	uint64_t newest = hawk_birth_decode(tally->newest);

	if (!tally->objects)
		return;
	site->inuse_objects += tally->objects;
	site->inuse_bytes += tally->bytes;
	if (oldest < site->oldest_units)
		site->oldest_units = oldest;
	if (newest > site->newest_units)
		site->newest_units = newest;
}

static void add_tallies(struct hawk_heap *heap, const struct tallies *tallies)
{
	for (uint32_t id = 0; id < heap->trace_count; id++)
		add_tally(&heap->sites[heap->site_of_trace[id]], &tallies->items[id]);
	add_tally(&heap->sites[HAWK_SITE_MAP_LOST], &tallies->items[heap->trace_count]);
}

static void add_sums(struct hawk_heap *heap, const struct tallies *tallies)
{
	heap->sums.carved_objects = tallies->carved_objects;
	heap->sums.carved_bytes = tallies->carved_bytes;
	for (uint32_t id = 0; id <= heap->trace_count; id++) {
		heap->sums.blocks += tallies->items[id].objects;
		if (hawk_heap_class(heap, id))
			heap->untraced_blocks += tallies->items[id].objects;
		heap->sums.bytes += tallies->items[id].bytes;
	}
}

/* Returns the blocks that may count as live without a header. Older tracers were not exact in the
 * middle of a call: one block for each thread, but the thread that died was rarely in a call. */
static size_t blocks_in_flight(const struct hawk_heap *heap)
{
	size_t threads;

	if (!heap->table ||
	    hawk_table_header(heap->table)->compatible_flags & HAWK_TABLE_COUNTS_SEALED)
		return 0;
	hawk_target_threads(heap->target, &threads);
	return threads && hawk_target_process(heap->target)->signal ? threads - 1 : threads;
}

/* Returns true if the counters give the number of live blocks. */
static bool counters_are_known(const struct hawk_heap *heap)
{
	if (!(heap->knows & HAWK_HEAP_COUNTERS))
		return false;
	/* A table file goes on counting after the core of a living process was written. */
	if (hawk_target_table(heap->target) != heap->target &&
	    !hawk_target_process(heap->target)->signal)
		return false;
	return !heap->discarded_heaps && /* frees of their blocks were not counted */
	       !(heap->table &&
		 hawk_table_header(heap->table)->compatible_flags & HAWK_TABLE_COPIED);
}

/* Returns the blocks that the counters call live but the walk did not find. */
static uint64_t blocks_not_found(const struct hawk_heap *heap)
{
	const struct hawk_table_totals *totals = &heap->totals;
	uint64_t found = totals->free_objects + heap->sums.blocks - heap->untraced_blocks;

	return totals->alloc_objects > found ? totals->alloc_objects - found : 0;
}

uint64_t hawk_heap_not_found(const struct hawk_heap *heap)
{
	uint64_t missing = blocks_not_found(heap);

	return missing > blocks_in_flight(heap) ? missing : 0;
}

uint64_t hawk_heap_unaccounted(const struct hawk_heap *heap)
{
	return counters_are_known(heap) ? hawk_heap_not_found(heap) : 0;
}

bool hawk_heap_is_whole(const struct hawk_heap *heap)
{
	return counters_are_known(heap) && !blocks_not_found(heap) && !heap->dropped_objects &&
	       !heap->damages.counts[HAWK_DAMAGE_HEADER];
}

/* Above these limits, memory is missing rather than overwritten. */
enum { UNACCOUNTED_MANY = 64, UNACCOUNTED_SHARE = 16 };

/* Reports missing blocks; with all memory present their headers were overwritten. Makes roots
 * search their heaps, for pointers that such blocks held. */
static void report_unaccounted(struct hawk_heap *heap, struct hawk_findings *findings)
{
	uint64_t unaccounted = hawk_heap_unaccounted(heap);

	if (heap->dropped_objects || unaccounted || heap->damages.counts[HAWK_DAMAGE_HEADER])
		hawk_heap_distrust(heap);
	if (!unaccounted || hawk_findings_partial(findings))
		return;
	if (unaccounted >= UNACCOUNTED_MANY &&
	    unaccounted > heap->sums.blocks / UNACCOUNTED_SHARE) {
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "block-missing",
				  "%s blocks that were allocated and not freed were not found (%s "
				  "were): memory was overwritten or is missing",
				  hawk_quantity_count(unaccounted).text,
				  hawk_quantity_count(heap->sums.blocks).text);
		return;
	}
	hawk_findings_add(
		findings, HAWK_FINDING_DAMAGE, false, "block-unaccounted",
		"%s block%s allocated, not freed, and %s no valid header: most likely it was "
		"overwritten, perhaps from the block before it",
		hawk_quantity_count(unaccounted).text, unaccounted == 1 ? " was" : "s were",
		unaccounted == 1 ? "has" : "have");
}

/* Makes a heap without blocks unknown if missing memory may hold blocks and no counters prove the
 * contrary. */
static struct hawk_error *doubt_empty(const struct hawk_findings *findings, struct hawk_heap *heap)
{
	bool counted = counters_are_known(heap) && !heap->totals.too_low;
	struct hawk_heap empty = {
		.target = heap->target,
		.unknown = HAWK_HEAP_BLOCKS_MISSING,
		.totals = heap->totals,
	};

	if (heap->sums.blocks || !(heap->knows & HAWK_HEAP_CONTENTS) ||
	    (counted && !hawk_heap_not_found(heap)) ||
	    !hawk_heap_lacks_memory(heap->target, findings))
		return NULL;
	empty.table = take_ptr(&heap->table); /* a redacted core keeps it */
	memcpy(empty.found, heap->found, sizeof(empty.found));
	empty.found_count = heap->found_count;
	heap->found_count = 0;
	hawk_heap_deinit(heap);
	*heap = empty;
	return hawk_block_index_init(&heap->index, 0);
}

static struct hawk_error *take_all(struct hawk_join *join, struct tallies *tallies,
				   struct hawk_heap *heap)
{
	struct hawk_guests_walk guests = {0};
	const struct hawk_block *blocks;
	size_t count;
	struct hawk_error *err;

	do {
		err = hawk_join_next(join, &blocks, &count);
		if (!err)
			err = hawk_guests_take(&guests, heap, &blocks, count);
		if (!err)
			err = take_blocks(tallies, blocks, count);
	} while (!err && count);
	hawk_guests_end(&guests, &heap->guests);
	return err;
}

static struct hawk_error *walk(struct tallies *tallies, struct hawk_heap *heap)
{
	struct hawk_join join;
	struct hawk_error *err =
		hawk_join_begin(heap, hawk_parallel_threads(), &heap->damages, &join);

	if (err)
		return err;
	err = take_all(&join, tallies, heap);
	hawk_join_end(&join, heap);
	if (!err && !tallies->refusal)
		err = refuse(tallies, hawk_block_index_finish(&heap->index));
	if (err || !tallies->refusal)
		return err;
	heap->refusal = take_ptr(&tallies->refusal);
	hawk_block_index_deinit(&heap->index);
	return hawk_block_index_init(&heap->index, 0);
}

/* Returns true if headers can be read later. */
static bool headers_stay(const struct hawk_heap *heap)
{
	return heap->knows & HAWK_HEAP_CONTENTS && !hawk_target_process(heap->target)->live;
}

static struct hawk_error *account(const struct tallies *tallies, struct hawk_heap *heap)
{
	const struct hawk_heap_found *found = &heap->found[0];

	if (found->source->account)
		return found->source->account(found, heap);
	heap->accounting = hawk_accounting_make(heap, &tallies->touched, tallies->untouched_bytes);
	return hawk_outside_find(heap, &tallies->touched, &heap->accounting.outside);
}

static bool needs_small_granules(const struct hawk_heap *heap)
{
	for (unsigned i = 0; i < heap->found_count; i++)
		if (heap->found[i].small_granules)
			return true;
	return false;
}

static bool are_blocks_apart(const struct hawk_heap *heap)
{
	for (unsigned i = 0; i < heap->found_count; i++)
		if (!heap->found[i].blocks_apart)
			return false;
	return true;
}

static void report_clipped(const struct hawk_heap_sums *sums, struct hawk_findings *findings)
{
	if (sums->clipped)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "block-clipped",
				  "the end of %s live block%s is not in the core",
				  hawk_quantity_count(sums->clipped).text,
				  sums->clipped == 1 ? "" : "s");
}

/* Makes spans of damage unsound: memory that cannot be divided into blocks may hold live ones. */
static struct hawk_error *distrust_damaged(struct hawk_heap *heap)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < heap->damages.count && !err; i++) {
		const struct hawk_damage *damage = &heap->damages.items[i];

		if (damage->bytes)
			err = hawk_heap_spans_add(
				&heap->spans,
				(struct hawk_heap_span){.start = damage->address,
							.end = damage->address + damage->bytes,
							.kind = HAWK_SPAN_UNSOUND,
							.source = damage->source});
	}
	return err ? err : hawk_heap_spans_sort(&heap->spans);
}

static struct hawk_error *find_blocks(struct hawk_findings *findings, struct tallies *tallies,
				      struct hawk_heap *heap)
{
	uint64_t bytes = hawk_target_present_bytes(heap->target);
	struct hawk_error *err = make_tallies(heap, tallies);

	if (!err)
		err = hawk_block_index_init(&heap->index, bytes);
	heap->index.apart = are_blocks_apart(heap);
	if (!err && needs_small_granules(heap))
		err = hawk_block_index_use_small_granules(&heap->index);
	if (!err && heap->knows & HAWK_HEAP_HEADERS && !headers_stay(heap))
		err = hawk_block_index_keep_heads(&heap->index, bytes);
	if (!err && !heap->found[0].source->account)
		err = hawk_touched_make(heap->target, &tallies->touched);
	if (!err)
		err = walk(tallies, heap);
	if (err)
		return err;
	add_sums(heap, tallies);
	hawk_damages_report(&heap->damages, findings);
	report_clipped(&heap->sums, findings);
	err = distrust_damaged(heap);
	if (!err)
		err = hawk_heaps_add(&tallies->heaps, heap);
	if (err)
		return err;
	report_unaccounted(heap, findings);
	return account(tallies, heap);
}

static struct hawk_error *make_sites(struct hawk_findings *findings, const struct tallies *tallies,
				     struct hawk_heap *heap)
{
	struct hawk_error *err = hawk_site_map_make(heap);

	if (err)
		return err;
	add_tallies(heap, tallies);
	hawk_heap_lost_report(heap, heap->sites[HAWK_SITE_MAP_LOST].inuse_objects,
			      heap->sites[HAWK_SITE_MAP_LOST].inuse_bytes, findings);
	err = hawk_site_samples_apply(heap, tallies->samples);
	if (err)
		return err;
	return hawk_site_map_finish(heap);
}

static struct hawk_error *load_blocks(struct hawk_findings *findings, struct hawk_heap *heap)
{
	struct tallies tallies = {.index = &heap->index};
	struct hawk_error *err = find_blocks(findings, &tallies, heap);

	if (!err)
		err = make_sites(findings, &tallies, heap);
	free_tallies(&tallies);
	return err;
}

/* Loads the sites of a source that has nothing else. */
static struct hawk_error *load_sites(struct hawk_findings *findings, struct hawk_heap *heap)
{
	struct hawk_error *err = hawk_block_index_init(&heap->index, 0);

	if (!err)
		err = heap->found[0].source->account(&heap->found[0], heap);
	if (err)
		return err;
	for (size_t i = 0; i < heap->site_count; i++)
		if (hawk_heap_class(heap, heap->sites[i].trace))
			heap->untraced_blocks += heap->sites[i].inuse_objects;
	report_unaccounted(heap, findings);
	if (heap->lost_site < heap->site_count)
		hawk_heap_lost_report(heap, heap->sites[heap->lost_site].inuse_objects,
				      heap->sites[heap->lost_site].inuse_bytes, findings);
	return NULL;
}

struct hawk_error *hawk_heap_load_found(struct hawk_findings *findings, struct hawk_heap *heap)
{
	struct hawk_error *err;

	if (!heap->knows) { /* a snapshot may have only its heap's table */
		heap->unknown = heap->table ? HAWK_HEAP_BLOCKS_MISSING
					    : hawk_heap_unknown_why(heap->target, findings);
		return hawk_block_index_init(&heap->index, 0);
	}
	if (heap->knows & HAWK_HEAP_BLOCKS) {
		err = load_blocks(findings, heap);
		return err ? err : doubt_empty(findings, heap);
	}
	if (heap->found[0].source->account)
		return load_sites(findings, heap);
	return hawk_heap_count(heap->target, findings, heap);
}
