/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The trace table read back from a target. Hostile input: every index, count and address is checked
 * against what the target really holds; reading never fails later than hawk_table_find(), it yields
 * fewer frames.
 */
#ifndef HAWK_ANALYZER_TRACE_TABLE_H
#define HAWK_ANALYZER_TRACE_TABLE_H

#include "hawk/target/target.h"
#include "hawk_trace_table.h"

struct hawk_table;

enum { HAWK_TRACE_DEPTH_MAX = 1024 };

/**
 * Looks at every page of writable memory, lowest first, for a table header (or its twin). `*ret` is
 * NULL when there is none; findings say when one is there that cannot be read (newer version,
 * unknown incompatible flags, cut off). Live targets: the table's extents are captured.
 */
struct hawk_error *hawk_table_find(struct hawk_target *target, struct hawk_findings *findings,
				   struct hawk_table **ret);
void hawk_table_close(struct hawk_table *table);

/** Makes `table`, the target of a table file, the place where the table of `target` is read, which
 * owns it then; closes it and fails if they are not of the same process. */
struct hawk_error *hawk_table_attach(struct hawk_target *target, struct hawk_target *table);

/** Sanitized copy of the header: counts are clamped to what is there, and what threads dropped is
 * added to the header's own. */
const struct hawk_table_header *hawk_table_header(const struct hawk_table *table);

/** Only the twin was found: key and sizes are good, there are no traces. */
bool hawk_table_is_twin(const struct hawk_table *table);

/**
 * Trace ids from here on cannot be in a header. Not less than header.trace_count, which is clamped
 * to the records that are there: a block whose record was cut off still is a block.
 */
uint32_t hawk_table_trace_limit(const struct hawk_table *table);

/** The latest birth code that a header can hold, with a margin for a clock that was published late.
 */
uint8_t hawk_table_birth_limit(const struct hawk_table *table);

/** Published extents, sorted by address. */
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

/** The module of `pc` as of `generation`, or NULL (JIT code, say). */
const struct hawk_table_module *hawk_table_module_at(const struct hawk_table *table, uint64_t pc,
						     uint32_t generation);

/** A scope or a type that the program has named. */
struct hawk_table_label {
	char *name;       /**< owned by the table; any bytes but NUL */
	uint32_t kind;    /**< enum hawk_label_kind */
	uint32_t parent;  /**< of a scope: the one around it, which is usable; 0 = none */
	uint32_t depth;   /**< number of scopes around it */
	uint64_t entries; /**< see struct hawk_label_record */
	uint64_t total_ns;
};

/** NULL: there is no such label, or it is damaged. */
const struct hawk_table_label *hawk_table_label(const struct hawk_table *table, uint32_t id);

/** Label ids are below this. */
uint32_t hawk_table_label_count(const struct hawk_table *table);

/** What hawk_annotate_type() has called the blocks of this trace; NULL = nothing. Belongs to the
 * table. */
const char *hawk_table_type(const struct hawk_table *table, uint32_t trace);

/** Label of the innermost scope around the allocations of this trace; 0 = none. */
uint32_t hawk_table_scope(const struct hawk_table *table, uint32_t trace);

struct hawk_trace_mark {
	uint32_t label;          /**< of a usable one */
	uint16_t frames_outside; /**< at most frame_count, or HAWK_MARK_UNPLACED */
};

/** One trace, resolved. */
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

/** False if there is no such trace, it is damaged, or says that there is none
 * (HAWK_TRACE_NOT_SAMPLED in `ret->flags`); then `ret` has no frames. */
bool hawk_table_trace(const struct hawk_table *table, uint32_t id, struct hawk_trace *ret);

struct hawk_trace_counters {
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	uint64_t free_objects; /**< with HAWK_TABLE_LIVE_COUNTERS only, else 0 */
	uint64_t free_bytes;
};

/**
 * Cumulative counters of all traces, flushed ones and those still in thread records: `(*ret)[id]`,
 * for `header.trace_count` ids (0 holds the allocations without a stack). Caller frees.
 */
struct hawk_error *hawk_table_counters(const struct hawk_table *table,
				       struct hawk_trace_counters **ret);

/** sample=: mean bytes between two sampled points; 0 = every allocation has its stack. */
uint64_t hawk_table_sample_mean(const struct hawk_table *table);

/** What the sampled allocations of trace `id` stand for; zeros if nothing is known. */
struct hawk_sample_record hawk_table_sample(const struct hawk_table *table, uint32_t id);

struct hawk_table_totals {
	uint64_t alloc_objects, alloc_bytes;
	uint64_t free_objects, free_bytes;
	uint64_t threads;        /**< slots ever used */
	uint64_t tracer_bytes;   /**< sum of the extents: address space, not resident memory */
	uint64_t damaged_traces; /**< records that cannot be: no frames, counters still counted */
	uint64_t damaged_threads;
};
struct hawk_table_totals hawk_table_totals(const struct hawk_table *table);

#endif
