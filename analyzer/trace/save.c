/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Copies the trace table's memory into a snapshot, each part at its address, so that it is read
 * back as from a core. Omits parts that readers do not need and that may hold the process's data:
 * the tracer's scratch in thread slots (copies of stack words), blocks that it made itself, and
 * HAWK_OPTS.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/snapshot/writer.h"

enum { CHUNK_BYTES = 4 << 20 };

/** A part of the table. */
struct part {
	uint64_t address;
	uint64_t bytes;
	const struct hawk_table_array *array; /**< NULL = a header, or samples */
	uint64_t first;                       /**< number of its first record */
	bool header;
};

struct parts {
	struct part *items;
	size_t count;
	size_t capacity;
};

/** A path among the table's words, in the form for the snapshot. */
struct path {
	uint64_t offset; /**< in bytes, in the word array */
	uint32_t bytes;
	char *text; /**< owned */
};

struct saver {
	const struct hawk_table *table;
	struct hawk_snapshot_writer *writer;
	struct parts parts;
	struct path *paths; /**< by module record; NULL = keep paths unchanged */
	uint8_t *buffer;    /**< CHUNK_BYTES */
};

static struct hawk_error *add(struct saver *saver, const struct part *part)
{
	struct parts *parts = &saver->parts;

	if (!part->address || !part->bytes)
		return NULL;
	if (!hawk_array_reserve(&parts->items, parts->count, &parts->capacity,
				sizeof(*parts->items)))
		return &hawk_enomem;
	parts->items[parts->count++] = *part;
	return NULL;
}

static struct hawk_error *add_array(struct saver *saver, const struct hawk_table_array *array)
{
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < HAWK_TABLE_SEGMENTS_MAX && !err; i++) {
		const struct hawk_table_segment *segment = &array->segments[i];
		struct part part = {
			.address = segment->address,
			.bytes = segment->present_records * array->record_bytes,
			.array = array,
			.first = hawk_segment_first(i, array->first_log2),
		};

		err = add(saver, &part);
	}
	return err;
}

static struct hawk_error *add_samples(struct saver *saver)
{
	const struct hawk_table_header *header = &saver->table->header;
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < HAWK_TRACE_SEGMENTS && !err; i++) {
		uint64_t first = hawk_segment_first(i, HAWK_TRACE_SEGMENT_LOG2);
		uint64_t records = hawk_segment_length(i, HAWK_TRACE_SEGMENT_LOG2);
		struct part part = {.address = header->sample_segments[i]};

		if (first >= header->trace_count)
			break;
		if (records > header->trace_count - first)
			records = header->trace_count - first;
		part.bytes = records * sizeof(struct hawk_sample_record);
		err = add(saver, &part);
	}
	return err;
}

static struct hawk_error *add_headers(struct saver *saver)
{
	const struct hawk_table_header *header = &saver->table->header;
	const uint64_t addresses[] = {header->primary_address, header->twin_address};
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]) && !err; i++) {
		struct part part = {
			.address = addresses[i], .bytes = HAWK_TABLE_HEADER_BYTES, .header = true};

		err = add(saver, &part);
	}
	return err;
}

static int compare(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static struct hawk_error *find_parts(struct saver *saver)
{
	const struct hawk_table *table = saver->table;
	const struct hawk_table_array *const arrays[] = {
		&table->traces,         &table->words,         &table->threads,
		&table->module_records, &table->label_records,
	};
	struct hawk_error *err = add_headers(saver);

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]) && !err; i++)
		err = add_array(saver, arrays[i]);
	if (!err && table->header.sample_mean)
		err = add_samples(saver);
	if (!err && saver->parts.count)
		qsort(saver->parts.items, saver->parts.count, sizeof(*saver->parts.items), compare);
	return err;
}

/* Finds modules' paths to shorten, for a snapshot without folders. */
static struct hawk_error *find_paths(struct saver *saver)
{
	const struct hawk_table_array *records = &saver->table->module_records;

	if (!(saver->writer->flags & HAWK_SNAPSHOT_BASE_PATHS))
		return NULL;
	saver->paths = calloc((size_t)records->count + 1, sizeof(*saver->paths));
	if (!saver->paths)
		return &hawk_enomem;
	for (uint64_t i = 0; i < records->count; i++) {
		struct hawk_module_record record;
		CLEANUP(free_ptr) char *text = NULL;

		if (!hawk_table_array_read(records, i, &record, sizeof(record)) ||
		    record.path_bytes > HAWK_TABLE_PATH_MAX)
			continue;
		text = hawk_table_copy_text(saver->table, record.path_index, record.path_bytes);
		saver->paths[i] = (struct path){
			.offset = (uint64_t)record.path_index * sizeof(uint64_t),
			.bytes = record.path_bytes,
			.text = text ? strdup(hawk_snapshot_path(saver->writer, text)) : NULL,
		};
		if (!saver->paths[i].text)
			return &hawk_enomem;
	}
	return NULL;
}

/* Shortens paths among the words from byte `offset` of their array on. */
static void shorten_words(const struct saver *saver, uint64_t offset, size_t size)
{
	for (uint64_t i = 0; saver->paths && i < saver->table->module_records.count; i++) {
		const struct path *path = &saver->paths[i];
		size_t length = path->text ? strlen(path->text) : 0;

		for (uint32_t at = 0; path->text && at < path->bytes; at++)
			if (path->offset + at >= offset && path->offset + at - offset < size)
				saver->buffer[path->offset + at - offset] =
					at < length ? (uint8_t)path->text[at] : 0;
	}
}

static void shorten_record(const struct saver *saver, uint64_t number, uint8_t *bytes)
{
	const uint32_t length = saver->paths && saver->paths[number].text
					? (uint32_t)strlen(saver->paths[number].text)
					: 0;

	if (length)
		memcpy(bytes + offsetof(struct hawk_module_record, path_bytes), &length,
		       sizeof(length));
}

struct slot_span {
	uint64_t start, end;
};

/* Returns the place of entries in a slot of `size` bytes; empty if impossible. */
static struct slot_span entries_at(uint32_t offset, uint32_t count, uint32_t size)
{
	uint64_t bytes = count * (uint64_t)sizeof(struct hawk_counter_entry);

	if (offset < HAWK_THREAD_RECORD_BYTES_MIN || offset > size || bytes > size - offset)
		return (struct slot_span){size, size};
	return (struct slot_span){offset, offset + bytes};
}

/* Keeps only the parts that readers use: the record and its entries. */
static void clean_slot(uint8_t *bytes, uint32_t size)
{
	uint32_t kept = size < sizeof(struct hawk_thread_record)
				? size
				: (uint32_t)sizeof(struct hawk_thread_record);
	struct hawk_thread_record record = {0};
	struct slot_span allocations, frees;

	memcpy(&record, bytes, kept);
	allocations = entries_at(record.counter_offset, record.counter_count, size);
	frees = entries_at(record.free_offset, record.free_count, size);
	for (uint32_t at = kept; at < size; at++)
		if ((at < allocations.start || at >= allocations.end) &&
		    (at < frees.start || at >= frees.end))
			bytes[at] = 0;
}

/* Clears HAWK_OPTS and all bytes behind the known fields. */
static void clean_header(uint8_t *bytes, size_t size)
{
	const size_t options = offsetof(struct hawk_table_header, options);
	const size_t spans[][2] = {
		{options, options + HAWK_TABLE_OPTIONS_BYTES},
		{sizeof(struct hawk_table_header), size},
	};

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
		for (size_t at = spans[i][0]; at < spans[i][1] && at < size; at++)
			bytes[at] = 0;
}

/* Cleans the buffer, which holds `size` bytes of `part` from `offset` on. */
static void clean(const struct saver *saver, const struct part *part, uint64_t offset, size_t size)
{
	const struct hawk_table *table = saver->table;
	uint32_t bytes = part->array ? part->array->record_bytes : 0;

	if (part->header)
		clean_header(saver->buffer, size);
	if (part->array == &table->words)
		shorten_words(saver, part->first * bytes + offset, size);
	for (size_t at = 0; bytes && at + bytes <= size; at += bytes) {
		if (part->array == &table->threads)
			clean_slot(saver->buffer + at, bytes);
		else if (part->array == &table->module_records)
			shorten_record(saver, part->first + (offset + at) / bytes,
				       saver->buffer + at);
	}
}

/* Saves a part in chunks of whole records. */
static struct hawk_error *save_part(struct saver *saver, const struct part *part)
{
	uint32_t record = part->array ? part->array->record_bytes : 1;
	uint64_t most = record > CHUNK_BYTES ? 0 : CHUNK_BYTES - CHUNK_BYTES % record;
	struct hawk_error *err = NULL;
	size_t got = 1;

	for (uint64_t at = 0; at < part->bytes && got && most && !err; at += got) {
		struct hawk_snapshot_piece piece = {.first = part->address + at};
		uint64_t wanted = part->bytes - at < most ? part->bytes - at : most;

		got = hawk_target_read_some(saver->table->target, piece.first, saver->buffer,
					    (size_t)wanted);
		if (!got)
			break;
		clean(saver, part, at, got);
		piece.items = got;
		hawk_column_put_bytes(&piece.column, saver->buffer, got);
		err = hawk_snapshot_put(saver->writer, HAWK_SNAPSHOT_MEMORY, &piece);
		hawk_column_deinit(&piece.column);
	}
	return err;
}

/* Saves all parts; omits parts of a damaged table that overlap earlier ones. */
static struct hawk_error *save_parts(struct saver *saver)
{
	struct hawk_error *err = NULL;
	uint64_t end = 0;

	for (size_t i = 0; i < saver->parts.count && !err; i++) {
		const struct part *part = &saver->parts.items[i];

		if (part->address < end || part->bytes > UINT64_MAX - part->address)
			continue;
		err = save_part(saver, part);
		end = part->address + part->bytes;
	}
	return err;
}

static void hawk_cleanup_saver(struct saver *saver)
{
	for (uint64_t i = 0; saver->paths && i < saver->table->module_records.count; i++)
		free(saver->paths[i].text);
	free(saver->paths);
	free(saver->parts.items);
	free(saver->buffer);
}

struct hawk_error *hawk_table_save(const struct hawk_table *table,
				   struct hawk_snapshot_writer *writer)
{
	CLEANUP(saver)
	struct saver saver = {.table = table, .writer = writer, .buffer = malloc(CHUNK_BYTES)};
	struct hawk_error *err = saver.buffer ? find_parts(&saver) : &hawk_enomem;

	if (!err)
		err = find_paths(&saver);
	return err ? err : save_parts(&saver);
}
