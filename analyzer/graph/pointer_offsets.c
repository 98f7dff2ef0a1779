/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Frames of offsets. Frames are cached by number; the unused frame that was left first is evicted.
 */
#include "pointer_offsets.h"

#include <pthread.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/snapshot/column.h"
#include "hawk/snapshot/reader.h"

enum { KEPT = 8 };

struct hawk_pointer_offsets_frame {
	size_t number;
	uint32_t first; /**< edge */
	uint32_t count;
	unsigned users;
	uint64_t left; /**< time when the last reader left */
	uint64_t *offsets;
	uint64_t *insides;
};

struct hawk_pointer_offsets {
	struct hawk_graph graph; /**< borrowed from the caller's graph */
	const struct hawk_snapshot *snapshot;
	pthread_mutex_t lock;
	uint64_t time;
	struct hawk_pointer_offsets_frame *frames[KEPT]; /**< NULL = free */
};

struct hawk_error *hawk_pointer_offsets_create(const struct hawk_graph *graph,
					       struct hawk_pointer_offsets **ret)
{
	struct hawk_pointer_offsets *offsets = calloc(1, sizeof(*offsets));

	if (!offsets)
		return &hawk_enomem;
	offsets->graph = (struct hawk_graph){
		.heap = graph->heap,
		.count = graph->count,
		.edge_count = graph->edge_count,
		.offsets = graph->offsets,
		.edges = graph->edges,
	};
	offsets->snapshot = hawk_target_snapshot(graph->heap->target);
	(void)pthread_mutex_init(&offsets->lock, NULL);
	*ret = offsets;
	return NULL;
}

static void destroy_frame(struct hawk_pointer_offsets_frame *frame)
{
	if (!frame)
		return;
	free(frame->offsets);
	free(frame->insides);
	free(frame);
}

static void hawk_cleanup_frame(struct hawk_pointer_offsets_frame **frame)
{
	destroy_frame(*frame);
}

void hawk_pointer_offsets_destroy(struct hawk_pointer_offsets *offsets)
{
	if (!offsets)
		return;
	for (size_t i = 0; i < KEPT; i++)
		destroy_frame(offsets->frames[i]);
	(void)pthread_mutex_destroy(&offsets->lock);
	free(offsets);
}

static void decode_offsets(const struct hawk_graph *graph, struct hawk_cursor *from,
			   struct hawk_pointer_offsets_frame *frame)
{
	uint32_t block = frame->count ? hawk_graph_source(graph, frame->first, 0) : 0;
	uint64_t at = 0; /* behind the last pointer of the block */

	for (uint32_t i = 0; i < frame->count; i++) {
		uint64_t words = hawk_column_get_below(from, UINT64_C(1) << 45);

		for (; graph->offsets[block + 1] <= frame->first + i; block++)
			at = 0;
		at += words * sizeof(uint64_t);
		frame->offsets[i] = words ? at - sizeof(uint64_t) : UINT64_MAX;
	}
}

static void decode_insides(const struct hawk_graph *graph, struct hawk_cursor *from,
			   struct hawk_pointer_offsets_frame *frame)
{
	for (uint32_t i = 0; i < frame->count; i++)
		if (graph->edges[frame->first + i] & HAWK_EDGE_INTERIOR &&
		    frame->offsets[i] != UINT64_MAX)
			frame->insides[i] = hawk_column_get(from);
}

static struct hawk_error *decode(const struct hawk_pointer_offsets *offsets, size_t number,
				 struct hawk_pointer_offsets_frame **ret)
{
	CLEANUP(contents) struct hawk_snapshot_contents contents = {0};
	CLEANUP(frame) struct hawk_pointer_offsets_frame *frame = calloc(1, sizeof(*frame));
	struct hawk_error *err =
		hawk_snapshot_read(offsets->snapshot, HAWK_SNAPSHOT_PLACES, number, &contents);

	if (err)
		return err;
	if (!frame)
		return &hawk_enomem;
	/* Frames are complete: they have one item per edge. An edge takes a byte at least. */
	if (contents.items > contents.cursor.size)
		return hawk_snapshot_nonsense(HAWK_SNAPSHOT_PLACES);
	frame->number = number;
	frame->first = (uint32_t)contents.first;
	frame->count = (uint32_t)contents.items;
	frame->offsets = calloc((size_t)frame->count + 1, sizeof(*frame->offsets));
	frame->insides = calloc((size_t)frame->count + 1, sizeof(*frame->insides));
	if (!frame->offsets || !frame->insides)
		return &hawk_enomem;
	decode_offsets(&offsets->graph, &contents.cursor, frame);
	decode_insides(&offsets->graph, &contents.cursor, frame);
	if (contents.cursor.failed)
		return hawk_snapshot_nonsense(HAWK_SNAPSHOT_PLACES);
	*ret = take_ptr(&frame);
	return NULL;
}

/* Caches a frame; returns false if all cached frames are in use. Called with the lock. */
static bool keep(struct hawk_pointer_offsets *offsets, struct hawk_pointer_offsets_frame *frame)
{
	struct hawk_pointer_offsets_frame **slot = NULL;

	for (size_t i = 0; i < KEPT; i++) {
		struct hawk_pointer_offsets_frame **other = &offsets->frames[i];

		if (*other && (*other)->users)
			continue;
		if (!slot || !*other || (*slot && (*other)->left < (*slot)->left))
			slot = other;
		if (!*slot)
			break;
	}
	if (!slot)
		return false;
	destroy_frame(*slot);
	*slot = frame;
	return true;
}

/* Called with the lock. */
static struct hawk_error *enter(struct hawk_pointer_offsets *offsets, size_t number,
				struct hawk_pointer_offsets_cursor *cursor)
{
	struct hawk_pointer_offsets_frame *frame = NULL;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < KEPT && !frame; i++)
		if (offsets->frames[i] && offsets->frames[i]->number == number)
			frame = offsets->frames[i];
	if (!frame)
		err = decode(offsets, number, &frame);
	else
		number = SIZE_MAX;
	if (!err && number != SIZE_MAX)
		(void)keep(offsets, frame); // uncached frames belong to the reader
	if (err)
		return err;
	frame->users++;
	cursor->frame = frame;
	return NULL;
}

static bool is_kept(const struct hawk_pointer_offsets *offsets,
		    const struct hawk_pointer_offsets_frame *frame)
{
	for (size_t i = 0; i < KEPT; i++)
		if (offsets->frames[i] == frame)
			return true;
	return false;
}

void hawk_pointer_offsets_leave(struct hawk_pointer_offsets *offsets,
				struct hawk_pointer_offsets_cursor *cursor)
{
	struct hawk_pointer_offsets_frame *frame = cursor->frame;

	cursor->frame = NULL;
	if (!frame)
		return;
	(void)pthread_mutex_lock(&offsets->lock);
	frame->users--;
	frame->left = ++offsets->time;
	if (!frame->users && !is_kept(offsets, frame))
		destroy_frame(frame);
	(void)pthread_mutex_unlock(&offsets->lock);
}

struct hawk_error *hawk_pointer_offsets_find(struct hawk_pointer_offsets *offsets,
					     struct hawk_pointer_offsets_cursor *cursor,
					     uint32_t edge, uint64_t *offset, uint64_t *inside)
{
	const struct hawk_pointer_offsets_frame *frame = cursor->frame;

	if (!frame || edge < frame->first || edge - frame->first >= frame->count) {
		size_t number =
			hawk_snapshot_frame_of(offsets->snapshot, HAWK_SNAPSHOT_PLACES, edge);
		struct hawk_error *err;

		hawk_pointer_offsets_leave(offsets, cursor);
		(void)pthread_mutex_lock(&offsets->lock);
		err = enter(offsets, number, cursor);
		(void)pthread_mutex_unlock(&offsets->lock);
		if (err)
			return err;
		frame = cursor->frame;
	}
	*offset = frame->offsets[edge - frame->first];
	*inside = frame->insides[edge - frame->first];
	return NULL;
}
