/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What threads wait for, in a snapshot: it has neither registers nor the memory of locks.
 */
#include "threads_kept.h"

#include "hawk/base/cleanup.h"
#include "hawk/snapshot/reader.h"
#include "hawk/snapshot/writer.h"

struct hawk_error *hawk_threads_save(const struct hawk_threads *threads,
				     struct hawk_snapshot_writer *writer)
{
	struct hawk_snapshot_piece piece = {.items = threads->count};
	struct hawk_error *err;

	for (uint32_t i = 0; i < threads->count; i++) {
		const struct hawk_thread_work *work = &threads->items[i];

		hawk_column_put(&piece.column,
				work->call.is_inside | (uint32_t)work->call.has_result << 1);
		hawk_column_put(&piece.column, work->call.number);
		for (size_t j = 0; j < HAWK_CALL_ARGUMENTS; j++)
			hawk_column_put(&piece.column, work->call.arguments[j]);
		hawk_column_put(&piece.column, work->lock.kind);
		hawk_column_put(&piece.column, work->lock.address);
		hawk_column_put(&piece.column, work->lock.owner_tid);
	}
	err = hawk_snapshot_put(writer, HAWK_SNAPSHOT_WAITS, &piece);
	hawk_column_deinit(&piece.column);
	return err;
}

static void read_work(const struct hawk_target *target, struct hawk_cursor *from,
		      struct hawk_thread_work *ret)
{
	uint64_t bits = hawk_column_get_below(from, 3);

	ret->call.is_inside = bits & 1;
	ret->call.has_result = bits >> 1;
	ret->call.number = hawk_column_get(from);
	for (size_t i = 0; i < HAWK_CALL_ARGUMENTS; i++)
		ret->call.arguments[i] = hawk_column_get(from);
	ret->lock.kind = (enum hawk_lock_kind)hawk_column_get_below(from, HAWK_LOCK_KINDS - 1);
	ret->lock.address = hawk_column_get(from);
	ret->lock.owner_tid = (uint32_t)hawk_column_get_below(from, UINT32_MAX);
	hawk_system_call_name(target, &ret->call);
}

bool hawk_threads_read(const struct hawk_target *target, struct hawk_thread_work *items,
		       size_t count)
{
	const struct hawk_snapshot *snapshot = hawk_target_snapshot(target);
	CLEANUP(contents) struct hawk_snapshot_contents contents = {0};

	if (hawk_snapshot_frame_count(snapshot, HAWK_SNAPSHOT_WAITS) != 1 ||
	    hawk_error_swallow(hawk_snapshot_read(snapshot, HAWK_SNAPSHOT_WAITS, 0, &contents)))
		return false;
	for (size_t i = 0; i < count && !contents.cursor.failed; i++)
		read_work(target, &contents.cursor, &items[i]);
	return !contents.cursor.failed;
}
