/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Doubling arrays of the table: one record at a time, each access checked.
 */
#include "hawk_table_state.h"

#include "hawk_extent.h"

#include <stdlib.h>
#include <string.h>

static_assert((int)HAWK_WORD_SEGMENTS <= (int)HAWK_TABLE_SEGMENTS_MAX &&
		      (int)HAWK_THREAD_SEGMENTS <= (int)HAWK_TABLE_SEGMENTS_MAX &&
		      (int)HAWK_MODULE_SEGMENTS <= (int)HAWK_TABLE_SEGMENTS_MAX,
	      "any array of the table fits");

uint64_t hawk_table_present_bytes(const struct hawk_target *target, uint64_t address,
				  uint64_t wanted)
{
	struct hawk_extent extent;

	if (!hawk_extent_at(target, address, &extent) || extent.present_end <= address)
		return 0;
	if (extent.present_end - address < wanted)
		return extent.present_end - address;
	return wanted;
}

static struct hawk_error *open_segment(struct hawk_target *target, uint64_t address,
				       uint64_t records, uint32_t record_bytes, bool capture,
				       struct hawk_table_segment *ret)
{
	/* 2^32 records of 2^32 bytes at most: cannot overflow. */
	uint64_t present = hawk_table_present_bytes(target, address, records * record_bytes);

	ret->address = address;
	ret->present_records = present / record_bytes;
	present = ret->present_records * record_bytes;
	if (capture && present) {
		struct hawk_error *err = hawk_target_capture(target, address, present);

		if (err)
			return err;
	}
	ret->view = present ? hawk_target_view(target, address, present) : NULL;
	return NULL;
}

struct hawk_error *hawk_table_array_open(struct hawk_target *target,
					 const struct hawk_table_array_shape *shape, bool capture,
					 struct hawk_table_array *ret)
{
	*ret = (struct hawk_table_array){
		.target = target,
		.first_log2 = shape->first_log2,
		.record_bytes = shape->record_bytes,
	};
	for (unsigned i = 0; i < shape->segment_count; i++) {
		uint64_t first = hawk_segment_first(i, shape->first_log2);
		uint64_t records = hawk_segment_length(i, shape->first_log2);
		struct hawk_error *err;

		if (first >= shape->count || !shape->addresses[i])
			break;
		if (records > shape->count - first)
			records = shape->count - first;
		err = open_segment(target, shape->addresses[i], records, shape->record_bytes,
				   capture, &ret->segments[i]);
		if (err)
			return err;
		ret->count = first + ret->segments[i].present_records;
		/* What lies behind a gap is given up: a forged table could otherwise claim any
		 * number of records with no memory behind them. */
		if (ret->segments[i].present_records < records)
			break;
	}
	return NULL;
}

static const struct hawk_table_segment *find(const struct hawk_table_array *array, uint64_t index,
					     uint64_t *inside)
{
	unsigned segment;

	if (index >= array->count)
		return NULL;
	segment = hawk_segment_of(index, array->first_log2);
	*inside = index - hawk_segment_first(segment, array->first_log2);
	if (*inside >= array->segments[segment].present_records)
		return NULL;
	return &array->segments[segment];
}

bool hawk_table_array_read(const struct hawk_table_array *array, uint64_t index, void *to,
			   size_t bytes)
{
	uint64_t inside;
	const struct hawk_table_segment *segment = find(array, index, &inside);

	assert(bytes <= array->record_bytes);
	if (!segment)
		return false;
	if (segment->view) {
		memcpy(to, segment->view + inside * array->record_bytes, bytes);
		return true;
	}
	return hawk_target_read_some(array->target, segment->address + inside * array->record_bytes,
				     to, bytes) == bytes;
}

bool hawk_table_array_address(const struct hawk_table_array *array, uint64_t index,
			      uint64_t *address)
{
	uint64_t inside;
	const struct hawk_table_segment *segment = find(array, index, &inside);

	if (!segment)
		return false;
	*address = segment->address + inside * array->record_bytes;
	return true;
}

char *hawk_table_copy_text(const struct hawk_table *table, uint32_t first_word, uint32_t bytes)
{
	uint32_t words = (bytes + 7) / 8;
	char *text = calloc(words + 1, 8);

	if (!text)
		return NULL;
	for (uint32_t i = 0; i < words; i++)
		if (!hawk_table_array_read(&table->words, (uint64_t)first_word + i,
					   text + (size_t)i * 8, 8)) {
			text[(size_t)i * 8] = '\0';
			break;
		}
	text[bytes] = '\0';
	return text;
}
