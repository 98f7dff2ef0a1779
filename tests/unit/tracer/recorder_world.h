/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The recorder in an ordinary process: a test that includes this runs on a fresh table.
 */
#ifndef HAWK_RECORDER_WORLD_H
#define HAWK_RECORDER_WORLD_H

#include "test.h"

#include "base/options.h"
#include "hooks/record.h"
#include "table/arena.h"
#include "table/labels.h"
#include "table/marks.h"
#include "table/threads.h"
#include "table/traces.h"
#include "unwind/sighting.h"
#include "unwind/unwind.h"

#define NOINLINE __attribute__((noinline, unused))

#define CALLER()                                                                                   \
	((struct hawk_frame_state){                                                                \
		.pc = (uint64_t)__builtin_return_address(0),                                       \
		.sp = (uint64_t)__builtin_frame_address(0) + 16,                                   \
		.bp = *(uint64_t *)__builtin_frame_address(0),                                     \
	})

/** Records an imaginary block. Returns its trace. */
static NOINLINE uint32_t record(uint64_t bytes)
{
	struct hawk_frame_state caller = CALLER();
	_Alignas(HAWK_GRANULE_BYTES) struct hawk_block_header header;

	hawk_record_block(&caller, (struct hawk_new_block){&header + 1, bytes});
	return hawk_header_trace(header.word1);
}

static int set_up_recorder(void **state)
{
	(void)state;
	hawk_unwind_options.depth = hawk_options.depth;
	if (!hawk_arena_init(0, "test") || !hawk_threads_init() || !hawk_traces_init() ||
	    !hawk_labels_init() || !hawk_marks_init())
		return -1;
	hawk_sighting_init();
	if (!hawk_unwind_init())
		return -1;
	hawk_threads_watch_exits();
	return 0;
}

__attribute__((constructor)) static void add_recorder(void)
{
	test_add_group(set_up_recorder, NULL);
}

#endif
