/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Joins suspects that one structure holds. Internal to analysis/.
 */
#ifndef SUSPECT_GROUPS_H
#define SUSPECT_GROUPS_H

#include "hawk/analysis/suspects.h"

/** Makes the tree, finds holders, and replaces suspects that one site's blocks dominate by that
 * site. Needs the suspects' facts. Sites with `startup` (by site, any bit of 1) lead nothing. */
struct hawk_error *hawk_suspects_group(const struct hawk_graph *graph,
				       const struct hawk_dominators *dominators,
				       struct hawk_root_namer *namer, struct hawk_site_names *names,
				       const uint8_t *startup, struct hawk_suspects *suspects);

#endif
