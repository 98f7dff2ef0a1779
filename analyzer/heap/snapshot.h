/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The record of a heap in a snapshot, beside its blocks. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_SNAPSHOT_H
#define HAWK_ANALYZER_HEAP_SNAPSHOT_H

#include "hawk/heap/heap.h"
#include "hawk/snapshot/reader.h"
#include "hawk/snapshot/writer.h"

struct hawk_heap_record {
	unsigned knows;  /**< enum hawk_heap_knows; 0 = there is no heap */
	uint64_t blocks; /**< in HAWK_SNAPSHOT_BLOCKS */
	struct hawk_heap_sums sums;
	struct hawk_accounting accounting;
	/* Without HAWK_HEAP_BLOCKS. */
	struct hawk_site *sites;
	size_t site_count;
	uint32_t *site_of_trace;
	uint32_t trace_count;
	uint32_t lost_site;
};

struct hawk_error *hawk_heap_record_save(const struct hawk_heap_record *record,
					 struct hawk_snapshot_writer *writer);
struct hawk_error *hawk_heap_record_read(const struct hawk_snapshot *snapshot,
					 struct hawk_heap_record *ret);

/** Of a record that was read; accepts zeros. */
void hawk_heap_record_deinit(struct hawk_heap_record *record);

#endif
