/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Two tables by hash, each at most half full: of codes by what they mean, and of odd blocks.
 */
#include "evidence_codes.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
	CODED_POINTERS_MAX = 24, /**< a block to which more lead is odd */
	TABLE_LOG2 = 17,
	TABLE = 1 << TABLE_LOG2,
	FIRST_CODES = 256,
};

static_assert(HAWK_EVIDENCE_ODD_MAX <= TABLE / 2 && HAWK_EVIDENCE_ODD <= TABLE / 2, "half full");

static void add_event(struct hawk_evidence *evidence, unsigned event)
{
	if (event & 4)
		evidence->pointers[event >> 3].interior++;
	else
		evidence->pointers[event >> 3].start++;
	evidence->explained += event >> 1 & 1;
	evidence->sources += event & 1;
}

static uint32_t count_pointers(const struct hawk_evidence *evidence)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < HAWK_LEAK_SOURCES; i++)
		count += evidence->pointers[i].start + evidence->pointers[i].interior;
	return count;
}

static uint32_t place_of(uint64_t hash)
{
	return (uint32_t)(hash >> (64 - TABLE_LOG2));
}

/* Where an odd block's index is in `odd_of`, or would be. */
static uint32_t *find_odd(const struct hawk_evidence_codes *codes, uint32_t block)
{
	uint32_t at = place_of(block * UINT64_C(0x9e3779b97f4a7c15));

	while (codes->odd_of[at] && codes->odd[codes->odd_of[at] - 1].block != block)
		at = (at + 1) % TABLE;
	return &codes->odd_of[at];
}

static void make_odd(struct hawk_evidence_codes *codes, uint32_t block,
		     const struct hawk_evidence *evidence)
{
	if (codes->odd_count == HAWK_EVIDENCE_ODD_MAX) {
		codes->too_many = true;
		return;
	}
	codes->odd[codes->odd_count] = *evidence;
	codes->odd[codes->odd_count++].block = block;
	*find_odd(codes, block) = (uint32_t)codes->odd_count;
	codes->codes[block] = HAWK_EVIDENCE_ODD;
}

/* Room for one more code. */
static bool reserve_code(struct hawk_evidence_codes *codes)
{
	size_t more = codes->capacity ? 2 * codes->capacity : FIRST_CODES;
	struct hawk_evidence *items;
	uint16_t *next;

	if (codes->count < codes->capacity)
		return true;
	items = reallocarray(codes->items, more, sizeof(*items));
	codes->items = items ? items : codes->items;
	next = items ? reallocarray(codes->next, more, HAWK_EVIDENCE_EVENTS * sizeof(*next)) : NULL;
	codes->next = next ? next : codes->next;
	if (next)
		codes->capacity = more;
	else
		codes->err = &hawk_enomem;
	return next;
}

/* Its code, a new one if it has none; HAWK_EVIDENCE_ODD: there is none left, or no memory. */
static uint16_t code_of(struct hawk_evidence_codes *codes, const struct hawk_evidence *evidence)
{
	uint32_t at = place_of(XXH3_64bits(evidence, sizeof(*evidence)));

	for (; codes->code_of[at]; at = (at + 1) % TABLE)
		if (!memcmp(&codes->items[codes->code_of[at] - 1], evidence, sizeof(*evidence)))
			return (uint16_t)(codes->code_of[at] - 1);
	if (codes->count == HAWK_EVIDENCE_ODD || !reserve_code(codes))
		return HAWK_EVIDENCE_ODD;
	memset(codes->next + codes->count * HAWK_EVIDENCE_EVENTS, 0,
	       HAWK_EVIDENCE_EVENTS * sizeof(*codes->next));
	codes->items[codes->count++] = *evidence;
	codes->code_of[at] = (uint32_t)codes->count;
	return (uint16_t)(codes->count - 1);
}

void hawk_evidence_codes_move(struct hawk_evidence_codes *codes, uint32_t block, unsigned event)
{
	uint16_t code = codes->codes[block];
	uint16_t next = HAWK_EVIDENCE_ODD;
	struct hawk_evidence evidence;

	if (code == HAWK_EVIDENCE_ODD) {
		add_event(&codes->odd[*find_odd(codes, block) - 1], event);
		return;
	}
	evidence = codes->items[code];
	add_event(&evidence, event);
	if (count_pointers(&evidence) <= CODED_POINTERS_MAX)
		next = code_of(codes, &evidence);
	if (next == HAWK_EVIDENCE_ODD) {
		make_odd(codes, block, &evidence);
		return;
	}
	codes->next[code * (size_t)HAWK_EVIDENCE_EVENTS + event] = next;
	codes->codes[block] = next;
}

struct hawk_error *hawk_evidence_codes_init(const uint8_t *kinds, uint32_t count,
					    struct hawk_evidence_codes *ret)
{
	uint64_t bytes = ((uint64_t)count + 1) * sizeof(*ret->codes);
	struct hawk_error *err;

	*ret = (struct hawk_evidence_codes){
		.code_of = calloc(TABLE, sizeof(*ret->code_of)),
		.odd_of = calloc(TABLE, sizeof(*ret->odd_of)),
		.odd = malloc(HAWK_EVIDENCE_ODD_MAX * sizeof(*ret->odd)),
	};
	if (!ret->code_of || !ret->odd_of || !ret->odd)
		return &hawk_enomem;
	err = hawk_area_create(&ret->area, bytes);
	if (!err)
		err = hawk_area_grow(&ret->area, bytes);
	if (err)
		return err;
	ret->codes = ret->area.bytes;
	for (unsigned kind = 0; kind < HAWK_REACH_KINDS && !ret->err; kind++)
		(void)code_of(ret, &(struct hawk_evidence){.kind = kind});
	for (uint32_t block = 0; block < count; block++)
		ret->codes[block] = kinds[block];
	return ret->err;
}

void hawk_evidence_codes_deinit(struct hawk_evidence_codes *codes)
{
	hawk_area_destroy(&codes->area);
	free(codes->items);
	free(codes->next);
	free(codes->code_of);
	free(codes->odd);
	free(codes->odd_of);
	*codes = (struct hawk_evidence_codes){0};
}

static int compare_blocks(const void *left, const void *right)
{
	const struct hawk_evidence *a = left, *b = right;

	return a->block < b->block ? -1 : a->block > b->block;
}

struct hawk_error *hawk_evidence_codes_keep(struct hawk_evidence_codes *codes,
					    struct hawk_kept_evidence *kept)
{
	size_t count = codes->count + codes->odd_count;
	struct hawk_evidence *items = reallocarray(codes->items, count + 1, sizeof(*items));

	if (!items)
		return &hawk_enomem;
	codes->items = NULL;
	qsort(codes->odd, codes->odd_count, sizeof(*codes->odd), compare_blocks);
	memcpy(items + codes->count, codes->odd, codes->odd_count * sizeof(*items));
	kept->items = kept->owned_items = items;
	kept->item_count = count;
	kept->head.coded_count = codes->count;
	kept->codes = codes->codes;
	kept->codes_area = codes->area;
	codes->area = (struct hawk_area){0};
	return NULL;
}
