/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Builds small traced heaps for tests: a trace table and memory with sealed blocks, on top of
 * synthetic_core.h.
 *
 * Everything that is built lies open in the struct: a test breaks what it likes before it writes
 * the core. Test code: runs out of patience with abort().
 */
#ifndef SYNTHETIC_HEAP_H
#define SYNTHETIC_HEAP_H

#include "hawk_trace_table.h"
#include "synthetic_core.h"

enum {
	SYNTHETIC_TRACES = 64, /**< records 0 .. 63, of which 0 is none */
	SYNTHETIC_WORDS = 2048,
	SYNTHETIC_MODULES = 16,
	SYNTHETIC_THREADS = 4,
	SYNTHETIC_COUNTERS = 32, /**< entries of each thread slot */
};

struct synthetic_slot {
	struct hawk_thread_record record;
	struct hawk_counter_entry counters[SYNTHETIC_COUNTERS];
};

/** The table as it lies in memory, from SYNTHETIC_TABLE on; only as long as the test needs. */
struct synthetic_table {
	union {
		struct hawk_table_header header;
		uint8_t header_bytes[HAWK_TABLE_HEADER_BYTES];
	};
	struct hawk_trace_record traces[SYNTHETIC_TRACES];
	uint64_t words[SYNTHETIC_WORDS];
	struct hawk_module_record modules[SYNTHETIC_MODULES];

	struct synthetic_slot threads[SYNTHETIC_THREADS];
};

/* Addresses that are free in every process, also beside the shadow memory of AddressSanitizer. */
#define SYNTHETIC_TABLE UINT64_C(0x200000000000)
#define SYNTHETIC_TWIN  UINT64_C(0x7fff00000000)
#define SYNTHETIC_HEAP  UINT64_C(0x555500000000)

struct synthetic_heap {
	struct synthetic_table *table;
	struct hawk_table_header *twin; /**< stale copy, in a page of its own at SYNTHETIC_TWIN */
	uint8_t *bytes;                 /**< memory at `address` */
	uint64_t address;
	size_t size;
};

/** A table with a module log of none, no traces, one thread; `size` zeroed bytes at SYNTHETIC_HEAP.
 */
struct synthetic_heap *synthetic_heap_create(size_t size);
void synthetic_heap_destroy(struct synthetic_heap *heap);

/** Computes `check` of header and twin anew, after a change of constant fields. */
void synthetic_heap_check(struct synthetic_heap *heap);

/** A stack of its own words, on top of the outermost `tail_count` frames of `tail`. Returns its id.
 */
uint32_t synthetic_heap_add_trace(struct synthetic_heap *heap, const uint64_t *frames,
				  uint32_t count, uint32_t tail, uint32_t tail_count);

/** A module of generation 0 with a build-id that is made of its path's bytes. */
void synthetic_heap_add_module(struct synthetic_heap *heap, const char *path, uint64_t start,
			       uint64_t end, uint64_t bias);

/** A block's chosen values. */
struct synthetic_block {
	uint64_t start; /**< the user's pointer: a multiple of 16, at least 16 above the memory's */
	uint64_t size;
	uint32_t trace;
	uint8_t kind; /**< 0 = HAWK_KIND_MALLOC */
	uint8_t birth;
	uint8_t offset_log2; /**< 0 = 4 */
};

void synthetic_heap_add_block(struct synthetic_heap *heap, struct synthetic_block block);

/** Replaces the seal of the block at `start` by a dead one; word 0 is overwritten, as by a free
 * list. */
void synthetic_heap_kill_block(struct synthetic_heap *heap, uint64_t start);

/** A core with table, heap, twin and one thread. */
struct synthetic_core *synthetic_heap_core(const struct synthetic_heap *heap);

/** That core's file; see synthetic_core_write(). */
char *synthetic_heap_write(const struct synthetic_heap *heap);

/** A sequence of random numbers, the same on every machine. */
static inline uint64_t synthetic_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

#endif
