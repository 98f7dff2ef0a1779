/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The interface of heap sources. A source finds one kind of heap in a target: the kinds of its
 * memory (spans), the classes of its blocks, and the blocks themselves. Sources do not know each
 * other: heap/ asks all of them and joins their blocks.
 *
 * A block of one source may lie in a block of another. Then the inner one is the block, and the
 * outer one, a chunk that the inner one's allocator uses, is its overhead.
 */
#ifndef HAWK_ANALYZER_HEAP_SOURCE_H
#define HAWK_ANALYZER_HEAP_SOURCE_H

#include "hawk/base/span.h"
#include "hawk/heap/allocator.h"
#include "hawk/heap/damage.h"
#include "hawk/heap/spans.h"
#include "hawk_block_header.h"
#include "hawk/target/target.h"

/** A live block. */
struct hawk_block {
	uint64_t start; /**< the pointer the program holds */
	uint64_t size;  /**< bytes: requested, or usable without HAWK_HEAP_EXACT */
	/** In a source: a trace id or a class number; 0 = not known. In a heap: the heap's own
	 * number, which also identifies the source. */
	uint32_t trace;
	uint8_t kind;  /**< enum hawk_block_kind; 0 = not known */
	uint8_t birth; /**< hawk_birth_decode() */
	uint8_t offset_code;
	uint8_t depth; /**< number of enclosing blocks: the last ones before it of lower depth */
};

enum { HAWK_BLOCK_DEPTH_MAX = 15 };

/** Facts known of a heap, or of the blocks of one source. */
enum hawk_heap_knows {
	HAWK_HEAP_STACKS = 1u << 0,   /**< sites are allocation stacks; else classes */
	HAWK_HEAP_AGES = 1u << 1,     /**< when blocks were born */
	HAWK_HEAP_CONTENTS = 1u << 2, /**< the bytes in blocks can be read: not in a snapshot */
	HAWK_HEAP_EXACT = 1u << 3, /**< sizes are as requested by the program; else usable ones */
	HAWK_HEAP_COUNTERS = 1u << 4,   /**< allocations since start, in all and by site */
	HAWK_HEAP_BLOCKS = 1u << 5,     /**< single blocks; else only counts by site */
	HAWK_HEAP_ACCOUNTING = 1u << 6, /**< accounting of all memory; else only sums by site */
	HAWK_HEAP_HEADERS = 1u << 7,    /**< the tracer's headers, which have kind and birth */
};

enum hawk_class_kind {
	HAWK_CLASS_UNKNOWN = 0,
	HAWK_CLASS_SIZE,     /**< `size` usable bytes */
	HAWK_CLASS_RANGE,    /**< from `size` usable bytes on */
	HAWK_CLASS_VTABLE,   /**< objects whose first word points to `module` + `offset` */
	HAWK_CLASS_TYPE,     /**< objects of a guest's type `name` */
	HAWK_CLASS_SHAPE,    /**< `offset` is a hash of the shape of their words */
	HAWK_CLASS_INTERNAL, /**< the C library's own, or an allocator's: never lost */
	HAWK_CLASS_SAMPLE, /**< blocks whose stack the allocator took: `frames`; sizes are exact */
	HAWK_CLASS_FLOW,   /**< objects of type `name`, by debug information; a guess ends in "?" */
	HAWK_CLASS_KINDS
};

/** A class groups blocks without a stack. It has the same identity in every core of the program,
 * whatever its number. */
struct hawk_class {
	uint8_t kind; /**< enum hawk_class_kind */
	uint64_t size;
	uint64_t offset;                  /**< link-time address in `module` */
	const struct hawk_module *module; /**< of the target; NULL = none */
	/** Names the type, the internal structure, or the allocator that sampled; owned by the
	 * source; or NULL. */
	const char *name;
	const uint64_t *frames; /**< return addresses, innermost first; owned by the source */
	uint32_t frame_count;
};

/** Further counts of a walk. A source leaves unknown ones zero. */
struct hawk_heap_sums {
	uint64_t blocks;         /**< set by heap/ */
	uint64_t bytes;          /**< likewise; without nested blocks */
	uint64_t carved_objects; /**< blocks in blocks of the same source; set by heap/ */
	uint64_t carved_bytes;   /**< of these and their headers */
	uint64_t clipped;        /**< live blocks whose end the core does not hold */
	uint64_t header_bytes;   /**< the tracer's headers and alignment padding */
};

struct hawk_accounting;
struct hawk_findings;
struct hawk_heap;
struct hawk_heap_origin;
struct hawk_heap_source;
struct hawk_table;

/** Input of a source. */
struct hawk_heap_search {
	struct hawk_target *target;
	struct hawk_findings *findings; /**< or NULL */
	struct hawk_damages *damages;   /**< takes damages of lists, arenas and the like */
	/** Claims of the sources asked earlier, sorted. */
	const struct hawk_heap_spans *claimed;
	struct hawk_vtables *vtables; /**< outlive the heap; NULL = none are known */
	bool wants_java;
};

/** A heap as one source found it. */
struct hawk_heap_found {
	const struct hawk_heap_source *source;
	struct hawk_target *target;
	void *state;         /**< the source's own; freed by `forget` */
	unsigned knows;      /**< enum hawk_heap_knows, of its blocks; CONTENTS is added */
	bool small_granules; /**< blocks begin on multiples of 8; else of 16 */
	/** No block begins where another one ends: a header or an allocator's word lies between. */
	bool blocks_apart;
	/** Usable sizes are those asked for, rounded up to 16 bytes, and at most 16 more; else up
	 * to a quarter more. */
	bool rounds_to_16;
	uint32_t class_count;     /**< blocks have classes, or traces, below it */
	struct hawk_table *table; /**< classes are its traces; moves to the heap; or NULL */
	/** Known kinds of memory, in any order. If no heap span encloses a block, heap/ finds the
	 * extent of its heap. */
	struct hawk_heap_spans spans;
	bool undumped_known; /**< HAWK_SPAN_UNDUMPED are all that there are */
	/** From a snapshot: the origins of the saved heap's blocks, whose classes keep that heap's
	 * numbers of traces and classes. Owned by the source; else NULL. */
	const struct hawk_heap_origin *origins;
	unsigned origin_count;
};

/** Blocks in a walk's own batch. */
enum { HAWK_HEAP_BATCH = 1024 };

/** One walk over a heap that was found. Starts as zeros but for the first three fields. */
struct hawk_heap_walk {
	const struct hawk_heap_found *found;
	unsigned threads; /**< at most, at least 1 */
	struct hawk_damages *damages;
	struct hawk_heap_sums sums;
	struct hawk_allocator allocator; /**< with sums of its pieces; without a name: none's */
	uint64_t done, all;              /**< progress, in bytes; `all` 0 = not known */
	struct hawk_block *batch;        /**< room for HAWK_HEAP_BATCH blocks, for the source */
	uint64_t at[4];                  /**< the source's own position */
	void *state;                     /**< likewise; freed by `leave` */
};

/** Takes memory that a redacted core keeps as it is. */
typedef struct hawk_error *hawk_keep_function(void *context, uint64_t start, uint64_t end);

/** One way to find a heap. */
struct hawk_heap_source {
	const char *name;    /**< the way blocks are found, in one word: "sweep" */
	const char *doing;   /**< the stage of progress; NULL = "reading memory" */
	const void *context; /**< the source's own */
	/**
	 * Looks for the heap and fills `ret`, whose source and target are set. Sets `*is_there` to
	 * false if no heap of this kind exists. The caller forgets `ret`, also after an error.
	 */
	struct hawk_error *(*find)(const struct hawk_heap_search *search,
				   struct hawk_heap_found *ret, bool *is_there);
	/**
	 * Gives the next blocks, valid until the next call, in ascending order: disjoint but for
	 * nesting by depth. `*count` is 0 at the end. Takes time linear in the memory that the
	 * source claims. Adds damage to `walk->damages` and continues behind it.
	 */
	struct hawk_error *(*walk)(struct hawk_heap_walk *walk, const struct hawk_block **ret,
				   size_t *count);
	/** Frees the state of a walk, at its end or earlier. NULL = no state. */
	void (*leave)(struct hawk_heap_walk *walk);
	/** Fills accounting and sums instead of hawk_accounting_make(). NULL = read memory. */
	struct hawk_error *(*account)(const struct hawk_heap_found *found, struct hawk_heap *heap);
	/** Describes class `number`, 1 .. class_count - 1. NULL = classes are traces. */
	void (*class)(const struct hawk_heap_found *found, uint32_t number, struct hawk_class *ret);
	/** Gives the words by which a redacted core will show this heap again. NULL = none. */
	struct hawk_error *(*keep)(const struct hawk_heap *heap,
				   const struct hawk_heap_found *found, hawk_keep_function *take,
				   void *context);
	/** Frees `state`. NULL = no state. */
	void (*forget)(struct hawk_heap_found *found);
};

/** Blocks with the tracer's sealed headers, in memory with its table or beside a table file. */
extern const struct hawk_heap_source hawk_heap_sealed;

/** Blocks by allocators' own structures. */
extern const struct hawk_heap_source hawk_heap_musl;
extern const struct hawk_heap_source hawk_heap_mimalloc;
extern const struct hawk_heap_source hawk_heap_jemalloc;
extern const struct hawk_heap_source hawk_heap_tcmalloc;
extern const struct hawk_heap_source hawk_heap_pymalloc;
extern const struct hawk_heap_source hawk_heap_glibc;

/** Java's objects. They have a guest's types. */
extern const struct hawk_heap_source hawk_heap_java;

/** The blocks in a snapshot. */
extern const struct hawk_heap_source hawk_heap_snapshot;

#endif
