/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cores of heaps of any size for sweeps on several threads: spoiled where shares meet, or dense as
 * nearly all heaps are. Test code: fails the test if anything does not work.
 */
#ifndef SYNTHETIC_SWEEP_CORE_H
#define SYNTHETIC_SWEEP_CORE_H

#include "sweep_world.h"

struct sweep_core {
	struct synthetic_heap *heap;
	char *path;
	struct hawk_target *target;
	struct hawk_span excluded[8];
	struct hawk_sweep_plan plan;
};

/** sweep_world_spoil() at every `seam` bytes; of each four seeds, one is torn; of each eight, four
 * have holes. */
void sweep_core_open_spoiled(struct sweep_core *core, uint64_t bytes, uint64_t seam, uint64_t seed);

/** As nearly all heaps are: blocks of up to 150 bytes, a few of megabytes, and gaps. */
struct synthetic_heap *sweep_core_dense_heap(uint64_t bytes, uint64_t seed);

void sweep_core_open_dense(struct sweep_core *core, uint64_t bytes, uint64_t seed);

/** The core of `core->heap`, which the caller has made. */
void sweep_core_open(struct sweep_core *core);

void sweep_core_close(struct sweep_core *core);

#endif
