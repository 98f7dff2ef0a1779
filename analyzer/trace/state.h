/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The members of struct hawk_table and the steps that fill it: header, arrays, modules, traces,
 * counters. Internal to trace/.
 *
 * Invariant: an index that passed hawk_table_array_read() is below the array's count and its record
 * lies in memory that the target holds; nothing else of the table is trusted.
 */
#ifndef HAWK_ANALYZER_TRACE_STATE_H
#define HAWK_ANALYZER_TRACE_STATE_H

#include "hawk/trace/table.h"

enum {
	HAWK_TABLE_SEGMENTS_MAX = HAWK_TRACE_SEGMENTS,
	/** Limits for records read. A tracer never reaches them; a forged table may claim to. */
	HAWK_TABLE_TRACES_MAX = 1 << 26,
	HAWK_TABLE_MODULES_MAX = 1 << 16,
	HAWK_TABLE_PATH_MAX = 4096,
};

struct hawk_table;

/** One segment of a doubling array, as far as present. */
struct hawk_table_segment {
	uint64_t address;
	uint64_t present_records;
	const uint8_t *view; /**< the bytes in place, or NULL: must be copied */
};

/** A doubling array in the target; live ones are captured, except for the slots of threads. */
struct hawk_table_array {
	const struct hawk_target *target;
	unsigned first_log2;
	uint32_t record_bytes;
	uint64_t count; /**< records 0 .. count-1 are present */
	struct hawk_table_segment segments[HAWK_TABLE_SEGMENTS_MAX];
};

/** Reads the first `bytes` of record `index`. Returns false if missing. */
bool hawk_table_array_read(const struct hawk_table_array *array, uint64_t index, void *to,
			   size_t bytes);

/** Finds the address of record `index` in the target; returns false if missing. */
bool hawk_table_array_address(const struct hawk_table_array *array, uint64_t index,
			      uint64_t *address);

/** Returns a NUL-terminated copy of `bytes` in the words from `first_word` on, without missing
 * parts. NULL = out of memory. */
char *hawk_table_copy_text(const struct hawk_table *table, uint32_t first_word, uint32_t bytes);

/** Module records 0 .. count-1 indexed by address, for fast lookup. */
struct hawk_table_module_index;

struct hawk_table {
	struct hawk_target *target;
	struct hawk_table_header header; /**< counts clamped */
	bool is_twin;
	bool repaired;        /**< the header's constant part comes from the twin */
	uint32_t trace_limit; /**< header.trace_count before it was clamped */

	struct hawk_table_extent *extents;
	size_t extent_count;

	struct hawk_table_array traces;
	struct hawk_table_array words;
	struct hawk_table_array threads;
	struct hawk_table_array module_records;
	struct hawk_table_array label_records;

	/**
	 * By trace id: 0 = not usable (never published, damaged), 1 = no tail, else 1 + the trace
	 * that owns the innermost frame of the tail. So following tails takes a step only for
	 * frames found.
	 */
	uint32_t *tails;
	struct hawk_trace_counters *counters;
	struct hawk_table_totals totals;
	struct hawk_table_signal_stack *signal_stacks;
	size_t signal_stack_count;
	size_t signal_stack_capacity;

	struct hawk_table_label *labels; /**< by id; kind 0 = not usable */
	uint32_t label_count;

	struct hawk_table_module *modules;
	size_t module_count;
	struct hawk_table_module_index *module_index;
};

/** Fills modules and their index. */
struct hawk_error *hawk_table_load_modules(struct hawk_table *table,
					   struct hawk_findings *findings);
void hawk_table_free_modules(struct hawk_table *table);

/** Fills labels. */
struct hawk_error *hawk_table_load_labels(struct hawk_table *table, struct hawk_findings *findings);
void hawk_table_free_labels(struct hawk_table *table);

/** Fills `tails`; counts damaged records. */
struct hawk_error *hawk_table_load_traces(struct hawk_table *table, struct hawk_findings *findings);

/** Fills counters and totals, from records and thread slots. */
struct hawk_error *hawk_table_load_counters(struct hawk_table *table,
					    struct hawk_findings *findings);

/** A header found, and its address. */
struct hawk_table_found {
	struct hawk_table_header header;
	bool is_twin;
	bool repaired;
};

/** Searches for the header; `*found` is false if no usable one exists. */
struct hawk_error *hawk_table_search(const struct hawk_target *target,
				     struct hawk_findings *findings, struct hawk_table_found *ret,
				     bool *found);

#endif
