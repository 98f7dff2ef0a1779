/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suspects: the few structures that explain most of the memory, then what leaks. Each has its lead
 * site, and that site's pointers, retained size, holder and growth.
 *
 * Large sites are one suspect if blocks of one site dominate them: the nodes of a map hold its keys
 * and values. Sites that were filled at start and grow no more are left out. Heaps without ages
 * cannot tell those from leaks; large suspects that are lost come first there.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SUSPECTS_H
#define HAWK_ANALYZER_ANALYSIS_SUSPECTS_H

#include "hawk/analysis/growth.h"
#include "hawk/analysis/leak_leaders.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/analysis/site_tree.h"
#include "hawk/names/root_name.h"
#include "hawk/names/site_names.h"
#include "hawk/names/type_words.h"

enum {
	HAWK_SUSPECTS_MAX = 15, /**< candidates; fewer are left at last */
	HAWK_SUSPECT_PARTS_MAX = 4,
};

/** Blocks of one site in a suspect's structure. */
struct hawk_suspect_part {
	uint32_t site;
	struct hawk_chosen blocks;
};

/** A large site or structure; if most of a site was lost through another one, the site that lost
 * it. */
struct hawk_suspect {
	uint32_t site; /**< the lead: index into the heap's sites */
	bool leaks;    /**< lost, or a leak with high confidence: listed however small */
	bool is_first; /**< large, and certain while the growth of others is unknown */
	/** Lost through its definitely lost blocks, these included; 0 = nothing but themselves. */
	struct hawk_chosen lost;
	uint32_t followers[HAWK_SUSPECTS_MAX]; /**< large sites whose blocks it lost, not itself */
	size_t follower_count;
	uint32_t node;  /**< the lead's in the tree; 0 = it is no structure */
	uint32_t group; /**< the node that dominates the structure: `node` or one above it */
	struct hawk_chosen blocks; /**< of the structure; 0 = it is none */
	/** The structure's largest sites, by bytes; at least two. */
	struct hawk_suspect_part parts[HAWK_SUSPECT_PARTS_MAX];
	size_t part_count;
	struct hawk_growth_facts facts;
	struct hawk_growth growth;
	struct hawk_site_holder holder;
	uint64_t retained;            /**< requested bytes, exact */
	uint32_t example;             /**< a block of the site */
	struct hawk_type_words words; /**< of the example */
};

struct hawk_suspects {
	struct hawk_suspect items[HAWK_SUSPECTS_MAX];
	size_t count;
	uint64_t heap_bytes;      /**< requested bytes of all live blocks */
	uint64_t explained_bytes; /**< live bytes of the suspects, their parts and followers */
	uint64_t startup_bytes;   /**< of sites left out: filled at start, and growing no more */
	struct hawk_tree_roots roots;
	struct hawk_site_tree tree;
};

/** `reach` and `dominators` follow all pointers. `modules`: to read types of examples; NULL = do
 * not. `full`: more suspects, and smaller ones. Deinitialize `*ret` in any case. */
struct hawk_error *hawk_suspects_find(const struct hawk_graph *graph,
				      const struct hawk_reach *reach,
				      const struct hawk_dominators *dominators,
				      struct hawk_root_namer *namer, struct hawk_site_names *names,
				      const struct hawk_module_words *modules, bool full,
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
