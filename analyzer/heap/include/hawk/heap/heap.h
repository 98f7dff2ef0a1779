/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap: every live block, and the sites that allocated them. Sites are unique stacks, named by
 * a hash over (build-id or base name, link-time address) of every frame. The hash is the same under
 * ASLR, on other hosts and after restarts.
 *
 * Blocks are numbers from 0 on, ascending with addresses (heap/block_index.h). A heap never changes
 * once it is loaded, and does not depend on the number of threads.
 */
#ifndef HAWK_ANALYZER_HEAP_HEAP_H
#define HAWK_ANALYZER_HEAP_HEAP_H

#include "hawk/heap/accounting.h"
#include "hawk/heap/allocator.h"
#include "hawk/heap/block_index.h"
#include "hawk/heap/guests.h"
#include "hawk/heap/life.h"
#include "hawk/heap/requested.h"
#include "hawk/target/near.h"
#include "hawk/trace/table.h"

struct hawk_text;

/** Ids of sites that are neither a stack nor a class. */
enum hawk_site_special {
	HAWK_SITE_NO_STACK = 0, /**< no stack was recorded, or the class is not known */
	HAWK_SITE_LOST = 1, /**< the header names a trace that is damaged, cut off or unwritten */
	/** All allocations without a stack under sample=. Its counts are exact. The other sites'
	 * estimates include them, so it is never listed next to these. */
	HAWK_SITE_NOT_SAMPLED = 2,
};

/** Basis of a site's counts that are estimates. */
struct hawk_site_sample {
	bool estimated;         /**< false: the site's counts are exact, the rest is 0 */
	uint64_t inuse_objects; /**< sampled blocks, exact */
	uint64_t inuse_bytes;
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	uint64_t inuse_objects_error; /**< standard errors of the estimates */
	uint64_t inuse_bytes_error;
	uint64_t alloc_bytes_error; /**< at most this */
};

struct hawk_site {
	uint64_t id; /**< the stable hash, or enum hawk_site_special; printed as 16 hex digits */
	/** One trace of this site, for its frames. 0 = blocks without a stack, UINT32_MAX =
	 * HAWK_SITE_LOST: no frames. */
	uint32_t trace;
	uint64_t inuse_objects;
	uint64_t inuse_bytes;
	uint64_t alloc_objects; /**< cumulative since start */
	uint64_t alloc_bytes;
	uint64_t oldest_units; /**< earliest birth among the live blocks */
	uint64_t newest_units;
	struct hawk_site_sample sample;
};

/** Returns the live blocks with the site's stack, as a fold over blocks counts them: never an
 * estimate. */
static inline uint64_t hawk_site_blocks(const struct hawk_site *site)
{
	return site->sample.estimated ? site->sample.inuse_objects : site->inuse_objects;
}

/** Returns the requested bytes of these. */
static inline uint64_t hawk_site_block_bytes(const struct hawk_site *site)
{
	return site->sample.estimated ? site->sample.inuse_bytes : site->inuse_bytes;
}

enum { HAWK_HEAP_SOURCES_MAX = 16 };

/** The source of blocks, by their numbers of trace or class. */
struct hawk_heap_origin {
	const char *name;  /**< of the source */
	unsigned knows;    /**< enum hawk_heap_knows, of these blocks */
	bool rounds_to_16; /**< see struct hawk_heap_found */
	uint32_t end;      /**< upper limit of their numbers, exclusive; they begin at the previous
			      origin's */
};

/** The reason why a heap is unknown. Unknown is not empty. */
enum hawk_heap_unknown {
	HAWK_HEAP_NOT_TRACED,       /**< all memory was searched and holds no trace table */
	HAWK_HEAP_CUT_OFF,          /**< the core ends before any table could be found */
	HAWK_HEAP_TABLE_UNREADABLE, /**< newer, damaged, or its header is cut off */
	HAWK_HEAP_TABLE_MISSING,    /**< the tracer's library is present, its memory is not */
	HAWK_HEAP_BLOCKS_MISSING,   /**< the table is present, no block's memory is */
};

struct hawk_heap {
	/** Bits of enum hawk_heap_knows that hold for some blocks at least. 0 = no heap was found:
	 * no blocks, no sites. */
	unsigned knows;
	enum hawk_heap_unknown unknown; /**< if `knows` is 0: why */
	bool unread;                    /**< an allocator is present whose blocks are not read */
	struct hawk_target *target;     /**< the owner's */
	/** NULL without HAWK_HEAP_STACKS, but for HAWK_HEAP_BLOCKS_MISSING. */
	struct hawk_table *table;
	struct hawk_heap_found found[HAWK_HEAP_SOURCES_MAX]; /**< in heap/ only */
	unsigned found_count;
	/** At least one if a heap was found; blocks with stacks are of the first. */
	struct hawk_heap_origin origins[HAWK_HEAP_SOURCES_MAX];
	unsigned origin_count;
	struct hawk_heap_spans spans; /**< sorted, disjoint */
	bool undumped_known;          /**< the list of HAWK_SPAN_UNDUMPED is complete */
	struct hawk_damages damages;
	struct hawk_heap_sums sums;
	uint64_t untraced_blocks; /**< of these, blocks that the counters do not count */
	struct hawk_allocator allocators[HAWK_HEAP_SOURCES_MAX]; /**< whose blocks these are */
	unsigned allocator_count;
	uint64_t blocks_max;           /**< more are not numbered: see struct hawk_heap_wish */
	struct hawk_block_index index; /**< empty if not loaded; see also `refusal` */
	/** The reason why blocks are not numbered (HAWK_ERROR_UNSUPPORTED), or NULL. Sites are
	 * present anyway. */
	char *refusal;
	/** Zeros without HAWK_HEAP_COUNTERS, but for HAWK_HEAP_BLOCKS_MISSING. */
	struct hawk_table_totals totals;
	uint64_t dropped_objects; /**< blocks that the tracer could not record */
	uint64_t dropped_bytes;
	uint64_t discarded_heaps; /**< see struct hawk_table_header */
	uint64_t sample_mean;     /**< bytes; 0 = counts of sites are exact, else estimates */
	/** Without HAWK_HEAP_ACCOUNTING (a table file) live counts are the table's own. The source
	 * found only these sums, and `accounting` is empty. */
	struct hawk_site *sites; /**< sorted by inuse_bytes, largest first, then id */
	size_t site_count;
	uint32_t *site_of_trace;    /**< index into sites by trace or class, UINT32_MAX = none */
	uint32_t trace_count;       /**< entries of site_of_trace; see hawk_heap_site() */
	uint32_t class_first;       /**< numbers from here on are classes, lower ones traces */
	struct hawk_class *classes; /**< from class_first on */
	struct hawk_guests guests;  /**< interpreters, and types of their objects */
	char *saved_names;          /**< of allocators and guests in a snapshot */
	char *type_names;           /**< of hawk_heap_name_types() */
	uint32_t lost_site;         /**< index of HAWK_SITE_LOST, UINT32_MAX = none */
	struct hawk_accounting accounting; /**< set by hawk_heap_load() only */
	struct hawk_life life;             /**< zeros without a table */
};

/** Returns where blocks with this number of trace or class came from. */
static inline const struct hawk_heap_origin *hawk_heap_origin(const struct hawk_heap *heap,
							      uint32_t trace)
{
	for (unsigned i = 0; i < heap->origin_count; i++)
		if (trace < heap->origins[i].end)
			return &heap->origins[i];
	return &heap->origins[0]; /* a lost trace */
}

/** Returns the bits of enum hawk_heap_knows for the blocks with this number of trace or class. */
static inline unsigned hawk_heap_knows_of(const struct hawk_heap *heap, uint32_t trace)
{
	return hawk_heap_origin(heap, trace)->knows;
}

/** Returns true if `what` (enum hawk_heap_knows) holds for all blocks. */
static inline bool hawk_heap_all_know(const struct hawk_heap *heap, unsigned what)
{
	bool all = heap->knows & what;

	for (unsigned i = 0; i < heap->origin_count; i++)
		all &= (heap->origins[i].knows & what) != 0;
	return all;
}

struct hawk_symbols;

/** Returns true if libstdc++ is a module of its own, so that its containers are known by their
 * words, and a module calls its operator new. jemalloc is linked with it in programs of C, too.
 * Opens files of modules. */
bool hawk_heap_has_libstdcxx(struct hawk_symbols *symbols, const struct hawk_target *target);

/** Returns true if debug information, or words of known containers, may tell types. Opens files of
 * modules. */
bool hawk_heap_types_flow(const struct hawk_vtables *vtables);

/** Types of blocks by number. */
struct hawk_type_names {
	const char *const *names; /**< by type; NULL = none, or one that the heap knows */
	uint32_t count;
	const uint32_t *of_block;
};

/** Gives blocks whose class tells but their size a class of their type. Only once, before anything
 * is made of the heap's sites. The names are copied. */
struct hawk_error *hawk_heap_name_types(struct hawk_heap *heap,
					const struct hawk_type_names *types);

/** Returns the class of blocks with this number, or NULL if they have a trace. */
static inline const struct hawk_class *hawk_heap_class(const struct hawk_heap *heap, uint32_t trace)
{
	return trace >= heap->class_first && trace < heap->trace_count
		       ? &heap->classes[trace - heap->class_first]
		       : NULL;
}

/** Returns the label of the innermost scope in which the blocks were allocated; 0 = none. */
static inline uint32_t hawk_heap_scope(const struct hawk_heap *heap, uint32_t trace)
{
	return heap->table && !hawk_heap_class(heap, trace) ? hawk_table_scope(heap->table, trace)
							    : 0;
}

/** Returns the site of a block's trace or class. Accepts any number; returns NULL if it has no site
 * (and so no blocks). */
const struct hawk_site *hawk_heap_site(const struct hawk_heap *heap, uint32_t trace);

/**
 * Finds the live blocks of all `sources`, joined, and their sites. `ret->knows` is 0 if no heap was
 * found. Sources and `target` must outlive `ret`. A source whose blocks have stacks comes first.
 * Deinitialize `ret` only after success.
 */
struct hawk_error *hawk_heap_load_from(const struct hawk_heap_source *const *sources, size_t count,
				       struct hawk_target *target, struct hawk_findings *findings,
				       struct hawk_heap *ret);

struct hawk_heap_wish {
	/** Tells classes of blocks without stacks, and is found if there are such blocks. Must
	 * outlive the heap; NULL = none are known. */
	struct hawk_vtables *vtables;
	bool traced_only; /**< the tracer's headers or a snapshot, no allocator's structures */
	unsigned guests;  /**< bits of enum hawk_guest_kind */
	/** Upper limit on blocks that are numbered. With more, the heap has only sums, sites and
	 * spans; with 0, memory does not grow with blocks. */
	uint64_t blocks_max;
	/** As `blocks_max`, of blocks that hawk_heap_name_types() may name. */
	uint64_t typed_blocks_max;
};

/** As hawk_heap_load_from(), from all known sources. */
struct hawk_error *hawk_heap_load_as(const struct hawk_heap_wish *wish, struct hawk_target *target,
				     struct hawk_findings *findings, struct hawk_heap *ret);

/** As hawk_heap_load_as(), with all blocks and sources. */
struct hawk_error *hawk_heap_load(struct hawk_target *target, struct hawk_vtables *vtables,
				  struct hawk_findings *findings, struct hawk_heap *ret);

/** Finds the allocators below a traced heap: `ret` has no blocks, only `found` and `spans`. The
 * tracer's own memory is there with source HAWK_HEAP_SOURCES_MAX. Deinitialize `ret` only after
 * success; `heap` must outlive it. */
struct hawk_error *hawk_heap_find_allocators(const struct hawk_heap *heap, struct hawk_heap *ret);
void hawk_heap_deinit(struct hawk_heap *heap);

/** What lies at an address. */
enum hawk_block_state {
	HAWK_BLOCK_NONE = 0,
	HAWK_BLOCK_LIVE,
	HAWK_BLOCK_HEADER, /**< the address is inside the header or padding of a live block */
	HAWK_BLOCK_DEAD,   /**< behind a dead seal: a block died here; only trace and start are
			      valid */
};

/** Returns the reason why the heap is unknown, as "the process was not traced"; NULL = it is known.
 */
const char *hawk_heap_unknown_text(const struct hawk_heap *heap);

/** Returns true if the tracer's library is mapped in the target. */
bool hawk_heap_has_tracer(const struct hawk_target *target);

/** Finds the block that contains `address`, the whole one if carved; the error says why there is
 * none. */
struct hawk_error *hawk_heap_find_block(const struct hawk_heap *heap, uint64_t address,
					uint32_t *ret);

/** Returns the state of an address; sets `*ret` for every state but HAWK_BLOCK_NONE. */
enum hawk_block_state hawk_heap_at(const struct hawk_heap *heap, uint64_t address,
				   struct hawk_block *ret);

/** Gives the words by which a redacted core will show the same heap again. */
struct hawk_error *hawk_heap_keep(const struct hawk_heap *heap, hawk_keep_function *take,
				  void *context);

/** Returns the blocks of a loaded heap that the counters call live but that were not found. Too
 * large if the counters missed frees, or ran on after the core was written. */
uint64_t hawk_heap_not_found(const struct hawk_heap *heap);

/** As hawk_heap_not_found(), but 0 if the counters cannot tell. */
uint64_t hawk_heap_unaccounted(const struct hawk_heap *heap);

/** Returns true if no live block of a loaded heap is missing, as far as the counters show. */
bool hawk_heap_is_whole(const struct hawk_heap *heap);

/** Returns the stable hash of a trace. */
uint64_t hawk_site_id(const struct hawk_table *table, const struct hawk_trace *trace);

/** Returns the id of a class's site: a hash of its identity, or of its stack as hawk_site_id(). */
uint64_t hawk_site_class_id(const struct hawk_target *target, const struct hawk_class *class);

/** Returns the age in seconds of a block born at `birth_units`, seen from `life.end_units`. */
double hawk_heap_age_seconds(const struct hawk_heap *heap, uint64_t birth_units);

/** Returns the number of bytes that the program can have requested. */
struct hawk_requested hawk_heap_requested(const struct hawk_heap *heap, uint32_t block);

/** Returns true for a block of the C library's or an allocator's own. */
static inline bool hawk_heap_is_internal(const struct hawk_heap *heap, uint32_t block)
{
	const struct hawk_class *class = hawk_heap_class(heap, heap->index.traces[block]);

	return class && class->kind == HAWK_CLASS_INTERNAL;
}

/** Returns true if the allocator can have handed out `pointer`, which leads into the block, as an
 * aligned one. Never true of a snapshot. */
bool hawk_heap_is_aligned_within(const struct hawk_heap *heap, uint32_t block, uint64_t pointer);

/** Returns the index into heap->sites of block `block`, UINT32_MAX = none. */
static inline uint32_t hawk_heap_site_at(const struct hawk_heap *heap, uint32_t block)
{
	uint32_t trace = heap->index.traces[block];

	return trace < heap->trace_count ? heap->site_of_trace[trace] : heap->lost_site;
}

/** Blocks in groups, whose sums are wanted: each block has a key, each key a group. */
struct hawk_block_groups {
	const uint32_t *keys;   /**< by block */
	const uint32_t *groups; /**< by key; NULL = keys are groups */
	uint32_t key_count;
	uint32_t otherwise; /**< the group of keys from key_count on */
	size_t count;       /**< groups; blocks of a higher one belong to none */
};

/** Returns the block's group. */
static inline uint32_t hawk_block_group(const struct hawk_block_groups *groups, uint32_t block)
{
	uint32_t key = groups->keys[block];

	if (!groups->groups)
		return key;
	return key < groups->key_count ? groups->groups[key] : groups->otherwise;
}

/** Returns the blocks grouped by their sites. */
static inline struct hawk_block_groups hawk_heap_groups(const struct hawk_heap *heap)
{
	return (struct hawk_block_groups){.keys = heap->index.traces,
					  .groups = heap->site_of_trace,
					  .key_count = heap->trace_count,
					  .otherwise = heap->lost_site,
					  .count = heap->site_count};
}

/**
 * Fills `ret` with all that is known of a block. Its size is the requested one, nested blocks
 * included. Kind, birth and offset code come from its header in the core (one cache miss), or were
 * kept for a living process. Returns false and leaves them 0 if the header is missing.
 */
bool hawk_heap_block(const struct hawk_heap *heap, uint32_t block, struct hawk_block *ret);

/** As hawk_heap_block(), faster for successive blocks. `near` is of the heap's target. */
bool hawk_heap_next_block(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block,
			  struct hawk_block *ret);

/** Returns the upper 16 bits of the block's header (see hawk_block_index.heads), 0 if it cannot be
 * read. Fast for successive blocks. */
uint16_t hawk_heap_next_head(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block);

/**
 * Writes a loaded heap to a snapshot: blocks as a source gives them, without their contents. With
 * HAWK_SNAPSHOT_SITES_ONLY it writes sites alone; then blocks need not be numbered.
 */
struct hawk_error *hawk_heap_save(const struct hawk_heap *heap,
				  struct hawk_snapshot_writer *writer);

/** Appends how an interpreter's object refers to another by its word at `offset` of the block:
 * "['cache']", "[3]", ".user". The block `holder` leads to it (HAWK_BLOCK_NOWHERE = any):
 * attributes have their names there. Returns false if that is not known, or no object is in the
 * block. Reads.
 */
bool hawk_guests_append_member(const struct hawk_heap *heap, uint32_t holder, uint32_t block,
			       uint64_t offset, struct hawk_text *text);

/** Writes what allocators and guests said of themselves, with their findings among `findings`. */
struct hawk_error *hawk_heap_allocators_save(const struct hawk_heap *heap,
					     const struct hawk_findings *findings,
					     struct hawk_snapshot_writer *writer);

#endif
