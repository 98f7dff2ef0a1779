/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What one walk of a source gives becomes the block index, and sums by trace, which become sites.
 */
#include "hawk/base/cleanup.h"
#include "counted.h"
#include "outside.h"
#include "hawk/heap/lost.h"
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

/** Of one walk. */
struct tallies {
	uint32_t trace_count;
	/** By trace id, one for each part of the walk; the last one is for ids that are not in the
	 * table. */
	struct tally *parts[HAWK_HEAP_PARTS_MAX];
	unsigned threads;
	struct hawk_block_index *index;
	char *refusal; /**< why there are no more blocks in the index; NULL = all are */
	/** Numbers among `parts` of the latest blocks of each depth that may be carved up. */
	uint32_t latest[HAWK_BLOCK_DEPTH_MAX + 1];
	uint64_t sample_mean;
	struct hawk_sample_tally *samples; /**< as a part; NULL without a mean */
	struct hawk_heap_outside outside;
};

/* Counts a block, whatever was carved out of it. Returns the tally's number. */
static inline uint32_t add_block(const struct tallies *tallies, struct tally *part,
				 const struct hawk_block *block)
{
	uint32_t number = block->trace < tallies->trace_count ? block->trace : tallies->trace_count;
	struct tally *tally = &part[number];

	if (!tally->objects || block->birth < tally->oldest)
		tally->oldest = block->birth;
	if (block->birth > tally->newest)
		tally->newest = block->birth;
	tally->objects++;
	tally->bytes += block->size;
	return number;
}

/* Sums of floating point, which depend on the order. */
static void add_samples(struct tallies *tallies, const struct hawk_block *blocks, size_t count)
{
	if (tallies->samples)
		hawk_site_samples_add_blocks(blocks, count, tallies->sample_mean,
					     tallies->trace_count, tallies->samples);
}

/* Blocks that cannot be numbered are counted all the same. */
static struct hawk_error *refuse(struct tallies *tallies, struct hawk_error *err)
{
	if (!err || hawk_error_code(err) != HAWK_ERROR_UNSUPPORTED)
		return err;
	tallies->refusal = strdup(hawk_error_message(err));
	hawk_error_destroy(err);
	return tallies->refusal ? NULL : &hawk_enomem;
}

static struct hawk_error *take_blocks(void *context, const struct hawk_block *blocks, size_t count)
{
	struct tallies *tallies = context;
	struct hawk_error *err = hawk_heap_outside_take(&tallies->outside, blocks, count);

	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		const struct hawk_block *block = &blocks[i];

		tallies->latest[block->depth] = add_block(tallies, tallies->parts[0], block);
		if (block->depth) /* what was carved out of a block is no longer its own */
			tallies->parts[0][tallies->latest[block->depth - 1]].bytes -=
				block->size + HAWK_HEADER_BYTES;
	}
	add_samples(tallies, blocks, count);
	if (tallies->refusal)
		return NULL;
	return refuse(tallies, hawk_block_index_add(tallies->index, blocks, count));
}

static struct hawk_error *reserve_blocks(void *context, struct hawk_heap_run *run, bool *ret)
{
	struct tallies *tallies = context;
	struct hawk_error *err = NULL;

	*ret = !tallies->refusal;
	if (*ret)
		err = refuse(tallies, hawk_block_index_reserve(tallies->index, run, ret));
	if (tallies->refusal)
		*ret = false;
	if (err || !*ret)
		return err;
	add_samples(tallies, run->blocks, run->count);
	return hawk_heap_outside_take(&tallies->outside, run->blocks, run->count);
}

static void fill_blocks(void *context, const struct hawk_heap_run *run, unsigned part)
{
	struct tallies *tallies = context;

	for (size_t i = 0; i < run->count; i++)
		add_block(tallies, tallies->parts[part], &run->blocks[i]);
	hawk_block_index_fill(tallies->index, run, part);
}

static struct hawk_error *make_tallies(const struct hawk_heap *heap, struct tallies *tallies)
{
	size_t count = (size_t)heap->trace_count + 1;

	tallies->trace_count = heap->trace_count;
	tallies->sample_mean = heap->sample_mean;
	for (unsigned i = 0; i < tallies->threads && i < HAWK_HEAP_PARTS_MAX; i++) {
		tallies->parts[i] = calloc(count, sizeof(*tallies->parts[i]));
		if (!tallies->parts[i])
			return &hawk_enomem;
	}
	if (heap->sample_mean)
		tallies->samples = calloc(count, sizeof(*tallies->samples));
	return heap->sample_mean && !tallies->samples ? &hawk_enomem : NULL;
}

static void free_tallies(struct tallies *tallies)
{
	for (unsigned i = 0; i < HAWK_HEAP_PARTS_MAX; i++)
		free(tallies->parts[i]);
	free(tallies->samples);
	free(tallies->refusal);
	free(tallies->outside.spans.items);
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
	for (unsigned i = 0; i < HAWK_HEAP_PARTS_MAX && tallies->parts[i]; i++) {
		for (uint32_t id = 0; id < heap->trace_count; id++)
			add_tally(&heap->sites[heap->site_of_trace[id]], &tallies->parts[i][id]);
		add_tally(&heap->sites[HAWK_SITE_MAP_LOST], &tallies->parts[i][heap->trace_count]);
	}
}

/* Blocks that may count as live without a header, in tables of tracers that were not exact in the
 * middle of a call: one for each thread, but the one that died rarely was in one. */
static size_t blocks_in_flight(const struct hawk_heap *heap)
{
	size_t threads;

	if (!heap->table ||
	    hawk_table_header(heap->table)->compatible_flags & HAWK_TABLE_COUNTS_SEALED)
		return 0;
	hawk_target_threads(heap->target, &threads);
	return threads && hawk_target_process(heap->target)->signal ? threads - 1 : threads;
}

/* Whether the counters tell how many blocks there should be. */
static bool counters_are_known(const struct hawk_heap *heap)
{
	if (!(heap->knows & HAWK_HEAP_COUNTERS))
		return false;
	/* A file goes on counting when the core of a process that lives has been written. */
	if (hawk_target_table(heap->target) != heap->target &&
	    !hawk_target_process(heap->target)->signal)
		return false;
	return !heap->discarded_heaps && /* frees of theirs were not counted */
	       !(heap->table &&
		 hawk_table_header(heap->table)->compatible_flags & HAWK_TABLE_COPIED);
}

/* Blocks that the counters call live and the walk did not find. */
static uint64_t blocks_not_found(const struct hawk_heap *heap)
{
	const struct hawk_table_totals *totals = &heap->totals;
	uint64_t found = totals->free_objects + heap->sums.blocks;

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
	       !heap->sums.implausible;
}

/* So many, and such a share of those that were found, are not what a program overwrites. */
enum { UNACCOUNTED_MANY = 64, UNACCOUNTED_SHARE = 16 };

/* Where all memory is there, their headers were overwritten. Says so, and has roots look for what
 * such blocks held. */
static void report_unaccounted(struct hawk_heap *heap, struct hawk_findings *findings)
{
	uint64_t unaccounted = hawk_heap_unaccounted(heap);

	heap->regions.blocks_missing =
		heap->dropped_objects || unaccounted || heap->sums.implausible;
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

struct hawk_error *hawk_heap_doubt_empty(const struct hawk_findings *findings,
					 struct hawk_heap *heap)
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
	empty.table = take_ptr(&heap->table);
	hawk_heap_deinit(heap);
	*heap = empty;
	return hawk_block_index_init(&heap->index, 0);
}

static struct hawk_error *walk(struct hawk_findings *findings, struct tallies *tallies,
			       struct hawk_heap *heap)
{
	const struct hawk_heap_sink sink = {
		.context = tallies,
		.take = take_blocks,
		.reserve = reserve_blocks,
		.fill = fill_blocks,
	};
	struct hawk_error *err =
		heap->source->walk(heap, tallies->threads, &sink, findings, &heap->sums);

	if (!err && !tallies->refusal)
		err = refuse(tallies, hawk_block_index_finish(&heap->index));
	if (err || !tallies->refusal)
		return err;
	heap->refusal = take_ptr(&tallies->refusal);
	hawk_block_index_deinit(&heap->index);
	return hawk_block_index_init(&heap->index, 0);
}

/* Whether they can be read later. */
static bool headers_stay(const struct hawk_heap *heap)
{
	return heap->knows & HAWK_HEAP_CONTENTS && !hawk_target_process(heap->target)->live;
}

static struct hawk_error *account(struct hawk_heap *heap)
{
	return heap->source->account ? heap->source->account(heap)
				     : hawk_accounting_make(heap, &heap->accounting);
}

static struct hawk_error *find_blocks(struct hawk_findings *findings, struct tallies *tallies,
				      struct hawk_heap *heap)
{
	uint64_t bytes = hawk_target_present_bytes(heap->target);
	struct hawk_error *err = make_tallies(heap, tallies);

	if (!err)
		err = hawk_block_index_init(&heap->index, bytes);
	if (!err && heap->source->has_headers && !headers_stay(heap))
		err = hawk_block_index_keep_heads(&heap->index, bytes);
	if (!err)
		err = walk(findings, tallies, heap);
	if (!err)
		err = hawk_heap_outside_finish(&tallies->outside);
	if (err)
		return err;
	if (tallies->outside.spans.count) {
		heap->regions.outside = tallies->outside.spans;
		tallies->outside.spans = (struct hawk_spans){0};
	}
	report_unaccounted(heap, findings);
	return account(heap);
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
	return hawk_site_map_finish(heap, true);
}

static struct hawk_error *load_blocks(struct hawk_findings *findings, struct hawk_heap *heap)
{
	struct tallies tallies = {
		.threads = hawk_parallel_threads(),
		.index = &heap->index,
		.outside = {.source = heap->source, .target = heap->target},
	};
	struct hawk_error *err = find_blocks(findings, &tallies, heap);

	if (!err)
		err = make_sites(findings, &tallies, heap);
	free_tallies(&tallies);
	return err;
}

/* Of a source that has nothing else. */
static struct hawk_error *load_sites(struct hawk_findings *findings, struct hawk_heap *heap)
{
	struct hawk_error *err = hawk_block_index_init(&heap->index, 0);

	if (!err)
		err = account(heap);
	if (err)
		return err;
	report_unaccounted(heap, findings);
	if (heap->lost_site < heap->site_count)
		hawk_heap_lost_report(heap, heap->sites[heap->lost_site].inuse_objects,
				      heap->sites[heap->lost_site].inuse_bytes, findings);
	return NULL;
}

/* In the order in which they are asked; the first that finds a heap is taken. */
static const struct hawk_heap_source *const sources[] = {&hawk_heap_snapshot, &hawk_heap_sealed};

/* Whether there is a heap of the source; what is known before any block. */
static struct hawk_error *find(const struct hawk_heap_source *source,
			       struct hawk_findings *findings, struct hawk_heap *heap, bool *ret)
{
	struct hawk_error *err = source->find(source, heap, findings, ret);

	if (!err && *ret)
		heap->source = source;
	return err;
}

static struct hawk_error *find_any(struct hawk_findings *findings, struct hawk_heap *heap,
				   bool *ret)
{
	struct hawk_error *err = NULL;

	*ret = false;
	for (size_t i = 0; !err && !*ret && i < sizeof(sources) / sizeof(sources[0]); i++)
		err = find(sources[i], findings, heap, ret);
	return err;
}

/* Of a snapshot's heap only the table may be there. */
static void note_unknown(const struct hawk_findings *findings, struct hawk_heap *heap)
{
	if (!heap->knows)
		heap->unknown = heap->table ? HAWK_HEAP_BLOCKS_MISSING
					    : hawk_heap_unknown_why(heap->target, findings);
}

static struct hawk_error *load(bool found, struct hawk_findings *findings, struct hawk_heap *heap)
{
	struct hawk_error *err;

	note_unknown(findings, heap);
	if (!found || !heap->knows)
		return hawk_block_index_init(&heap->index, 0);
	if (heap->knows & HAWK_HEAP_BLOCKS) {
		err = load_blocks(findings, heap);
		return err ? err : hawk_heap_doubt_empty(findings, heap);
	}
	if (heap->source->account)
		return load_sites(findings, heap);
	return hawk_heap_count(heap->target, findings, heap);
}

/* `heap` goes to `ret`, or away after an error. */
static struct hawk_error *give(struct hawk_error *err, struct hawk_heap *heap,
			       struct hawk_heap *ret)
{
	if (err)
		hawk_heap_deinit(heap);
	else
		*ret = *heap;
	return err;
}

struct hawk_error *hawk_heap_load_from(const struct hawk_heap_source *source,
				       struct hawk_target *target, struct hawk_findings *findings,
				       struct hawk_heap *ret)
{
	struct hawk_heap heap = {.target = target};
	bool found = false;
	struct hawk_error *err = find(source, findings, &heap, &found);

	if (!err)
		err = load(found, findings, &heap);
	return give(err, &heap, ret);
}

struct hawk_error *hawk_heap_load(struct hawk_target *target, struct hawk_findings *findings,
				  struct hawk_heap *ret)
{
	struct hawk_heap heap = {.target = target};
	bool found;
	struct hawk_error *err = find_any(findings, &heap, &found);

	if (!err)
		err = load(found, findings, &heap);
	return give(err, &heap, ret);
}

/* Of a source that cannot look at single addresses. What it finds damaged is said when its blocks
 * are walked for the answer. */
static struct hawk_error *index_blocks(struct hawk_heap *heap)
{
	uint64_t bytes = hawk_target_present_bytes(heap->target);
	const struct hawk_heap_sink sink = {
		.context = &heap->index,
		.take = hawk_block_index_add,
		.reserve = hawk_block_index_reserve,
		.fill = hawk_block_index_fill,
	};
	struct hawk_heap_sums sums;
	struct hawk_error *err = hawk_block_index_init(&heap->index, bytes);

	if (err || !(heap->knows & HAWK_HEAP_BLOCKS))
		return err;
	if (heap->source->has_headers && !headers_stay(heap))
		err = hawk_block_index_keep_heads(&heap->index, bytes);
	if (!err)
		err = heap->source->walk(heap, hawk_parallel_threads(), &sink, NULL, &sums);
	return err ? err : hawk_block_index_finish(&heap->index);
}

struct hawk_error *hawk_heap_load_table(struct hawk_target *target, struct hawk_findings *findings,
					struct hawk_heap *ret)
{
	struct hawk_heap heap = {.target = target};
	bool found;
	struct hawk_error *err = find_any(findings, &heap, &found);

	note_unknown(findings, &heap);
	found = found && heap.knows;
	if (!err && found && !heap.source->at)
		err = index_blocks(&heap);
	if (!err && found)
		err = hawk_site_map_make(&heap);
	if (!err && found)
		err = hawk_site_map_finish(&heap, false);
	return give(err, &heap, ret);
}

struct hawk_error *hawk_heap_walk(const struct hawk_heap *heap, hawk_heap_function *take,
				  void *context, struct hawk_findings *findings)
{
	const struct hawk_heap_sink sink = {.context = context, .take = take};
	struct hawk_heap_sums sums;

	return heap->source->walk(heap, 1, &sink, findings, &sums);
}

/* In front of the next block? */
static enum hawk_block_state header_at(const struct hawk_heap *heap, uint64_t address,
				       struct hawk_block *ret)
{
	uint32_t block = hawk_block_index_first(&heap->index, address + 1);
	uint64_t bytes = HAWK_HEADER_BYTES;
	struct hawk_block next;

	if (block == heap->index.count)
		return HAWK_BLOCK_NONE;
	hawk_heap_block(heap, block, &next);
	if (next.offset_code != HAWK_OFFSET_LARGE)
		bytes = UINT64_C(16) << next.offset_code;
	if (next.start <= address || next.start - address > bytes)
		return HAWK_BLOCK_NONE;
	*ret = next;
	return HAWK_BLOCK_HEADER;
}

enum hawk_block_state hawk_heap_at(const struct hawk_heap *heap, uint64_t address,
				   struct hawk_block *ret)
{
	bool interior;
	uint32_t block;

	if (heap->source->at)
		return heap->source->at(heap, address, ret);
	/* The header of a block that was carved out of another one lies in that. */
	if (heap->source->has_headers && header_at(heap, address, ret) == HAWK_BLOCK_HEADER)
		return HAWK_BLOCK_HEADER;
	block = heap->index.count ? hawk_block_index_find(&heap->index, address, &interior)
				  : HAWK_BLOCK_NOWHERE;
	if (block == HAWK_BLOCK_NOWHERE)
		return HAWK_BLOCK_NONE;
	hawk_heap_block(heap, block, ret);
	return HAWK_BLOCK_LIVE;
}

void hawk_heap_deinit(struct hawk_heap *heap)
{
	hawk_table_close(heap->table);
	hawk_heap_regions_deinit(&heap->regions);
	free(heap->sites);
	free(heap->site_of_trace);
	free(heap->refusal);
	hawk_block_index_deinit(&heap->index);
	memset(heap, 0, sizeof(*heap));
}

double hawk_heap_age_seconds(const struct hawk_heap *heap, uint64_t birth_units)
{
	uint64_t now = heap->life.end_units;

	if (birth_units >= now)
		return 0;
	return (double)(now - birth_units) * ((double)HAWK_BIRTH_UNIT_NS / 1e9);
}
