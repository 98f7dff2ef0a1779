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

/** What a core is known by. */
struct hawk_redact_input {
	const struct hawk_heap *heap;
	const struct hawk_graph *graph;     /**< of the heap; NULL without blocks */
	const struct hawk_vtables *vtables; /**< as the graph was made with */
	const struct hawk_span *spans;      /**< memory to keep besides */
	size_t span_count;
};

/** Writes the core that the heap was found in to `sink`. */
struct hawk_error *hawk_redact_core(const struct hawk_redact_input *input,
				    struct hawk_file_sink *sink, struct hawk_redact_result *ret);

#endif
