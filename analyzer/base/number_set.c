/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Address space is reserved for bitmaps in all chunks, and used up to where the chunks end.
 */
#include "hawk_number_set.h"

#include <string.h>

enum { CHUNK_NUMBERS = 1 << HAWK_NUMBER_CHUNK_LOG2 };

struct hawk_error *hawk_number_set_init(struct hawk_number_set *ret, uint64_t limit)
{
	uint64_t chunks = limit / CHUNK_NUMBERS + 1;
	struct hawk_number_set set = {.limit = limit};
	struct hawk_error *err;

	err = hawk_area_create_sparse(&set.units_area,
				      chunks * HAWK_NUMBER_BITMAP_UNITS * sizeof(*set.units));
	if (!err)
		err = hawk_area_create_sparse(&set.chunks_area, (chunks + 1) * sizeof(*set.chunks));
	if (err) {
		hawk_number_set_deinit(&set);
		return err;
	}
	set.units = set.units_area.bytes;
	set.chunks = set.chunks_area.bytes;
	*ret = set;
	return NULL;
}

void hawk_number_set_deinit(struct hawk_number_set *set)
{
	hawk_area_destroy(&set->units_area);
	hawk_area_destroy(&set->chunks_area);
	*set = (struct hawk_number_set){0};
}

static void set_bit(uint16_t *bits, uint32_t bit)
{
	bits[bit / 16] = (uint16_t)(bits[bit / 16] | 1u << bit % 16);
}

/* A list that has become as long as the bitmap. */
static void make_bitmap(uint16_t *units)
{
	uint16_t bits[HAWK_NUMBER_BITMAP_UNITS] = {0};

	for (unsigned i = 0; i < HAWK_NUMBER_BITMAP_UNITS; i++)
		set_bit(bits, units[i]);
	memcpy(units, bits, sizeof(bits));
}

void hawk_number_set_add(struct hawk_number_set *set, uint64_t number)
{
	uint64_t chunk = number / CHUNK_NUMBERS;
	uint32_t low = (uint32_t)(number % CHUNK_NUMBERS);
	uint16_t *units;
	uint32_t *end;

	while (set->chunk < chunk) {
		set->chunk++;
		set->chunks[set->chunk + 1] = set->chunks[set->chunk];
	}
	units = set->units + set->chunks[chunk];
	end = &set->chunks[chunk + 1];
	set->count++;
	if (*end - set->chunks[chunk] == HAWK_NUMBER_BITMAP_UNITS) {
		set_bit(units, low);
		return;
	}
	set->units[(*end)++] = (uint16_t)low;
	if (*end - set->chunks[chunk] == HAWK_NUMBER_BITMAP_UNITS)
		make_bitmap(units);
}

/* Of a bitmap's unit. */
static void add_bits(struct hawk_number_set *set, uint64_t first, uint32_t bits)
{
	for (; bits; bits &= bits - 1)
		hawk_number_set_add(set, first + (uint64_t)__builtin_ctz(bits));
}

void hawk_number_set_add_all(struct hawk_number_set *set, const struct hawk_number_set *other)
{
	for (uint64_t chunk = 0; other->count && chunk <= other->chunk; chunk++) {
		const uint16_t *units = other->units + other->chunks[chunk];
		uint32_t count = other->chunks[chunk + 1] - other->chunks[chunk];
		uint64_t first = chunk * CHUNK_NUMBERS;

		for (uint32_t i = 0; i < count; i++)
			if (count == HAWK_NUMBER_BITMAP_UNITS)
				add_bits(set, first + i * UINT64_C(16), units[i]);
			else
				hawk_number_set_add(set, first + units[i]);
	}
}
