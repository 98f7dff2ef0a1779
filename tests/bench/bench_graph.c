/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the pointer graph costs: time and memory per block of every step from the sweep to retained
 * sizes, beside a plain sum of the same memory in the same run.
 *
 * usage: bench_graph [BLOCKS] [local|random|interior] [RUNS]   (default 2000000 local 3)
 *        bench_graph shapes [NAME [1]]   heaps of shapes that break other algorithms (1: small)
 *
 * The heap lies in a core in memory (memfd), so no disk is measured. Blocks are 75 bytes on
 * average, hold 1.2 pointers, and are in chains of 64, in the order of addresses ("local") or in
 * none ("random"); 2 % are lost. Interior pointers (0.2 %) change nothing, or hold the heads of
 * some chains ("interior"), which are leaks by start pointers then. Times are the best of RUNS,
 * each with fresh memory, page faults included, of processor; only what two threads gain is on the
 * wall clock: what they gain a plain sum and arithmetic at the same moment stands beside it,
 * because a second processor may be half of one, or another half of the first. Plain sums stand
 * before and behind every step, because machines get slower and quicker from one moment to the
 * next: ratios are medians of those to the two next to a step. A core of 10 M blocks takes 2 GB of
 * memory, one of 50 M blocks 10 GB.
 */
#include "bench_graph_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_clock.h"
#include "bench_graph_shapes.h"
#include "hawk_parallel.h"
#include "hawk_block_graph.h"
#include "hawk_sweep_beside.h"

enum { RUNS_MAX = 100, COMPUTE_ROUNDS = 100000000 };

enum step {
	STEP_READ,
	STEP_COPY,
	STEP_INDEX,
	STEP_GRAPH,
	STEP_ROOTS,
	STEP_SITES,
	STEP_REACH,
	STEP_RETAINED,
	STEP_ALL,
	STEP_ALL_TWO,
	STEPS
};

static const char *const step_names[STEPS] = {
	"plain sum",
	"read(2), for comparison",
	"sweep, index, totals",
	"graph",
	"roots",
	"site graph",
	"reach, leak kinds",
	"retained",
	"everything",
	"everything, 2 threads",
};

/** The best times, and the memory of one run. */
struct figures {
	double seconds[STEPS]; /**< of processor */
	/** Times over the plain sums next to them. */
	double ratios[STEPS][RUNS_MAX];
	unsigned runs;
	double walls[2][RUNS_MAX];         /**< of everything, with one thread and with two */
	double sum_walls[2][RUNS_MAX];     /**< of a plain sum, between these two */
	double compute_walls[2][RUNS_MAX]; /**< of arithmetic, likewise */
	uint64_t edges;
	uint64_t bytes_index, bytes_graph, bytes_scratch;
	uint64_t bytes_peak[2]; /**< with one thread, with two */
	struct hawk_reach_sum sums[HAWK_REACH_KINDS];
};

static double seconds(void)
{
	return bench_seconds(CLOCK_MONOTONIC);
}

/* Of all threads: what others do on the machine counts less. */
static double cpu_seconds(void)
{
	return bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static void die(const char *message)
{
	fprintf(stderr, "%s\n", message);
	exit(EXIT_FAILURE);
}

static void check(struct hawk_error *err)
{
	if (err)
		die(hawk_error_message(err));
}

static uint64_t status_bytes(const char *format)
{
	char line[256];
	unsigned long long kib = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib * 1024;
}

/* Private memory of this process; the core, all of which has been read, is not in it. */
static uint64_t anonymous_bytes(void)
{
	return status_bytes("RssAnon: %llu");
}

/* The most that it was since forget_peak(). */
static uint64_t anonymous_peak_bytes(void)
{
	return status_bytes("VmHWM: %llu") - status_bytes("RssShmem: %llu") -
	       status_bytes("RssFile: %llu");
}

static void forget_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "w");

	if (!file || fputs("5", file) < 0 || fclose(file))
		die("cannot reset the peak of memory");
}

/** A plain sum of all words, in as many parts as there are threads. */
struct reading {
	const uint64_t *words;
	size_t count;
	unsigned threads;
};

static void read_part(void *context, unsigned part)
{
	const struct reading *reading = context;
	size_t count = reading->count / reading->threads;
	const uint64_t *words = reading->words + count * part;
	uint64_t sum[4] = {0};

	for (size_t i = 0; i + 4 <= count; i += 4)
		for (size_t j = 0; j < 4; j++)
			sum[j] += words[i + j];
	__asm__ volatile("" : : "r"(sum[0] + sum[1] + sum[2] + sum[3]));
}

static void read_all(const struct hawk_target *target, const struct bench_core *core,
		     unsigned threads)
{
	struct reading reading = {
		.words = hawk_target_view(target, SYNTHETIC_HEAP, core->heap_bytes),
		.count = core->heap_bytes / 8,
		.threads = threads,
	};

	if (!reading.words)
		die("the heap is not there");
	hawk_parallel_run(threads, read_part, &reading);
}

/** The index together with sums by trace, from one sweep. */
struct totals {
	struct hawk_block_index *index;
	struct {
		uint64_t bytes;
		uint64_t objects;
	} traces[HAWK_SWEEP_PARTS_MAX][BENCH_TRACES];
};

static void add_totals(struct totals *totals, unsigned part, const struct hawk_block *blocks,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		totals->traces[part][blocks[i].trace].bytes += blocks[i].size;
		totals->traces[part][blocks[i].trace].objects++;
	}
}

static struct hawk_error *take_blocks(void *context, const struct hawk_block *blocks, size_t count)
{
	struct totals *totals = context;

	add_totals(totals, 0, blocks, count);
	return hawk_block_index_add(totals->index, blocks, count);
}

static struct hawk_error *reserve_blocks(void *context, struct hawk_sweep_run *run, bool *ret)
{
	struct totals *totals = context;

	return hawk_block_index_reserve(totals->index, run, ret);
}

static void fill_blocks(void *context, const struct hawk_sweep_run *run, unsigned part)
{
	struct totals *totals = context;

	add_totals(totals, part, run->blocks, run->count);
	hawk_block_index_fill(totals->index, run, part);
}

static void make_index(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
		       const struct bench_core *core, unsigned threads,
		       struct hawk_block_index *ret)
{
	static struct totals totals;
	const struct hawk_sweep_taker taker = {
		.context = &totals,
		.take = take_blocks,
		.reserve = reserve_blocks,
		.fill = fill_blocks,
	};
	struct hawk_sweep_result result;

	totals.index = ret;
	check(hawk_block_index_init(ret, core->heap_bytes));
	check(hawk_sweep_beside(target, plan, threads, &taker, NULL, NULL, NULL, &result));
	hawk_block_index_finish(ret);
	if (ret->count != core->blocks)
		die("blocks are missing");
}

static void keep_best(double *best, double time)
{
	if (*best == 0 || time < *best)
		*best = time;
}

/** What is measured: the time from `start` on, and the plain sum before it. */
struct watch {
	const struct hawk_target *target;
	const struct bench_core *core;
	struct figures *figures;
	double sum;
	double start;
};

static double time_sum(const struct watch *watch)
{
	double start = cpu_seconds();
	double time;

	read_all(watch->target, watch->core, 1);
	time = cpu_seconds() - start;
	keep_best(&watch->figures->seconds[STEP_READ], time);
	return time;
}

static struct watch watch_start(const struct hawk_target *target, const struct bench_core *core,
				struct figures *figures)
{
	struct watch watch = {.target = target, .core = core, .figures = figures};

	watch.sum = time_sum(&watch);
	watch.start = cpu_seconds();
	return watch;
}

static void lap(struct watch *watch, enum step step)
{
	struct figures *figures = watch->figures;
	double time = cpu_seconds() - watch->start;
	double sum = time_sum(watch);

	keep_best(&figures->seconds[step], time);
	figures->ratios[step][figures->runs] = 2 * time / (watch->sum + sum);
	watch->sum = sum;
	watch->start = cpu_seconds();
}

static int compare_ratios(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static double median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), compare_ratios);
	return (values[count / 2] + values[(count - 1) / 2]) / 2;
}

static double median_ratio(const struct figures *figures, enum step step)
{
	double ratios[RUNS_MAX];

	if (step == STEP_READ)
		return 1;
	memcpy(ratios, figures->ratios[step], sizeof(ratios));
	return median(ratios, figures->runs);
}

/* What two threads gain in each run, which has both one after the other. */
static void print_gain(const char *name, double (*walls)[RUNS_MAX], unsigned runs)
{
	double gains[RUNS_MAX];
	double middle;

	for (unsigned run = 0; run < runs; run++)
		gains[run] = walls[0][run] / walls[1][run];
	middle = median(gains, runs);
	printf("%-24s %8.2f x faster (%.2f to %.2f)\n", name, middle, gains[0], gains[runs - 1]);
}

/* Every trace is a site. */
static void make_heap(const struct hawk_sweep_plan *plan, struct hawk_heap *ret)
{
	static uint32_t site_of_trace[BENCH_TRACES];
	static struct hawk_site sites[BENCH_TRACES];

	for (uint32_t i = 0; i < BENCH_TRACES; i++)
		site_of_trace[i] = i;
	*ret = (struct hawk_heap){
		.plan = *plan,
		.sites = sites,
		.site_count = BENCH_TRACES,
		.site_of_trace = site_of_trace,
		.trace_count = BENCH_TRACES,
		.lost_site = UINT32_MAX,
	};
}

static void measure_reading(const struct hawk_target *target, const struct bench_core *core,
			    struct figures *figures)
{
	static char buffer[1 << 20];
	struct watch watch = watch_start(target, core, figures);

	for (uint64_t at = 0; at < core->heap_bytes; at += sizeof(buffer))
		if (pread(core->fd, buffer, sizeof(buffer),
			  (off_t)(BENCH_GLOBALS_OFFSET + core->globals_bytes + at)) <= 0)
			die("cannot read the core");
	lap(&watch, STEP_COPY);
}

static void need(struct hawk_block_graph *graph, unsigned part, struct watch *watch, enum step step)
{
	check(hawk_block_graph_need(graph, part));
	lap(watch, step);
}

/* Step by step on one thread. */
static void measure_steps(struct hawk_target *target, const struct hawk_heap *heap,
			  const struct bench_core *core, struct figures *figures)
{
	struct hawk_heap own = *heap;
	struct hawk_block_graph graph = {.heap = &own, .parts = HAWK_PART_INDEX};
	struct watch watch = watch_start(target, core, figures);
	struct hawk_site_graph sites;

	own.target = target;
	hawk_parallel_set_threads(1);
	make_index(target, &heap->plan, core, 1, &own.index);
	lap(&watch, STEP_INDEX);
	need(&graph, HAWK_PART_EDGES, &watch, STEP_GRAPH);
	need(&graph, HAWK_PART_ROOTS, &watch, STEP_ROOTS);
	check(hawk_site_graph_make(&graph, NULL, &sites));
	lap(&watch, STEP_SITES);
	hawk_site_graph_deinit(&sites);
	watch.start = cpu_seconds();
	need(&graph, HAWK_PART_REACH, &watch, STEP_REACH);
	need(&graph, HAWK_PART_RETAINED, &watch, STEP_RETAINED);
	figures->edges = graph.edges.edge_count;
	figures->bytes_index = hawk_block_index_memory_bytes(&own.index);
	figures->bytes_graph = hawk_graph_memory_bytes(&graph.edges);
	figures->bytes_scratch = graph.dominators.scratch_bytes;
	memcpy(figures->sums, graph.reach.sums, sizeof(graph.reach.sums));
	hawk_block_graph_deinit(&graph);
	hawk_block_index_deinit(&own.index);
}

static void measure_all(struct hawk_target *target, const struct hawk_heap *heap,
			const struct bench_core *core, unsigned threads, struct figures *figures)
{
	struct hawk_heap own = *heap;
	struct hawk_block_graph graph = {.heap = &own, .parts = HAWK_PART_INDEX};
	uint64_t before = anonymous_bytes();
	struct watch watch = watch_start(target, core, figures);
	struct hawk_site_graph sites;
	double wall;

	forget_peak();
	wall = seconds();
	watch.start = cpu_seconds();
	own.target = target;
	hawk_parallel_set_threads(threads);
	make_index(target, &heap->plan, core, threads, &own.index);
	check(hawk_site_graph_make(&graph, NULL, &sites));
	check(hawk_block_graph_need(&graph, HAWK_PART_RETAINED));
	figures->walls[threads - 1][figures->runs] = seconds() - wall;
	lap(&watch, threads == 1 ? STEP_ALL : STEP_ALL_TWO);
	figures->bytes_peak[threads - 1] = anonymous_peak_bytes() - before;
	hawk_site_graph_deinit(&sites);
	hawk_block_graph_deinit(&graph);
	hawk_block_index_deinit(&own.index);
}

/** Arithmetic alone, in as many parts as there are threads. */
static void compute_part(void *context, unsigned part)
{
	const unsigned *threads = context;
	uint64_t sums[4] = {part, part + 1, part + 2, part + 3};

	for (size_t i = 0; i < COMPUTE_ROUNDS / *threads; i++)
		for (size_t j = 0; j < 4; j++)
			sums[j] = (sums[j] ^ sums[j] >> 29) * UINT64_C(0x9e3779b97f4a7c15) + i;
	__asm__ volatile("" : : "r"(sums[0] + sums[1] + sums[2] + sums[3]));
}

/* What the second processor is worth at this moment. */
static void measure_processors(const struct hawk_target *target, const struct bench_core *core,
			       struct figures *figures)
{
	for (unsigned threads = 1; threads <= 2; threads++) {
		double wall = seconds();
		double middle;

		read_all(target, core, threads);
		middle = seconds();
		hawk_parallel_run(threads, compute_part, &threads);
		figures->sum_walls[threads - 1][figures->runs] = middle - wall;
		figures->compute_walls[threads - 1][figures->runs] = seconds() - middle;
	}
}

static void measure(struct hawk_target *target, const struct hawk_sweep_plan *plan,
		    const struct bench_core *core, struct figures *figures)
{
	struct hawk_heap heap;

	make_heap(plan, &heap);
	measure_reading(target, core, figures);
	measure_steps(target, &heap, core, figures);
	measure_all(target, &heap, core, 1, figures);
	measure_processors(target, core, figures);
	measure_all(target, &heap, core, 2, figures);
	figures->runs++;
}

static void print_memory(const char *name, uint64_t bytes, uint64_t blocks)
{
	printf("%-24s %8.2f bytes/block\n", name, (double)bytes / (double)blocks);
}

static void print(struct figures *figures, const struct bench_core *core)
{
	double blocks = (double)core->blocks;

	printf("blocks %llu, %.3f GB, %.2f pointers per block; reachable %llu, possibly %llu, "
	       "definitely %llu, indirectly lost %llu\n",
	       (unsigned long long)core->blocks, (double)core->heap_bytes / 1e9,
	       (double)figures->edges / blocks, (unsigned long long)figures->sums[1].objects,
	       (unsigned long long)figures->sums[2].objects,
	       (unsigned long long)figures->sums[3].objects,
	       (unsigned long long)figures->sums[4].objects);
	for (unsigned step = 0; step < STEPS; step++) {
		double time = figures->seconds[step];

		printf("%-24s %8.2f ns/block  %6.2f x plain sum  %6.2f GB/s\n", step_names[step],
		       time / blocks * 1e9, median_ratio(figures, step),
		       (double)core->heap_bytes / time / 1e9);
	}
	print_gain("with two threads", figures->walls, figures->runs);
	print_gain("a plain sum, with two", figures->sum_walls, figures->runs);
	print_gain("arithmetic, with two", figures->compute_walls, figures->runs);
	print_memory("index", figures->bytes_index, core->blocks);
	print_memory("graph", figures->bytes_graph, core->blocks);
	print_memory("peak, one thread", figures->bytes_peak[0], core->blocks);
	print_memory("peak, two threads", figures->bytes_peak[1], core->blocks);
	print_memory("edges, while searching", figures->bytes_scratch, core->blocks);
}

static void bench_heap(uint64_t blocks, const char *kind, uint64_t runs)
{
	struct bench_core core =
		bench_core_make(blocks, strcmp(kind, "random") != 0, !strcmp(kind, "interior"));
	struct hawk_sweep_plan plan = {
		.key = core.heap->table->header.key, .trace_count = BENCH_TRACES, .birth_max = 1};
	static struct figures figures;
	struct hawk_target *target;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", core.fd);
	check(hawk_target_open_core(path, NULL, &target));
	for (uint64_t run = 0; run < runs && run < RUNS_MAX; run++)
		measure(target, &plan, &core, &figures);
	print(&figures, &core);
	hawk_target_close(target);
	bench_core_deinit(&core);
}

int main(int argc, char **argv)
{
	uint64_t blocks = 2000000;

	if (argc > 1 && !strcmp(argv[1], "shapes")) {
		bench_graph_shapes(argc > 2 ? argv[2] : NULL, argc > 3 ? 1 : 2);
		return EXIT_SUCCESS;
	}
	if (argc > 1)
		blocks = strtoull(argv[1], NULL, 10);
	if (blocks < 1000)
		die("at least 1000 blocks");
	bench_heap(blocks, argc < 3 ? "local" : argv[2],
		   argc > 3 ? strtoull(argv[3], NULL, 10) : 3);
	return EXIT_SUCCESS;
}
