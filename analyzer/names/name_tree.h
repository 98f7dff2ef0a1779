/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Interned strings with a note each, in a search.h tree. Private to names/.
 */
#ifndef HAWK_ANALYZER_NAMES_NAME_TREE_H
#define HAWK_ANALYZER_NAMES_NAME_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct hawk_name_node {
	bool noted;      /**< false in a new node, which the caller must fill */
	bool several;    /**< several sites have this name */
	uint32_t number; /**< of a site or a group */
	char text[];
};

/** Finds or creates the node of `text` in `*tree` (NULL = empty). Returns NULL on out-of-memory,
 * which is swallowed. */
struct hawk_name_node *hawk_name_tree_node(void **tree, const char *text);

/** NULL = not in the tree. */
const struct hawk_name_node *hawk_name_tree_find(void *const *tree, const char *text);

/** Leaves an empty tree. */
void hawk_name_tree_clear(void **tree);

#endif
