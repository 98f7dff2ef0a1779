/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suspects: the few sites that explain most of the memory, each with its pointers, retained size,
 * holder and growth.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SUSPECTS_H
#define HAWK_ANALYZER_ANALYSIS_SUSPECTS_H

#include "hawk/analysis/growth.h"
#include "hawk/analysis/leak_leaders.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/analysis/site_tree.h"
#include "hawk/names/root_name.h"
#include "hawk/names/site_names.h"

enum { HAWK_SUSPECTS_MAX = 10 };

/** A large site; or, if most of it was lost through another site, the site that lost it. */
struct hawk_suspect {
	uint32_t site; /**< index into the heap's sites */
	/** Lost through its definitely lost blocks, these included; 0 = nothing but themselves. */
	struct hawk_chosen lost;
	uint32_t followers[HAWK_SUSPECTS_MAX]; /**< large sites whose blocks it lost, not itself */
	size_t follower_count;
	struct hawk_growth_facts facts;
	struct hawk_growth growth;
	struct hawk_site_holder holder;
	uint64_t retained; /**< requested bytes, exact */
};

struct hawk_suspects {
	struct hawk_suspect items[HAWK_SUSPECTS_MAX];
	size_t count;
	uint64_t heap_bytes;      /**< requested bytes of all live blocks */
	uint64_t explained_bytes; /**< live bytes of the suspects and their followers */
	struct hawk_tree_roots roots;
	struct hawk_site_tree tree;
};

/** `reach` and `dominators` follow all pointers. `full`: more suspects, and smaller ones. `*ret` is
 * to be deinitialized in any case. */
struct hawk_error *hawk_suspects_find(const struct hawk_graph *graph,
				      const struct hawk_reach *reach,
				      const struct hawk_dominators *dominators,
				      struct hawk_root_namer *namer, bool full,
				      struct hawk_suspects *ret);
/** Fills `sites` with those between the holder's top and the suspect, the outermost first; returns
 * their number. */
size_t hawk_suspect_steps(const struct hawk_suspects *suspects, const struct hawk_suspect *suspect,
			  uint32_t sites[HAWK_SITE_TREE_DEPTH]);

/** Appends the root that keeps the suspect alive, "`g_sessions` in shop .bss > make_session": the
 * same in other processes and builds, for one bug. */
void hawk_suspect_append_holder(const struct hawk_suspects *suspects,
				const struct hawk_suspect *suspect, struct hawk_site_names *names,
				struct hawk_text *text);

/** Accepts zeros. */
void hawk_suspects_deinit(struct hawk_suspects *suspects);

#endif
