/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Unpacks the frames of a zstd file in parallel.
 */
#include "frames.h"

#if HAWK_HAVE_ZSTD

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <zstd.h>

#include "hawk/base/cursor.h"
#include "hawk/base/parallel.h"
#include "hawk/base/progress.h"
#include "hawk/output/seekable.h"

enum {
	PAGE_BYTES = 4096,
	HEAD_BYTES = 8,
	CHECKSUMS = 1 << 7, /**< each entry ends in one */
	ENTRY_BYTES = 8,
	CHECKSUM_BYTES = 4,
};

/** Finds the table's entries. Returns their number; 0 = no table. */
static size_t find_table(const struct hawk_core_file *packed, struct hawk_cursor *entries,
			 uint64_t *start, unsigned *entry_bytes)
{
	struct hawk_cursor cursor = hawk_cursor_over(packed->bytes, packed->size);
	uint64_t count, bytes;
	uint8_t flags;

	if (packed->size < HEAD_BYTES + HAWK_SEEKABLE_FOOTER_BYTES)
		return 0;
	hawk_cursor_seek(&cursor, packed->size - HAWK_SEEKABLE_FOOTER_BYTES);
	count = hawk_cursor_u32(&cursor);
	flags = hawk_cursor_u8(&cursor);
	*entry_bytes = ENTRY_BYTES + (flags & CHECKSUMS ? CHECKSUM_BYTES : 0);
	bytes = HEAD_BYTES + count * *entry_bytes + HAWK_SEEKABLE_FOOTER_BYTES;
	if (hawk_cursor_u32(&cursor) != HAWK_SEEKABLE_FOOTER_MAGIC || bytes > packed->size)
		return 0;
	*start = packed->size - bytes;
	hawk_cursor_seek(&cursor, *start);
	if (hawk_cursor_u32(&cursor) != HAWK_SEEKABLE_TABLE_MAGIC ||
	    hawk_cursor_u32(&cursor) != bytes - HEAD_BYTES)
		return 0;
	*entries = cursor;
	return (size_t)count;
}

/** Returns true if the frame can be unpacked by itself. */
static bool fits(const struct hawk_core_file *packed, const struct hawk_core_frame *frame)
{
	return frame->start % PAGE_BYTES == 0 &&
	       (frame->bytes <= HAWK_CORE_SPOOL_BUFFER_BYTES ||
		hawk_seekable_is_hole(packed->bytes + frame->packed_start, frame->packed_bytes,
				      frame->bytes));
}

bool hawk_core_frames_read(const struct hawk_core_file *packed, struct hawk_core_frames *ret)
{
	uint64_t packed_at = 0, table_start = 0;
	struct hawk_cursor cursor;
	unsigned entry_bytes = 0;
	size_t count = find_table(packed, &cursor, &table_start, &entry_bytes);

	*ret = (struct hawk_core_frames){0};
	if (!count)
		return false;
	ret->items = calloc(count, sizeof(*ret->items));
	for (size_t i = 0; ret->items && i < count; i++) {
		struct hawk_core_frame *frame = &ret->items[ret->count++];

		*frame = (struct hawk_core_frame){.packed_start = packed_at, .start = ret->bytes};
		frame->packed_bytes = hawk_cursor_u32(&cursor);
		frame->bytes = hawk_cursor_u32(&cursor);
		hawk_cursor_skip(&cursor, entry_bytes - ENTRY_BYTES);
		if (frame->packed_bytes > table_start - packed_at || !fits(packed, frame))
			break;
		packed_at += frame->packed_bytes;
		ret->bytes += frame->bytes;
	}
	if (ret->count == count && packed_at == table_start)
		return true;
	hawk_core_frames_deinit(ret);
	return false;
}

/** Shared by the threads. */
struct job {
	const struct hawk_core_frames *frames;
	const struct hawk_core_file *packed;
	const struct hawk_core_spool *spool;
	uint64_t data_max;
	_Atomic size_t next; /**< frame */
	_Atomic uint64_t data_bytes;
	_Atomic uint64_t lost;
	pthread_mutex_t lock;
	struct hawk_error *error; /**< the first one */
};

static struct hawk_error *unpack_frame(struct job *job, const struct hawk_core_frame *frame,
				       ZSTD_DCtx *context, struct hawk_core_spool *own)
{
	const uint8_t *packed = job->packed->bytes + frame->packed_start;
	uint64_t before = own->data_bytes;
	struct hawk_error *err;

	if (hawk_seekable_is_hole(packed, frame->packed_bytes, frame->bytes))
		return NULL;
	if (ZSTD_decompressDCtx(context, own->buffer, HAWK_CORE_SPOOL_BUFFER_BYTES, packed,
				frame->packed_bytes) != frame->bytes) {
		atomic_fetch_add(&job->lost, frame->bytes);
		return NULL;
	}
	own->bytes = frame->start;
	err = hawk_core_spool_put(own, frame->bytes);
	atomic_fetch_add(&job->data_bytes, own->data_bytes - before);
	return err;
}

static struct hawk_error *unpack_frames(struct job *job)
{
	struct hawk_core_spool own = *job->spool;
	ZSTD_DCtx *context = ZSTD_createDCtx();
	struct hawk_error *err = NULL;
	size_t i;

	own.buffer = malloc(HAWK_CORE_SPOOL_BUFFER_BYTES);
	if (!own.buffer || !context)
		err = &hawk_enomem;
	while (!err && atomic_load(&job->data_bytes) <= job->data_max &&
	       (i = atomic_fetch_add(&job->next, 1)) < job->frames->count) {
		err = unpack_frame(job, &job->frames->items[i], context, &own);
		hawk_progress_add(job->frames->items[i].packed_bytes);
	}
	free(own.buffer);
	ZSTD_freeDCtx(context);
	return err;
}

static void run_part(void *context, unsigned part)
{
	struct job *job = context;
	struct hawk_error *err = unpack_frames(job);

	(void)part;
	if (!err)
		return;
	atomic_store(&job->next, job->frames->count); // the others need not go on
	pthread_mutex_lock(&job->lock);
	if (job->error)
		hawk_error_destroy(err);
	else
		job->error = err;
	pthread_mutex_unlock(&job->lock);
}

struct hawk_error *hawk_core_frames_unpack(const struct hawk_core_frames *frames,
					   const struct hawk_core_file *packed, uint64_t data_max,
					   struct hawk_core_spool *spool, uint64_t *lost)
{
	struct job job = {
		.frames = frames,
		.packed = packed,
		.spool = spool,
		.data_max = data_max,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	struct hawk_error *err = hawk_core_spool_check_length(spool, frames->bytes);

	if (!err)
		hawk_parallel_run(hawk_parallel_threads(), run_part, &job);
	spool->bytes = frames->bytes;
	spool->data_bytes = atomic_load(&job.data_bytes);
	*lost = atomic_load(&job.lost);
	return err ? err : job.error;
}

void hawk_core_frames_deinit(struct hawk_core_frames *frames)
{
	free(frames->items);
}

#else

bool hawk_core_frames_read(const struct hawk_core_file *packed, struct hawk_core_frames *ret)
{
	(void)packed, (void)ret;
	return false;
}

struct hawk_error *hawk_core_frames_unpack(const struct hawk_core_frames *frames,
					   const struct hawk_core_file *packed, uint64_t data_max,
					   struct hawk_core_spool *spool, uint64_t *lost)
{
	(void)frames, (void)packed, (void)data_max, (void)spool, (void)lost;
	return NULL;
}

void hawk_core_frames_deinit(struct hawk_core_frames *frames)
{
	(void)frames;
}

#endif
