/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes a core anew, for a bug report: the same threads, mappings, blocks and pointers, without
 * the data in between. What stays and what becomes zero: docs/redact.md.
 *
 * The file is copied in its own order and keeps its size but for one block in front, so that a core
 * that is cut off or damaged stays so in the same places. Memory use does not grow with the file.
 */
#ifndef HAWK_ANALYZER_REDACT_REDACT_H
#define HAWK_ANALYZER_REDACT_REDACT_H

#include "hawk/graph/graph.h"
#include "hawk/output/file_sink.h"

struct hawk_redact_result {
	uint64_t bytes;      /**< of the core, before it is compressed */
	uint64_t words_kept; /**< of memory, zeros not counted */
	uint64_t words_zeroed;
};

/**
 * Writes the core that `heap` was found in to `sink`. `graph`: of the heap; NULL without blocks.
 * `vtables`: as the graph was made with.
 */
struct hawk_error *hawk_redact_core(const struct hawk_heap *heap, const struct hawk_graph *graph,
				    const struct hawk_vtables *vtables, struct hawk_file_sink *sink,
				    struct hawk_redact_result *ret);

#endif
