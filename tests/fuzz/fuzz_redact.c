/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Redacts any bytes that open as a core. The copy must open, with the same mappings and threads:
 * what is damaged or cut off stays so. Only where headers claim bytes twice, notes may be lost,
 * which the core's findings say.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk/redact/redact.h"
#include "target/core/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool failed(struct hawk_error *error)
{
	hawk_error_destroy(error);
	return error;
}

static void compare(const struct hawk_target *before, const struct hawk_target *after)
{
	size_t count, other_count;
	const struct hawk_mapping *mappings = hawk_target_mappings(before, &count);
	const struct hawk_mapping *others = hawk_target_mappings(after, &other_count);

	require(count == other_count);
	for (size_t i = 0; i < count; i++)
		require(mappings[i].start == others[i].start && mappings[i].end == others[i].end &&
			mappings[i].dumped_bytes == others[i].dumped_bytes);
	hawk_target_threads(before, &count);
	hawk_target_threads(after, &other_count);
	require(count == other_count);
}

static bool claims_twice(const struct hawk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (!strcmp(findings->items[i].key, "segments-twice") ||
		    !strcmp(findings->items[i].key, "notes-overlap"))
			return true;
	return false;
}

static void redact(const struct hawk_heap *heap, const struct hawk_graph *graph,
		   const struct hawk_findings *findings)
{
	static const struct hawk_file_sink_settings settings = {.folder = "/tmp"};
	struct hawk_redact_result result;
	struct hawk_file_sink *sink;
	struct hawk_target *copy;
	uint64_t bytes;

	if (failed(hawk_file_sink_create(&settings, &sink)))
		return;
	if (!failed(hawk_redact_core(&(struct hawk_redact_input){.heap = heap, .graph = graph},
				     sink, &result)) &&
	    !failed(hawk_file_sink_finish(sink, &bytes))) {
		require(!failed(hawk_target_open_core(hawk_file_sink_place(sink), NULL, &copy)));
		if (!claims_twice(findings))
			compare(heap->target, copy);
		hawk_target_close(copy);
	}
	hawk_file_sink_destroy(sink);
}

static void redact_target(struct hawk_target *target, const struct hawk_findings *findings)
{
	struct hawk_heap heap;
	struct hawk_graph graph;
	bool blocks;

	if (hawk_target_process(target)->table_file ||
	    failed(hawk_heap_load(target, NULL, NULL, &heap)))
		return;
	blocks = heap.knows && !heap.refusal && !failed(hawk_graph_make(&heap, NULL, NULL, &graph));
	redact(&heap, blocks ? &graph : NULL, findings);
	if (blocks)
		hawk_graph_deinit(&graph);
	hawk_heap_deinit(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hawk_findings findings;
	struct hawk_core_file *file;
	struct hawk_target *target;

	hawk_findings_init(&findings);
	if (!failed(hawk_core_file_over(data, size, &file)) &&
	    !failed(hawk_core_open_file(file, "fuzz", &findings, &target))) {
		redact_target(target, &findings);
		hawk_target_close(target);
	}
	hawk_findings_deinit(&findings);
	return 0;
}
