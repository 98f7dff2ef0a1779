/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A table file of arbitrary bytes: opened, counted, asked for its stacks. The sum over the sites
 * must be the heap's.
 *
 * Input: one byte of flags, then the file. Flags: 1 = put magic, version and sizes right; 2 = put
 * the check right, which no mutation would ever hit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/core/file.h"
#include "hawk/heap/heap.h"

enum { FIX_CONSTANTS = 1, FIX_CHECK = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fix_header(struct hawk_table_header *header, uint8_t flags)
{
	if (flags & FIX_CONSTANTS) {
		header->magic = hawk_table_magic();
		header->version = HAWK_TABLE_VERSION;
		header->incompatible_flags &= HAWK_TABLE_KNOWN_INCOMPATIBLE;
		header->primary_address = header->self_address;
		if (header->header_bytes < HAWK_TABLE_HEADER_BYTES)
			header->header_bytes = HAWK_TABLE_HEADER_BYTES;
		if (header->trace_record_bytes < sizeof(struct hawk_trace_record))
			header->trace_record_bytes = sizeof(struct hawk_trace_record);
		if (header->module_record_bytes < sizeof(struct hawk_module_record))
			header->module_record_bytes = sizeof(struct hawk_module_record);
		if (header->thread_slot_bytes < HAWK_THREAD_RECORD_BYTES_MIN)
			header->thread_slot_bytes = HAWK_THREAD_RECORD_BYTES_MIN;
	}
	if (flags & FIX_CHECK)
		header->check = hawk_table_check(header);
}

static void check_heap(const struct hawk_heap *heap)
{
	struct hawk_trace *trace = malloc(sizeof(*trace));
	uint64_t objects = 0;

	if (!trace)
		abort();
	for (size_t i = 0; i < heap->site_count; i++) {
		objects += heap->sites[i].inuse_objects;
		if (hawk_table_trace(heap->table, heap->sites[i].trace, trace) &&
		    trace->frame_count > HAWK_TRACE_DEPTH_MAX)
			abort();
	}
	if (heap->table && heap->knows & HAWK_HEAP_BLOCKS)
		abort();
	if (!heap->sample_mean && objects != heap->sums.blocks)
		abort();
	free(trace);
}

static void load(const uint8_t *bytes, size_t size)
{
	struct hawk_findings findings;
	struct hawk_core_file *file;
	struct hawk_target *target;
	struct hawk_heap heap;
	struct hawk_error *error;

	hawk_findings_init(&findings);
	error = hawk_core_file_over(bytes, size, &file);
	if (!error)
		error = hawk_core_open_file(file, NULL, &findings, &target);
	if (!error) {
		if (hawk_target_process(target)->table_file) {
			if (hawk_heap_load(target, NULL, &findings, &heap))
				abort();
			check_heap(&heap);
			hawk_heap_deinit(&heap);
		}
		hawk_target_close(target);
	}
	hawk_error_destroy(error);
	hawk_findings_deinit(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;

	if (size < 2)
		return 0;
	bytes = malloc(size - 1);
	if (!bytes)
		return 0;
	memcpy(bytes, data + 1, size - 1);
	if (size - 1 >= sizeof(struct hawk_table_header))
		fix_header((struct hawk_table_header *)bytes, data[0]);
	load(bytes, size - 1);
	free(bytes);
	return 0;
}
