/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The analyzer's view of the table, after docs/format-trace-table.md: the contents of a core of
 * this instant. All published data must be whole. Independent of the tracer's own functions.
 */
#ifndef MODEL_TABLE_H
#define MODEL_TABLE_H

#include "hawk_trace_table.h"
#include "model.h"

enum { MODEL_FRAMES_MAX = 32 };

/** Maps the table and the tracer's parts, as start-up does with these HAWK_OPTS. */
void model_table_set_up(const char *options);

/** Interns traces 1 .. `last`, of one frame each. */
void model_table_make_traces(uint32_t last);

/** Checks that every published record, extent, slot and module is whole. */
void model_table_check(void);

/** Reads the frames of trace `id`, leaf first. Returns 0 if not published. */
uint32_t model_table_frames(uint32_t id, uint64_t *pcs);

/** Returns the cumulative allocations of `trace`, flushed or not; for trace 0 those without a
 * stack. */
uint64_t model_table_allocations(uint32_t trace);

/** Cumulative frees of blocks of `trace`, which is not 0, with live counters. */
uint64_t model_table_frees_of(uint32_t trace);

/** Returns the cumulative frees. */
uint64_t model_table_frees(void);

/** Returns the record to which `pc` of `generation` belongs; NULL = none. */
const struct hawk_module_record *model_table_module(uint64_t pc, uint32_t generation);

/** Returns true if the path of the record is `path`. */
bool model_table_path_is(const struct hawk_module_record *record, const char *path);

/** Returns true if label `id` is published with these values. */
bool model_table_label_is(uint32_t id, uint32_t kind, uint32_t parent, const char *name);

#endif
