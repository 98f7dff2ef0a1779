/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A snapshot of arbitrary bytes: opened, its heap loaded and asked for addresses, its graph made,
 * with reach and dominators, its pointers read, all its names asked for.
 *
 * Input: one byte of flags, then the file. Flags: 1 = put the checksums of the header and of all
 * frames right, and the table of contents, which no mutation would ever hit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/analysis/balance.h"
#include "hawk/analysis/type_list.h"
#include "hawk/graph/dominators.h"
#include "hawk/graph/pointers.h"
#include "hawk/names/ask.h"
#include "hawk/names/block_type.h"
#include "hawk_snapshot.h"
#include "target/core/file.h"

enum { FIX_CHECKS = 1, BYTES_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fix_checks(uint8_t *bytes, size_t size)
{
	struct hawk_snapshot_header header;
	uint64_t frames = 0, list = 0;
	size_t at = sizeof(header);

	if (size < at)
		return;
	memcpy(&header, bytes, at);
	header.check = XXH3_64bits(&header, offsetof(struct hawk_snapshot_header, check));
	memcpy(bytes, &header, at);
	while (size - at >= sizeof(struct hawk_snapshot_frame)) {
		struct hawk_snapshot_frame frame;
		uint8_t *contents = bytes + at + sizeof(frame);

		memcpy(&frame, bytes + at, sizeof(frame));
		at += sizeof(frame);
		if (frame.stored_bytes > size - at)
			return;
		if (frame.section == HAWK_SNAPSHOT_END) {
			frame.first = frames;
			if (frame.stored_bytes >= sizeof(list))
				memcpy(contents, &list, sizeof(list));
		}
		frame.check =
			XXH3_64bits_withSeed(&frame, offsetof(struct hawk_snapshot_frame, check),
					     XXH3_64bits(contents, (size_t)frame.stored_bytes));
		memcpy(contents - sizeof(frame), &frame, sizeof(frame));
		at += (size_t)frame.stored_bytes;
		list = XXH3_64bits_withSeed(&frame, sizeof(frame), list);
		frames++;
	}
}

static struct hawk_error *count_pointers(void *context, const struct hawk_pointer *pointers,
					 size_t count)
{
	size_t *sum = context;

	(void)pointers;
	*sum += count;
	return NULL;
}

static void use_graph(const struct hawk_graph *graph)
{
	struct hawk_dominators dominators;
	struct hawk_reach reach;
	size_t count = 0;

	hawk_error_destroy(
		hawk_pointers_read(graph, 0, graph->count, NULL, count_pointers, &count));
	if (count > graph->edge_count)
		abort();
	if (hawk_reach_make(graph, &graph->explained, &reach))
		abort();
	if (hawk_dominators_make(graph, &reach, &dominators))
		abort();
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&reach);
}

static void use_blocks(const struct hawk_heap *heap)
{
	for (uint32_t i = 0; i < heap->index.count; i++) {
		uint64_t start = hawk_block_start(&heap->index, i);
		struct hawk_block found;

		if (hawk_heap_at(heap, start, &found) == HAWK_BLOCK_NONE)
			abort();
	}
}

static void use_balance(const struct hawk_heap *heap)
{
	struct hawk_fragmentation fragmentation;
	struct hawk_balance balance;
	bool is_there;

	hawk_error_destroy(hawk_balance_read(heap, &balance, &fragmentation, &is_there));
	hawk_fragmentation_deinit(&fragmentation);
	hawk_balance_deinit(&balance);
}

static void use_types(const struct hawk_heap *heap, struct hawk_block_types *names,
		      struct hawk_symbols *symbols)
{
	struct hawk_type_list list;
	struct hawk_types types;
	struct hawk_error *err = hawk_types_make(heap, names, symbols,
						 &(struct hawk_types_wish){.flows = true}, &types);

	if (!err) {
		err = hawk_type_list_make(&types, NULL, NULL, HAWK_TYPES_BY_SIZE, &list);
		if (!err)
			hawk_type_list_deinit(&list);
		hawk_types_deinit(&types);
	}
	hawk_error_destroy(err);
}

static void use_names(struct hawk_target *target, const struct hawk_heap *heap,
		      const struct hawk_graph *graph, struct hawk_findings *findings)
{
	struct hawk_block_types *types;
	struct hawk_symbols *symbols;

	struct hawk_error *err = hawk_symbols_create(target, NULL, findings, &symbols);

	if (err) {
		hawk_error_destroy(err);
		return;
	}
	hawk_error_destroy(hawk_symbols_open_for_graph(symbols));
	hawk_error_destroy(hawk_names_ask(heap, graph, symbols));
	err = hawk_block_types_create(heap, NULL, symbols, &types);
	if (!err) {
		for (uint32_t i = 0; i < heap->index.count; i++) {
			struct hawk_block block;

			hawk_heap_block(heap, i, &block);
			(void)hawk_block_type(types, &block);
		}
		use_types(heap, types, symbols);
		hawk_block_types_destroy(types);
	}
	hawk_error_destroy(err);
	hawk_symbols_destroy(symbols);
}

static void use(struct hawk_target *target, struct hawk_findings *findings)
{
	struct hawk_graph graph = {0};
	struct hawk_heap heap;
	bool has_graph = false;
	struct hawk_error *err = hawk_heap_load(target, NULL, findings, &heap);

	if (err) {
		hawk_error_destroy(err);
		return;
	}
	use_balance(&heap);
	if (heap.knows & HAWK_HEAP_BLOCKS) {
		use_blocks(&heap);
		err = hawk_graph_make(&heap, NULL, findings, &graph);
		has_graph = !err;
		hawk_error_destroy(err);
	}
	if (has_graph)
		use_graph(&graph);
	use_names(target, &heap, has_graph ? &graph : NULL, findings);
	hawk_graph_deinit(&graph);
	hawk_heap_deinit(&heap);
}

static void load(const uint8_t *bytes, size_t size)
{
	struct hawk_findings findings;
	struct hawk_core_file *file;
	struct hawk_target *target;
	struct hawk_error *error;

	hawk_findings_init(&findings);
	error = hawk_core_file_over(bytes, size, &file);
	if (!error)
		error = hawk_core_open_file(file, NULL, &findings, &target);
	if (!error) {
		if (hawk_target_snapshot(target))
			use(target, &findings);
		hawk_target_close(target);
	}
	hawk_error_destroy(error);
	hawk_findings_deinit(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;

	if (size < 2 || size > BYTES_MAX)
		return 0;
	bytes = malloc(size - 1);
	if (!bytes)
		return 0;
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & FIX_CHECKS)
		fix_checks(bytes, size - 1);
	load(bytes, size - 1);
	free(bytes);
	return 0;
}
