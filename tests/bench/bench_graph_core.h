/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The core that bench_graph measures: a heap of many blocks and the globals that lead to it, in
 * memory (memfd). How its blocks are chained: bench_graph.c.
 */
#ifndef BENCH_GRAPH_CORE_H
#define BENCH_GRAPH_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synthetic_graph.h"

enum {
	BENCH_TRACES = 4096,         /**< traces have numbers below it */
	BENCH_CHAIN = 64,            /**< blocks in a chain */
	BENCH_GLOBALS_OFFSET = 4096, /**< in the file; the heap lies behind them */
};

/** A core with two segments, made in place. */
struct bench_core {
	int fd;
	uint8_t *bytes;
	size_t size;
	uint64_t globals_bytes;
	uint64_t heap_bytes;
	struct synthetic_heap *heap; /**< its bytes are in the file */
	uint64_t *starts;
	uint64_t blocks;
};

/** Chains in the order of addresses (`local`) or in none; the heads of some held by interior
 * pointers
 * (`interior`). Ends the process if there is no memory. */
struct bench_core bench_core_make(uint64_t blocks, bool local, bool interior);

void bench_core_deinit(struct bench_core *core);

#endif
