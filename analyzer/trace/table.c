/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opening a table: header, extents, arrays, modules, traces, counters, in this order, and all at
 * once, because a live process is resumed soon after. Its doubling arrays are read one record at a
 * time, each access checked.
 */
#include "state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "hawk/target/extent.h"
#include "hawk_sampling.h"

static_assert((int)HAWK_WORD_SEGMENTS <= (int)HAWK_TABLE_SEGMENTS_MAX &&
		      (int)HAWK_THREAD_SEGMENTS <= (int)HAWK_TABLE_SEGMENTS_MAX &&
		      (int)HAWK_MODULE_SEGMENTS <= (int)HAWK_TABLE_SEGMENTS_MAX,
	      "any array of the table fits");

/* Returns how many of `wanted` bytes at `address` the target holds. */
static uint64_t present_bytes(const struct hawk_target *target, uint64_t address, uint64_t wanted)
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
	uint64_t present = present_bytes(target, address, records * record_bytes);

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

/** An array's name and its fields in the header. */
struct shape {
	struct hawk_table_array *array;
	const char *what;
	const uint64_t *addresses;
	unsigned segment_count;
	unsigned first_log2;
	uint32_t record_bytes;
	uint32_t *count; /**< in the header */
	uint32_t most;   /**< upper limit on records read */
	uint32_t first;  /**< earlier records do not exist */
	bool capture;
};

/**
 * Finds the present part of an array; clamps its count to the records before the first missing one.
 */
static struct hawk_error *open_array(struct hawk_target *target, const struct shape *shape)
{
	uint64_t count = hawk_least(*shape->count, shape->most);
	struct hawk_table_array *ret = shape->array;

	*ret = (struct hawk_table_array){
		.target = target,
		.first_log2 = shape->first_log2,
		.record_bytes = shape->record_bytes,
	};
	for (unsigned i = 0; i < shape->segment_count; i++) {
		uint64_t first = hawk_segment_first(i, shape->first_log2);
		uint64_t records = hawk_segment_length(i, shape->first_log2);
		struct hawk_error *err;

		if (first >= count || !shape->addresses[i])
			break;
		records = hawk_least(records, count - first);
		err = open_segment(target, shape->addresses[i], records, shape->record_bytes,
				   shape->capture, &ret->segments[i]);
		if (err)
			return err;
		ret->count = first + ret->segments[i].present_records;
		/* Records behind a gap are dropped: a forged table could otherwise claim any number
		 * of records without memory. */
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

static void hawk_cleanup_table(struct hawk_table **table)
{
	hawk_table_close(*table);
}

/**
 * Opens the arrays in the header and clamps their counts to present records. Slots of threads are
 * not captured: they are mostly the tracer's scratch, and read only once.
 */
static struct hawk_error *open_arrays(struct hawk_table *table, struct hawk_findings *findings)
{
	struct hawk_table_header *header = &table->header;
	const struct shape shapes[] = {
		{&table->traces, "traces", header->trace_segments, HAWK_TRACE_SEGMENTS,
		 HAWK_TRACE_SEGMENT_LOG2, header->trace_record_bytes, &header->trace_count,
		 HAWK_TABLE_TRACES_MAX, 1, true},
		{&table->words, "words", header->word_segments, HAWK_WORD_SEGMENTS,
		 HAWK_WORD_SEGMENT_LOG2, sizeof(uint64_t), &header->word_count, UINT32_MAX, 0,
		 true},
		{&table->threads, "thread records", header->thread_segments, HAWK_THREAD_SEGMENTS,
		 HAWK_THREAD_SEGMENT_LOG2, header->thread_slot_bytes, &header->thread_count,
		 UINT32_MAX, 0, false},
		{&table->module_records, "module records", header->module_segments,
		 HAWK_MODULE_SEGMENTS, HAWK_MODULE_SEGMENT_LOG2, header->module_record_bytes,
		 &header->module_count, HAWK_TABLE_MODULES_MAX, 0, true},
		{&table->label_records, "scopes and types", header->label_segments,
		 HAWK_LABEL_SEGMENTS, HAWK_LABEL_SEGMENT_LOG2, sizeof(struct hawk_label_record),
		 &header->label_count, UINT32_MAX, 1, true},
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		uint64_t said = *shapes[i].count, there;
		struct hawk_error *err = open_array(table->target, &shapes[i]);

		if (err)
			return err;
		there = shapes[i].array->count;
		if (said <= shapes[i].first || said <= there)
			continue;
		if (shapes[i].array == &table->traces || shapes[i].array == &table->threads)
			table->totals.too_low = true;
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "table-records-missing*",
				  "%" PRIu64 " of %" PRIu64 " %s of the trace table are missing",
				  said - there, said, shapes[i].what);
	}
	header->trace_count = table->traces.count ? (uint32_t)table->traces.count : 1;
	header->word_count = (uint32_t)table->words.count;
	header->thread_count = (uint32_t)table->threads.count;
	header->module_count = (uint32_t)table->module_records.count;
	header->options[sizeof(header->options) - 1] = '\0';
	return NULL;
}

/* Clears the variable fields of a twin, which are stale. */
static void forget_contents(struct hawk_table_header *header)
{
	header->trace_count = 1;
	header->word_count = 0;
	header->thread_count = 0;
	header->module_count = 0;
	header->label_count = 0;
	header->extent_count = 0;
}

static int compare_extents(const void *left, const void *right)
{
	const struct hawk_table_extent *a = left;
	const struct hawk_table_extent *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Returns true if the extent is mapped without a gap, like all of the tracer's memory. A longer one
 * is damaged: it would hide the heap from the sweep. */
static bool is_plausible(const struct hawk_table *table, const struct hawk_table_extent *extent)
{
	struct hawk_extent memory;

	if (!extent->bytes || extent->bytes > UINT64_MAX - extent->address)
		return false;
	return !hawk_extent_at(table->target, extent->address, &memory) ||
	       extent->address + extent->bytes <= memory.end;
}

static struct hawk_error *load_extents(struct hawk_table *table, struct hawk_findings *findings)
{
	const struct hawk_table_header *header = &table->header;
	uint64_t count = hawk_least(header->extent_count, HAWK_TABLE_EXTENTS);
	size_t left_out = 0;

	table->extents = calloc(HAWK_TABLE_EXTENTS, sizeof(*table->extents));
	if (!table->extents)
		return &hawk_enomem;
	for (uint32_t i = 0; i < count; i++) {
		const struct hawk_table_extent *extent = &header->extents[i];

		if (!extent->kind)
			continue;
		if (is_plausible(table, extent))
			table->extents[table->extent_count++] = *extent;
		else
			left_out++;
	}
	if (left_out)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, false, "table-extents-damaged",
				  "the trace table gives an impossible address or length for %zu "
				  "of the tracer's mappings: left out",
				  left_out);
	qsort(table->extents, table->extent_count, sizeof(*table->extents), compare_extents);
	return NULL;
}

/** Checks the mean of the sample, and captures the sums. */
static struct hawk_error *load_samples(struct hawk_table *table, struct hawk_findings *findings)
{
	struct hawk_table_header *header = &table->header;

	if (!(header->incompatible_flags & HAWK_TABLE_SAMPLED) || table->is_twin) {
		header->sample_mean = 0;
		return NULL;
	}
	if (!header->sample_mean || header->sample_mean > UINT64_C(1)
								  << HAWK_SAMPLE_MEAN_LOG2_MAX) {
		hawk_findings_add(
			findings, HAWK_FINDING_DAMAGE, true, "table-sample-damaged",
			"the mean of the sample cannot be %" PRIu64
			" bytes; counts of sites are those of the sample and not estimates of "
			"the whole",
			header->sample_mean);
		header->sample_mean = 0;
		return NULL;
	}
	for (unsigned i = 0; i < HAWK_TRACE_SEGMENTS; i++) {
		uint64_t first = hawk_segment_first(i, HAWK_TRACE_SEGMENT_LOG2);
		uint64_t address = header->sample_segments[i];
		struct hawk_error *err;
		uint64_t bytes;

		if (first >= header->trace_count)
			break;
		bytes = hawk_least(hawk_segment_length(i, HAWK_TRACE_SEGMENT_LOG2),
				   header->trace_count - first) *
			sizeof(struct hawk_sample_record);
		bytes = present_bytes(table->target, address, bytes);
		err = address ? hawk_target_capture(table->target, address, bytes) : NULL;
		if (err)
			return err;
	}
	return NULL;
}

struct hawk_error *hawk_table_find(struct hawk_target *target, struct hawk_findings *findings,
				   struct hawk_table **ret)
{
	CLEANUP(table) struct hawk_table *table = calloc(1, sizeof(*table));
	CLEANUP(free_ptr) struct hawk_table_found *found = calloc(1, sizeof(*found));
	struct hawk_error *err;
	bool is_found;

	if (!table || !found)
		return &hawk_enomem;
	err = hawk_table_search(target, findings, found, &is_found);
	if (err)
		return err;
	if (!is_found) {
		*ret = NULL;
		return NULL;
	}
	table->target = target;
	table->header = found->header;
	table->is_twin = table->totals.too_low = found->is_twin;
	table->repaired = found->repaired;
	table->trace_limit = found->header.trace_count;
	if (table->is_twin)
		forget_contents(&table->header);
	err = open_arrays(table, findings);
	if (!err)
		err = load_extents(table, findings);
	if (!err)
		err = hawk_table_load_modules(table, findings);
	if (!err)
		err = hawk_table_load_labels(table, findings);
	if (!err)
		err = hawk_table_load_traces(table, findings);
	if (!err)
		err = hawk_table_load_counters(table, findings);
	if (!err)
		err = load_samples(table, findings);
	if (err)
		return err;
	*ret = take_ptr(&table);
	return NULL;
}

void hawk_table_close(struct hawk_table *table)
{
	if (!table)
		return;
	hawk_table_free_modules(table);
	hawk_table_free_labels(table);
	free(table->extents);
	free(table->tails);
	free(table->counters);
	free(table->signal_stacks);
	free(table);
}

const struct hawk_table_header *hawk_table_header(const struct hawk_table *table)
{
	return &table->header;
}

bool hawk_table_is_twin(const struct hawk_table *table)
{
	return table->is_twin;
}

uint32_t hawk_table_trace_limit(const struct hawk_table *table)
{
	if (table->is_twin || table->repaired)
		return UINT32_MAX;
	return table->trace_limit ? table->trace_limit : 1;
}

uint8_t hawk_table_birth_limit(const struct hawk_table *table)
{
	const uint64_t minute = 60000000000 / HAWK_BIRTH_UNIT_NS;
	uint64_t units = table->header.clock_units;

	/* Threads publish the clock without a lock: an older reading may replace the latest until
	 * the next. */
	if (table->is_twin || table->repaired || units > UINT32_MAX)
		return UINT8_MAX;
	return hawk_birth_encode(2 * units + minute);
}

const struct hawk_table_extent *hawk_table_extents(const struct hawk_table *table, size_t *count)
{
	*count = table->extent_count;
	return table->extents;
}

static bool read_header(const struct hawk_target *target, uint64_t address,
			struct hawk_table_header *ret)
{
	return hawk_target_read_some(target, address, ret, sizeof(*ret)) == sizeof(*ret) &&
	       ret->magic == hawk_table_magic() && ret->version == HAWK_TABLE_VERSION &&
	       ret->self_address == address;
}

/** Finds the header of a table file, in one of few mappings. */
static bool find_header(const struct hawk_target *table, struct hawk_table_header *ret)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(table, &count);

	for (size_t i = 0; i < count; i++)
		if (read_header(table, mappings[i].start, ret))
			return true;
	return false;
}

static bool belong_together(const struct hawk_target *target, const struct hawk_target *table)
{
	struct hawk_table_header header, twin;

	return find_header(table, &header) && header.twin_address &&
	       read_header(target, header.twin_address, &twin) &&
	       twin.primary_address == header.self_address && twin.pid == header.pid &&
	       twin.start_realtime_ns == header.start_realtime_ns &&
	       twin.key.k[0] == header.key.k[0] && twin.key.k[1] == header.key.k[1];
}

struct hawk_error *hawk_table_attach(struct hawk_target *target, struct hawk_target *table)
{
	struct hawk_error *err = NULL;

	if (!hawk_target_process(table)->table_file)
		err = hawk_error_create(HAWK_ERROR_FORMAT, "not a table file of the tracer");
	else if (hawk_target_process(target)->table_file)
		err = hawk_error_create(HAWK_ERROR_USAGE,
					"a table file needs no other; --table is for its core");
	else if (!belong_together(target, table))
		err = hawk_error_create(HAWK_ERROR_FORMAT,
					"the table file belongs to another process");
	if (err)
		hawk_target_close(table);
	else
		hawk_target_attach_table(target, table);
	return err;
}

uint64_t hawk_table_sample_mean(const struct hawk_table *table)
{
	return table->header.sample_mean;
}

struct hawk_sample_record hawk_table_sample(const struct hawk_table *table, uint32_t id)
{
	struct hawk_sample_record record = {0};
	unsigned segment;
	uint64_t address;

	if (!table->header.sample_mean || !id || id >= table->header.trace_count)
		return record;
	segment = hawk_segment_of(id, HAWK_TRACE_SEGMENT_LOG2);
	if (segment >= HAWK_TRACE_SEGMENTS || !table->header.sample_segments[segment])
		return record;
	address = table->header.sample_segments[segment] +
		  (id - hawk_segment_first(segment, HAWK_TRACE_SEGMENT_LOG2)) * sizeof(record);
	if (hawk_target_read_some(table->target, address, &record, sizeof(record)) !=
	    sizeof(record))
		record = (struct hawk_sample_record){0};
	return record;
}
