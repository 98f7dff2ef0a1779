/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A trace table and a heap of arbitrary bytes: found, read, swept, asked about.
 *
 * Input: one byte of flags, then the memory from SYNTHETIC_TABLE on, of which what lies behind
 * sizeof(struct synthetic_table) is the heap; short inputs are filled up with zeros. Flags: 1 = put
 * magic, version, own address and sizes right; 2 = put the check right, which no mutation would
 * ever hit; 4 = seal what looks like a header, so that blocks are found; 8 = leave the memory where
 * the input ends, as in a core that was cut off.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hawk/analysis/scope_groups.h"
#include "hawk/heap/heap.h"
#include "synthetic_heap.h"

enum {
	FIX_CONSTANTS = 1,
	FIX_CHECK = 2,
	SEAL_BLOCKS = 4,
	CUT_OFF = 8,

	HEAP_BYTES = 8192,
	MEMORY_BYTES = (sizeof(struct synthetic_table) + HEAP_BYTES + 4095) & ~4095u,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fix_header(struct hawk_table_header *header, uint8_t flags)
{
	if (flags & FIX_CONSTANTS) {
		header->magic = hawk_table_magic();
		header->version = HAWK_TABLE_VERSION;
		header->incompatible_flags = 0;
		header->self_address = header->primary_address = SYNTHETIC_TABLE;
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

static void seal_blocks(uint8_t *memory, const struct hawk_table_header *header)
{
	for (size_t at = sizeof(struct synthetic_table); at + 16 <= MEMORY_BYTES; at += 16) {
		struct hawk_block_header block;
		uint32_t trace;

		memcpy(&block, memory + at, sizeof(block));
		trace = hawk_header_trace(block.word1);
		if ((int64_t)block.word0 < 0)
			block.word1 =
				hawk_header_word1(trace, hawk_seal(&header->key, block.word0, trace,
								   SYNTHETIC_TABLE + at));
		memcpy(memory + at, &block, sizeof(block));
	}
}

static int make_core(const uint8_t *memory, size_t dumped)
{
	struct synthetic_core *core = synthetic_core_create();
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t size;
	uint8_t *bytes;

	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_segment(core, (struct synthetic_segment){
						 .address = SYNTHETIC_TABLE,
						 .bytes = memory,
						 .dumped_bytes = dumped,
						 .memory_bytes = MEMORY_BYTES,
						 .flags = SYNTHETIC_READ | SYNTHETIC_WRITE,
					 });
	bytes = synthetic_core_build(core, &size);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	free(bytes);
	synthetic_core_destroy(core);
	return fd;
}

/* What must hold whatever the input. */
/** A trace may have labels, or not have been sampled, instead of a stack. */
enum { NO_FRAMES = HAWK_TRACE_MARKED | HAWK_TRACE_NOT_SAMPLED };

static void check_marks(const struct hawk_table *table, const struct hawk_trace *trace)
{
	struct hawk_text path = {0};

	if (trace->mark_count > HAWK_TRACE_MARKS_MAX)
		abort();
	for (uint32_t i = 0; i < trace->mark_count; i++) {
		const struct hawk_table_label *label =
			hawk_table_label(table, trace->marks[i].label);

		if (!label || strlen(label->name) > HAWK_LABEL_NAME_BYTES_MAX)
			abort();
		if (label->kind == HAWK_LABEL_SCOPE)
			hawk_scope_append_path(&path, table, trace->marks[i].label);
	}
	free(path.bytes);
}

static void check_heap(const struct hawk_heap *heap)
{
	struct hawk_trace *trace = malloc(sizeof(*trace));
	uint64_t objects = 0;

	for (size_t i = 0; i < heap->site_count; i++) {
		objects += heap->sites[i].inuse_objects;
		if (hawk_table_trace(heap->table, heap->sites[i].trace, trace) &&
		    ((!trace->frame_count && !(trace->flags & NO_FRAMES)) ||
		     trace->frame_count > HAWK_TRACE_DEPTH_MAX))
			abort();
		if (trace->mark_count)
			check_marks(heap->table, trace);
	}
	if (objects != heap->sums.blocks)
		abort();
	free(trace);
	for (uint64_t at = 0; heap->table && at < MEMORY_BYTES; at += 1021) {
		uint64_t address = SYNTHETIC_TABLE + at;
		struct hawk_block block;

		if (hawk_heap_at(heap, address, &block) == HAWK_BLOCK_LIVE &&
		    (address < block.start || (block.size && address - block.start >= block.size)))
			abort();
	}
}

static void load(const char *path)
{
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_heap heap;

	hawk_findings_init(&findings);
	if (hawk_target_open_core(path, &findings, &target))
		abort();
	if (hawk_heap_load(target, NULL, &findings, &heap))
		abort();
	check_heap(&heap);
	hawk_heap_deinit(&heap);
	hawk_target_close(target);
	hawk_findings_deinit(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(16) uint8_t memory[MEMORY_BYTES];
	struct hawk_table_header *header = (struct hawk_table_header *)memory;
	uint8_t flags = size ? data[0] : 0;
	size_t used = size ? size - 1 : 0;
	char path[64];
	int fd;

	if (used > MEMORY_BYTES)
		used = MEMORY_BYTES;
	memset(memory, 0, sizeof(memory));
	if (used)
		memcpy(memory, data + 1, used);
	fix_header(header, flags);
	if (flags & SEAL_BLOCKS)
		seal_blocks(memory, header);
	fd = make_core(memory, flags & CUT_OFF ? used : MEMORY_BYTES);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	load(path);
	close(fd);
	return 0;
}
