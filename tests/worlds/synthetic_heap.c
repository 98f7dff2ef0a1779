/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The builder of small traced heaps.
 */
#include "synthetic_heap.h"

#include <stdlib.h>
#include <string.h>

static void *need(void *pointer)
{
	if (!pointer)
		abort();
	return pointer;
}

static uint64_t address_of(size_t offset)
{
	return SYNTHETIC_TABLE + offset;
}

static void add_extent(struct hawk_table_header *header, uint64_t address, uint64_t bytes,
		       enum hawk_extent_kind kind)
{
	header->extents[header->extent_count++] =
		(struct hawk_table_extent){.address = address, .bytes = bytes, .kind = kind};
}

static void fill_header(struct hawk_table_header *header)
{
	*header = (struct hawk_table_header){
		.magic = hawk_table_magic(),
		.version = HAWK_TABLE_VERSION,
		.header_bytes = HAWK_TABLE_HEADER_BYTES,
		.self_address = SYNTHETIC_TABLE,
		.primary_address = SYNTHETIC_TABLE,
		.twin_address = SYNTHETIC_TWIN,
		.key = {{UINT64_C(0x0123456789abcdef), UINT64_C(0xf0e1d2c3b4a59687)}},
		.trace_record_bytes = sizeof(struct hawk_trace_record),
		.module_record_bytes = sizeof(struct hawk_module_record),
		.thread_slot_bytes = sizeof(struct synthetic_slot),
		.pid = 4711,
		.start_realtime_ns = UINT64_C(1700000000000000000),
		.start_monotonic_ns = UINT64_C(1000000000),
		.clock_units = 16000, /* 1,000 s */
		.trace_count = 1,
		.thread_count = 1,
		.trace_segments = {address_of(offsetof(struct synthetic_table, traces))},
		.word_segments = {address_of(offsetof(struct synthetic_table, words))},
		.thread_segments = {address_of(offsetof(struct synthetic_table, threads))},
		.module_segments = {address_of(offsetof(struct synthetic_table, modules))},
	};
	add_extent(header, SYNTHETIC_TABLE, sizeof(struct synthetic_table), HAWK_EXTENT_HEADER);
	add_extent(header, SYNTHETIC_TWIN, HAWK_TABLE_HEADER_BYTES, HAWK_EXTENT_TWIN);
	strcpy(header->options, "depth=64");
}

void synthetic_heap_check(struct synthetic_heap *heap)
{
	heap->table->header.check = hawk_table_check(&heap->table->header);
	heap->twin->check = hawk_table_check(heap->twin);
}

struct synthetic_heap *synthetic_heap_create(size_t size)
{
	struct synthetic_heap *heap = need(calloc(1, sizeof(*heap)));

	heap->table = need(calloc(1, sizeof(*heap->table)));
	heap->twin = need(calloc(1, HAWK_TABLE_HEADER_BYTES));
	heap->bytes = need(calloc(1, size + 1));
	heap->address = SYNTHETIC_HEAP;
	heap->size = size;
	fill_header(&heap->table->header);
	*heap->twin = heap->table->header;
	heap->twin->self_address = SYNTHETIC_TWIN;
	synthetic_heap_check(heap);
	for (unsigned i = 0; i < SYNTHETIC_THREADS; i++)
		heap->table->threads[i].record = (struct hawk_thread_record){
			.state = HAWK_THREAD_LIVE,
			.tid = 4711 + i,
			.counter_offset = offsetof(struct synthetic_slot, counters),
			.counter_count = SYNTHETIC_COUNTERS,
			.users = 1,
		};
	return heap;
}

void synthetic_heap_destroy(struct synthetic_heap *heap)
{
	if (!heap)
		return;
	free(heap->table);
	free(heap->twin);
	free(heap->bytes);
	free(heap);
}

/* Returns the index of the first of `count` words. */
static uint32_t take_words(struct synthetic_heap *heap, uint32_t count)
{
	uint32_t index = heap->table->header.word_count;

	if (count > SYNTHETIC_WORDS - index)
		abort();
	heap->table->header.word_count += count;
	return index;
}

uint32_t synthetic_heap_add_trace(struct synthetic_heap *heap, const uint64_t *frames,
				  uint32_t count, uint32_t tail, uint32_t tail_count)
{
	uint32_t id = heap->table->header.trace_count++;
	uint32_t index = take_words(heap, count);

	if (id >= SYNTHETIC_TRACES)
		abort();
	memcpy(&heap->table->words[index], frames, count * sizeof(*frames));
	heap->table->traces[id] = (struct hawk_trace_record){
		.hash = id + 1000u,
		.word_index = index,
		.own_count = (uint16_t)count,
		.tail_count = (uint16_t)tail_count,
		.tail_trace = tail,
	};
	return id;
}

void synthetic_heap_add_module(struct synthetic_heap *heap, const char *path, uint64_t start,
			       uint64_t end, uint64_t bias)
{
	uint32_t index = heap->table->header.module_count++;
	size_t length = strlen(path);
	uint32_t words = take_words(heap, (uint32_t)(length + 7) / 8);
	struct hawk_module_record *module = &heap->table->modules[index];

	if (index >= SYNTHETIC_MODULES)
		abort();
	memcpy(&heap->table->words[words], path, length);
	*module = (struct hawk_module_record){
		.state = 1,
		.start = start,
		.end = end,
		.bias = bias,
		.path_index = words,
		.path_bytes = (uint32_t)length,
		.build_id_bytes = 20,
	};
	for (unsigned i = 0; i < module->build_id_bytes; i++)
		module->build_id[i] = (uint8_t)path[i % length];
}

static uint8_t *header_bytes(struct synthetic_heap *heap, uint64_t start)
{
	uint64_t at = start - HAWK_HEADER_BYTES - heap->address;

	if (at > heap->size - HAWK_HEADER_BYTES || at % HAWK_GRANULE_BYTES)
		abort();
	return heap->bytes + at;
}

void synthetic_heap_add_block(struct synthetic_heap *heap, struct synthetic_block block)
{
	const struct hawk_seal_key *key = &heap->table->header.key;
	uint8_t *at = header_bytes(heap, block.start);
	struct hawk_block_header header;
	unsigned offset_log2 = block.offset_log2 ? block.offset_log2 : 4;
	uint64_t log2 = offset_log2;

	header.word0 = hawk_header_word0(block.kind ? block.kind : HAWK_KIND_MALLOC, offset_log2,
					 block.birth, block.size);
	header.word1 = hawk_header_word1(block.trace, hawk_seal(key, header.word0, block.trace,
								block.start - HAWK_HEADER_BYTES));
	memcpy(at, &header, sizeof(header));
	if (hawk_header_offset_code(header.word0) == HAWK_OFFSET_LARGE)
		memcpy(at - sizeof(log2), &log2, sizeof(log2));
}

void synthetic_heap_kill_block(struct synthetic_heap *heap, uint64_t start)
{
	uint8_t *at = header_bytes(heap, start);
	struct hawk_block_header header;
	uint32_t trace;

	memcpy(&header, at, sizeof(header));
	trace = hawk_header_trace(header.word1);
	header.word0 = SYNTHETIC_HEAP + 0x40;
	header.word1 = hawk_header_word1(
		trace, hawk_dead_seal(&heap->table->header.key, trace, start - HAWK_HEADER_BYTES));
	memcpy(at, &header, sizeof(header));
}

struct synthetic_core *synthetic_heap_core(const struct synthetic_heap *heap)
{
	struct synthetic_core *core = synthetic_core_create();

	synthetic_core_add_process(core, 4711, "synthetic", "synthetic --heap");
	synthetic_core_add_thread(core, 4711, 6, NULL);
	synthetic_core_add_memory(core, SYNTHETIC_TABLE, heap->table, sizeof(*heap->table));
	if (heap->size)
		synthetic_core_add_memory(core, heap->address, heap->bytes, heap->size);
	synthetic_core_add_memory(core, SYNTHETIC_TWIN, heap->twin, HAWK_TABLE_HEADER_BYTES);
	return core;
}

char *synthetic_heap_write(const struct synthetic_heap *heap)
{
	struct synthetic_core *core = synthetic_heap_core(heap);
	char *path = synthetic_core_write(core, SIZE_MAX);

	synthetic_core_destroy(core);
	return path;
}
