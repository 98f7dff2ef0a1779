/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the trace table from a target. Hostile input: every index, count and address is checked
 * against the target's contents. Only hawk_table_find() can fail; later reads return fewer frames.
 */
#ifndef HAWK_ANALYZER_TRACE_TABLE_H
#define HAWK_ANALYZER_TRACE_TABLE_H

#include "hawk/target/target.h"
#include "hawk_trace_table.h"

struct hawk_table;

enum { HAWK_TRACE_DEPTH_MAX = 1024 };

/**
 * Searches every page of writable memory, lowest first, for a table header or its twin. `*ret` is
 * NULL if none is found; findings report an unreadable one (newer version, unknown incompatible
 * flags, cut off). Live targets: captures the table's extents.
 */
struct hawk_error *hawk_table_find(struct hawk_target *target, struct hawk_findings *findings,
				   struct hawk_table **ret);
void hawk_table_close(struct hawk_table *table);

/** Reads the trace table of `target` from `table`, a table file's target, which `target` then owns.
 * Closes `table` and fails if they are of different processes. */
struct hawk_error *hawk_table_attach(struct hawk_target *target, struct hawk_target *table);

/** Returns a sanitized copy of the header: counts are clamped to the present records, and dropped
 * counts include the threads'. */
const struct hawk_table_header *hawk_table_header(const struct hawk_table *table);

/** Returns true if only the twin was found: key and sizes are valid, traces are missing. */
bool hawk_table_is_twin(const struct hawk_table *table);

/**
 * Returns the exclusive upper limit of trace ids in block headers. At least header.trace_count,
 * which is clamped to the present records: a block whose record was cut off is still a block.
 */
uint32_t hawk_table_trace_limit(const struct hawk_table *table);

/** Returns the latest birth code possible in a header, with a margin for a clock published late. */
uint8_t hawk_table_birth_limit(const struct hawk_table *table);

/** Returns the published extents, sorted by address. */
const struct hawk_table_extent *hawk_table_extents(const struct hawk_table *table, size_t *count);

/** Valid module records in order of loading. Paths are NUL-terminated copies owned by the table. */
struct hawk_table_module {
	char *path;
	uint64_t start, end, bias;
	uint32_t generation;
	uint32_t unload_generation;
	uint32_t flags;
	uint32_t build_id_bytes;
	uint8_t build_id[HAWK_BUILD_ID_MAX];
};
const struct hawk_table_module *hawk_table_modules(const struct hawk_table *table, size_t *count);

/** Returns the module of `pc` as of `generation`, or NULL (JIT code, say). */
const struct hawk_table_module *hawk_table_module_at(const struct hawk_table *table, uint64_t pc,
						     uint32_t generation);

/** A scope or type named by the program. */
struct hawk_table_label {
	char *name;       /**< owned by the table; any bytes but NUL */
	uint32_t kind;    /**< enum hawk_label_kind */
	uint32_t parent;  /**< of a scope: the enclosing usable scope; 0 = none */
	uint32_t depth;   /**< number of enclosing scopes */
	uint64_t entries; /**< see struct hawk_label_record */
	uint64_t total_ns;
};

/** Returns NULL for a missing or damaged label. */
const struct hawk_table_label *hawk_table_label(const struct hawk_table *table, uint32_t id);

/** Returns the exclusive upper limit of label ids. */
uint32_t hawk_table_label_count(const struct hawk_table *table);

/** Returns the type that hawk_annotate_type() gave this trace's blocks, or NULL. Owned by the
 * table. */
const char *hawk_table_type(const struct hawk_table *table, uint32_t trace);

/** Returns the label of the innermost scope of this trace's allocations; 0 = none. */
uint32_t hawk_table_scope(const struct hawk_table *table, uint32_t trace);

struct hawk_trace_mark {
	uint32_t label;          /**< a usable label */
	uint16_t frames_outside; /**< at most frame_count, or HAWK_MARK_UNPLACED */
};

/** One decoded trace. */
struct hawk_trace {
	uint32_t id;
	uint32_t generation;
	uint32_t flags; /**< enum hawk_trace_flag */
	uint32_t frame_count;
	uint64_t frames[HAWK_TRACE_DEPTH_MAX]; /**< leaf first; HAWK_PC_EXACT may be set */
	uint32_t mark_count;
	struct hawk_trace_mark marks[HAWK_TRACE_MARKS_MAX]; /**< the type first, then scopes from
							       the innermost */
};

/** Returns false, and no frames, if the trace is missing, damaged or not sampled
 * (HAWK_TRACE_NOT_SAMPLED in `ret->flags`). */
bool hawk_table_trace(const struct hawk_table *table, uint32_t id, struct hawk_trace *ret);

struct hawk_trace_counters {
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	uint64_t free_objects; /**< with HAWK_TABLE_LIVE_COUNTERS only, else 0 */
	uint64_t free_bytes;
};

/**
 * Sums cumulative counters by trace, including those still in thread records: `(*ret)[id]`,
 * `header.trace_count` entries; entry 0 counts allocations without a stack. Caller frees.
 */
struct hawk_error *hawk_table_counters(const struct hawk_table *table,
				       struct hawk_trace_counters **ret);

/** Returns the mean bytes between samples (sample=); 0 = every allocation has its stack. */
uint64_t hawk_table_sample_mean(const struct hawk_table *table);

/** Returns what the sampled allocations of trace `id` represent; zeros if unknown. */
struct hawk_sample_record hawk_table_sample(const struct hawk_table *table, uint32_t id);

struct hawk_table_totals {
	uint64_t alloc_objects, alloc_bytes;
	uint64_t free_objects, free_bytes;
	uint64_t threads;        /**< that ever used a slot; 0 = not known: an older table */
	uint64_t slots;          /**< ever used: a thread that ends leaves its own to the next */
	uint64_t tracer_bytes;   /**< sum of the extents: address space, not resident memory */
	uint64_t damaged_traces; /**< invalid records: no frames, counters still summed */
	uint64_t damaged_threads;
	bool too_low; /**< records are missing, or only the twin was found */
};
struct hawk_table_totals hawk_table_totals(const struct hawk_table *table);

/** Memory that a thread passed to sigaltstack(). */
struct hawk_table_signal_stack {
	uint64_t start;
	uint32_t tid;
};

/** Returns the alternate signal stacks of threads that had not ended; older tables have none. */
const struct hawk_table_signal_stack *hawk_table_signal_stacks(const struct hawk_table *table,
							       size_t *count);

/** Writes the table's memory to a snapshot, without the process's data: options, scratch, blocks.
 */
struct hawk_error *hawk_table_save(const struct hawk_table *table,
				   struct hawk_snapshot_writer *writer);

#endif
