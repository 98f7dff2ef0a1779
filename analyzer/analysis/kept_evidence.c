/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Records of chosen blocks from what is kept of each: blocks are counted by site and evidence in a
 * small table, which is folded into records when it is half full, and at the end. What comes out
 * does not depend on when that is.
 */
#include "hawk_kept_evidence.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_kept_leaks.h"
#include "hawk_parallel.h"
#include "hawk_prefetch.h"
#include "hawk_progress.h"
#include "leaks_fold.h"

enum {
	CELLS_LOG2 = 13,
	CELLS = 1 << CELLS_LOG2,
	NO_BIRTH = 256,
	GROUPS_AHEAD = 32,
	GROUPS_PER_RECORD = 16, /**< numbers; fewer are not worth sums of their own for a share */
};

static const uint32_t NO_ITEM = UINT32_MAX;

/** Chosen blocks of one site and with the same evidence. */
struct cell {
	uint32_t site;
	uint32_t item;    /**< index into items */
	uint64_t numbers; /**< of the index; 0 = the cell is empty */
	uint64_t further; /**< of these, further parts of carved blocks */
	uint64_t bytes;
	uint32_t example; /**< as in a record */
	uint32_t birth;   /**< its code; NO_BIRTH = none has one */
};

struct taking {
	struct hawk_leak_fold fold;
	const struct hawk_kept_evidence *kept;
	uint8_t *whole; /**< by record: all blocks of the one that is kept are chosen */
};

/** Blocks one after the other; then groups. */
struct share {
	const struct taking *taking;
	struct hawk_near near;
	uint32_t first, end; /**< the first one is a multiple of 64 */
	struct cell *cells;  /**< CELLS, by hash */
	unsigned used;
	struct hawk_leak_records records;
	struct hawk_chosen sums[HAWK_REACH_KINDS]; /**< as found */
	size_t groups_first, groups_end;
	uint64_t *sources; /**< by record: groups that a chosen block is in */
	struct hawk_error *err;
};

static void hawk_cleanup_taking(struct taking *taking)
{
	free(taking->fold.chosen);
	free(taking->fold.record_of);
	free(taking->whole);
}

bool hawk_kept_evidence_fits(const struct hawk_block_graph *graph)
{
	return graph->evidence && graph->leaks &&
	       graph->evidence->head.downgraded == (hawk_leaks_doubt(graph) != HAWK_LEAKS_NO_DOUBT);
}

static uint32_t find_odd(const struct hawk_kept_evidence *kept, uint32_t block)
{
	size_t low = (size_t)kept->head.coded_count;
	size_t high = kept->item_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kept->items[middle].block < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low < kept->item_count && kept->items[low].block == block ? (uint32_t)low : NO_ITEM;
}

/* The index of a block's evidence. */
static inline uint32_t item_of(const struct hawk_kept_evidence *kept, uint32_t block)
{
	uint16_t code = kept->codes[block];

	return code < kept->head.coded_count ? code : find_odd(kept, block);
}

/* The number of the record that a block is of, whether it is chosen or not. */
static uint32_t record_of(const struct taking *taking, uint32_t block)
{
	uint32_t item = item_of(taking->kept, block);
	enum hawk_reach_kind kind;

	if (item == NO_ITEM)
		return HAWK_LEAK_NO_RECORD;
	kind = hawk_leak_told(&taking->fold, (enum hawk_reach_kind)taking->kept->items[item].kind);
	return taking->fold.record_of[hawk_leak_slot(
		&taking->fold, hawk_block_graph_site(taking->fold.graph, block), kind)];
}

/* Of the same record; their blocks may come in any order. */
static void merge(struct hawk_leak_record *record, const struct hawk_leak_record *more)
{
	bool older = more->has_birth &&
		     (!record->has_birth || more->oldest_units < record->oldest_units);
	bool same =
		more->has_birth == record->has_birth && more->oldest_units == record->oldest_units;

	if (older || (same && more->example < record->example))
		record->example = more->example;
	if (older) {
		record->has_birth = true;
		record->oldest_units = more->oldest_units;
	}
	record->objects += more->objects;
	record->bytes += more->bytes;
	record->pointed_objects += more->pointed_objects;
	record->source_blocks += more->source_blocks;
	record->explained += more->explained;
	for (unsigned i = 0; i < HAWK_LEAK_SOURCES; i++) {
		record->pointers[i].start += more->pointers[i].start;
		record->pointers[i].interior += more->pointers[i].interior;
	}
}

/* What the blocks of a cell come to. */
static struct hawk_leak_record sum_cell(const struct cell *cell, const struct hawk_evidence *item)
{
	struct hawk_leak_record sum = {
		.objects = cell->numbers - cell->further,
		.bytes = cell->bytes,
		.example = cell->example,
		.has_birth = cell->birth != NO_BIRTH,
		.oldest_units =
			cell->birth != NO_BIRTH ? hawk_birth_decode((uint8_t)cell->birth) : 0,
		.source_blocks = item->sources * cell->numbers,
		.explained = item->explained * cell->numbers,
	};
	uint64_t pointers = 0;

	for (unsigned i = 0; i < HAWK_LEAK_SOURCES; i++) {
		sum.pointers[i].start = item->pointers[i].start * cell->numbers;
		sum.pointers[i].interior = item->pointers[i].interior * cell->numbers;
		pointers += sum.pointers[i].start + sum.pointers[i].interior;
	}
	sum.pointed_objects = pointers ? cell->numbers : 0;
	return sum;
}

static struct hawk_error *fold_cell(struct share *share, const struct cell *cell)
{
	const struct hawk_leak_fold *fold = &share->taking->fold;
	const struct hawk_evidence *item = &share->taking->kept->items[cell->item];
	enum hawk_reach_kind kind = (enum hawk_reach_kind)item->kind;
	enum hawk_reach_kind told = hawk_leak_told(fold, kind);
	struct hawk_leak_record sum = sum_cell(cell, item);
	struct hawk_leak_record *record;

	share->sums[kind].objects += sum.objects;
	share->sums[kind].bytes += sum.bytes;
	if (!(fold->kinds >> told & 1))
		return NULL;
	record = hawk_leak_records_for(fold, &share->records, cell->site, told, cell->example);
	if (!record)
		return &hawk_enomem;
	merge(record, &sum);
	return NULL;
}

static void fold_cells(struct share *share)
{
	for (unsigned i = 0; i < CELLS && !share->err; i++)
		if (share->cells[i].numbers)
			share->err = fold_cell(share, &share->cells[i]);
	memset(share->cells, 0, CELLS * sizeof(*share->cells));
	share->used = 0;
}

/* Where the cell of a site and evidence is, or will be. */
static inline struct cell *find_cell(const struct share *share, uint32_t site, uint32_t item)
{
	uint64_t hash = ((uint64_t)site << 32 | item) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> (64 - CELLS_LOG2));

	while (share->cells[at].numbers &&
	       (share->cells[at].site != site || share->cells[at].item != item))
		at = (at + 1) % CELLS;
	return &share->cells[at];
}

static struct cell *make_cell(struct share *share, uint32_t site, uint32_t item, uint32_t block)
{
	struct cell *cell;

	if (share->used == CELLS / 2)
		fold_cells(share);
	share->used++;
	cell = find_cell(share, site, item);
	*cell = (struct cell){.site = site, .item = item, .example = block, .birth = NO_BIRTH};
	return cell;
}

static inline void add_block(struct share *share, uint32_t block)
{
	const struct hawk_block_graph *graph = share->taking->fold.graph;
	const struct hawk_block_index *index = &graph->index;
	uint32_t item = item_of(share->taking->kept, block);
	uint32_t site = hawk_block_graph_site(graph, block);
	struct cell *cell;
	uint16_t head;

	if (item == NO_ITEM)
		return;
	cell = find_cell(share, site, item);
	if (!cell->numbers)
		cell = make_cell(share, site, item, block);
	cell->numbers++;
	cell->further += !hawk_block_index_counts(index, block);
	cell->bytes += hawk_block_index_left_bytes(index, block);
	head = hawk_block_graph_next_head(graph, &share->near, block);
	if (head && (uint8_t)head < cell->birth) {
		cell->birth = (uint8_t)head;
		cell->example = block;
	}
}

static void add_share(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;
	uint64_t told = share->first;

	for (uint32_t first = share->first; first < share->end && !share->err; first += 64) {
		hawk_progress_pass(&told, first);
		for (uint64_t bits = share->taking->fold.chosen[first / 64]; bits; bits &= bits - 1)
			add_block(share, first + (uint32_t)__builtin_ctzll(bits));
	}
	if (!share->err)
		fold_cells(share);
}

static struct hawk_error *join(const struct share *from, struct share *to)
{
	const struct hawk_leak_fold *fold = &to->taking->fold;

	for (size_t i = 0; i < from->records.count; i++) {
		const struct hawk_leak_record *more = &from->records.items[i];
		struct hawk_leak_record *record = hawk_leak_records_for(
			fold, &to->records, more->site, more->kind, more->example);

		if (!record)
			return &hawk_enomem;
		merge(record, more);
	}
	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++) {
		to->sums[kind].objects += from->sums[kind].objects;
		to->sums[kind].bytes += from->sums[kind].bytes;
	}
	return NULL;
}

static struct hawk_error *init_share(const struct taking *taking, unsigned number, unsigned count,
				     struct share *ret)
{
	uint32_t blocks = taking->fold.graph->index.count;
	uint64_t words = (uint64_t)blocks / 64 + 1;

	*ret = (struct share){
		.taking = taking,
		.near = {.target = taking->fold.graph->target},
		.first = (uint32_t)(words * number / count) * 64,
		.end = number + 1 < count ? (uint32_t)(words * (number + 1) / count) * 64 : blocks,
		.cells = calloc(CELLS, sizeof(*ret->cells)),
	};
	return ret->cells ? hawk_leak_records_init(&taking->fold, &ret->records) : &hawk_enomem;
}

static void deinit_shares(struct share *shares)
{
	for (unsigned i = 0; i < HAWK_LEAK_SHARES_MAX; i++) {
		hawk_leak_records_deinit(&shares[i].records);
		free(shares[i].cells);
		free(shares[i].sources);
	}
}

/* The first share has all in the end. */
static struct hawk_error *add_shares(const struct taking *taking, struct share *shares)
{
	unsigned count = hawk_leak_count_shares(&taking->fold);
	struct hawk_error *err = NULL;
	struct hawk_progress progress;

	for (unsigned i = 0; i < count && !err; i++)
		err = init_share(taking, i, count, &shares[i]);
	if (err)
		return err;
	hawk_progress_begin(&progress, "recording lost blocks", taking->fold.graph->index.count);
	hawk_parallel_run(count, add_share, shares);
	hawk_progress_end(&progress);
	for (unsigned i = 0; i < count && !err; i++)
		err = shares[i].err;
	for (unsigned i = 1; i < count && !err; i++)
		err = join(&shares[i], &shares[0]);
	return err;
}

static struct hawk_error *add_blocks(struct taking *taking)
{
	struct share shares[HAWK_LEAK_SHARES_MAX] = {{0}};
	struct hawk_error *err = add_shares(taking, shares);

	if (!err) {
		taking->fold.leaks->records = take_ptr(&shares[0].records.items);
		taking->fold.leaks->count = shares[0].records.count;
		taking->fold.record_of = take_ptr(&shares[0].records.numbers);
		for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++)
			hawk_leak_add_sum(&taking->fold, (enum hawk_reach_kind)kind,
					  &shares[0].sums[kind]);
	}
	deinit_shares(shares);
	return err;
}

/* Whether there is a record that some blocks are missing of, so that groups have to be looked at.
 * Parts of one block may be of several records: then numbers of blocks say nothing. */
static struct hawk_error *find_whole(struct taking *taking, bool *ret)
{
	const struct hawk_leak_fold *fold = &taking->fold;
	const struct hawk_kept_leaks *kept = fold->graph->leaks;
	size_t whole = 0;

	taking->whole = calloc(fold->leaks->count + 1, sizeof(*taking->whole));
	if (!taking->whole)
		return &hawk_enomem;
	for (size_t i = 0; i < kept->count && !fold->graph->index.part_count; i++) {
		const struct hawk_leak_record *all = &kept->records[i];
		uint32_t number = fold->record_of[hawk_leak_slot(fold, all->site, all->kind)];

		if (number == HAWK_LEAK_NO_RECORD ||
		    fold->leaks->records[number].objects != all->objects)
			continue;
		fold->leaks->records[number].source_blocks = all->source_blocks;
		taking->whole[number] = true;
		whole++;
	}
	*ret = whole < fold->leaks->count;
	return NULL;
}

static void prefetch_group(const struct taking *taking, size_t at)
{
	uint32_t block = taking->kept->groups[at] >> 1;

	if (block >= taking->fold.graph->index.count)
		return;
	hawk_prefetch(&taking->fold.chosen[block / 64]);
	hawk_prefetch(&taking->kept->codes[block]);
	hawk_prefetch(&taking->fold.graph->index.traces[block]);
}

static bool is_chosen(const struct taking *taking, uint32_t block)
{
	return block < taking->fold.graph->index.count && hawk_leak_bit(taking->fold.chosen, block);
}

/* Groups that begin in the share. */
static void add_groups(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;
	const struct taking *taking = share->taking;
	const struct hawk_kept_evidence *kept = taking->kept;
	bool counted = true; /* what belongs to a group before */

	for (size_t i = share->groups_first; i < kept->group_count; i++) {
		uint32_t block = kept->groups[i] >> 1;
		uint32_t record;

		if (kept->groups[i] & 1 && i >= share->groups_end)
			return;
		if (kept->group_count - i > GROUPS_AHEAD)
			prefetch_group(taking, i + GROUPS_AHEAD);
		counted = counted && !(kept->groups[i] & 1);
		if (counted || !is_chosen(taking, block))
			continue;
		counted = true;
		record = record_of(taking, block);
		if (record != HAWK_LEAK_NO_RECORD)
			share->sources[record]++;
	}
}

/* Those of records that are not whole. */
static void add_sources(const struct taking *taking, const struct share *share)
{
	for (size_t i = 0; i < taking->fold.leaks->count; i++)
		if (!taking->whole[i])
			taking->fold.leaks->records[i].source_blocks += share->sources[i];
}

static struct hawk_error *add_all_groups(const struct taking *taking)
{
	struct share shares[HAWK_LEAK_SHARES_MAX] = {{0}};
	size_t groups = taking->kept->group_count;
	unsigned count = groups / GROUPS_PER_RECORD < taking->fold.leaks->count
				 ? 1
				 : hawk_leak_count_shares(&taking->fold);
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < count && !err; i++) {
		shares[i].taking = taking;
		shares[i].groups_first = groups * i / count;
		shares[i].groups_end = groups * (i + 1) / count;
		shares[i].sources = calloc(taking->fold.leaks->count, sizeof(uint64_t));
		err = shares[i].sources ? NULL : &hawk_enomem;
	}
	if (!err)
		hawk_parallel_run(count, add_groups, shares);
	for (unsigned i = 0; i < count && !err; i++)
		add_sources(taking, &shares[i]);
	deinit_shares(shares);
	return err;
}

static void find_first_roots(const struct taking *taking)
{
	const struct hawk_roots *roots = &taking->fold.graph->roots;

	for (size_t i = 0; i < roots->count; i++) {
		uint32_t block = roots->items[i].edge >> 1;
		uint32_t number =
			is_chosen(taking, block) ? record_of(taking, block) : HAWK_LEAK_NO_RECORD;

		if (number != HAWK_LEAK_NO_RECORD &&
		    taking->fold.leaks->records[number].first_root == UINT32_MAX)
			taking->fold.leaks->records[number].first_root = (uint32_t)i;
	}
}

static void add_lost(const struct taking *taking)
{
	const struct hawk_kept_evidence *kept = taking->kept;

	for (size_t i = 0; i < kept->lost_count; i++) {
		const struct hawk_lost_through *lost = &kept->lost[i];
		uint32_t number = is_chosen(taking, lost->block) ? record_of(taking, lost->block)
								 : HAWK_LEAK_NO_RECORD;

		if (number == HAWK_LEAK_NO_RECORD)
			continue;
		taking->fold.leaks->records[number].indirect_objects += lost->objects;
		taking->fold.leaks->records[number].indirect_bytes += lost->bytes;
	}
}

static struct hawk_error *take(struct taking *taking, const struct hawk_choice_wish *filter)
{
	struct hawk_leak_fold *fold = &taking->fold;
	struct hawk_error *err = hawk_choice_bits_make(fold->graph, filter, false, &fold->chosen);
	bool some = false;

	if (!err)
		err = add_blocks(taking);
	if (!err)
		err = find_whole(taking, &some);
	if (!err && some)
		err = add_all_groups(taking);
	if (err)
		return err;
	find_first_roots(taking);
	add_lost(taking);
	hawk_leaks_sort(fold->graph->heap, fold->leaks);
	return NULL;
}

struct hawk_error *hawk_kept_evidence_take(const struct hawk_block_graph *graph, unsigned kinds,
					   const struct hawk_choice_wish *filter,
					   struct hawk_leaks *ret)
{
	struct hawk_leaks leaks = {.downgraded = graph->evidence->head.downgraded};
	CLEANUP(taking)
	struct taking taking = {
		.fold = {.graph = graph, .kinds = kinds, .leaks = &leaks},
		.kept = graph->evidence,
	};
	struct hawk_error *err;

	memcpy(leaks.heuristics, graph->leaks->sums.heuristics, sizeof(leaks.heuristics));
	err = take(&taking, filter);
	if (err)
		hawk_leaks_deinit(&leaks);
	else
		*ret = leaks;
	return err;
}
