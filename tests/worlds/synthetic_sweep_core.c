/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Heaps in files, opened.
 */
#include "synthetic_sweep_core.h"

enum { PAGE = 4096 };

static void open_file(struct sweep_core *core, struct synthetic_core *file, bool holes)
{
	core->path = synthetic_core_write(file, SIZE_MAX);
	synthetic_core_destroy(file);
	if (holes)
		sweep_world_punch(core->path);
	check(hawk_target_open_core(core->path, NULL, &core->target));
	core->plan.key = core->heap->table->header.key;
	core->plan.trace_count = 8;
	core->plan.birth_max = 200;
	core->plan.excluded = core->excluded;
}

void sweep_core_open_spoiled(struct sweep_core *core, uint64_t bytes, uint64_t seam, uint64_t seed)
{
	*core = (struct sweep_core){.heap = synthetic_heap_create(bytes)};
	sweep_world_spoil(core->heap, seam, seed);
	open_file(core,
		  seed % 4 ? synthetic_heap_core(core->heap)
			   : sweep_world_tear(core->heap, seed, core->excluded,
					      &core->plan.excluded_count),
		  seed % 8 >= 4);
}

void sweep_core_close(struct sweep_core *core)
{
	hawk_target_close(core->target);
	synthetic_core_remove(core->path);
	synthetic_heap_destroy(core->heap);
}

void sweep_core_open(struct sweep_core *core)
{
	open_file(core, synthetic_heap_core(core->heap), false);
}

struct synthetic_heap *sweep_core_dense_heap(uint64_t bytes, uint64_t seed)
{
	struct synthetic_heap *heap = synthetic_heap_create(bytes);

	for (uint64_t at = 32; at + PAGE < bytes;) {
		uint64_t r = synthetic_random(&seed);
		uint64_t size = r % (r >> 40 & 0x7fff ? 150 : 5 << 20);

		if (at + size > bytes)
			size = 8;
		synthetic_heap_add_block(heap, (struct synthetic_block){
						       .start = SYNTHETIC_HEAP + at,
						       .size = size,
						       .trace = 1 + (r >> 20) % 7,
						       .birth = (uint8_t)(r >> 32 & 63),
					       });
		at += 16 + (size + 15) / 16 * 16 + (r >> 60 ? 0 : 16 * (r >> 50 & 255));
	}
	return heap;
}

void sweep_core_open_dense(struct sweep_core *core, uint64_t bytes, uint64_t seed)
{
	*core = (struct sweep_core){.heap = sweep_core_dense_heap(bytes, seed)};
	sweep_core_open(core);
}
