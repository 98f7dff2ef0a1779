/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Who finds heaps. A source finds one kind of heap in a target: what memory is (spans), which
 * classes its blocks are of, and the blocks themselves. Sources do not know each other: heap/ asks
 * all of them and joins their blocks.
 *
 * Two blocks of different sources may lie in one another: the inner one is the block then, and the
 * outer one, a chunk that the inner one's allocator works with, is its overhead.
 */
#ifndef HAWK_ANALYZER_HEAP_SOURCE_H
#define HAWK_ANALYZER_HEAP_SOURCE_H

#include "hawk/base/span.h"
#include "hawk/heap/damage.h"
#include "hawk/heap/spans.h"
#include "hawk_block_header.h"
#include "hawk/target/target.h"

/** A live block. */
struct hawk_block {
	uint64_t start; /**< the pointer the program holds */
	uint64_t size;  /**< bytes: requested, or usable without HAWK_HEAP_EXACT */
	/** Of a source: a trace id, or a class number; 0 = not known. Of a heap: its own number,
	 * which tells the source, too. */
	uint32_t trace;
	uint8_t kind;  /**< enum hawk_block_kind; 0 = not known */
	uint8_t birth; /**< hawk_birth_decode() */
	uint8_t offset_code;
	uint8_t depth; /**< blocks that it was carved out of: the last ones before it of less depth
			*/
};

enum { HAWK_BLOCK_DEPTH_MAX = 15 };

/** What a heap, or the blocks of one source, can say. */
enum hawk_heap_knows {
	HAWK_HEAP_STACKS = 1u << 0,   /**< sites are allocation stacks; else classes */
	HAWK_HEAP_AGES = 1u << 1,     /**< when blocks were born */
	HAWK_HEAP_CONTENTS = 1u << 2, /**< the bytes in blocks can be read: not of a snapshot */
	HAWK_HEAP_EXACT = 1u << 3, /**< sizes are those the program asked for; else usable ones */
	HAWK_HEAP_COUNTERS = 1u << 4,   /**< what was ever allocated, in all and by site */
	HAWK_HEAP_BLOCKS = 1u << 5,     /**< single blocks; else only counts by site */
	HAWK_HEAP_ACCOUNTING = 1u << 6, /**< where memory went; else only what sites have */
	HAWK_HEAP_HEADERS = 1u << 7,    /**< the tracer's headers, which have kind and birth */
};

enum hawk_class_kind {
	HAWK_CLASS_UNKNOWN = 0,
	HAWK_CLASS_SIZE,     /**< `size` usable bytes */
	HAWK_CLASS_RANGE,    /**< from `size` usable bytes on */
	HAWK_CLASS_VTABLE,   /**< objects whose first word points to `module` + `offset` */
	HAWK_CLASS_TYPE,     /**< of a guest's type `name` */
	HAWK_CLASS_SHAPE,    /**< `offset` is a hash of how their words look */
	HAWK_CLASS_INTERNAL, /**< the C library's own, or an allocator's: never lost */
	HAWK_CLASS_KINDS
};

/** What blocks without a stack are grouped by: the same class has the same identity in every core
 * of the program, whatever its number. */
struct hawk_class {
	uint8_t kind; /**< enum hawk_class_kind */
	uint64_t size;
	uint64_t offset;                  /**< link-time address in `module` */
	const struct hawk_module *module; /**< of the target; NULL = none */
	const char *name; /**< of a type, or what an internal one is; the source's; or NULL */
};

/** What a walk counts beside blocks. A source leaves what it does not know zero. */
struct hawk_heap_sums {
	uint64_t blocks;         /**< set by heap/ */
	uint64_t bytes;          /**< likewise; without what was carved out of blocks */
	uint64_t carved_objects; /**< blocks in blocks of the same source; set by heap/ */
	uint64_t carved_bytes;   /**< theirs and their headers' */
	uint64_t clipped;        /**< live blocks whose end the core does not hold */
	uint64_t header_bytes;   /**< the tracer's headers and alignment padding */
	uint64_t heap_bytes;     /**< readable bytes of the mappings in which blocks were found */
	uint64_t zero_bytes;     /**< of heap_bytes: pages of zeros outside of blocks (never used,
				    or given back) */
	uint64_t touched_bytes;  /**< of all writable memory: pages that hold anything but zeros */
};

struct hawk_accounting;
struct hawk_findings;
struct hawk_heap;
struct hawk_heap_origin;
struct hawk_heap_source;
struct hawk_table;

/** What a source may look at. */
struct hawk_heap_search {
	struct hawk_target *target;
	struct hawk_findings *findings; /**< or NULL */
	struct hawk_damages *damages;   /**< of lists, arenas and the like */
	/** Sorted: what sources that were asked earlier claim. */
	const struct hawk_heap_spans *claimed;
};

/** A heap as one source found it. */
struct hawk_heap_found {
	const struct hawk_heap_source *source;
	struct hawk_target *target;
	void *state;         /**< the source's own; freed by `forget` */
	unsigned knows;      /**< enum hawk_heap_knows, of its blocks; CONTENTS is added */
	bool small_granules; /**< blocks begin on multiples of 8; else of 16 */
	/** No block begins where another one ends: a header or a word of the allocator lies
	 * between. */
	bool blocks_apart;
	uint32_t class_count;     /**< blocks have classes, or traces, below it */
	struct hawk_table *table; /**< classes are traces of it; goes to the heap; or NULL */
	/** What it knows of memory, in any order. Where there is no span of a heap around a block,
	 * heap/ finds out how far its heap reaches. */
	struct hawk_heap_spans spans;
	bool undumped_known; /**< HAWK_SPAN_UNDUMPED are all that there are */
	/** Of a snapshot: where the blocks of the heap that was saved came from; its classes are
	 * numbered as that heap's traces and classes were. The source's; else NULL. */
	const struct hawk_heap_origin *origins;
	unsigned origin_count;
};

/** Blocks that a walk gives at a time into its own batch. */
enum { HAWK_HEAP_BATCH = 1024 };

/** One walk over a heap that was found. All zeros but the first three at first. */
struct hawk_heap_walk {
	const struct hawk_heap_found *found;
	unsigned threads; /**< at most, at least 1 */
	struct hawk_damages *damages;
	struct hawk_heap_sums sums;
	uint64_t done, all;       /**< progress, in bytes; `all` 0 = not known */
	struct hawk_block *batch; /**< room for HAWK_HEAP_BATCH blocks, for the source to use */
	uint64_t at[4];           /**< the source's own: how far it is */
	void *state;              /**< likewise; freed by `leave` */
};

/** Takes memory that a redacted core keeps as it is. */
typedef struct hawk_error *hawk_keep_function(void *context, uint64_t start, uint64_t end);

/** One way to find a heap. */
struct hawk_heap_source {
	const char *name;    /**< how blocks are found, in a word: "sweep" */
	const char *doing;   /**< the stage of progress; NULL = "reading memory" */
	const void *context; /**< the source's own */
	/**
	 * Looks for the heap and fills `ret`, which has source and target. `*is_there` false: there
	 * is none of this kind. `ret` is forgotten by the caller, also after an error.
	 */
	struct hawk_error *(*find)(const struct hawk_heap_search *search,
				   struct hawk_heap_found *ret, bool *is_there);
	/**
	 * Gives the next blocks, which stay valid until the next call, in ascending order: disjoint
	 * but for nesting by depth. `*count` 0 = there are no more. Linear in the memory that the
	 * source claims; adds damage to `walk->damages` and goes on behind it.
	 */
	struct hawk_error *(*walk)(struct hawk_heap_walk *walk, const struct hawk_block **ret,
				   size_t *count);
	/** Frees the state of a walk, at its end or before. NULL: there is none. */
	void (*leave)(struct hawk_heap_walk *walk);
	/** Fills accounting and sums in place of hawk_accounting_make(). NULL: memory is read. */
	struct hawk_error *(*account)(const struct hawk_heap_found *found, struct hawk_heap *heap);
	/** Says what class `number` is, from 1 on and below class_count. NULL: classes are traces.
	 */
	void (*class)(const struct hawk_heap_found *found, uint32_t number, struct hawk_class *ret);
	/** Gives the words by which a redacted core will show this heap again. NULL: none. */
	struct hawk_error *(*keep)(const struct hawk_heap *heap,
				   const struct hawk_heap_found *found, hawk_keep_function *take,
				   void *context);
	/** Frees `state`. NULL: there is none. */
	void (*forget)(struct hawk_heap_found *found);
};

/** Blocks with the tracer's sealed headers, in memory with its table or beside a table file. */
extern const struct hawk_heap_source hawk_heap_sealed;

/** Blocks by allocators' own structures. */
extern const struct hawk_heap_source hawk_heap_musl;
extern const struct hawk_heap_source hawk_heap_mimalloc;
extern const struct hawk_heap_source hawk_heap_jemalloc;
extern const struct hawk_heap_source hawk_heap_tcmalloc;
extern const struct hawk_heap_source hawk_heap_glibc;

/** The blocks in a snapshot. */
extern const struct hawk_heap_source hawk_heap_snapshot;

#endif
