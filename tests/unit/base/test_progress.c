/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Progress: a listener's calls and their threads, and that every stage of the analysis rises to its
 * end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "test.h"
#include "hawk/analysis/selection.h"
#include "hawk/analysis/leaks.h"
#include "hawk/base/parallel.h"
#include "hawk/base/progress.h"
#include "hawk/analysis/site_ages.h"
#include "hawk/analysis/site_graph.h"
#include "hawk/analysis/site_tree.h"
#include "synthetic_site_world.h"

enum { STAGES_MAX = 64, BLOCKS = 60000, STEPS = 16, PATIENCE_MS = 20000 };

/** The reports of one stage, in order. */
struct seen {
	const char *stage;
	uint64_t first, last, all;
	unsigned moves; /**< number of reports with more done than before */
};

struct record {
	struct hawk_progress_listener listener;
	pthread_t thread;
	struct seen seen[STAGES_MAX];
	size_t count;
	_Atomic size_t stages; /**< the same, for other threads */
	unsigned told;
};

static void note(void *context, const struct hawk_progress *progress)
{
	struct record *record = context;
	uint64_t done = hawk_progress_done(progress);
	struct seen *seen = &record->seen[record->count];

	assert_true(pthread_equal(pthread_self(), record->thread));
	assert_true(done <= progress->all);
	record->told++;
	if (record->count && record->seen[record->count - 1].stage == progress->stage &&
	    done >= record->seen[record->count - 1].last) {
		seen--;
		seen->moves += done > seen->last;
		seen->last = done;
		seen->all = progress->all;
		return;
	}
	assert_true(record->count < STAGES_MAX);
	*seen = (struct seen){progress->stage, done, done, progress->all, 0};
	record->stages = ++record->count;
}

static void listen(struct record *record)
{
	*record = (struct record){.listener = {note, record}, .thread = pthread_self()};
	hawk_progress_listen(&record->listener);
}

static const struct seen *find(const struct record *record, const char *stage)
{
	for (size_t i = 0; i < record->count; i++)
		if (!strcmp(record->seen[i].stage, stage))
			return &record->seen[i];
	return NULL;
}

/* Checks that a stage began at 0 and rose; with several threads, others may do all of it while the
 * caller sleeps. */
static void expect_rise(const struct record *record, const char *stage, unsigned threads)
{
	const struct seen *seen = find(record, stage);

	if (!seen)
		fail_msg("%s was not told of", stage);
	if (seen->first || (threads == 1 && seen->moves < 2))
		fail_msg("%s went from %llu to %llu of %llu in %u moves", stage,
			 (unsigned long long)seen->first, (unsigned long long)seen->last,
			 (unsigned long long)seen->all, seen->moves);
}

/* Returns true if the stage continued after a nested one. */
static bool goes_on(const struct record *record, size_t seen)
{
	for (size_t i = seen + 1; i < record->count; i++)
		if (!strcmp(record->seen[i].stage, record->seen[seen].stage))
			return true;
	return false;
}

static void expect_all_to_end(const struct record *record)
{
	for (size_t i = 0; i < record->count; i++)
		if (record->seen[i].last != record->seen[i].all && !goes_on(record, i))
			fail_msg("%s ended at %llu of %llu", record->seen[i].stage,
				 (unsigned long long)record->seen[i].last,
				 (unsigned long long)record->seen[i].all);
}

TEST(a_stage_is_told_from_nothing_to_all)
{
	struct hawk_progress progress;
	struct record record;

	listen(&record);
	hawk_progress_begin(&progress, "counting", 10 * HAWK_PROGRESS_STRIDE);
	for (uint64_t i = 0; i < 10 * HAWK_PROGRESS_STRIDE; i++)
		hawk_progress_tick(i);
	hawk_progress_end(&progress);
	hawk_progress_listen(NULL);
	assert_int_equal(record.count, 1);
	assert_int_equal(record.seen[0].moves, 10);
	expect_rise(&record, "counting", 1);
}

TEST(the_inner_stage_is_told_until_it_ends)
{
	struct hawk_progress outer, inner;
	struct record record;

	listen(&record);
	hawk_progress_begin(&outer, "outer", 100);
	hawk_progress_add(10);
	hawk_progress_begin(&inner, "inner", 5);
	hawk_progress_add(5);
	hawk_progress_end(&inner);
	hawk_progress_add(20);
	hawk_progress_refresh();
	assert_int_equal(hawk_progress_done(&outer), 30);
	hawk_progress_end(&outer);
	hawk_progress_listen(NULL);
	assert_int_equal(record.count, 3);
	assert_int_equal(record.seen[1].last, 5);
	assert_string_equal(record.seen[2].stage, "outer");
	assert_int_equal(record.seen[2].first, 30);
}

TEST(what_is_not_worth_telling_is_not_lost)
{
	struct hawk_progress progress;
	struct record record;

	listen(&record);
	hawk_progress_begin(&progress, "counting", UINT64_C(1) << 30);
	for (unsigned i = 0; i < 1 << 20; i++)
		hawk_progress_add(1 << 10);
	assert_true(record.told <= 1025);
	hawk_progress_refresh();
	assert_int_equal(record.seen[0].last, 1 << 30);
	hawk_progress_end(&progress);
	hawk_progress_listen(NULL);
}

TEST(nothing_is_told_and_nothing_fails_without_a_listener_or_a_stage)
{
	struct hawk_progress progress;
	struct record record;

	hawk_progress_add(5);
	hawk_progress_reach(5);
	hawk_progress_refresh();
	hawk_progress_begin(&progress, "unheard", 3);
	hawk_progress_add(3);
	hawk_progress_end(&progress);
	listen(&record);
	hawk_progress_add(5);
	hawk_progress_refresh();
	hawk_progress_listen(NULL);
	assert_int_equal(record.told, 0);
}

TEST(what_was_reached_does_not_go_back)
{
	struct hawk_progress progress;
	struct record record;

	listen(&record);
	hawk_progress_begin(&progress, "reaching", 100);
	hawk_progress_reach(60);
	hawk_progress_reach(30);
	assert_int_equal(hawk_progress_done(&progress), 60);
	hawk_progress_reach_of(100, 200);
	assert_int_equal(record.seen[0].all, 200);
	hawk_progress_end(&progress);
	hawk_progress_listen(NULL);
	assert_int_equal(record.seen[0].last, 200);
}

/* The caller's part is done long before the others', whose last steps come when it has told of
 * some. */
static void work(void *context, unsigned part)
{
	struct hawk_progress own;
	struct record *record = context;

	for (unsigned i = 0; part && i < STEPS; i++) {
		usleep(20000);
		if (i == STEPS - 1)
			for (unsigned k = 0; k < PATIENCE_MS && record->stages < 3; k++)
				usleep(1000);
		hawk_progress_add(1);
	}
	/* Another thread's stage is not reported here. */
	hawk_progress_begin(&own, "own", 1);
	hawk_progress_end(&own);
}

TEST(other_threads_count_and_the_caller_tells_while_it_waits)
{
	enum { PARTS = 3 };
	struct hawk_progress progress;
	struct record record;

	listen(&record);
	hawk_progress_begin(&progress, "waiting", (PARTS - 1) * STEPS);
	hawk_parallel_run(PARTS, work, &record);
	assert_int_equal(hawk_progress_done(&progress), (PARTS - 1) * STEPS);
	hawk_progress_end(&progress);
	hawk_progress_listen(NULL);
	assert_int_equal(record.count, 3); /* the caller's "own" between */
	assert_string_equal(record.seen[2].stage, "waiting");
	assert_true(record.seen[2].moves >= 1);
}

/** A core of many blocks, each pointing to the next and into the one after that; a root leads to
 * the one in the middle. */
struct large_core {
	struct synthetic_heap *built;
	char *path;
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_heap heap;
	struct hawk_graph graph;
};

static void open_large(struct large_core *core)
{
	enum { SIZE = 32, PITCH = 48 };
	const uint64_t frames[] = {0x401000};
	const uint64_t middle = SYNTHETIC_HEAP + 16 + PITCH * (uint64_t)(BLOCKS / 2);
	struct synthetic_core *file;
	uint32_t trace;

	*core = (struct large_core){.built = synthetic_heap_create((size_t)PITCH * (BLOCKS + 2))};
	synthetic_heap_add_module(core->built, "/usr/bin/app", 0x400000, 0x500000, 0x400000);
	trace = synthetic_heap_add_trace(core->built, frames, 1, 0, 0);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		uint64_t start = SYNTHETIC_HEAP + 16 + PITCH * i;
		const uint64_t words[] = {start + PITCH, start + 2 * PITCH + 8};

		synthetic_heap_add_block(
			core->built,
			(struct synthetic_block){.start = start, .size = SIZE, .trace = trace});
		if (i + 2 < BLOCKS)
			memcpy(core->built->bytes + (start - SYNTHETIC_HEAP), words, sizeof(words));
	}
	file = synthetic_heap_core(core->built);
	synthetic_core_add_memory(file, SYNTHETIC_HEAP - (1 << 20), &middle, sizeof(middle));
	core->path = synthetic_core_write(file, SIZE_MAX);
	synthetic_core_destroy(file);
	hawk_findings_init(&core->findings);
	assert_null(hawk_target_open_core(core->path, &core->findings, &core->target));
}

static void close_large(struct large_core *core)
{
	hawk_graph_deinit(&core->graph);
	hawk_heap_deinit(&core->heap);
	hawk_target_close(core->target);
	synthetic_core_remove(core->path);
	synthetic_heap_destroy(core->built);
	hawk_findings_deinit(&core->findings);
}

/* Makes all values that verbs make from a core. */
static void make_everything(struct large_core *core)
{
	struct hawk_graph *graph = &core->graph;
	struct hawk_site_tree tree = {0};
	struct hawk_dominators dominators;
	struct hawk_selection choice;
	struct hawk_site_graph sites;
	struct hawk_site_ages *ages;
	struct hawk_leaks leaks;
	struct hawk_paths paths;
	struct hawk_reach reach;
	uint32_t *groups;

	assert_null(hawk_heap_load(core->target, NULL, &core->findings, &core->heap));
	assert_null(hawk_graph_make(&core->heap, NULL, &core->findings, graph));
	groups = calloc(graph->roots.count + 1, sizeof(*groups));
	assert_non_null(groups);
	assert_null(hawk_reach_make(graph, &graph->explained, &reach));
	assert_null(hawk_dominators_make(graph, &reach, &dominators));
	assert_null(hawk_site_graph_make(graph, NULL, &sites));
	assert_null(hawk_paths_find(graph, &paths));
	assert_null(hawk_site_ages_make(graph->heap, &reach, NULL, &ages));
	assert_null(hawk_selection_make(graph->heap, NULL, &choice));
	assert_null(hawk_leaks_make(graph, &graph->explained, &reach, ~0u, NULL, &leaks));
	assert_null(hawk_site_tree_add_retained(graph, &dominators, groups, NULL, &tree));
	assert_null(hawk_site_tree_finish(&tree));
	hawk_site_tree_deinit(&tree);
	assert_null(hawk_site_tree_paths(graph, &paths, groups, NULL, &tree));
	hawk_site_tree_deinit(&tree);
	hawk_leaks_deinit(&leaks);
	hawk_selection_deinit(&choice);
	hawk_paths_deinit(&paths);
	hawk_site_graph_deinit(&sites);
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&reach);
	free(ages);
	free(groups);
}

TEST(each_stage_rises_to_its_end)
{
	static const char *const rising[] = {
		"reading pointers",       "reading interior pointers",
		"following pointers",     "finding lost blocks",
		"finding dominators",     "adding up what blocks retain",
		"numbering blocks",       "reading ages",
		"choosing blocks",        "adding up chosen blocks",
		"recording lost blocks",  "looking for pointers to lost blocks",
		"folding blocks by site", "folding paths by site",
	};
	static const char *const told[] = {"reading memory", "reading roots",
					   "folding pointers by site", "finding shortest paths",
					   "finding roots of blocks"};

	for (unsigned threads = 1; threads <= 3; threads++) {
		struct large_core core;
		struct record record;

		open_large(&core);
		hawk_parallel_set_threads(threads);
		listen(&record);
		make_everything(&core);
		hawk_progress_listen(NULL);
		assert_int_equal(core.heap.index.count, BLOCKS);
		for (size_t i = 0; i < COUNT_OF(rising); i++)
			expect_rise(&record, rising[i], threads);
		for (size_t i = 0; i < COUNT_OF(told); i++)
			assert_non_null(find(&record, told[i]));
		expect_all_to_end(&record);
		close_large(&core);
	}
}
