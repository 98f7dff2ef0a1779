/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writing the index cache of a session, after the answer, by a child that the user need not wait
 * for. A file appears whole or not at all; then the child adds what later questions may need.
 *
 * Whoever writes has the core locked (flock, which goes with the process); writers wait for each
 * other, and add to the file that is there.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "hawk_cache_files.h"
#include "hawk_cleanup.h"
#include "hawk_kept_evidence.h"
#include "hawk_kept_leaks.h"
#include "hawk_memory.h"
#include "hawk_pointer_session.h"
#include "hawk_progress.h"
#include "hawk_schema_kept.h"
#include "hawk_session.h"
#include "hawk_site_ages.h"
#include "hawk_site_tree.h"

enum {
	WRITER_MS = 10000, /**< a writer waits so long for another one */
	/* What they take beside what is there. */
	REST_BYTES_PER_BLOCK = 45,
	LEAKS_BYTES_PER_BLOCK = 7,
	EVIDENCE_BYTES_PER_BLOCK = 24,
	FOLDS_BYTES_PER_BLOCK = 30,
	START_BYTES_PER_BLOCK = 56,
	MEMORY_SHARE = 2, /**< so many times that must be available */
	FILE_BYTES_PER_BLOCK = 80,
	FOLDS_FILE_BYTES_PER_BLOCK = 36,
	FOLD_BYTES_PER_STEP = 100,
	FOLD_FILE_BYTES_PER_STEP = 3 * 24,
	BLOCKS_PER_STEP = 2, /**< a tree of as many steps as blocks says nothing about them */
};

/** A file without a name until it is complete: whatever happens, nothing is left behind. */
static void write_new(const struct hawk_session *session, int folder)
{
	CLEANUP(close_fd) int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct hawk_core_identity now;
	struct hawk_error *err;
	char name[HAWK_CACHE_NAME_BYTES], path[64];

	if (fd < 0)
		return;
	err = hawk_graph_cache_save(fd, &session->identity, &session->graph, &session->findings);
	if (err) {
		hawk_error_destroy(err);
		return;
	}
	/* Not if the core has changed while it was read. */
	if (!hawk_cache_identify(session->source, session->identity.options, &now) ||
	    memcmp(&now, &session->identity, sizeof(now)) != 0)
		return;
	hawk_cache_name(&session->identity, name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	unlinkat(folder, name, 0);
	linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
}

/** What the session has and the file that is there has not, if there is something. */
static void write_cache(struct hawk_session *session, int folder)
{
	CLEANUP(close_fd) int there = hawk_cache_open(&session->identity, O_RDWR);
	struct hawk_error *err;
	bool fits = false;

	hawk_block_graph_note_folds(&session->graph);
	if (!(session->graph.parts & ~hawk_graph_cache_parts(there, &session->identity)))
		return;
	err = there < 0 ? NULL
			: hawk_graph_cache_add(there, &session->identity, &session->graph,
					       &session->findings, &fits);
	/* What an interrupted addition leaves is of no meaning. */
	hawk_error_destroy(err);
	if (!fits)
		write_new(session, folder);
}

static bool has_bytes(uint64_t need)
{
	return hawk_memory_available() / MEMORY_SHARE > need;
}

static bool has_memory(const struct hawk_session *session, unsigned bytes_per_block)
{
	return has_bytes(session->graph.index.count * (uint64_t)bytes_per_block);
}

/** A child's, whose findings others may look for: what it is still about to find nobody waits for.
 */
struct completion {
	struct hawk_session *session;
	int folder;
	int core; /**< to be locked, or -1 */
};

/** False: somebody else writes, and does not end. */
static bool publish(const struct completion *completion)
{
	if (!hawk_cache_lock(completion->core, LOCK_EX, WRITER_MS))
		return false;
	write_cache(completion->session, completion->folder);
	(void)hawk_cache_lock(completion->core, LOCK_UN, 0);
	return true;
}

/** Goes on from the file where dominators gave way to others, and were written there before. */
static void begin_again(const struct completion *completion)
{
	struct hawk_session *session = completion->session;
	CLEANUP(close_fd) int there = hawk_cache_open(&session->identity, O_RDONLY);
	const struct hawk_block_graph before = session->graph;
	struct hawk_block_graph *graph = &session->graph;
	unsigned parts = hawk_graph_cache_parts(there, &session->identity);
	struct hawk_error *err = NULL;

	if (before.parts & HAWK_PART_RETAINED || !(parts & HAWK_PART_RETAINED))
		return;
	hawk_session_drop_heap(session);
	graph->threads = before.threads;
	graph->keeps_sites = before.keeps_sites;
	graph->vtables = before.vtables;
	if (!hawk_graph_cache_load(there, &session->identity, session->target, &session->findings,
				   parts, &session->cache, graph, &session->heap, &err) ||
	    err) {
		hawk_error_destroy(err);
		_exit(0); /* the next command makes it anew */
	}
	session->table_loaded = session->heap_loaded = session->graph_loaded = true;
}

/** What all questions together need: the next one may be any of them, and nobody is waiting for
 * this. Not where memory is short, or the file would be too large. */
static void add_rest(const struct completion *completion)
{
	struct hawk_session *session = completion->session;
	const unsigned all = HAWK_PART_RETAINED | HAWK_PART_SITES | HAWK_PART_PATHS;
	CLEANUP(close_fd) int there = hawk_cache_open(&session->identity, O_RDONLY);
	struct hawk_settings settings = {.threads = session->graph.threads};
	struct hawk_block_graph *graph = &session->graph;
	unsigned missing = hawk_block_graph_dependencies(all) & ~graph->parts &
			   ~hawk_graph_cache_parts(there, &session->identity);
	struct hawk_error *err;

	if (!missing || !has_memory(session, REST_BYTES_PER_BLOCK) ||
	    !hawk_cache_has_room(completion->folder,
				 graph->index.count * (uint64_t)FILE_BYTES_PER_BLOCK))
		return;
	err = hawk_session_load_graph(session, &settings, missing);
	if (!err)
		publish(completion);
	hawk_error_destroy(err);
}

/** What takes longest to look at, looked at already. In a bit for each block. */
static void add_schemas(const struct completion *completion)
{
	struct hawk_session *session = completion->session;
	CLEANUP(close_fd) int there = hawk_cache_open(&session->identity, O_RDONLY);
	struct hawk_block_graph *graph = &session->graph;
	struct hawk_error *err;

	if (hawk_graph_cache_parts(there, &session->identity) & HAWK_PART_SCHEMAS)
		return;
	err = hawk_schema_keep(graph);
	if (!err)
		publish(completion);
	hawk_error_destroy(err);
}

/** Loss records, of all blocks and kinds. */
static void add_leaks(const struct completion *completion)
{
	struct hawk_session *session = completion->session;
	CLEANUP(close_fd) int there = hawk_cache_open(&session->identity, O_RDONLY);
	struct hawk_error *err;

	if (!(session->graph.parts & HAWK_PART_REACH) ||
	    hawk_graph_cache_parts(there, &session->identity) & HAWK_PART_LEAKS ||
	    !has_memory(session, LEAKS_BYTES_PER_BLOCK))
		return;
	err = hawk_kept_leaks_need(&session->graph);
	if (!err)
		publish(completion);
	hawk_error_destroy(err);
}

/** Whether it is there, or in the file. */
static bool has_part(const struct completion *completion, unsigned part)
{
	const struct hawk_session *session = completion->session;
	CLEANUP(close_fd) int there = hawk_cache_open(&session->identity, O_RDONLY);

	return (session->graph.parts | hawk_graph_cache_parts(there, &session->identity)) & part;
}

/** What each block adds to the evidence of its record. */
static void add_evidence(const struct completion *completion)
{
	struct hawk_session *session = completion->session;
	struct hawk_error *err;

	if (!has_part(completion, HAWK_PART_LEAKS) || has_part(completion, HAWK_PART_EVIDENCE) ||
	    !(session->graph.parts & HAWK_PART_REACH) ||
	    !has_memory(session, EVIDENCE_BYTES_PER_BLOCK) ||
	    !hawk_cache_has_room(completion->folder,
				 session->graph.index.count * (uint64_t)EVIDENCE_BYTES_PER_BLOCK))
		return;
	err = hawk_kept_evidence_need(&session->graph);
	if (!err)
		publish(completion);
	hawk_error_destroy(err);
}

/** Where pointers lie in their blocks: pointers to chosen blocks are folded without the core. */
static void add_places(const struct completion *completion)
{
	const unsigned needed = HAWK_PART_INDEX | HAWK_PART_EDGES | HAWK_PART_ROOTS;
	struct hawk_block_graph *graph = &completion->session->graph;
	uint64_t bytes =
		graph->edges.edge_count + hawk_pointer_places_shared_bytes(graph->index.count);
	struct hawk_error *err;

	if ((graph->parts & needed) != needed || graph->index.part_count ||
	    has_part(completion, HAWK_PART_PLACES) || !has_bytes(bytes) ||
	    !hawk_cache_has_room(completion->folder, bytes))
		return;
	err = hawk_pointer_places_make(graph->target, &graph->index, &graph->edges, &graph->roots,
				       hawk_block_graph_threads(graph), &graph->places);
	if (!err) {
		graph->parts |= HAWK_PART_PLACES;
		publish(completion);
	}
	hawk_error_destroy(err);
}

/** What the blocks of each trace have that says their type. */
static void add_types(const struct completion *completion)
{
	struct hawk_block_graph *graph = &completion->session->graph;
	struct hawk_error *err;

	if (has_part(completion, HAWK_PART_TYPES))
		return;
	err = hawk_kept_types_make(graph, &graph->types);
	if (!err) {
		graph->parts |= HAWK_PART_TYPES;
		publish(completion);
	}
	hawk_error_destroy(err);
}

/** Steps of the largest tree that is kept. Those of one heap differ in what leads to its blocks,
 * and are about as large: of all of them there is room in the file. */
static uint32_t most_steps(const struct completion *completion, uint64_t bytes_per_block)
{
	const uint64_t blocks = completion->session->graph.index.count;
	uint64_t most = blocks / BLOCKS_PER_STEP, taken = blocks * bytes_per_block;
	uint64_t memory = hawk_memory_available() / MEMORY_SHARE;
	uint64_t left = memory > taken ? (memory - taken) / FOLD_BYTES_PER_STEP : 0;

	if (most > left)
		most = left;
	if (most > HAWK_TREE_FOLD_NODES_MAX)
		most = HAWK_TREE_FOLD_NODES_MAX;
	if (most <= HAWK_TREE_FOLD_NODES_FEW ||
	    !hawk_cache_has_room(completion->folder, blocks * FOLDS_FILE_BYTES_PER_BLOCK +
							     most * FOLD_FILE_BYTES_PER_STEP))
		return HAWK_TREE_FOLD_NODES_FEW;
	return (uint32_t)most;
}

static struct hawk_error *fold_trees(const struct completion *completion, const uint32_t *groups)
{
	struct hawk_block_graph *graph = &completion->session->graph;
	struct hawk_error *err = hawk_tree_folds_need_ages(graph);

	return err ? err
		   : hawk_tree_folds_need_orders(graph, groups,
						 most_steps(completion, FOLDS_BYTES_PER_BLOCK));
}

/** What is asked most of all blocks, so that nobody looks at them all again. By start pointers
 * last, in a file that has the rest: that takes the memory of the dominators. */
static void add_folds(const struct completion *completion)
{
	struct hawk_session *session = completion->session;
	struct hawk_block_graph *graph = &session->graph;
	struct hawk_settings settings = {.threads = graph->threads};
	struct hawk_tree_roots groups = {0};
	struct hawk_pointer_report report;
	struct hawk_error *err;

	if (!(graph->parts & HAWK_PART_RETAINED) || !has_memory(session, FOLDS_BYTES_PER_BLOCK) ||
	    !hawk_cache_has_room(completion->folder,
				 graph->index.count * (uint64_t)FOLDS_FILE_BYTES_PER_BLOCK))
		return;
	err = hawk_pointer_session_open(session, &settings, HAWK_PART_RETAINED, &report);
	if (!err)
		err = hawk_tree_roots_make(&report, &groups);
	if (!err)
		err = fold_trees(completion, groups.groups);
	if (!err) {
		publish(completion);
		if (!graph->start_is_all)
			hawk_tree_folds_drop_order(graph);
		if (has_memory(session, START_BYTES_PER_BLOCK))
			err = hawk_tree_folds_need_start(
				graph, groups.groups,
				most_steps(completion, START_BYTES_PER_BLOCK));
	}
	if (!err)
		publish(completion);
	hawk_error_destroy(err);
	hawk_tree_roots_deinit(&groups);
	hawk_pointer_session_deinit(&report);
}

/** What the user's shell has opened for this command, pipes and locks; all of ours are closed on
 * exec. */
static void close_inherited(void)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *item;

	while (directory && (item = readdir(directory))) {
		int fd = atoi(item->d_name);

		if (fd > 2 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			close(fd);
	}
	if (directory)
		closedir(directory);
}

/** The child has the session's memory; it must not hold what is the user's. */
static void become_writer(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	close_inherited();
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	hawk_progress_listen(NULL);
	setsid();
	if (nice(10) < 0)
		return; /* then it writes as fast as everybody else */
}

/** The folder, tidied, if there is something new to write and room for it; else -1. */
static int open_for_new(struct hawk_session *session)
{
	CLEANUP(close_fd) int folder = -1;
	char name[HAWK_CACHE_NAME_BYTES];
	uint64_t bytes;

	hawk_block_graph_note_folds(&session->graph);
	if (!session->cacheable || !session->graph_loaded || !session->heap.table ||
	    !(session->graph.parts & ~session->cache.file_parts))
		return -1;
	folder = hawk_cache_folder(true);
	if (folder < 0)
		return -1;
	bytes = hawk_graph_cache_bytes(&session->graph);
	hawk_cache_name(&session->identity, name);
	hawk_cache_tidy(folder, name, bytes);
	return hawk_cache_has_room(folder, bytes) ? take_fd(&folder) : -1;
}

void hawk_session_save_retained(struct hawk_session *session, bool taken)
{
	CLEANUP(close_fd) int folder = -1;
	CLEANUP(close_fd) int core = -1;
	struct hawk_progress progress;

	if (!taken)
		return;
	folder = open_for_new(session);
	if (folder < 0)
		return;
	hawk_progress_begin_bytes(&progress, "writing the index cache",
				  hawk_graph_cache_bytes(&session->graph));
	core = open(session->source, O_RDONLY | O_CLOEXEC);
	/* The user waits: not for somebody else, too. */
	if (hawk_cache_lock(core, LOCK_EX, 0))
		write_cache(session, folder);
	hawk_progress_end(&progress);
}

void hawk_session_save_cache(struct hawk_session *session)
{
	CLEANUP(close_fd) int folder = open_for_new(session);
	CLEANUP(close_fd) int core = -1;

	if (folder < 0)
		return;
	/* Before the user's next command: the child shares the lock. */
	core = open(session->source, O_RDONLY | O_CLOEXEC);
	(void)hawk_cache_lock(core, LOCK_EX, 0);
	const struct completion completion = {session, folder, core};
	if (fork() != 0) /* a parent, or nobody: then there is no cache */
		return;
	become_writer();
	if (publish(&completion)) {
		begin_again(&completion);
		add_rest(&completion);
		add_schemas(&completion);
		add_places(&completion);
		add_leaks(&completion);
		add_evidence(&completion);
		add_types(&completion);
		add_folds(&completion);
	}
	_exit(0);
}
