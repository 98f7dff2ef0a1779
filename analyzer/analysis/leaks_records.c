/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks counted by site and kind: each thread has records of its share of them, which are joined
 * in the order of addresses, so that they are what one thread finds. Which of 64 blocks count is
 * told from their kinds at once. SSE2 is part of x86-64.
 */
#include <emmintrin.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_parallel.h"
#include "hawk_progress.h"
#include "leaks_fold.h"

enum { WORD_BLOCKS = 64, VECTOR_BYTES = 16 };

struct share {
	const struct hawk_leak_fold *fold;
	struct hawk_near near;
	uint32_t first, end;                       /**< the first one is a multiple of 64 */
	struct hawk_chosen sums[HAWK_REACH_KINDS]; /**< as found; with a choice only */
	struct hawk_leak_records records;
	struct hawk_error *err;
};

struct hawk_error *hawk_leak_records_init(const struct hawk_leak_fold *fold,
					  struct hawk_leak_records *ret)
{
	size_t bytes = hawk_leak_slot_count(fold) * sizeof(*ret->numbers);

	*ret = (struct hawk_leak_records){.numbers = malloc(bytes)};
	if (!ret->numbers)
		return &hawk_enomem;
	memset(ret->numbers, 0xff, bytes);
	return NULL;
}

void hawk_leak_records_deinit(struct hawk_leak_records *records)
{
	free(records->items);
	free(records->numbers);
	*records = (struct hawk_leak_records){0};
}

struct hawk_leak_record *hawk_leak_records_make(const struct hawk_leak_fold *fold,
						struct hawk_leak_records *records, uint32_t site,
						enum hawk_reach_kind kind, uint32_t block)
{
	if (records->count == records->capacity) {
		size_t more = records->capacity ? 2 * records->capacity : 64;
		void *moved = reallocarray(records->items, more, sizeof(*records->items));

		if (!moved)
			return NULL;
		records->items = moved;
		records->capacity = more;
	}
	records->numbers[hawk_leak_slot(fold, site, kind)] = (uint32_t)records->count;
	records->items[records->count] = (struct hawk_leak_record){
		.site = site,
		.kind = kind,
		.example = block,
		.first_root = UINT32_MAX,
	};
	return &records->items[records->count++];
}

/* Of the blocks of a word those of a kind, as found. */
static uint64_t of_kind(const uint8_t *kinds, uint32_t count, unsigned kind)
{
	__m128i wanted = _mm_set1_epi8((char)kind);
	uint64_t bits = 0;

	if (count >= WORD_BLOCKS) {
		for (unsigned i = 0; i < WORD_BLOCKS; i += VECTOR_BYTES) {
			__m128i some = _mm_loadu_si128((const __m128i *)(kinds + i));

			bits |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(some, wanted))
				<< i;
		}
		return bits;
	}
	for (unsigned i = 0; i < count; i++)
		bits |= (uint64_t)(kinds[i] == kind) << i;
	return bits;
}

/* The first one of the oldest is the example. */
static void note_age(struct hawk_leak_record *record, uint32_t block, uint64_t units)
{
	if (record->has_birth && record->oldest_units <= units)
		return;
	record->has_birth = true;
	record->oldest_units = units;
	record->example = block;
}

static struct hawk_error *add_block(struct share *share, uint32_t block)
{
	const struct hawk_block_graph *graph = share->fold->graph;
	struct hawk_leak_record *record = hawk_leak_records_for(
		share->fold, &share->records, hawk_block_graph_site(graph, block),
		hawk_leak_kind(share->fold, block), block);
	uint16_t head;

	if (!record)
		return &hawk_enomem;
	record->objects += hawk_block_index_counts(&graph->index, block);
	record->bytes += hawk_block_index_left_bytes(&graph->index, block);
	head = hawk_block_graph_next_head(graph, &share->near, block);
	if (head)
		note_age(record, block, hawk_birth_decode((uint8_t)head));
	return NULL;
}

/* Of the 64 blocks from `first` on, those that are chosen go into sums, and those that count for a
 * record are returned. */
static uint64_t take_word(struct share *share, uint32_t first)
{
	const struct hawk_leak_fold *fold = share->fold;
	const uint8_t *kinds = fold->leaks->reach.kinds + first;
	uint64_t chosen = fold->chosen ? fold->chosen[first / 64] : UINT64_MAX;
	uint64_t recorded = 0;

	for (unsigned kind = 0; kind < HAWK_REACH_KINDS && chosen; kind++) {
		bool is_wanted =
			fold->kinds >> hawk_leak_told(fold, (enum hawk_reach_kind)kind) & 1;
		uint64_t bits;

		if (!fold->chosen && !is_wanted)
			continue;
		bits = of_kind(kinds, share->end - first, kind) & chosen;
		if (fold->chosen)
			hawk_chosen_add_64(&share->sums[kind], &fold->graph->index, first, bits);
		recorded |= is_wanted ? bits : 0;
	}
	return recorded;
}

static void add_share(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;
	uint64_t told = share->first;

	for (uint32_t first = share->first; first < share->end && !share->err;
	     first += WORD_BLOCKS) {
		uint64_t recorded = take_word(share, first);

		hawk_progress_pass(&told, first);
		share->fold->recorded[first / 64] = recorded;
		for (; recorded && !share->err; recorded &= recorded - 1)
			share->err = add_block(share, first + (uint32_t)__builtin_ctzll(recorded));
	}
}

/* Records of blocks that lie behind all of `to`. */
static struct hawk_error *join(const struct share *from, struct share *to)
{
	for (size_t i = 0; i < from->records.count; i++) {
		const struct hawk_leak_record *more = &from->records.items[i];
		struct hawk_leak_record *record = hawk_leak_records_for(
			to->fold, &to->records, more->site, more->kind, more->example);

		if (!record)
			return &hawk_enomem;
		record->objects += more->objects;
		record->bytes += more->bytes;
		if (more->has_birth)
			note_age(record, more->example, more->oldest_units);
	}
	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++) {
		to->sums[kind].objects += from->sums[kind].objects;
		to->sums[kind].bytes += from->sums[kind].bytes;
	}
	return NULL;
}

void hawk_leak_add_sum(struct hawk_leak_fold *fold, enum hawk_reach_kind kind,
		       const struct hawk_chosen *sum)
{
	struct hawk_leaks *leaks = fold->leaks;
	enum hawk_reach_kind told = hawk_leak_told(fold, kind);

	leaks->sums[told].objects += sum->objects;
	leaks->sums[told].bytes += sum->bytes;
	if (kind == told)
		return;
	leaks->downgrade.objects += sum->objects;
	leaks->downgrade.bytes += sum->bytes;
}

/* Of all blocks they are known. */
static void add_sums(struct hawk_leak_fold *fold, const struct hawk_chosen *chosen)
{
	const struct hawk_reach_sum *all = fold->leaks->reach.sums;

	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++) {
		struct hawk_chosen sum = {all[kind].objects, all[kind].bytes};

		hawk_leak_add_sum(fold, (enum hawk_reach_kind)kind,
				  fold->chosen ? &chosen[kind] : &sum);
	}
}

unsigned hawk_leak_count_shares(const struct hawk_leak_fold *fold)
{
	uint32_t count = fold->graph->index.count;
	unsigned threads = hawk_block_graph_threads(fold->graph);

	if (count / HAWK_LEAK_PER_RECORD < hawk_leak_slot_count(fold))
		return 1;
	return threads < HAWK_LEAK_SHARES_MAX ? threads : HAWK_LEAK_SHARES_MAX;
}

/* The first one has all in the end. */
static struct hawk_error *add_shares(const struct hawk_leak_fold *fold, struct share *shares,
				     unsigned count)
{
	uint64_t words = (uint64_t)fold->graph->index.count / WORD_BLOCKS + 1;
	struct hawk_error *err = NULL;
	struct hawk_progress progress;

	for (unsigned i = 0; i < count && !err; i++) {
		shares[i] = (struct share){
			.fold = fold,
			.near = {.target = fold->graph->target},
			.first = (uint32_t)(words * i / count) * WORD_BLOCKS,
			.end = (uint32_t)(words * (i + 1) / count) * WORD_BLOCKS,
		};
		err = hawk_leak_records_init(fold, &shares[i].records);
	}
	if (err)
		return err;
	shares[count - 1].end = fold->graph->index.count;
	hawk_progress_begin(&progress, "recording lost blocks", fold->graph->index.count);
	hawk_parallel_run(count, add_share, shares);
	hawk_progress_end(&progress);
	for (unsigned i = 0; i < count && !err; i++)
		err = shares[i].err;
	for (unsigned i = 1; i < count && !err; i++)
		err = join(&shares[i], &shares[0]);
	return err;
}

struct hawk_error *hawk_leaks_add_blocks(struct hawk_leak_fold *fold)
{
	struct share shares[HAWK_LEAK_SHARES_MAX] = {{0}};
	struct hawk_error *err;

	fold->recorded = hawk_leak_bits(fold->graph);
	if (!fold->recorded)
		return &hawk_enomem;
	err = add_shares(fold, shares, hawk_leak_count_shares(fold));
	if (!err) {
		add_sums(fold, shares[0].sums);
		fold->leaks->records = take_ptr(&shares[0].records.items);
		fold->leaks->count = shares[0].records.count;
		fold->record_of = take_ptr(&shares[0].records.numbers);
	}
	for (unsigned i = 0; i < HAWK_LEAK_SHARES_MAX; i++)
		hawk_leak_records_deinit(&shares[i].records);
	return err;
}
