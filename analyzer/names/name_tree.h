/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Strings kept once each, with a note beside each: a tree of search.h. Private to names/.
 */
#ifndef HAWK_ANALYZER_NAMES_NAME_TREE_H
#define HAWK_ANALYZER_NAMES_NAME_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct hawk_name_node {
	bool noted;      /**< false in a new node: the caller has not filled the rest */
	bool several;    /**< the name of other sites, too */
	uint32_t number; /**< of a site or a group */
	char text[];
};

/** The node of `text` in `*tree` (NULL = empty), made if there is none; NULL if memory runs out,
 * which is swallowed. */
struct hawk_name_node *hawk_name_tree_node(void **tree, const char *text);

/** NULL = not in the tree. */
const struct hawk_name_node *hawk_name_tree_find(void *const *tree, const char *text);

/** Leaves an empty tree. */
void hawk_name_tree_clear(void **tree);

#endif
