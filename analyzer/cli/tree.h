/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Trees "root; site; site ..." of sessions, for the verbs that show or export them.
 */
#ifndef HAWK_ANALYZER_CLI_TREE_H
#define HAWK_ANALYZER_CLI_TREE_H

#include "hawk/analysis/site_tree.h"
#include "session.h"

struct hawk_session_tree {
	struct hawk_tree_roots groups;
	struct hawk_site_tree tree;
	struct hawk_tree_rows rows; /**< the part that is shown */
};

/** Makes the tree of the blocks in `chosen` (bits; NULL = all) along dominators, or along shortest
 * `paths`; and its rows, unless `view` is NULL. Needs session->report. Deinitialize `*ret`, which
 * is zeros, in any case. */
struct hawk_error *hawk_session_tree(struct hawk_session *session, bool paths,
				     const uint64_t *chosen, const struct hawk_tree_view *view,
				     struct hawk_session_tree *ret);
void hawk_session_tree_deinit(struct hawk_session_tree *tree);

/** Writes the tree as folded stacks. */
struct hawk_error *hawk_session_tree_put_folded(const struct hawk_session *session,
						const struct hawk_session_tree *tree,
						struct hawk_output *output);

#endif
