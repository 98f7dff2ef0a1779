/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Order of start-up. A process's first malloc often comes before our constructor, from the dynamic
 * loader or another library's constructor; there is only one thread then.
 */
#include "init.h"

#include <errno.h>

#include "table/arena.h"
#include "table/cap.h"
#include "table/file.h"
#include "entries.h"
#include "hooks.h"
#include "table/labels.h"
#include "table/marks.h"
#include "unwind/unwind.h"
#include "next.h"
#include "base/options.h"
#include "table/place.h"
#include "record.h"
#include "table/sampler.h"
#include "unwind/sighting.h"
#include "table/syscall.h"
#include "table/threads.h"
#include "table/traces.h"
#include "table/clock.h"

static void *map_for_unwinder(uint64_t bytes)
{
	return hawk_arena_private(bytes, HAWK_EXTENT_PRIVATE);
}

static uint64_t file_bytes(void)
{
	if (hawk_options.max_table || hawk_place_limit < HAWK_FILE_BYTES_DEFAULT)
		return hawk_place_limit;
	return HAWK_FILE_BYTES_DEFAULT;
}

/** Returns the table's flags, after making its file if one is wanted. */
static uint64_t prepare_table(void)
{
	uint64_t flags = HAWK_TABLE_COUNTS_SEALED;

	if (!hawk_options.stacks)
		flags |= HAWK_TABLE_NO_STACKS;
	if (hawk_options.only_scopes)
		flags |= HAWK_TABLE_ONLY_SCOPES;
	if (hawk_options.table[0]) {
		hawk_options.live = true;
		hawk_file_create(hawk_options.table, file_bytes());
	}
	return flags | (hawk_options.live ? HAWK_TABLE_LIVE_COUNTERS : 0);
}

bool hawk_init_lacks_memory;

/** Defined by libasan, libtsan and libhwasan, and by programs with a built-in sanitizer. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));

/**
 * Returns true if a sanitizer is present. Sanitizers bring their own allocator and replace most of
 * the C library's functions. A runtime library loaded behind us allocates while it starts, and the
 * functions that we would call then lead into it.
 */
static bool has_sanitizer(void)
{
	return __asan_init || __tsan_init || __hwasan_init;
}

static bool start(void)
{
	const char *text = hawk_options_environment();

	if (has_sanitizer())
		return false;
	hawk_options_parse(text);
	hawk_clock_init();
	hawk_place_limit = hawk_options.max_table ? hawk_options.max_table : hawk_cap_choose();
	hawk_init_lacks_memory = !hawk_place_limit;
	if (hawk_init_lacks_memory || !hawk_arena_init(prepare_table(), text))
		return false;
	if (!hawk_threads_init() || !hawk_traces_init() || !hawk_labels_init() ||
	    !hawk_marks_init() || !hawk_sampler_init(hawk_options.stacks ? hawk_options.sample : 0))
		return false;
	hawk_sighting_init();
	hawk_unwind_options.depth = hawk_options.depth;
	hawk_unwind_options.map = map_for_unwinder;
	/* libunwind can only be loaded in the constructor; until then the own unwinder serves. */
	hawk_unwind_options.mode = hawk_options.unwind == HAWK_UNWIND_LIBUNWIND
					   ? HAWK_UNWIND_CFI
					   : hawk_options.unwind;
	return hawk_unwind_init();
}

enum hawk_phase hawk_init_once(void)
{
	bool resolved, started;
	int saved_errno;

	if (hawk_phase != HAWK_PHASE_NONE)
		return hawk_phase;
	saved_errno = errno;
	hawk_phase = HAWK_PHASE_STARTING;
	started = start();
	resolved = hawk_next_resolve();
	if (!started || !resolved)
		hawk_phase = HAWK_PHASE_BYPASS;
	else
		hawk_phase = hawk_entries_install() ? HAWK_PHASE_TRACING : HAWK_PHASE_PASSIVE;
	errno = saved_errno;
	return hawk_phase;
}

__attribute__((constructor)) static void construct(void)
{
	if (hawk_init_once() != HAWK_PHASE_TRACING)
		return;
	hawk_threads_watch_exits();
	hawk_file_watch_forks();
	hawk_hooks_cxx_resolve();
	hawk_hooks_madvise_resolve();
	if (!hawk_options_match_program()) {
		hawk_file_discard();
		hawk_phase = HAWK_PHASE_PASSIVE;
		return;
	}
	hawk_modules_log_all();
	if (hawk_options.unwind == HAWK_UNWIND_LIBUNWIND && hawk_unwind_load_libunwind())
		hawk_unwind_options.mode = HAWK_UNWIND_LIBUNWIND;
}
