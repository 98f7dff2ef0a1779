/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Three batches of blocks are under way: the last one's memory is asked for; the one before has it,
 * and its pointers tell which records of the index are needed; the first one has these. Rule by
 * rule in loops without branches: what one block holds does not hold up the next.
 */
#include "schema_sieve.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_progress.h"

enum {
	BITS = 64,
	BATCHES = 3,
	WORD_BYTES = sizeof(uint64_t),
	FETCH_BYTES = 16, /**< words so far apart may lie in other cache lines */
	GRANULE_BITS = 64,
	GRANULES_LOG2 = HAWK_CHUNK_GRANULES_LOG2,
};

struct batch {
	unsigned count;
	uint64_t doubts; /**< by block: to be looked at closer */
	uint32_t numbers[BITS];
	const uint8_t *bytes[BITS]; /**< or zeros, where there is doubt already */
	/** By rule of pointers: granule ids; 0, where no block is: nobody knows. */
	uint32_t granules[HAWK_SCHEMA_SIEVE_RULES_MAX][BITS];
	uint64_t nulls[HAWK_SCHEMA_SIEVE_RULES_MAX];  /**< which fit */
	uint64_t inside[HAWK_SCHEMA_SIEVE_RULES_MAX]; /**< not at the start of a granule */
};

struct sieving {
	struct hawk_schema_sieve *sieve;
	const struct hawk_block_index *index;
	size_t head_bytes; /**< of a block, that the rules are about */
	bool one_size;     /**< all blocks are of that, and of the group */
	uint32_t fetched[HAWK_SCHEMA_SIEVE_RULES_MAX]; /**< offsets of what is asked for */
	unsigned fetch_count;
	const uint8_t *nothing; /**< `head_bytes` of zeros */
	struct batch *now, *next, *last;
};

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/** Its words are asked for. */
static void take_number(struct sieving *sieving, uint32_t number, uint64_t size)
{
	struct batch *batch = sieving->last;
	uint64_t start = hawk_block_start(sieving->index, number);
	const uint8_t *bytes = hawk_near_view(&sieving->sieve->near, start, sieving->head_bytes);

	if (!bytes || size < sieving->head_bytes) {
		batch->doubts |= UINT64_C(1) << batch->count;
		bytes = sieving->nothing;
	}
	for (unsigned i = 0; i < sieving->fetch_count; i++)
		hawk_prefetch(bytes + sieving->fetched[i]);
	batch->numbers[batch->count] = number;
	batch->bytes[batch->count++] = bytes;
}

static void find_granules(const struct sieving *sieving, struct batch *batch, unsigned rule)
{
	const struct hawk_block_index *index = sieving->index;
	uint32_t at = sieving->sieve->rules->items[rule].at;
	uint32_t *granules = batch->granules[rule];
	uint64_t nulls = 0, inside = 0;

	for (unsigned i = 0; i < batch->count; i++) {
		uint64_t word = word_at(batch->bytes[i] + at);
		uint64_t chunk_at = word >> HAWK_CHUNK_LOG2;
		uint64_t is_known = chunk_at < UINT64_C(1) << HAWK_DIRECTORY_LOG2;
		uint32_t chunk = index->directory[is_known ? chunk_at : 0];
		uint32_t granule = chunk << GRANULES_LOG2 | ((uint32_t)(word / HAWK_GRANULE_BYTES) &
							     ((UINT32_C(1) << GRANULES_LOG2) - 1));

		is_known &= (chunk != 0) & (chunk != HAWK_CHUNK_INSIDE);
		granule &= -(uint32_t)is_known;
		granules[i] = granule;
		nulls |= (uint64_t)!word << i;
		inside |= (uint64_t)(word % HAWK_GRANULE_BYTES != 0) << i;
		hawk_prefetch(&index->records[granule / GRANULE_BITS].covers);
	}
	batch->nulls[rule] = nulls;
	batch->inside[rule] = inside;
}

static void compare_numbers(const struct sieving *sieving, struct batch *batch, unsigned rule)
{
	uint32_t at = sieving->sieve->rules->items[rule].at;
	uint64_t small = sieving->sieve->small, doubts = 0;

	for (unsigned i = 0; i < batch->count; i++)
		doubts |= (uint64_t)(word_at(batch->bytes[i] + at) >= small) << i;
	batch->doubts |= doubts;
}

static void compare_fixed(const struct sieving *sieving, struct batch *batch, unsigned rule)
{
	uint32_t at = sieving->sieve->rules->items[rule].at;
	uint64_t latest = sieving->sieve->latest[rule], doubts = 0;

	for (unsigned i = 0; i < batch->count; i++)
		doubts |= (uint64_t)(word_at(batch->bytes[i] + at) != latest) << i;
	batch->doubts |= latest ? doubts : UINT64_MAX;
}

static void look_at_words(const struct sieving *sieving, struct batch *batch)
{
	const struct hawk_schema_rules *rules = sieving->sieve->rules;

	for (unsigned rule = 0; rule < rules->count; rule++)
		if (rules->items[rule].family == HAWK_FAMILY_POINTER)
			find_granules(sieving, batch, rule);
		else if (rules->items[rule].family == HAWK_FAMILY_NUMBER)
			compare_numbers(sieving, batch, rule);
		else
			compare_fixed(sieving, batch, rule);
}

/** Those of `inside` whose byte a block has for sure. It may have it in its last granule, too,
 * where its size must be known. */
static uint64_t covered_inside(const struct sieving *sieving, const uint32_t *granules,
			       uint64_t inside)
{
	uint64_t covered = 0;

	for (; inside; inside &= inside - 1) {
		unsigned i = (unsigned)__builtin_ctzll(inside);
		const struct hawk_index_record *record =
			&sieving->index->records[granules[i] / GRANULE_BITS];
		unsigned bit = granules[i] % GRANULE_BITS;

		if ((record->covers & ~record->starts) >> bit & 2)
			covered |= inside & -inside;
	}
	return covered;
}

static void look_at_records(const struct sieving *sieving, struct batch *batch)
{
	const struct hawk_index_record *records = sieving->index->records;
	const struct hawk_schema_rules *rules = sieving->sieve->rules;

	for (unsigned rule = 0; rule < rules->count; rule++) {
		const uint32_t *granules = batch->granules[rule];
		uint64_t covered = 0, inside = batch->inside[rule];

		if (rules->items[rule].family != HAWK_FAMILY_POINTER)
			continue;
		for (unsigned i = 0; i < batch->count; i++)
			covered |= (records[granules[i] / GRANULE_BITS].covers >>
					    granules[i] % GRANULE_BITS &
				    1)
				   << i;
		if (inside & covered)
			covered &= ~inside | covered_inside(sieving, granules, inside & covered);
		batch->doubts |= ~(covered | batch->nulls[rule]);
	}
}

/** The first batch is done with; the third one is empty then. */
static struct hawk_error *advance(struct sieving *sieving)
{
	struct batch *now = sieving->now;
	struct hawk_error *err = NULL;
	uint64_t doubts;

	look_at_words(sieving, sieving->next);
	look_at_records(sieving, now);
	doubts = now->count < BITS ? now->doubts & ((UINT64_C(1) << now->count) - 1) : now->doubts;
	for (; doubts && !err; doubts &= doubts - 1)
		err = sieving->sieve->doubt(sieving->sieve->context,
					    now->numbers[__builtin_ctzll(doubts)]);
	sieving->now = sieving->next;
	sieving->next = sieving->last;
	sieving->last = now;
	now->count = 0;
	now->doubts = 0;
	return err;
}

/** Those that `bits` stand for, of the index from `first` on. */
static struct hawk_error *take_bits(struct sieving *sieving, uint32_t first, uint64_t bits)
{
	const struct hawk_schema_group *group = sieving->sieve->group;
	struct hawk_error *err = NULL;

	for (; bits && !err; bits &= bits - 1) {
		uint32_t number = first + (uint32_t)__builtin_ctzll(bits);
		uint64_t size = group->size_min;

		if (!sieving->one_size) {
			size = hawk_block_size(sieving->index, number);
			if (size < group->size_min || size > group->size_max)
				continue;
		}
		take_number(sieving, number, size);
		if (sieving->last->count == BITS)
			err = advance(sieving);
	}
	return err;
}

/** What is asked for of each block. */
static void choose_fetched(struct sieving *sieving)
{
	const struct hawk_schema_rules *rules = sieving->sieve->rules;

	for (uint32_t i = 0; i < rules->count; i++) {
		uint32_t at = rules->items[i].at;
		unsigned count = sieving->fetch_count;

		if (!count || at - sieving->fetched[count - 1] >= FETCH_BYTES)
			sieving->fetched[sieving->fetch_count++] = at;
	}
	sieving->head_bytes = rules->items[rules->count - 1].at + (size_t)WORD_BYTES;
}

struct hawk_error *hawk_schema_sieve(struct hawk_schema_sieve *sieve)
{
	const struct hawk_schema_blocks *blocks = sieve->blocks;
	const struct hawk_schema_group *group = sieve->group;
	CLEANUP(free_ptr) struct batch *batches = calloc(BATCHES, sizeof(*batches));
	CLEANUP(free_ptr) uint8_t *nothing = NULL;
	struct sieving sieving = {
		.sieve = sieve,
		.index = &blocks->graph->index,
		.one_size = group->objects == blocks->count && group->size_min == group->size_max,
	};
	struct hawk_error *err = NULL;

	choose_fetched(&sieving);
	sieving.nothing = nothing = calloc(1, sieving.head_bytes);
	if (!batches || !nothing)
		return &hawk_enomem;
	sieving.now = &batches[0];
	sieving.next = &batches[1];
	sieving.last = &batches[2];
	for (size_t i = blocks->bounds[sieve->part]; i < blocks->bounds[sieve->part + 1] && !err;
	     i++) {
		err = take_bits(&sieving, (uint32_t)i * BITS, blocks->bits[i]);
		hawk_progress_tick(i);
	}
	for (unsigned i = 0; i < BATCHES && !err; i++)
		err = advance(&sieving);
	return err;
}
