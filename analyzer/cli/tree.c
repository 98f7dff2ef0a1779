/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes trees of sites below roots from a session.
 */
#include "tree.h"

#include "hawk/export/export.h"
#include "hawk/profile/sources.h"

static struct hawk_error *add_retained(struct hawk_session *session, const uint64_t *chosen,
				       struct hawk_session_tree *ret)
{
	struct hawk_error *err = hawk_session_dominators(session);

	if (!err)
		err = hawk_site_tree_add_retained(session->graph, session->dominators,
						  ret->groups.groups, chosen, &ret->tree);
	return err ? err : hawk_site_tree_finish(&ret->tree);
}

static struct hawk_error *add_paths(struct hawk_session *session, const uint64_t *chosen,
				    struct hawk_session_tree *ret)
{
	struct hawk_error *err = hawk_session_paths(session);

	return err ? err
		   : hawk_site_tree_paths(session->graph, session->paths, ret->groups.groups,
					  chosen, &ret->tree);
}

struct hawk_error *hawk_session_tree(struct hawk_session *session, bool paths,
				     const uint64_t *chosen, const struct hawk_tree_view *view,
				     struct hawk_session_tree *ret)
{
	struct hawk_error *err = hawk_tree_roots_make(session->report.roots, &ret->groups);

	if (!err)
		err = paths ? add_paths(session, chosen, ret) : add_retained(session, chosen, ret);
	return err || !view ? err : hawk_site_tree_show(&ret->tree, view, &ret->rows);
}

void hawk_session_tree_deinit(struct hawk_session_tree *tree)
{
	hawk_tree_rows_deinit(&tree->rows);
	hawk_site_tree_deinit(&tree->tree);
	hawk_tree_roots_deinit(&tree->groups);
}

struct hawk_error *hawk_session_tree_put_folded(const struct hawk_session *session,
						const struct hawk_session_tree *tree,
						struct hawk_output *output)
{
	static const char *const columns[] = {"objects", "space"};
	struct hawk_profile *profile;
	struct hawk_error *err = hawk_profile_of_tree(
		session->graph, session->symbols, &tree->groups, &tree->tree, columns, &profile);

	if (err)
		return err;
	err = hawk_export_folded(
		&(struct hawk_export){.profile = profile, .column = profile->shown_column}, output);
	hawk_profile_destroy(profile);
	return err;
}
