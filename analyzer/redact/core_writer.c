/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Copies a core region by region, redacting each by its kind.
 *
 * A page that becomes zero gets one word of ones: otherwise it would count as never used, and no
 * longer as memory of the process.
 */
#include "hawk/redact/redact.h"

#include <stdlib.h>
#include <string.h>

#include "core_layout.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "redact_notes.h"

enum {
	WORD = 8,
	PAGE_BYTES = HAWK_REDACT_PAGE_BYTES,
	WINDOW_BYTES = 1 << 20,
};

struct writer {
	struct hawk_redactor redactor;
	struct hawk_core_layout layout;
	struct hawk_file_sink *sink;
	uint8_t *from; /**< WINDOW_BYTES and a granule, of the original */
	uint8_t *to;   /**< the same, redacted */
};

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

/* Puts ones in place of the last nonzero word of the `size` bytes at `address`. */
static void mark(uint64_t address, const uint8_t *from, size_t size, uint8_t *to)
{
	size_t at = size - 1, start, end;

	while (!from[at])
		at--;
	start = address % WORD + at < WORD ? 0 : at - (address + at) % WORD;
	end = at + (WORD - (address + at) % WORD);
	memset(to + start, 0xff, (end < size ? end : size) - start);
}

static void mark_pages(uint64_t address, const uint8_t *from, size_t size, uint8_t *to)
{
	size_t part;

	for (size_t done = 0; done < size; done += part) {
		part = PAGE_BYTES - (address + done) % PAGE_BYTES;
		if (part > size - done)
			part = size - done;
		if (is_zero(to + done, part) && !is_zero(from + done, part))
			mark(address + done, from + done, part, to + done);
	}
}

/* Returns true for memory whose written pages are counted. */
static bool counts_pages(const struct hawk_mapping *mapping)
{
	return mapping->flags & HAWK_MAPPING_WRITE || !mapping->path || !mapping->path[0];
}

/* Writes at most WINDOW_BYTES. */
static struct hawk_error *write_window(struct writer *writer, const struct hawk_mapping *mapping,
				       uint64_t address, size_t size)
{
	size_t lead = address % HAWK_GRANULE_BYTES;
	size_t whole = (lead + size + HAWK_GRANULE_BYTES - 1) & -(size_t)HAWK_GRANULE_BYTES;

	memset(writer->from, 0, lead);
	memcpy(writer->from + lead,
	       writer->layout.bytes + mapping->core_offset + (address - mapping->start), size);
	memset(writer->from + lead + size, 0, whole - lead - size);
	hawk_redactor_apply(&writer->redactor, address - lead, writer->from, whole, writer->to);
	if (counts_pages(mapping))
		mark_pages(address, writer->from + lead, size, writer->to + lead);
	return hawk_file_sink_write(writer->sink, writer->to + lead, size);
}

static struct hawk_error *write_data(struct writer *writer, const struct hawk_mapping *mapping,
				     uint64_t start, uint64_t end)
{
	struct hawk_error *err = NULL;
	uint64_t step;

	for (; start < end && !err; start += step) {
		step = WINDOW_BYTES - start % PAGE_BYTES;
		if (step > end - start)
			step = end - start;
		err = write_window(writer, mapping, start, (size_t)step);
		hawk_progress_add(step);
	}
	return err;
}

/* Keeps holes: the same bytes then count as written. */
static struct hawk_error *write_memory(struct writer *writer, const struct hawk_mapping *mapping,
				       uint64_t start, uint64_t end)
{
	struct hawk_error *err = NULL;
	uint64_t data, data_end;

	while (start < end && !err &&
	       hawk_target_next_data(writer->redactor.target, start, end, &data, &data_end)) {
		err = hawk_file_sink_skip(writer->sink, data - start);
		if (!err)
			err = write_data(writer, mapping, data, data_end);
		start = data_end;
	}
	return err ? err : hawk_file_sink_skip(writer->sink, end - start);
}

static struct hawk_error *write_notes(struct writer *writer, const struct hawk_region *region)
{
	size_t size = (size_t)(region->notes.end - region->notes.start);
	CLEANUP(free_ptr) uint8_t *notes = malloc(size);

	if (!notes)
		return &hawk_enomem;
	hawk_redact_notes(&writer->redactor, writer->layout.bytes + region->notes.start, size,
			  region->alignment, notes);
	return hawk_file_sink_write(writer->sink, notes + (region->start - region->notes.start),
				    (size_t)(region->end - region->start));
}

static struct hawk_error *write_region(struct writer *writer, const struct hawk_region *region)
{
	const struct hawk_mapping *mapping = region->mapping;
	uint64_t bytes = region->end - region->start, address;

	switch (region->kind) {
	case HAWK_REGION_MEMORY:
		address = mapping->start + (region->start - mapping->core_offset);
		return write_memory(writer, mapping, address, address + bytes);
	case HAWK_REGION_NOTES:
		return write_notes(writer, region);
	case HAWK_REGION_HEADERS:
	default:
		return hawk_file_sink_write(writer->sink, writer->layout.bytes + region->start,
					    (size_t)bytes);
	}
}

static struct hawk_error *write_regions(struct writer *writer)
{
	const struct hawk_core_layout *layout = &writer->layout;
	struct hawk_error *err = NULL;
	uint64_t at = 0; /* of the original file: written up to here */

	for (size_t i = 0; !err && i < layout->count; i++) {
		err = hawk_file_sink_skip(writer->sink, layout->regions[i].start - at);
		if (!err)
			err = write_region(writer, &layout->regions[i]);
		at = layout->regions[i].end;
	}
	return err ? err : hawk_file_sink_skip(writer->sink, layout->size - at);
}

static struct hawk_error *write_file(struct writer *writer)
{
	struct hawk_core_layout *layout = &writer->layout;
	struct hawk_progress progress;
	struct hawk_error *err = NULL;

	if (layout->front)
		err = hawk_file_sink_write(writer->sink, layout->front, layout->front_bytes);
	if (err)
		return err;
	hawk_progress_begin_bytes(&progress, "writing", layout->size);
	err = write_regions(writer);
	hawk_progress_end(&progress);
	return err;
}

static struct hawk_error *prepare(struct writer *writer, const struct hawk_redact_input *input)
{
	struct hawk_error *err = NULL;

	writer->from = malloc(WINDOW_BYTES + 2 * HAWK_GRANULE_BYTES);
	writer->to = malloc(WINDOW_BYTES + 2 * HAWK_GRANULE_BYTES);
	if (!writer->from || !writer->to)
		return &hawk_enomem;
	for (size_t i = 0; !err && i < input->span_count; i++)
		err = hawk_redactor_add_span(&writer->redactor, input->spans[i].start,
					     input->spans[i].end);
	if (!err)
		err = hawk_redactor_find_structures(&writer->redactor);
	if (!err && input->graph)
		err = hawk_redactor_find_verdicts(&writer->redactor, input->graph, input->vtables);
	writer->redactor.words_kept = writer->redactor.words_zeroed = 0;
	return err ? err : hawk_core_layout_make(writer->redactor.target, &writer->layout);
}

struct hawk_error *hawk_redact_core(const struct hawk_redact_input *input,
				    struct hawk_file_sink *sink, struct hawk_redact_result *ret)
{
	struct writer writer = {.sink = sink};
	struct hawk_error *err;

	hawk_redactor_init(&writer.redactor, input->heap);
	err = prepare(&writer, input);
	if (!err)
		err = write_file(&writer);
	if (!err)
		*ret = (struct hawk_redact_result){
			.bytes = writer.layout.front_bytes + writer.layout.size,
			.words_kept = writer.redactor.words_kept,
			.words_zeroed = writer.redactor.words_zeroed,
		};
	hawk_core_layout_deinit(&writer.layout);
	hawk_redactor_deinit(&writer.redactor);
	free(writer.from);
	free(writer.to);
	return err;
}
