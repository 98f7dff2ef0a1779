/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The trace table, which the tracer leaves in the process's memory for the analyzer to find in the
 * core.
 *
 *      low addresses                                                        high addresses
 *     +-----------+ +---------+ +---------+ +---------+ +---------+     +-------------+
 *     | header    | | module  | | trace   | | words   | | thread  | ... | twin of the |
 *     | (2 pages) | | records | | records | |         | | slots   |     | header      |
 *     +-----------+ +---------+ +---------+ +---------+ +---------+     +-------------+
 *       directories: address of segment 0, 1, 2 ... of each array;
 *       segment k holds (first << k) elements
 *
 * Every array is a list of segments that double, so that an index is found with one bit scan and no
 * segment ever moves. Of the last one only a front may be mapped, with all records that were handed
 * out; it grows in place. Every record is published by one release store of its `state` or `hash`
 * word, written last: the process may die between any two instructions. Readers accept longer
 * records (sizes are in the header) and refuse unknown bits in `incompatible_flags`. Prose twin:
 * docs/format-trace-table.md. Includes nothing of ours but the block header's key.
 */
#ifndef HAWK_TRACE_TABLE_H
#define HAWK_TRACE_TABLE_H

#include "hawk_block_header.h"

enum {
	HAWK_TABLE_VERSION = 1,
	HAWK_TABLE_HEADER_BYTES = 8192,
	HAWK_TABLE_ALIGNMENT = 4096, /**< headers lie on page boundaries */
	/** Where ulimit -v or -d is lower, the tracer makes no table unless max_table= is set. */
	HAWK_TABLE_ADDRESS_SPACE_MIN = 32 << 20,

	HAWK_TRACE_SEGMENTS = 18,
	HAWK_WORD_SEGMENTS = 16,
	HAWK_THREAD_SEGMENTS = 14,
	HAWK_MODULE_SEGMENTS = 10,
	HAWK_LABEL_SEGMENTS = 8,
	HAWK_TABLE_EXTENTS = 96,
	HAWK_TABLE_UNDUMPED = 64,
	HAWK_TABLE_OPTIONS_BYTES = 512,

	/** log2 of the number of elements in segment 0. */
	HAWK_TRACE_SEGMENT_LOG2 = 14, /**< 16,384 trace records, 1 MiB */
	HAWK_WORD_SEGMENT_LOG2 = 17,  /**< 131,072 words, 1 MiB */
	HAWK_THREAD_SEGMENT_LOG2 = 4, /**< 16 thread slots */
	HAWK_MODULE_SEGMENT_LOG2 = 8, /**< 256 module records, 32 KiB */
	HAWK_LABEL_SEGMENT_LOG2 = 6,  /**< 64 label records, 4 KiB; 16,320 in all */
};

/** Bits of `hawk_table_header.incompatible_flags`. Readers refuse a table with a bit they do not
 * know. */
enum hawk_table_incompatible {
	/** Counters of trace records carry tags, thread records a flush word; see
	 * hawk_counter_objects(). */
	HAWK_TABLE_TAGGED_COUNTERS = 1u << 0,
	/** There are trace records with HAWK_TRACE_MARKED. Set when the first is made, so that a
	 * table without annotations stays readable to those who know nothing of them. */
	HAWK_TABLE_MARKED = 1u << 1,
	/** sample=: counts of traces are those of a sample; see struct hawk_sample_record. */
	HAWK_TABLE_SAMPLED = 1u << 2,
	HAWK_TABLE_KNOWN_INCOMPATIBLE =
		HAWK_TABLE_MARKED | HAWK_TABLE_TAGGED_COUNTERS | HAWK_TABLE_SAMPLED,
};

/** Bits of `hawk_table_header.compatible_flags`. */
enum hawk_table_compatible {
	HAWK_TABLE_NO_STACKS = 1u << 0,     /**< stacks=0: headers carry sizes and ages only */
	HAWK_TABLE_LIVE_COUNTERS = 1u << 1, /**< free counters of trace records are kept */
	/** A forked child's copy of its parent's table file: counts begin with those that the
	 * parent had when it was copied, a moment after the fork. */
	HAWK_TABLE_COPIED = 1u << 5,
	HAWK_TABLE_ONLY_SCOPES = 1u << 4, /**< only=scopes: stacks inside of scopes only */
	/** A block counts as live only while its header is sealed, also in the middle of a call and
	 * in a forked child: allocations minus frees are never more than the valid headers. */
	HAWK_TABLE_COUNTS_SEALED = 1u << 6,
};

/** Contents of an extent of the tracer's memory. */
enum hawk_extent_kind {
	HAWK_EXTENT_HEADER = 1,
	HAWK_EXTENT_TRACES = 2,
	HAWK_EXTENT_WORDS = 3,
	HAWK_EXTENT_THREADS = 4,
	HAWK_EXTENT_MODULES = 5,
	HAWK_EXTENT_PRIVATE = 6, /**< hash buckets, rule cache, scratch: of no meaning to readers */
	HAWK_EXTENT_BOOTSTRAP = 7, /**< blocks made during start-up; swept like any heap */
	HAWK_EXTENT_TWIN = 8,
	HAWK_EXTENT_LABELS = 9,
	HAWK_EXTENT_SAMPLES = 10,
};

/** One mapping made by the tracer: left out of roots and reported as the tracer's own memory. */
struct hawk_table_extent {
	uint64_t address;
	uint64_t bytes;
	uint32_t kind; /**< enum hawk_extent_kind; 0 = entry not published yet */
	uint32_t reserved;
	uint64_t file_offset; /**< where the extent lies in a table file; 0 for anonymous memory */
};
static_assert(sizeof(struct hawk_table_extent) == 32, "frozen");

/** Memory that the program keeps out of cores: madvise() with MADV_DONTDUMP. In a core it looks
 * like memory never written. */
struct hawk_table_undumped {
	uint64_t start; /**< 0 = free entry */
	uint64_t end;   /**< written last (release) */
};
static_assert(sizeof(struct hawk_table_undumped) == 16, "frozen");

struct hawk_table_header {
	uint64_t magic;              /**< hawk_table_magic(); written last (release) */
	uint32_t version;            /**< HAWK_TABLE_VERSION */
	uint32_t header_bytes;       /**< HAWK_TABLE_HEADER_BYTES or more */
	uint64_t incompatible_flags; /**< enum hawk_table_incompatible */
	uint64_t compatible_flags;   /**< enum hawk_table_compatible */
	uint64_t self_address;       /**< where this header lies: rejects stray copies */
	uint64_t primary_address;    /**< where the primary header lies */
	uint64_t twin_address;       /**< where the second copy lies, 0 = there is none */
	struct hawk_seal_key key;
	uint64_t check; /**< hawk_table_check() over everything above and the sizes below */

	uint32_t trace_record_bytes;  /**< sizeof(struct hawk_trace_record) or more */
	uint32_t module_record_bytes; /**< sizeof(struct hawk_module_record) or more */
	uint32_t thread_slot_bytes;   /**< distance between thread records */
	uint32_t pid; /**< of the process that made the table; a forked child keeps its parent's */

	uint64_t start_realtime_ns;  /**< CLOCK_REALTIME at start-up; births count from here */
	uint64_t start_monotonic_ns; /**< CLOCK_MONOTONIC at the same moment */

	/* Everything below changes while the process runs. In the twin it is a stale copy: use the
	 * primary's if there. */
	uint64_t clock_units;  /**< latest time read, in HAWK_BIRTH_UNIT_NS: a core's "now" */
	uint32_t trace_count;  /**< ids below this were handed out; id 0 is never a trace */
	uint32_t word_count;   /**< words of the word array handed out */
	uint32_t module_count; /**< module records handed out */
	uint32_t thread_count; /**< thread slots ever used: records 0 .. thread_count - 1 */
	uint32_t generation;   /**< grows when a range of code addresses changes its owner */
	uint32_t extent_count; /**< entries of `extents` handed out */

	/** Allocations without stack, or header, for lack of room; add those of thread records. */
	uint64_t dropped_objects;
	uint64_t dropped_bytes;
	/** Frees by threads without a slot: exiting ones, signal handlers that interrupted us. */
	uint64_t orphan_free_objects;
	uint64_t orphan_free_bytes;
	uint64_t orphan_alloc_objects; /**< sealed blocks with trace id 0 made by such threads */
	uint64_t orphan_alloc_bytes;
	/** With a table file, else 0: since boot, in clock ticks, and which pid namespace: who
	 * wrote the file. */
	uint64_t process_start_ticks;
	uint64_t pid_namespace;
	/** Number of whole heaps that an allocator took back (jemalloc's arena.<i>.reset), leaving
	 * the headers of their blocks sealed: until that memory is reused they look live. */
	uint64_t discarded_heaps;
	uint64_t reserved[3];

	uint64_t trace_segments[HAWK_TRACE_SEGMENTS]; /**< addresses; 0 = not there yet (release) */
	uint64_t word_segments[HAWK_WORD_SEGMENTS];
	uint64_t thread_segments[HAWK_THREAD_SEGMENTS];
	uint64_t module_segments[HAWK_MODULE_SEGMENTS];
	struct hawk_table_extent extents[HAWK_TABLE_EXTENTS];
	char options[HAWK_TABLE_OPTIONS_BYTES]; /**< HAWK_OPTS, cut to fit, NUL-terminated */

	/* Annotations; all 0 in tables that have none, and in those of before there were any. */
	uint64_t label_segments[HAWK_LABEL_SEGMENTS];
	uint32_t label_count; /**< ids below this were handed out; id 0 is never a label */
	uint32_t label_reserved;
	uint64_t dropped_scopes; /**< entered beyond the limits: neither counted nor marked */
	uint64_t dropped_types;  /**< names given beyond the limits */

	/* With HAWK_TABLE_SAMPLED, else 0. */
	uint64_t sample_mean; /**< bytes between two points, 1 .. 2^HAWK_SAMPLE_MEAN_LOG2_MAX */
	uint64_t sample_segments[HAWK_TRACE_SEGMENTS]; /**< struct hawk_sample_record, by trace */

	uint32_t undumped_watched; /**< 1 = the program's calls of madvise() are seen */
	uint32_t undumped_lost;    /**< ranges that found no free entry */
	struct hawk_table_undumped undumped[HAWK_TABLE_UNDUMPED];
};
static_assert(offsetof(struct hawk_table_header, key) == 56, "frozen");
static_assert(offsetof(struct hawk_table_header, check) == 72, "frozen");
static_assert(offsetof(struct hawk_table_header, trace_record_bytes) == 80, "frozen");
static_assert(offsetof(struct hawk_table_header, clock_units) == 112, "frozen");
static_assert(offsetof(struct hawk_table_header, discarded_heaps) == 208, "frozen");
static_assert(offsetof(struct hawk_table_header, trace_segments) == 240, "frozen");
static_assert(offsetof(struct hawk_table_header, undumped_watched) == 4528, "frozen");
static_assert(offsetof(struct hawk_table_header, undumped) == 4536, "frozen");
static_assert(sizeof(struct hawk_table_header) <= HAWK_TABLE_HEADER_BYTES,
	      "the header fits its pages");

/** Bits of `hawk_trace_record.flags`. */
enum hawk_trace_flag {
	HAWK_TRACE_TRUNCATED = 1u << 0,  /**< the depth limit cut off outer frames */
	HAWK_TRACE_INCOMPLETE = 1u << 1, /**< the unwinder met a frame it could not step over */
	HAWK_TRACE_COLLAPSED = 1u << 2,  /**< repeated cycles of recursion were left out */
	HAWK_TRACE_MARKED = 1u << 3,     /**< own words are marks; see struct hawk_trace_record */
	/** No stack: of all that the sample left out; id HAWK_TRACE_ID_NOT_SAMPLED. */
	HAWK_TRACE_NOT_SAMPLED = 1u << 4,
	/** Code without unwind information was left by the frame pointer. If that code does not
	 * keep it, frames are missing: it was another function's. */
	HAWK_TRACE_GUESSED = 1u << 5,
};

/** With HAWK_TABLE_SAMPLED: the id of allocations without a stack. */
enum { HAWK_TRACE_ID_NOT_SAMPLED = 1 };

/** Set in a stored program counter that is exact (interrupted by a signal) and not a return
 * address. */
#define HAWK_PC_EXACT (UINT64_C(1) << 63)

/** Set in every mark, and in no program counter. */
#define HAWK_MARK_BIT (UINT64_C(1) << 62)

enum {
	HAWK_TRACE_MARKS_MAX = 72,
	HAWK_MARK_UNPLACED = 0xffff, /**< frame of the scope unknown; also used for types */
};

/**
 *      63 62 61        48 47                32 31                         0
 *     +--+--+------------+--------------------+----------------------------+
 *     | 0| 1|     0      | frames outside (16)|  label (32)                |
 *     +--+--+------------+--------------------+----------------------------+
 *
 * A scope or a type of a trace. A scope lies inside the frame that entered it. "Frames outside"
 * counts the frames from the outermost to this one, included.
 */
static inline uint64_t hawk_mark(uint32_t label, uint16_t frames_outside)
{
	return HAWK_MARK_BIT | (uint64_t)frames_outside << 32 | label;
}

static inline uint32_t hawk_mark_label(uint64_t mark)
{
	return (uint32_t)mark;
}

static inline uint16_t hawk_mark_frames_outside(uint64_t mark)
{
	return (uint16_t)(mark >> 32);
}

/**
 * One distinct stack. Frames are leaf first: `own_count` program counters at `word_index` of the
 * word array, then the outermost `tail_count` frames of trace `tail_trace`, which is smaller than
 * this id, so that following tails ends.
 *
 * Example: trace 7 = {malloc's caller f, g, main, _start}: own 4, tail 0. Trace 9 = {h, main,
 * _start}: own 1 {h}, tail 2 of trace 7.
 *
 * A marked trace (HAWK_TRACE_MARKED) is another one with annotations: its own words are 1 ..
 * HAWK_TRACE_MARKS_MAX marks, the type first if there is one, then the scopes from the innermost;
 * its tail is all frames of `tail_trace`, which is not marked, or nothing (then 0). It is never
 * another trace's tail.
 *
 * Example: trace 11 = {h, main, _start} in a scope that main has entered: own 1 {mark with 2 frames
 * outside}, tail 3 of trace 9.
 */
struct hawk_trace_record {
	uint64_t hash; /**< of frames and generation; 0 = not published; written last (release) */
	uint32_t generation; /**< module generation in which the program counters are to be read */
	uint32_t word_index;
	uint16_t own_count; /**< at least 1 */
	uint16_t tail_count;
	uint32_t tail_trace;
	uint32_t flags; /**< enum hawk_trace_flag */
	uint32_t chain; /**< the tracer's hash chain; not for readers */
	/** Two counter pairs, see hawk_counter_objects(): flushed so far; add the entries of thread
	 * records. */
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	uint64_t free_objects; /**< with HAWK_TABLE_LIVE_COUNTERS only */
	uint64_t free_bytes;
};
static_assert(sizeof(struct hawk_trace_record) == 64, "one cache line");
static_assert(offsetof(struct hawk_trace_record, alloc_objects) % 16 == 0,
	      "for a 16-byte exchange");

/**
 * With HAWK_TABLE_SAMPLED: estimates from the sampled allocations of one trace, in an array with
 * the same segments as the traces'; record i is of trace i. Each allocation adds its weight, which
 * follows from its size (hawk_sampling.h), and so does its end. The counters of the trace record
 * and of thread records stay what they are: the sampled allocations themselves. A segment that is
 * not there is one of zeros.
 */
struct hawk_sample_record {
	uint64_t alloc_weight; /**< estimated objects, times 2^HAWK_SAMPLE_WEIGHT_SHIFT */
	uint64_t alloc_bytes;  /**< estimated bytes */
	uint64_t free_weight;  /**< likewise; with HAWK_TABLE_LIVE_COUNTERS only */
	uint64_t free_bytes;
};
static_assert(sizeof(struct hawk_sample_record) == 32, "two to a cache line");

/**
 * A counter pair is two words that change in one 16-byte exchange, with the tag of the thread slot
 * that flushed into it last, so that a reader can tell for every flush whether it happened,
 * whenever the process dies:
 *
 *      word 0:  tag 20 | objects, low 44 bits
 *      word 1:  objects, high 8 bits | bytes 56
 *
 * Both numbers wrap separately. An allocation moved to another trace, or a free taken back, before
 * its thread flushed it makes them negative here; the sum with the entries is right again.
 *
 * Tag: (slot index + 1) << 1 | the tag bit of that flush; 0 = none. Without
 * HAWK_TABLE_TAGGED_COUNTERS the words are plain numbers. Sums of a pair and of entries are modulo
 * 2^52 objects and 2^56 bytes; one with the top bit set is below 0 and counts as 0.
 */
enum {
	HAWK_COUNTER_TAG_SHIFT = 44,
	HAWK_COUNTER_BYTES_BITS = 56,
	HAWK_COUNTER_OBJECTS_BITS = 52,
};

static inline uint64_t hawk_counter_objects(uint64_t word0, uint64_t word1)
{
	return (word0 & ((UINT64_C(1) << HAWK_COUNTER_TAG_SHIFT) - 1)) |
	       word1 >> HAWK_COUNTER_BYTES_BITS << HAWK_COUNTER_TAG_SHIFT;
}

static inline uint64_t hawk_counter_bytes(uint64_t word1)
{
	return word1 & ((UINT64_C(1) << HAWK_COUNTER_BYTES_BITS) - 1);
}

static inline uint32_t hawk_counter_tag(uint64_t word0)
{
	return (uint32_t)(word0 >> HAWK_COUNTER_TAG_SHIFT);
}

static inline uint64_t hawk_counter_word0(uint64_t objects, uint32_t tag)
{
	return (objects & ((UINT64_C(1) << HAWK_COUNTER_TAG_SHIFT) - 1)) |
	       (uint64_t)tag << HAWK_COUNTER_TAG_SHIFT;
}

static inline uint64_t hawk_counter_word1(uint64_t objects, uint64_t bytes)
{
	return hawk_counter_bytes(bytes) | objects >> HAWK_COUNTER_TAG_SHIFT
							      << HAWK_COUNTER_BYTES_BITS;
}

/**
 * The flush word of a thread record: which of its entries is being added to its trace's counter
 * pair; 0 = none. The entry counts unless the flush was applied: HAWK_FLUSH_APPLIED is set, or the
 * pair carries its hawk_flush_tag().
 */
enum {
	HAWK_FLUSH_PENDING = 1u << 0,
	HAWK_FLUSH_APPLIED = 1u << 1, /**< set by a thread that is about to overwrite the tag */
	HAWK_FLUSH_TAG_BIT = 1u << 2,
	HAWK_FLUSH_ENTRY_SHIFT = 3, /**< 9 bits; entries of frees follow those of allocations */
	HAWK_FLUSH_ENTRY_MASK = 511,
	HAWK_FLUSH_VERSION_SHIFT = 12, /**< 20 bits, the tracer's own */
	HAWK_FLUSH_TRACE_SHIFT = 32,
};

static inline uint32_t hawk_flush_entry(uint64_t flush)
{
	return (uint32_t)flush >> HAWK_FLUSH_ENTRY_SHIFT & HAWK_FLUSH_ENTRY_MASK;
}

static inline uint32_t hawk_flush_tag(uint64_t flush, uint32_t slot_index)
{
	return (slot_index + 1) << 1 | (flush & HAWK_FLUSH_TAG_BIT ? 1 : 0);
}

/** States of a thread slot. */
enum hawk_thread_state {
	HAWK_THREAD_UNUSED = 0,
	HAWK_THREAD_LIVE = 1,
	HAWK_THREAD_FREE = 2, /**< its thread has exited; counters stay valid and the next thread
				 goes on adding to them */
};

/** Size of the oldest thread records. */
enum { HAWK_THREAD_RECORD_BYTES_MIN = 64 };

/** The part of a thread slot that readers see; the rest is the tracer's scratch. */
struct hawk_thread_record {
	uint32_t state;        /**< enum hawk_thread_state */
	uint32_t tid;          /**< of the latest user */
	uint64_t free_objects; /**< blocks freed by the users of this slot, cumulative */
	uint64_t free_bytes;
	uint64_t alloc_objects_untraced; /**< sealed blocks with trace id 0, cumulative */
	uint64_t alloc_bytes_untraced;
	uint32_t counter_offset; /**< of struct hawk_counter_entry[counter_count], from the record's
				    start */
	uint32_t counter_count;
	uint32_t free_offset; /**< likewise, of entries for frees; HAWK_TABLE_LIVE_COUNTERS only */
	uint32_t free_count;
	uint64_t flush; /**< see HAWK_FLUSH_PENDING; HAWK_TABLE_TAGGED_COUNTERS only */
	/* Present only if `counter_offset` is beyond them: older records end before. */

	/** Add to the header's dropped_objects and dropped_bytes. */
	uint64_t dropped_objects;
	uint64_t dropped_bytes;
	uint32_t users; /**< threads that have used the slot, one after the other */
	uint32_t reserved;
	/** Memory that the user gave to sigaltstack(), while `state` is HAWK_THREAD_LIVE; otherwise
	 * known only to the kernel. 0 = none. */
	uint64_t signal_stack;
	uint64_t signal_stack_bytes;
};
static_assert(offsetof(struct hawk_thread_record, free_offset) == 48, "frozen");
static_assert(offsetof(struct hawk_thread_record, dropped_objects) == HAWK_THREAD_RECORD_BYTES_MIN,
	      "frozen");
static_assert(offsetof(struct hawk_thread_record, users) == 80, "frozen");
static_assert(offsetof(struct hawk_thread_record, signal_stack) == 88, "frozen");
static_assert(sizeof(struct hawk_thread_record) == 104, "frozen");

/** Allocations (or frees) of one trace by one thread, not flushed into the trace record yet. */
struct hawk_counter_entry {
	uint32_t trace; /**< 0 = empty */
	uint32_t objects;
	uint64_t bytes;
};
static_assert(sizeof(struct hawk_counter_entry) == 16, "four to a cache line");

/** What a label stands for. */
enum hawk_label_kind {
	HAWK_LABEL_SCOPE = 1, /**< a scope within its parent: one context, not one place in code */
	HAWK_LABEL_TYPE = 2,  /**< a type's name */
};

enum { HAWK_LABEL_NAME_BYTES_MAX = 256 };

/** A name that the program has given. Labels with equal kind, parent and name are one. */
struct hawk_label_record {
	uint64_t hash;       /**< 0 = not published; written last (release) */
	uint32_t kind;       /**< enum hawk_label_kind */
	uint32_t parent;     /**< of a scope: the scope around it, a smaller id; 0 = none */
	uint32_t name_index; /**< bytes start at this word of the word array; not NUL-terminated */
	uint32_t name_bytes; /**< at most HAWK_LABEL_NAME_BYTES_MAX; the rest was cut */
	uint32_t chain;      /**< the tracer's hash chain; not for readers */
	uint32_t reserved;
	uint64_t entries; /**< times that a scope was entered */
	/** Time from entering to leaving, in ns of CLOCK_MONOTONIC, of scopes left. If a scope is
	 * entered directly within itself, only the outer one counts. */
	uint64_t total_ns;
	uint64_t reserved_words[2];
};
static_assert(sizeof(struct hawk_label_record) == 64, "one cache line");

/** One PT_LOAD of a module, three words in the word array. */
struct hawk_module_segment {
	uint64_t vaddr;
	uint64_t memory_bytes;
	uint64_t file_offset_flags; /**< p_offset (page multiple or not) << 3 | p_flags (PF_R 4,
				       PF_W 2, PF_X 1) */
};
static_assert(sizeof(struct hawk_module_segment) == 24, "three words");

enum { HAWK_BUILD_ID_MAX = 32 };

/** Bits of `hawk_module_record.flags`. */
enum hawk_module_flag {
	HAWK_MODULE_MAIN = 1u << 0,     /**< the executable */
	HAWK_MODULE_PATH_CUT = 1u << 1, /**< the path was too long */
	HAWK_MODULE_VDSO = 1u << 2,
};

/**
 * One loading of one module. A program counter of generation g belongs to the latest record with
 * start <= pc < end and generation <= g.
 */
struct hawk_module_record {
	uint32_t state;             /**< 0 = not published, 1 = valid; written last (release) */
	uint32_t flags;             /**< enum hawk_module_flag */
	uint64_t start;             /**< lowest mapped address */
	uint64_t end;               /**< end of the highest mapped address */
	uint64_t bias;              /**< address minus link-time vaddr */
	uint32_t generation;        /**< from this generation on */
	uint32_t unload_generation; /**< 0 = still there as far as known */
	uint32_t path_index; /**< bytes start at this word of the word array; not NUL-terminated */
	uint32_t path_bytes;
	uint32_t segment_index; /**< struct hawk_module_segment[segment_count] start at this word */
	uint32_t segment_count;
	uint32_t build_id_bytes; /**< 0 = it has none */
	uint8_t build_id[HAWK_BUILD_ID_MAX];
	uint8_t reserved[28];
};
static_assert(offsetof(struct hawk_module_record, build_id) == 60, "frozen");
static_assert(sizeof(struct hawk_module_record) == 120, "frozen");

/**
 * Returns the magic, put together from two halves at run time: neither the tracer nor the analyzer
 * holds the eight bytes anywhere but in a table.
 */
static inline uint64_t hawk_table_magic(void)
{
	volatile uint32_t half = 0x4b574148;  /* "HAWK" read as little-endian bytes */
	volatile uint32_t other = 0x314c4254; /* "TBL1" */

	return (uint64_t)other << 32 | half;
}

/** Returns the check over the fields that never change, so that a header of random bytes is refused
 * whatever its magic. */
static inline uint64_t hawk_table_check(const struct hawk_table_header *header)
{
	const uint64_t words[] = {
		header->version,
		header->header_bytes,
		header->incompatible_flags,
		header->compatible_flags,
		header->self_address,
		header->primary_address,
		header->twin_address,
		header->key.k[0],
		header->key.k[1],
		(uint64_t)header->trace_record_bytes << 32 | header->module_record_bytes,
		(uint64_t)header->thread_slot_bytes << 32 | header->pid,
		header->start_realtime_ns,
		header->start_monotonic_ns,
	};
	uint64_t sum = UINT64_C(0x243f6a8885a308d3);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		unsigned __int128 product =
			(unsigned __int128)(sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);

		sum = (uint64_t)product ^ (uint64_t)(product >> 64) ^ (i + 1);
	}
	return sum;
}

/** Returns the segment of a doubling array that holds element `index`, if segment 0 holds (1 <<
 * first_log2).
 */
static inline unsigned hawk_segment_of(uint64_t index, unsigned first_log2)
{
	return 63 - (unsigned)__builtin_clzll((index >> first_log2) + 1);
}

/** Index of the first element of `segment`. */
static inline uint64_t hawk_segment_first(unsigned segment, unsigned first_log2)
{
	return ((UINT64_C(1) << segment) - 1) << first_log2;
}

/** Number of elements in `segment`. */
static inline uint64_t hawk_segment_length(unsigned segment, unsigned first_log2)
{
	return UINT64_C(1) << (segment + first_log2);
}

#endif
