/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types of the blocks on shortest paths, by debug information: types flow along these paths alone,
 * so that the price depends on the paths and not on the heap.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_PATH_TYPES_H
#define HAWK_ANALYZER_ANALYSIS_PATH_TYPES_H

#include "hawk/analysis/paths.h"
#include "hawk/objects/types.h"

/** Types `blocks` and those on the paths to them; all others have no type. The paths are to be
 * prepared for `blocks`. `ret` is to be deinitialized after success only. Reads. */
struct hawk_error *hawk_path_types_make(const struct hawk_graph *graph,
					const struct hawk_paths *paths, const uint32_t *blocks,
					size_t count, struct hawk_block_types *names,
					struct hawk_symbols *symbols, struct hawk_types *ret);

#endif
