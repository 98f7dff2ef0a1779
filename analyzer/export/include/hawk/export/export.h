/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writers of foreign formats. Each reads a finished profile and writes to an output, whose first
 * error is the output's; a writer itself can only run out of memory, or refuse what its format has
 * no place for. docs/export.md says which reader was tried with which format.
 */
#ifndef HAWK_ANALYZER_EXPORT_H
#define HAWK_ANALYZER_EXPORT_H

#include "hawk/base/findings.h"
#include "hawk/output/output.h"
#include "hawk/profile/profile.h"

/** A good `blocks_max`: some 50 MB. */
enum { HAWK_EXPORT_BLOCKS_MAX = 10000000 };

/** An export to write. */
struct hawk_export {
	const struct hawk_profile *profile;
	const struct hawk_process *process;
	const struct hawk_heap *heap;   /**< that the profile was made from */
	struct hawk_findings *findings; /**< takes what a format leaves out */
	const char *source;             /**< path of the core; NULL = a process */
	uint64_t end_ns;                /**< CLOCK_REALTIME of the process's end; 0 = not known */
	uint64_t life_ns;               /**< from the tracer's start to that; 0 = not known */
	uint32_t column;                /**< of formats that hold a single one */
	bool filtered;       /**< the profile has some sites of the heap only, on purpose */
	uint32_t blocks_max; /**< lines for blocks in heaptrack's data, which has no counts */
};

struct hawk_error *hawk_export_pprof(const struct hawk_export *export, struct hawk_output *output);

/** "main;serve;make_cell 4711": root first. Values that are not above 0 are left out. */
struct hawk_error *hawk_export_folded(const struct hawk_export *export, struct hawk_output *output);

struct hawk_error *hawk_export_speedscope(const struct hawk_export *export,
					  struct hawk_output *output);

/** DHAT's JSON, version 2, for dh_view.html. */
struct hawk_error *hawk_export_dhat(const struct hawk_export *export, struct hawk_output *output);

/** Massif's text, for ms_print. Values that are not above 0 are left out. */
struct hawk_error *hawk_export_massif(const struct hawk_export *export, struct hawk_output *output);

/** heaptrack's data, format 3; needs a heap with blocks, of which all or those of a filter's sites
 * are live. Blocks beyond `blocks_max` are one for each stack, which is a finding. */
struct hawk_error *hawk_export_heaptrack(const struct hawk_export *export,
					 struct hawk_output *output);

/** A JSON object a line for each sample: docs/schema/row-1.json. */
struct hawk_error *hawk_export_ndjson(const struct hawk_export *export, struct hawk_output *output);

/** Returns the "snapshot_id" of rows: names the state of one process at one time, the same however
 * often, where and with which options a core or its snapshot is read. */
uint64_t hawk_export_snapshot_id(const struct hawk_export *export);

/** Returns the program's, hex digits; "" = not known. */
const char *hawk_export_build_id(const struct hawk_profile *profile);

#endif
