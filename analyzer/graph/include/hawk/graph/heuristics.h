/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds interior pointers that are as good as start pointers, because C++ and some libraries hold
 * blocks that way. Has Valgrind's heuristics, by its names and rules (--leak-check-heuristics), and
 * four more for programs in C. Pointers one past the end count as interior pointers only on
 * request.
 *
 * Makes one pass over the interior pointers of a graph and of its roots, and leaves the graph
 * unchanged. Reads the contents of blocks, so a living process must still be stopped.
 */
#ifndef HAWK_ANALYZER_GRAPH_HEURISTICS_H
#define HAWK_ANALYZER_GRAPH_HEURISTICS_H

#include "hawk/base/error.h"
#include "hawk/base/number_set.h"
#include "hawk/heap/vtables.h"

struct hawk_graph;

enum hawk_heuristic {
	/** {length, capacity, count, characters}: to the characters of a std::string of the old
	 * ABI; capacity and size of the block must fit each other. */
	HAWK_HEURISTIC_STDSTRING = 1u << 0,
	/** {length of the rest, ...}: to the rest (SQLite). */
	HAWK_HEURISTIC_LENGTH64 = 1u << 1,
	/** {number of elements, elements}: to the first of them; made by new[] for classes with a
	 * destructor. */
	HAWK_HEURISTIC_NEWARRAY = 1u << 2,
	/** To a base class: block and pointer both begin with a pointer to a virtual table. */
	HAWK_HEURISTIC_MULTIPLEINHERITANCE = 1u << 3,
	/** Behind a header that knows the block's length (graph/length_prefix.h): strings of redis,
	 * BSTR, arrays of PHP, blocks of talloc, my_malloc() and g_rc_box. Or to the control bytes
	 * of a hash table of Rust, behind its entries. Not one of Valgrind's. */
	HAWK_HEURISTIC_LENGTHPREFIX = 1u << 4,
	/** To a node {next, previous} of a doubly linked list whose neighbours lead back to it, or
	 * right behind such a node. Lists within structures and Python's objects are held so. Not
	 * one of Valgrind's. */
	HAWK_HEURISTIC_LISTNODE = 1u << 5,
	/** To, or right beside, a word that leads to the block's start: SQLite's page cache, memory
	 * aligned by hand. Not one of Valgrind's. */
	HAWK_HEURISTIC_BACKPOINTER = 1u << 6,
	/** One past the end. Counts as an interior pointer with this heuristic, else as none. Not
	 * one of Valgrind's. */
	HAWK_HEURISTIC_ENDPOINTER = 1u << 7,
	/** To the offset at which nearly all blocks of the site are pointed to: behind a header
	 * that a wrapper of malloc() puts there (graph/heuristics_prefix.h). Not one of Valgrind's.
	 */
	HAWK_HEURISTIC_PREFIX = 1u << 8,
	HAWK_HEURISTICS_ALL = (1u << 9) - 1,
	HAWK_HEURISTICS_VALGRIND = (1u << 4) - 1,
	HAWK_HEURISTIC_COUNT = 9,
};

/** "stdstring" ... by number of the bit. */
extern const char *const hawk_heuristic_names[HAWK_HEURISTIC_COUNT];

/** The explained pointers. Zeros mean none, and pointers one past the end do not count. */
struct hawk_explained {
	struct hawk_number_set edges; /**< of the graph */
	struct hawk_number_set roots; /**< by index */
	bool ends;                    /**< pointers one past the end count as interior ones */
	/** The edges one past the end. Filled only in a graph's own `explained`, which serves all
	 * others. */
	struct hawk_number_set end_edges;
	struct hawk_number_set end_roots;
	uint64_t counts[HAWK_HEURISTIC_COUNT]; /**< pointers, roots included */
};

/** Finds the pointers that `heuristics` (bits of enum hawk_heuristic) explain. `graph` must have
 * its edges and roots. Fills `end_edges` and `end_roots` if `graph->explained` is still zeros.
 * `vtables` tells tables that the target does not hold: found before, or NULL. Deinitialize `ret`
 * only after success. */
struct hawk_error *hawk_heuristics_find(const struct hawk_graph *graph, unsigned heuristics,
					const struct hawk_vtables *vtables,
					struct hawk_explained *ret);

/** Frees the sets and zeroes the struct. Accepts zeros. */
void hawk_explained_deinit(struct hawk_explained *explained);

static inline bool hawk_explained_edge(const struct hawk_explained *explained, uint32_t edge)
{
	return hawk_number_set_has(&explained->edges, edge);
}

static inline bool hawk_explained_root(const struct hawk_explained *explained, size_t root)
{
	return hawk_number_set_has(&explained->roots, root);
}

#endif
