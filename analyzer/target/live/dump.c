/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes a core of a stopped process: copies its memory and lets it go, or reads it while it is
 * written, if a copy would take more than half of the memory that is left.
 */
#include "hawk/target/dump.h"
#include "dump.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/memory.h"
#include "hawk/base/numbers.h"
#include "hawk/base/progress.h"
#include "process.h"
#include "target_state.h"

enum { BUFFER_BYTES = 1 << 20 };

struct writer {
	struct hawk_target *target;
	struct hawk_file_sink *sink;
	uint8_t *buffer;
	uint64_t page_bytes;
	uint64_t hole_bytes; /**< not written yet */
	uint64_t done_bytes; /**< of touched memory */
};

/** Returns the touched bytes of all segments. */
static uint64_t count_touched(const struct hawk_target *target,
			      const struct hawk_dump_segment *segments)
{
	uint64_t bytes = 0, start, end;

	for (size_t i = 0; i < target->mapping_count; i++) {
		uint64_t until = segments[i].start + segments[i].bytes;

		for (uint64_t at = segments[i].start;
		     at < until && hawk_target_next_data(target, at, until, &start, &end); at = end)
			bytes += end - start;
	}
	return bytes;
}

/** Copies all that is to be written. Returns false if it does not fit. */
static bool copy_all(struct hawk_target *target, const struct hawk_dump_segment *segments,
		     uint64_t touched_bytes)
{
	if (touched_bytes > hawk_memory_available() / 2)
		return false;
	for (size_t i = 0; i < target->mapping_count; i++) {
		CLEANUP(error)
		struct hawk_error *err =
			hawk_target_capture(target, segments[i].start, segments[i].bytes);

		if (err)
			return false;
	}
	return true;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

/** Writes the hole before, and `size` bytes. */
static struct hawk_error *write_run(struct writer *writer, const uint8_t *bytes, size_t size)
{
	struct hawk_error *err;

	if (!size)
		return NULL;
	err = hawk_file_sink_skip(writer->sink, writer->hole_bytes);
	writer->hole_bytes = 0;
	return err ? err : hawk_file_sink_write(writer->sink, bytes, size);
}

/** Writes the buffer's bytes; pages of zeros become holes. */
static struct hawk_error *write_pages(struct writer *writer, size_t size)
{
	struct hawk_error *err = NULL;
	size_t start = 0, page;

	for (size_t at = 0; at < size && !err; at += page) {
		page = (size_t)hawk_least(size - at, writer->page_bytes);
		if (!is_zero(writer->buffer + at, page))
			continue;
		err = write_run(writer, writer->buffer + start, at - start);
		writer->hole_bytes += page;
		start = at + page;
	}
	return err ? err : write_run(writer, writer->buffer + start, size - start);
}

/** Writes [start, end), all of it touched; pages that cannot be read become holes. */
static struct hawk_error *write_data(struct writer *writer, uint64_t start, uint64_t end)
{
	struct hawk_error *err = NULL;

	while (start < end && !err) {
		size_t want = (size_t)hawk_least(end - start, BUFFER_BYTES);
		size_t got = hawk_target_read_some(writer->target, start, writer->buffer, want);

		if (got) {
			err = write_pages(writer, got);
		} else {
			got = (size_t)hawk_least(end - start, writer->page_bytes);
			hawk_live_count_lost(writer->target->live, got);
			writer->hole_bytes += got;
		}
		start += got;
		writer->done_bytes += got;
		hawk_progress_reach(writer->done_bytes);
	}
	return err;
}

static struct hawk_error *write_segment(struct writer *writer,
					const struct hawk_dump_segment *segment)
{
	uint64_t at = segment->start, end = at + segment->bytes, data, data_end;
	struct hawk_error *err = NULL;

	while (at < end && !err &&
	       hawk_target_next_data(writer->target, at, end, &data, &data_end)) {
		writer->hole_bytes += data - at;
		err = write_data(writer, data, data_end);
		at = data_end;
	}
	writer->hole_bytes += end - at;
	return err;
}

static struct hawk_error *write_memory(struct hawk_target *target, struct hawk_file_sink *sink,
				       const struct hawk_dump_segment *segments,
				       uint64_t touched_bytes)
{
	CLEANUP(free_ptr) uint8_t *buffer = malloc(BUFFER_BYTES);
	struct writer writer = {
		.target = target,
		.sink = sink,
		.buffer = buffer,
		.page_bytes = target->process.page_bytes,
	};
	struct hawk_progress progress;
	struct hawk_error *err = NULL;

	if (!buffer)
		return &hawk_enomem;
	hawk_progress_begin_bytes(&progress, "writing", touched_bytes);
	for (size_t i = 0; i < target->mapping_count && !err; i++)
		err = write_segment(&writer, &segments[i]);
	if (!err)
		err = hawk_file_sink_skip(sink, writer.hole_bytes);
	hawk_progress_end(&progress);
	return err;
}

static struct hawk_error *write_core(struct hawk_target *target, struct hawk_file_sink *sink,
				     struct hawk_dump *ret)
{
	CLEANUP(free_ptr) struct hawk_dump_segment *segments = NULL;
	CLEANUP(text) struct hawk_text notes;
	struct hawk_error *err;

	hawk_text_init(&notes);
	err = hawk_dump_choose(target, &segments);
	if (!err)
		err = hawk_dump_notes(target, &notes);
	if (err)
		return err;
	ret->memory_bytes = count_touched(target, segments);
	ret->held = !copy_all(target, segments, ret->memory_bytes);
	if (!ret->held)
		hawk_target_release(target);
	err = hawk_dump_headers(target->arch, target->process.page_bytes, segments,
				target->mapping_count, &notes, sink);
	return err ? err : write_memory(target, sink, segments, ret->memory_bytes);
}

struct hawk_error *hawk_target_dump(struct hawk_target *target, struct hawk_findings *findings,
				    struct hawk_file_sink *sink, struct hawk_dump *ret)
{
	struct hawk_error *err = write_core(target, sink, ret), *ended;

	hawk_target_release(target);
	hawk_target_check(target, findings);
	ended = hawk_target_verify(target);
	if (!ended)
		return err;
	hawk_error_destroy(err);
	return ended;
}
