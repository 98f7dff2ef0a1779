/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Interior pointers that are as good as start pointers, because that is how C++ and some libraries
 * hold a block: Valgrind's heuristics, by its names and rules (--leak-check-heuristics), and four
 * more for what programs in C do. And pointers one past the end, which are interior pointers only
 * if that is asked for.
 *
 * One pass over the interior pointers of a graph and of its roots; the graph itself stays as it is.
 * Reads the contents of blocks: of a living process before it is let go.
 */
#ifndef HAWK_ANALYZER_GRAPH_HEURISTICS_H
#define HAWK_ANALYZER_GRAPH_HEURISTICS_H

#include "hawk/base/error.h"
#include "hawk/base/number_set.h"

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
	 * BSTR, blocks of talloc, my_malloc() and g_rc_box. Not one of Valgrind's. */
	HAWK_HEURISTIC_LENGTHPREFIX = 1u << 4,
	/** To a node {next, previous} of a doubly linked list whose neighbours lead back to it, or
	 * right behind one: how lists within structures hold these, and Python's objects are held.
	 * Not one of Valgrind's. */
	HAWK_HEURISTIC_LISTNODE = 1u << 5,
	/** To a word that leads to the block's start: SQLite's page cache. Not one of Valgrind's.
	 */
	HAWK_HEURISTIC_BACKPOINTER = 1u << 6,
	/** One past the end: an interior pointer like others, and no pointer without this
	 * heuristic. Not one of Valgrind's. */
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

/**
 * Whether `word` points into a virtual table, for tables that the target does not hold (those of
 * executables at a fixed address lie in files). May be NULL: then it does not.
 */
struct hawk_vtable_oracle {
	struct hawk_error *(*is_vtable)(void *context, uint64_t word, bool *ret);
	void *context;
};

/** Which pointers are explained. Zeros: none, and those one past the end are no pointers. */
struct hawk_explained {
	struct hawk_number_set edges; /**< of the graph */
	struct hawk_number_set roots; /**< by index */
	bool ends;                    /**< pointers one past the end count as interior ones */
	/** Which ones these are. In `explained` of a graph only, which knows them for all others.
	 */
	struct hawk_number_set end_edges;
	struct hawk_number_set end_roots;
	uint64_t counts[HAWK_HEURISTIC_COUNT]; /**< pointers, roots included */
};

/** `heuristics` are bits of enum hawk_heuristic; `graph` has its edges and roots. Fills `end_edges`
 * and `end_roots` if `graph->explained` is still of zeros. One thread at a time asks the oracle.
 * `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_heuristics_find(const struct hawk_graph *graph, unsigned heuristics,
					const struct hawk_vtable_oracle *oracle,
					struct hawk_explained *ret);

/** Accepts zeros, and leaves them behind. */
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
