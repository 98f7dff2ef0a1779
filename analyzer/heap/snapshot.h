/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The record of a heap in a snapshot, except its blocks. Internal to heap/.
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
	uint64_t overlapping, implausible; /**< of `damages`, also from older writers */
	struct hawk_accounting accounting;
	uint64_t reserved; /**< numbers of older writers */
	/* Snapshots of older writers lack the following. */
	struct hawk_heap_origin origins[HAWK_HEAP_SOURCES_MAX];
	unsigned origin_count;
	bool small_granules;
	bool undumped_known;
	struct hawk_heap_spans spans;
	struct hawk_damages damages;
	struct hawk_class *classes; /**< behind the traces */
	uint32_t class_first, class_end;
	char *names;      /**< of origins and classes */
	uint64_t *frames; /**< of classes */
	/* Without HAWK_HEAP_BLOCKS. */
	struct hawk_site *sites;
	size_t site_count;
	uint32_t *site_of_trace;
	uint32_t trace_count;
	uint32_t lost_site;
};

/** Saves the record. Classes' modules are those of `target`. */
struct hawk_error *hawk_heap_record_save(const struct hawk_heap_record *record,
					 const struct hawk_target *target,
					 struct hawk_snapshot_writer *writer);
struct hawk_error *hawk_heap_record_read(const struct hawk_target *target,
					 struct hawk_heap_record *ret);

/** Frees a record that was read; accepts zeros. */
void hawk_heap_record_deinit(struct hawk_heap_record *record);

/** Reads allocators and guests, before blocks are loaded. Leaves `heap` as it is if there are none.
 */
struct hawk_error *hawk_heap_allocators_read(struct hawk_findings *findings,
					     struct hawk_heap *heap);

/* snapshot_parts.c: the end of the record. */
void hawk_heap_parts_put(const struct hawk_heap_record *record, const struct hawk_target *target,
			 struct hawk_column *to);
struct hawk_error *hawk_heap_parts_get(struct hawk_cursor *from, const struct hawk_target *target,
				       struct hawk_heap_record *record);

#endif
