/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How fast the sweep is on a dense heap of small blocks, beside a plain sum of the same memory.
 *
 * usage: bench_sweep [MIB]   (default 1024)
 *
 * The heap lies in a core in memory (memfd), so no disk is measured. Each figure is the best of
 * five runs on one thread, in CPU time, because other programs may run beside.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench_clock.h"
#include "hawk_sweep.h"
#include "synthetic_heap.h"

enum { RUNS = 5 };

static double seconds(void)
{
	return bench_seconds(CLOCK_THREAD_CPUTIME_ID);
}

static void check(struct hawk_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", hawk_error_message(err));
	exit(EXIT_FAILURE);
}

/* Blocks of 8 to 142 bytes, 75 on average, with random contents, as an allocator with 16-byte
 * classes lays them out. */
static uint64_t fill(struct synthetic_heap *heap)
{
	uint64_t seed = 1;
	uint64_t blocks = 0;

	for (size_t i = 0; i + 8 <= heap->size; i += 8) {
		uint64_t word = synthetic_random(&seed) >> 17;

		memcpy(heap->bytes + i, &word, 8);
	}
	for (uint64_t at = 16; at + 256 < heap->size; blocks++) {
		uint64_t r = synthetic_random(&seed);
		uint64_t size = 8 + r % 135;

		synthetic_heap_add_block(heap, (struct synthetic_block){
						       .start = heap->address + at,
						       .size = size,
						       .trace = 1 + (uint32_t)(r >> 40 & 1023),
						       .birth = (uint8_t)(r >> 32 & 63),
					       });
		at += ((size + 8 + 15) & ~UINT64_C(15)) + 16;
	}
	return blocks;
}

static int write_core(struct synthetic_heap *heap)
{
	struct synthetic_core *core = synthetic_heap_core(heap);
	size_t size;
	uint8_t *bytes = synthetic_core_build(core, &size);
	int fd = memfd_create("bench", MFD_CLOEXEC);

	synthetic_core_destroy(core);
	for (size_t done = 0; done < size;) {
		ssize_t written = write(fd, bytes + done, size - done);

		if (written <= 0) {
			perror("memfd");
			exit(EXIT_FAILURE);
		}
		done += (size_t)written;
	}
	free(bytes);
	return fd;
}

static struct hawk_error *sum_sizes(void *context, const struct hawk_block *blocks, size_t count)
{
	uint64_t *sum = context;

	for (size_t i = 0; i < count; i++)
		*sum += blocks[i].size;
	return NULL;
}

static double best_sum(const struct hawk_target *target, uint64_t address, size_t size)
{
	const uint64_t *words = hawk_target_view(target, address, size);
	double best = 1e9;

	for (int run = 0; words && run < RUNS; run++) {
		double start = seconds();
		uint64_t sum[4] = {0};

		for (size_t i = 0; i + 4 <= size / 8; i += 4)
			for (size_t j = 0; j < 4; j++)
				sum[j] += words[i + j];
		__asm__ volatile("" : : "r"(sum[0] + sum[1] + sum[2] + sum[3]));
		start = seconds() - start;
		if (start < best)
			best = start;
	}
	return best;
}

static double best_sweep(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
			 uint64_t blocks)
{
	double best = 1e9;

	for (int run = 0; run < RUNS; run++) {
		struct hawk_sweep_result result;
		double start = seconds();
		uint64_t sum = 0;

		check(hawk_sweep(target, plan, sum_sizes, &sum, NULL, NULL, NULL, &result));
		start = seconds() - start;
		if (result.blocks != blocks || result.bytes != sum) {
			fprintf(stderr, "%llu blocks instead of %llu\n",
				(unsigned long long)result.blocks, (unsigned long long)blocks);
			exit(EXIT_FAILURE);
		}
		if (start < best)
			best = start;
	}
	return best;
}

int main(int argc, char **argv)
{
	size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 1024;
	struct synthetic_heap *heap = synthetic_heap_create(mib << 20);
	uint64_t blocks = fill(heap);
	struct hawk_sweep_plan plan = {
		.key = heap->table->header.key,
		.trace_count = 1024 + 1,
		.birth_max = 64,
	};
	double bytes = (double)heap->size;
	size_t size = heap->size;
	struct hawk_target *target;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", write_core(heap));
	synthetic_heap_destroy(heap);
	check(hawk_target_open_core(path, NULL, &target));

	double sum = best_sum(target, SYNTHETIC_HEAP, size);
	double sweep = best_sweep(target, &plan, blocks);

	printf("blocks             %10llu\n", (unsigned long long)blocks);
	printf("plain sum          %10.2f GB/s\n", bytes / sum / 1e9);
	printf("sweep              %10.2f GB/s  %.1f M blocks/s  %.1f ns/block\n",
	       bytes / sweep / 1e9, (double)blocks / sweep / 1e6, sweep / (double)blocks * 1e9);
	printf("sweep : plain sum  %10.2f\n", sum / sweep);
	hawk_target_close(target);
	return EXIT_SUCCESS;
}
