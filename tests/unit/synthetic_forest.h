/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Heaps of random forests for tests of trees: every block has one pointer to it at most, so that
 * paths and dominators are the same forest, which is known beforehand. With cmocka's assertions.
 */
#ifndef SYNTHETIC_FOREST_H
#define SYNTHETIC_FOREST_H

#include "hawk_block_graph.h"
#include "hawk_site_tree.h"

enum {
	SYNTHETIC_FOREST_SMALL = 400,
	SYNTHETIC_FOREST_BLOCKS = 30000, /**< at most; enough for two threads */
	SYNTHETIC_FOREST_CHOICES = 6,
	SYNTHETIC_FOREST_SITES = 4,
	SYNTHETIC_FOREST_GROUPS = 3,
	SYNTHETIC_FOREST_WORDS = SYNTHETIC_FOREST_BLOCKS / 64 + 1,
};

struct synthetic_forest {
	struct hawk_heap heap;
	struct hawk_block_graph graph;
	uint32_t site_of_trace[SYNTHETIC_FOREST_SITES];
	uint32_t sizes[SYNTHETIC_FOREST_BLOCKS], traces[SYNTHETIC_FOREST_BLOCKS];
	uint32_t parent[SYNTHETIC_FOREST_BLOCKS]; /**< UINT32_MAX = a root, or nothing */
	uint32_t offsets[SYNTHETIC_FOREST_BLOCKS + 1], edges[SYNTHETIC_FOREST_BLOCKS];
	struct hawk_root roots[SYNTHETIC_FOREST_BLOCKS];
	uint32_t groups[SYNTHETIC_FOREST_BLOCKS];
	/* By number, from 1 on. */
	uint32_t blocks[SYNTHETIC_FOREST_BLOCKS + 1], dominators[SYNTHETIC_FOREST_BLOCKS + 1],
		subtrees[SYNTHETIC_FOREST_BLOCKS + 1];
	uint64_t retained[SYNTHETIC_FOREST_BLOCKS + 1];
	uint32_t order[SYNTHETIC_FOREST_BLOCKS], from[SYNTHETIC_FOREST_BLOCKS];
	uint64_t found[SYNTHETIC_FOREST_WORDS];
};

/** Of `most` blocks at most: its graph has all parts, and no folds. Caller closes it. */
struct synthetic_forest *synthetic_forest_open(uint32_t most, uint64_t *seed);

/** Folds, too. */
void synthetic_forest_close(struct synthetic_forest *forest);

/** Some of the blocks, in one of SYNTHETIC_FOREST_CHOICES ways; `blocks`: SYNTHETIC_FOREST_WORDS.
 */
void synthetic_forest_choose(const struct synthetic_forest *forest, unsigned how, uint64_t *seed,
			     uint64_t *blocks);

void synthetic_expect_no_error(struct hawk_error *err);

/** Kind, key, depth, sums and those by start pointers of two nodes are the same. */
void synthetic_expect_same_figures(const struct hawk_site_tree *got, uint32_t a,
				   const struct hawk_site_tree *want, uint32_t b);

/** Nodes `a` and `b` with all below them. */
void synthetic_expect_same_node(const struct hawk_site_tree *got, uint32_t a,
				const struct hawk_site_tree *want, uint32_t b);

/** Both are gone then. */
void synthetic_expect_same_trees(struct hawk_site_tree *got, struct hawk_site_tree *want);

#endif
