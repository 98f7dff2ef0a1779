/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The index cache of a session: looked for before a core is read. A command that comes while
 * another one writes what it has found waits a little for what it would have to find out itself.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk_cache_files.h"
#include "hawk_cleanup.h"
#include "hawk_progress.h"
#include "hawk_session.h"

enum {
	READER_MS = 1000, /**< a reader waits so long for a writer, and more for large cores */
	READER_MS_MAX = 10000,
};

/** Smaller cores are read faster than anybody notices. Of a compressed one, what it unpacks into.
 */
static const uint64_t CORE_BYTES_MIN = 64 << 20;

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

static bool is_large(const struct hawk_target *target)
{
	return hawk_target_present_bytes(target) >= CORE_BYTES_MIN;
}

/** False: nobody writes; true: somebody did, and has ended, or takes too long. */
static bool wait_for_writer(struct hawk_session *session)
{
	CLEANUP(close_fd) int core = open(session->source, O_RDONLY | O_CLOEXEC);
	struct hawk_progress progress;
	uint64_t patience_ms;

	if (hawk_cache_lock(core, LOCK_SH, 0))
		return false;
	patience_ms = READER_MS + (hawk_target_present_bytes(session->target) >> 20);
	if (patience_ms > READER_MS_MAX)
		patience_ms = READER_MS_MAX;
	hawk_progress_begin(&progress, "waiting for the index cache", patience_ms);
	(void)hawk_cache_lock(core, LOCK_SH, patience_ms);
	hawk_progress_end(&progress);
	return true;
}

/** Whether the file `fd` lacks something that takes long to find out. */
static bool lacks(const struct hawk_session *session, int fd, unsigned parts)
{
	const unsigned not_made =
		HAWK_PART_CONTENTS | HAWK_PART_FOLDS | HAWK_PART_PATHS_FOLD | HAWK_PART_START_FOLD |
		HAWK_PART_START_BLOCKS | HAWK_PART_SCHEMAS | HAWK_PART_PLACES | HAWK_PART_ORDER |
		HAWK_PART_START_ORDER | HAWK_PART_PATH_STEPS | HAWK_PART_TYPES | HAWK_PART_ASKED;
	unsigned cached = hawk_graph_cache_parts(fd, &session->identity);
	unsigned wanted = hawk_block_graph_wanted(&session->graph, cached, parts);

	return (hawk_block_graph_dependencies(wanted) | HAWK_PART_INDEX) & ~cached & ~not_made;
}

/** After `parts` were taken. */
static struct hawk_error *ask_again(struct hawk_session *session, unsigned parts)
{
	return hawk_block_graph_rests_on_reach(parts) ? hawk_block_graph_ask_again(&session->graph)
						      : NULL;
}

bool hawk_session_use_cache(struct hawk_session *session, const struct hawk_settings *settings,
			    unsigned parts, struct hawk_error **err)
{
	CLEANUP(close_fd) int fd = -1;
	unsigned there;

	*err = NULL;
	session->cacheable =
		!settings->no_cache && !settings->table_file && session->source &&
		is_large(session->target) &&
		hawk_cache_identify(session->source, hash_options(settings), &session->identity);
	session->graph.keeps_sites = session->cacheable;
	if (!session->cacheable)
		return false;
	fd = hawk_cache_open(&session->identity, O_RDONLY);
	if (lacks(session, fd, parts) && !session->impatient && wait_for_writer(session)) {
		if (fd >= 0)
			close(fd);
		fd = hawk_cache_open(&session->identity, O_RDONLY);
	}
	if (fd < 0)
		return false;
	futimens(fd, NULL); /* used: it is kept longer */
	there = hawk_graph_cache_parts(fd, &session->identity);
	if (session->impatient && there && parts & ~there)
		return false; /* and nothing in its place */
	parts = hawk_block_graph_wanted(&session->graph, there, parts);
	if (hawk_graph_cache_load(fd, &session->identity, session->target, &session->findings,
				  parts, &session->cache, &session->graph, &session->heap, err)) {
		if (!*err)
			*err = ask_again(session, parts);
		return true;
	}
	if (!*err)
		hawk_cache_remove(&session->identity, fd);
	return false;
}

struct hawk_error *hawk_session_take_cached(struct hawk_session *session, unsigned parts)
{
	struct hawk_graph_cache *cache = &session->cache;
	struct hawk_error *err = hawk_graph_cache_more(cache, parts, &session->graph);
	CLEANUP(close_fd) int fd = -1;

	if (!err)
		err = ask_again(session, parts);
	if (err ||
	    !(cache->file_parts & hawk_block_graph_dependencies(parts) & ~session->graph.parts))
		return err;
	/* It has them, but damaged. */
	fd = hawk_cache_open(&session->identity, O_RDONLY);
	if (fd >= 0)
		hawk_cache_remove(&session->identity, fd);
	cache->file_parts = 0;
	return NULL;
}
