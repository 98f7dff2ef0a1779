/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The index cache of a session: $XDG_CACHE_HOME/hawk-core/<name of the core's identity>.index, for
 * this user only. Looked for before a core is read, written after the answer by a child that the
 * user need not wait for. A file appears there whole or not at all.
 *
 * Whoever writes what a command has found has the core locked (flock, which goes with the process).
 * A command that comes meanwhile waits a little for what it would have to find out itself; writers
 * wait for each other, and add to the file that is there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "hawk_cleanup.h"
#include "hawk_graph_cache.h"
#include "hawk_memory.h"
#include "hawk_pointer_session.h"
#include "hawk_progress.h"
#include "hawk_session.h"
#include "hawk_site_ages.h"
#include "hawk_site_tree.h"

enum {
	DAYS_KEPT = 14,
	SECONDS_A_DAY = 86400,
	NAME_BYTES = 96,
	FREE_SHARE = 2, /**< so many times the file must be free in the file system */
	WAIT_MS = 10,
	READER_MS = 1000, /**< a reader waits so long for a writer, and more for large cores */
	READER_MS_MAX = 10000,
	WRITER_MS = 10000,
	/* What they take beside what is there. */
	REST_BYTES_PER_BLOCK = 45,
	FOLDS_BYTES_PER_BLOCK = 14,
	START_BYTES_PER_BLOCK = 40,
	MEMORY_SHARE = 2, /**< so many times that must be available */
	FILE_BYTES_PER_BLOCK = 80,
};

/** Smaller cores are read faster than anybody notices. Of a compressed one, what it unpacks into.
 */
static const uint64_t CORE_BYTES_MIN = 64 << 20;
/** All caches together; older ones go first. */
static const uint64_t CACHES_BYTES_MAX = UINT64_C(16) << 30;

static const char suffix[] = ".index";

/** $XDG_CACHE_HOME/hawk-core, or NULL; made if `make`. Caller frees. */
static char *find_folder(bool make)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	bool given = cache && *cache == '/';
	char *folder;

	if (!given && !(home && *home == '/'))
		return NULL;
	if (asprintf(&folder, "%s%s/hawk-core", given ? cache : home, given ? "" : "/.cache") < 0)
		return NULL;
	for (char *slash = folder + 1; make && (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(folder, 0700);
		*slash = '/';
	}
	if (make)
		mkdir(folder, 0700);
	return folder;
}

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/** Of the options that name files with symbols: what is a virtual table is known by them. */
static uint64_t hash_options(const struct hawk_settings *settings)
{
	const char *const options[] = {settings->sysroot, settings->debug_directory,
				       settings->executable};
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		for (const char *at = options[i]; at && *at; at++)
			hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
		hash = (hash ^ 256) * UINT64_C(0x100000001b3);
	}
	return hash;
}

/** False: there is no such file. */
static bool identify(const char *core, uint64_t options, struct hawk_core_identity *ret)
{
	struct stat status;

	memset(ret, 0, sizeof(*ret));
	ret->options = options;
	if (stat(core, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	ret->device = status.st_dev;
	ret->inode = status.st_ino;
	ret->bytes = (uint64_t)status.st_size;
	ret->changed_ns = nanoseconds(&status.st_mtim);
	if (nanoseconds(&status.st_ctim) > ret->changed_ns)
		ret->changed_ns = nanoseconds(&status.st_ctim);
	return true;
}

static bool is_large(const struct hawk_target *target)
{
	return hawk_target_present_bytes(target) >= CORE_BYTES_MIN;
}

/** Name of the cache's file. */
static void name_of(const struct hawk_core_identity *identity, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%llx-%llx-%llx-%llx-%llx%s",
		 (unsigned long long)identity->device, (unsigned long long)identity->inode,
		 (unsigned long long)identity->bytes, (unsigned long long)identity->changed_ns,
		 (unsigned long long)identity->options, suffix);
}

static int open_folder(bool make)
{
	CLEANUP(free_ptr) char *path = find_folder(make);

	return path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/** Nobody but this user may have written what will be believed. */
static bool is_ours(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	       !(status.st_mode & 077);
}

/** Its cache, if that can be believed, or -1. `access`: O_RDONLY, O_RDWR. */
static int open_cache(const struct hawk_core_identity *identity, int access)
{
	CLEANUP(close_fd) int folder = open_folder(false);
	char name[NAME_BYTES];
	int fd;

	name_of(identity, name);
	fd = folder < 0 ? -1 : openat(folder, name, access | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !is_ours(fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/** `fd`: the core, or -1. True: the lock was to be had, or there are none. False: somebody else
 * still has it. */
static bool lock_core(int fd, int operation, uint64_t patience_ms)
{
	const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000L};

	for (;; patience_ms -= WAIT_MS) {
		if (fd < 0 || flock(fd, operation | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return true;
		if (patience_ms < WAIT_MS)
			return false;
		nanosleep(&pause, NULL);
		hawk_progress_add(WAIT_MS);
	}
}

/** False: nobody writes; true: somebody did, and has ended, or takes too long. */
static bool wait_for_writer(struct hawk_session *session)
{
	CLEANUP(close_fd) int core = open(session->source, O_RDONLY | O_CLOEXEC);
	struct hawk_progress progress;
	uint64_t patience_ms;

	if (lock_core(core, LOCK_SH, 0))
		return false;
	patience_ms = READER_MS + (hawk_target_present_bytes(session->target) >> 20);
	if (patience_ms > READER_MS_MAX)
		patience_ms = READER_MS_MAX;
	hawk_progress_begin(&progress, "waiting for the index cache", patience_ms);
	(void)lock_core(core, LOCK_SH, patience_ms);
	hawk_progress_end(&progress);
	return true;
}

/** Takes away the file `fd`, which is of no use: it has less than its header says, and whoever
 * believes that would let it stay. */
static void remove_cache(const struct hawk_core_identity *identity, int fd)
{
	CLEANUP(close_fd) int folder = open_folder(false);
	char name[NAME_BYTES];
	struct stat refused, there;

	name_of(identity, name);
	if (folder < 0 || fstat(fd, &refused) != 0 ||
	    fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	/* Not one that has come meanwhile. */
	if (there.st_dev == refused.st_dev && there.st_ino == refused.st_ino)
		unlinkat(folder, name, 0);
}

/** Whether the file `fd` lacks something that takes long to find out. */
static bool lacks(const struct hawk_session *session, int fd, unsigned parts)
{
	const unsigned not_made = HAWK_PART_CONTENTS | HAWK_PART_FOLDS | HAWK_PART_PATHS_FOLD |
				  HAWK_PART_START_FOLD | HAWK_PART_START_BLOCKS;
	unsigned cached = hawk_graph_cache_parts(fd, &session->identity);
	unsigned wanted = hawk_block_graph_wanted(&session->graph, cached, parts);

	return (hawk_block_graph_dependencies(wanted) | HAWK_PART_INDEX) & ~cached & ~not_made;
}

bool hawk_session_use_cache(struct hawk_session *session, const struct hawk_settings *settings,
			    unsigned parts, struct hawk_error **err)
{
	CLEANUP(close_fd) int fd = -1;

	*err = NULL;
	session->cacheable = !settings->no_cache && !settings->table_file && session->source &&
			     is_large(session->target) &&
			     identify(session->source, hash_options(settings), &session->identity);
	session->graph.keeps_sites = session->cacheable;
	if (!session->cacheable)
		return false;
	fd = open_cache(&session->identity, O_RDONLY);
	if (lacks(session, fd, parts) && !session->impatient && wait_for_writer(session)) {
		if (fd >= 0)
			close(fd);
		fd = open_cache(&session->identity, O_RDONLY);
	}
	if (fd < 0)
		return false;
	parts = hawk_block_graph_wanted(&session->graph,
					hawk_graph_cache_parts(fd, &session->identity), parts);
	futimens(fd, NULL); /* used: it is kept longer */
	if (hawk_graph_cache_load(fd, &session->identity, session->target, &session->findings,
				  parts, &session->cache, &session->graph, &session->heap, err))
		return true;
	if (!*err)
		remove_cache(&session->identity, fd);
	return false;
}

struct hawk_error *hawk_session_take_cached(struct hawk_session *session, unsigned parts)
{
	struct hawk_graph_cache *cache = &session->cache;
	struct hawk_error *err = hawk_graph_cache_more(cache, parts, &session->graph);
	CLEANUP(close_fd) int fd = -1;

	if (err ||
	    !(cache->file_parts & hawk_block_graph_dependencies(parts) & ~session->graph.parts))
		return err;
	/* It has them, but damaged. */
	fd = open_cache(&session->identity, O_RDONLY);
	if (fd >= 0)
		remove_cache(&session->identity, fd);
	cache->file_parts = 0;
	return NULL;
}

struct entry {
	char name[NAME_BYTES];
	int64_t changed_ns;
	uint64_t bytes;
};

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left;
	const struct entry *b = right;

	return a->changed_ns > b->changed_ns ? -1 : a->changed_ns < b->changed_ns;
}

/** Caches in `folder`, latest first; caller frees. */
static struct entry *list_caches(int folder, size_t *count)
{
	struct entry *entries = NULL;
	size_t capacity = 0;
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *item;

	*count = 0;
	while (directory && (item = readdir(directory))) {
		size_t length = strlen(item->d_name);
		struct entry *entry;
		struct stat status;

		if (length >= sizeof(entry->name) || length < sizeof(suffix) ||
		    strcmp(item->d_name + length - (sizeof(suffix) - 1), suffix) != 0 ||
		    fstatat(folder, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		if (*count == capacity) {
			struct entry *moved;

			capacity = capacity ? 2 * capacity : 64;
			moved = reallocarray(entries, capacity, sizeof(*entries));
			if (!moved)
				break;
			entries = moved;
		}
		entry = &entries[*count];
		memcpy(entry->name, item->d_name, length + 1);
		entry->changed_ns = nanoseconds(&status.st_mtim);
		entry->bytes = (uint64_t)status.st_size;
		++*count;
	}
	if (directory)
		closedir(directory);
	if (entries && *count)
		qsort(entries, *count, sizeof(*entries), compare_entries);
	return entries;
}

/** Removes caches that nobody has used for long, and the oldest beyond what all may take; not
 * `own`, which will have `coming_bytes`. */
static void tidy(int folder, const char *own, uint64_t coming_bytes)
{
	uint64_t bytes = coming_bytes;
	size_t count;
	CLEANUP(free_ptr) struct entry *entries = list_caches(folder, &count);
	int64_t oldest = ((int64_t)time(NULL) - (int64_t)DAYS_KEPT * SECONDS_A_DAY) * 1000000000;

	for (size_t i = 0; entries && i < count; i++) {
		if (!strcmp(entries[i].name, own))
			continue;
		bytes += entries[i].bytes;
		if (bytes > CACHES_BYTES_MAX || entries[i].changed_ns < oldest)
			unlinkat(folder, entries[i].name, 0);
	}
}

static bool has_room(int folder, uint64_t bytes)
{
	struct statvfs status;

	return bytes <= CACHES_BYTES_MAX && fstatvfs(folder, &status) == 0 &&
	       (uint64_t)status.f_bavail * status.f_frsize / FREE_SHARE > bytes;
}

/** A file without a name until it is complete: whatever happens, nothing is left behind. */
static void write_new(const struct hawk_session *session, int folder)
{
	CLEANUP(close_fd) int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct hawk_core_identity now;
	struct hawk_error *err;
	char name[NAME_BYTES], path[64];

	if (fd < 0)
		return;
	err = hawk_graph_cache_save(fd, &session->identity, &session->graph, &session->findings);
	if (err) {
		hawk_error_destroy(err);
		return;
	}
	/* Not if the core has changed while it was read. */
	if (!identify(session->source, session->identity.options, &now) ||
	    memcmp(&now, &session->identity, sizeof(now)) != 0)
		return;
	name_of(&session->identity, name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	unlinkat(folder, name, 0);
	linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
}

/** What the session has and the file that is there has not, if there is something. */
static void write_cache(struct hawk_session *session, int folder)
{
	CLEANUP(close_fd) int there = open_cache(&session->identity, O_RDWR);
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

static bool has_memory(const struct hawk_session *session, unsigned bytes_per_block)
{
	uint64_t need = session->graph.index.count * (uint64_t)bytes_per_block;

	return hawk_memory_available() / MEMORY_SHARE > need;
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
	if (!lock_core(completion->core, LOCK_EX, WRITER_MS))
		return false;
	write_cache(completion->session, completion->folder);
	(void)lock_core(completion->core, LOCK_UN, 0);
	return true;
}

/** Goes on from the file where dominators gave way to others, and were written there before. */
static void begin_again(const struct completion *completion)
{
	struct hawk_session *session = completion->session;
	CLEANUP(close_fd) int there = open_cache(&session->identity, O_RDONLY);
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
	CLEANUP(close_fd) int there = open_cache(&session->identity, O_RDONLY);
	struct hawk_settings settings = {.threads = session->graph.threads};
	struct hawk_block_graph *graph = &session->graph;
	unsigned missing = hawk_block_graph_dependencies(all) & ~graph->parts &
			   ~hawk_graph_cache_parts(there, &session->identity);
	struct hawk_error *err;

	if (!missing || !has_memory(session, REST_BYTES_PER_BLOCK) ||
	    !has_room(completion->folder, graph->index.count * (uint64_t)FILE_BYTES_PER_BLOCK))
		return;
	/* What gave way is in the file, and is not found again for the sake of others. */
	if (missing & (HAWK_PART_RETAINED | HAWK_PART_REACH | HAWK_PART_EDGES))
		missing |= HAWK_PART_RETAINED;
	err = hawk_session_load_graph(session, &settings, missing);
	if (!err)
		publish(completion);
	hawk_error_destroy(err);
}

static struct hawk_error *fold_trees(struct hawk_block_graph *graph, const uint32_t *groups)
{
	struct hawk_site_tree tree = {0};
	struct hawk_error *err = hawk_tree_folds_need_ages(graph);

	if (!err)
		err = hawk_site_tree_retained(graph, groups, NULL, &tree);
	hawk_site_tree_deinit(&tree);
	if (!err && graph->parts & HAWK_PART_PATHS) {
		err = hawk_site_tree_paths(graph, groups, NULL, &tree);
		hawk_site_tree_deinit(&tree);
	}
	return err;
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

	if (!(graph->parts & HAWK_PART_RETAINED) || !has_memory(session, FOLDS_BYTES_PER_BLOCK))
		return;
	err = hawk_pointer_session_open(session, &settings, HAWK_PART_RETAINED, &report);
	if (!err)
		err = hawk_tree_roots_make(&report, &groups);
	if (!err)
		err = fold_trees(graph, groups.groups);
	if (!err) {
		publish(completion);
		if (has_memory(session, START_BYTES_PER_BLOCK))
			err = hawk_tree_folds_need_start(graph, groups.groups);
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
	char name[NAME_BYTES];
	uint64_t bytes;

	hawk_block_graph_note_folds(&session->graph);
	if (!session->cacheable || !session->graph_loaded || !session->heap.table ||
	    !(session->graph.parts & ~session->cache.file_parts))
		return -1;
	folder = open_folder(true);
	if (folder < 0)
		return -1;
	bytes = hawk_graph_cache_bytes(&session->graph);
	name_of(&session->identity, name);
	tidy(folder, name, bytes);
	return has_room(folder, bytes) ? take_fd(&folder) : -1;
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
	if (lock_core(core, LOCK_EX, 0))
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
	(void)lock_core(core, LOCK_EX, 0);
	const struct completion completion = {session, folder, core};
	if (fork() != 0) /* a parent, or nobody: then there is no cache */
		return;
	become_writer();
	if (publish(&completion)) {
		begin_again(&completion);
		add_rest(&completion);
		add_folds(&completion);
	}
	_exit(0);
}
