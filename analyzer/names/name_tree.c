/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tree of names.
 */
#include "name_tree.h"

#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/error.h"

static int compare(const void *left, const void *right)
{
	const struct hawk_name_node *a = left, *b = right;

	return strcmp(a->text, b->text);
}

/** The node whose text this is: what the tree compares. */
static struct hawk_name_node *make_node(const char *text)
{
	size_t size = strlen(text) + 1;
	struct hawk_name_node *node = calloc(1, sizeof(*node) + size);

	if (node)
		memcpy(node->text, text, size);
	else
		hawk_enomem_swallow();
	return node;
}

struct hawk_name_node *hawk_name_tree_node(void **tree, const char *text)
{
	struct hawk_name_node *made = make_node(text);
	struct hawk_name_node **found = made ? tsearch(made, tree, compare) : NULL;

	if (made && !found)
		hawk_enomem_swallow();
	if (!found || *found != made)
		free(made);
	return found ? *found : NULL;
}

const struct hawk_name_node *hawk_name_tree_find(void *const *tree, const char *text)
{
	struct hawk_name_node *key = *tree ? make_node(text) : NULL;
	struct hawk_name_node **found = key ? tfind(key, tree, compare) : NULL;

	free(key);
	return found ? *found : NULL;
}

void hawk_name_tree_clear(void **tree)
{
	tdestroy(*tree, free);
	*tree = NULL;
}
