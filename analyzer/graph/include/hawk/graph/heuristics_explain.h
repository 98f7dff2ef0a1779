/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the heuristic that explains an interior pointer, by the bytes of the block that it leads
 * to.
 */
#ifndef HAWK_ANALYZER_GRAPH_HEURISTICS_EXPLAIN_H
#define HAWK_ANALYZER_GRAPH_HEURISTICS_EXPLAIN_H

#include "hawk/graph/heuristics.h"
#include "hawk/target/near.h"

enum {
	HAWK_VERDICTS = 64,
	HAWK_EXPLAINER_READ_MAX = 127, /**< bytes of one read: `redact` keeps no longer ones */
};

/** Called with all bytes that are read, before they are judged; it may change them. */
struct hawk_explainer_filter {
	void (*see)(void *context, uint64_t address, void *bytes, size_t size);
	void *context;
};

/** An explainer for one thread. Set the first five fields, zero the rest. */
struct hawk_explainer {
	struct hawk_near near; /**< the target */
	const struct hawk_heap *heap;
	unsigned heuristics;
	const struct hawk_vtables *vtables;         /**< NULL = none are known */
	const struct hawk_explainer_filter *filter; /**< NULL = none */
	/** Direct-mapped cache of verdicts. An empty slot (word 0) is correct: 0 is no vtable. */
	struct hawk_vtable_verdict {
		uint64_t word;
		bool vtable;
	} verdicts[HAWK_VERDICTS];
};

/** Finds the heuristic (its bit) that explains `pointer` to the inside of `block`; 0 = none. */
unsigned hawk_explainer_explain(struct hawk_explainer *explainer, uint32_t block, uint64_t pointer);

/** Returns false if the target does not hold the word. */
bool hawk_explainer_read_word(struct hawk_explainer *explainer, uint64_t at, uint64_t *ret);

#endif
