/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Profiles of sessions, for verbs that write or compare them.
 */
#ifndef HAWK_ANALYZER_CLI_PROFILE_H
#define HAWK_ANALYZER_CLI_PROFILE_H

#include "hawk/profile/source_lines.h"
#include "hawk/profile/sources.h"
#include "session.h"

/** In the order of --what's words. */
enum hawk_what {
	HAWK_WHAT_LIVE = 1,
	HAWK_WHAT_TOTAL,
	HAWK_WHAT_LOST,
	HAWK_WHAT_RETAINED,
	HAWK_WHAT_PATHS,
};

/** A core's or process's profile, and its identity. */
struct hawk_profiled {
	struct hawk_profile *profile;
	char *source;  /**< path of the core; NULL = a process */
	char *program; /**< path of the executable; NULL = not known */
	uint32_t pid;
	uint64_t end_ns;  /**< CLOCK_REALTIME of its end, or of reading it; 0 = unknown */
	uint64_t life_ns; /**< from the tracer's start to that; 0 = unknown */
	uint32_t column;  /**< column requested by --what */
	bool has_blocks;  /**< hawk_session_has_blocks() */
	/** The reason why the heap is unknown and the profile empty; NULL = known. Not owned. */
	const char *unknown;
};

/** Makes the profile of `what`, with the filters of `analyze`; releases a process. Deinitialize
 * `*ret` in any case. */
struct hawk_error *hawk_session_profile_of(struct hawk_session *session, enum hawk_what what,
					   struct hawk_profiled *ret);
/** Likewise, of settings->what. */
struct hawk_error *hawk_session_profile(struct hawk_session *session, struct hawk_profiled *ret);
void hawk_profiled_deinit(struct hawk_profiled *profiled);

/** Makes the difference of `after` and `before`. Fails with HAWK_ERROR_UNSUPPORTED if either heap
 * is unknown. */
struct hawk_error *hawk_profiled_difference(const struct hawk_profiled *before,
					    const struct hawk_profiled *after,
					    struct hawk_profile **ret);

/**
 * As hawk_session_profile(), for `core` (a path; NULL = the process settings->pid), which it opens
 * and closes. Adds findings to `findings`, marked with its path.
 */
struct hawk_error *hawk_profile_open(const struct hawk_settings *settings, const char *core,
				     struct hawk_findings *findings, struct hawk_profiled *ret);

/** Returns the listing of a profile's lines; owns nothing. */
struct hawk_source_listing hawk_session_listing(struct hawk_session *session,
						const struct hawk_profile *profile,
						const struct hawk_source_lines *lines);

/** Returns true if filters leave out sites. */
bool hawk_is_profile_filtered(const struct hawk_settings *settings);

/** Returns HAWK_ERROR_USAGE for bad filters. */
struct hawk_error *hawk_check_profile(const struct hawk_settings *settings);

#endif
