/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a sample stands for: the weighted sums by trace, of tables made with sample=.
 */
#include "hawk_table_state.h"

#include "hawk_extent.h"
#include "hawk_sampling.h"

static struct hawk_error *refuse(struct hawk_table *table, struct hawk_findings *findings)
{
	hawk_findings_add(
		findings, HAWK_FINDING_DAMAGE, true, "table-sample-damaged",
		"the mean of the sample cannot be %llu bytes; counts of sites are those of "
		"the sample and not estimates of the whole",
		(unsigned long long)table->header.sample_mean);
	table->header.sample_mean = 0;
	return NULL;
}

struct hawk_error *hawk_table_load_samples(struct hawk_table *table, struct hawk_findings *findings)
{
	struct hawk_table_header *header = &table->header;

	if (!(header->incompatible_flags & HAWK_TABLE_SAMPLED) || table->is_twin) {
		header->sample_mean = 0;
		return NULL;
	}
	if (!header->sample_mean || header->sample_mean > UINT64_C(1) << HAWK_SAMPLE_MEAN_LOG2_MAX)
		return refuse(table, findings);
	for (unsigned i = 0; i < HAWK_TRACE_SEGMENTS; i++) {
		uint64_t first = hawk_segment_first(i, HAWK_TRACE_SEGMENT_LOG2);
		uint64_t bytes;
		uint64_t address = header->sample_segments[i];
		struct hawk_extent extent;
		struct hawk_error *err;

		if (first >= header->trace_count)
			break;
		bytes = hawk_segment_length(i, HAWK_TRACE_SEGMENT_LOG2);
		if (bytes > header->trace_count - first)
			bytes = header->trace_count - first;
		bytes *= sizeof(struct hawk_sample_record);
		if (!address || !hawk_extent_at(table->target, address, &extent) ||
		    extent.present_end <= address)
			continue;
		if (bytes > extent.present_end - address)
			bytes = extent.present_end - address;
		err = hawk_target_capture(table->target, address, bytes);
		if (err)
			return err;
	}
	return NULL;
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
