/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stages of a thread, innermost first; each thread adds to a stage in grains.
 */
#include "hawk/base/progress.h"

#include <stddef.h>

enum { GRAINS = 1024 /* upper limit on reports of a stage */ };

static _Thread_local struct {
	const struct hawk_progress_listener *listener;
	struct hawk_progress *current;
	uint64_t pending; /* done of `current`, not added yet */
} here;

static void tell(void)
{
	if (here.listener && here.current)
		here.listener->tell(here.listener->context, here.current);
}

void hawk_progress_listen(const struct hawk_progress_listener *listener)
{
	here.listener = listener;
}

bool hawk_progress_is_heard(void)
{
	return here.listener != NULL;
}

static void begin(struct hawk_progress *progress, const char *stage, uint64_t all, bool in_bytes)
{
	hawk_progress_settle();
	*progress = (struct hawk_progress){
		.stage = stage,
		.all = all,
		.in_bytes = in_bytes,
		.grain = all / GRAINS + 1,
		.outer = here.current,
	};
	here.current = progress;
	tell();
}

void hawk_progress_begin(struct hawk_progress *progress, const char *stage, uint64_t all)
{
	begin(progress, stage, all, false);
}

void hawk_progress_begin_bytes(struct hawk_progress *progress, const char *stage, uint64_t all)
{
	begin(progress, stage, all, true);
}

void hawk_progress_end(struct hawk_progress *progress)
{
	here.pending = 0;
	__atomic_store_n(&progress->done, progress->all, __ATOMIC_RELAXED);
	tell();
	here.current = progress->outer;
}

void hawk_progress_settle(void)
{
	if (here.current && here.pending)
		__atomic_fetch_add(&here.current->done, here.pending, __ATOMIC_RELAXED);
	here.pending = 0;
}

void hawk_progress_add(uint64_t count)
{
	if (!here.current)
		return;
	here.pending += count;
	if (here.pending < here.current->grain)
		return;
	hawk_progress_settle();
	tell();
}

void hawk_progress_reach(uint64_t done)
{
	if (!here.current || done < hawk_progress_done(here.current) + here.current->grain)
		return;
	__atomic_store_n(&here.current->done, done, __ATOMIC_RELAXED);
	tell();
}

void hawk_progress_reach_of(uint64_t done, uint64_t all)
{
	if (!here.current)
		return;
	here.current->all = all;
	here.current->grain = all / GRAINS + 1;
	hawk_progress_reach(done);
}

void hawk_progress_refresh(void)
{
	hawk_progress_settle();
	tell();
}

struct hawk_progress *hawk_progress_current(void)
{
	return here.current;
}

void hawk_progress_adopt(struct hawk_progress *progress)
{
	hawk_progress_settle();
	here.current = progress;
}
