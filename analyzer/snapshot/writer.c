/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Compresses frames on several threads, a batch at a time, so that memory use stays small.
 */
#include "hawk/snapshot/writer.h"

#include <string.h>
#include <xxhash.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"
#include "hawk/base/text.h"
#include "state.h"

#if HAWK_HAVE_ZSTD
#include <zstd.h>
#endif

enum {
	BATCH_MAX = 16,
	ZSTD_LEVEL = 1,
	PACKED_BYTES_MIN = 64, /* less is not worth it */
};

uint64_t hawk_snapshot_check(const void *header, size_t header_bytes, const void *contents,
			     size_t bytes)
{
	return XXH3_64bits_withSeed(header, header_bytes, XXH3_64bits(contents, bytes));
}

uint64_t hawk_snapshot_list_check(const struct hawk_snapshot_frame *frame, uint64_t before)
{
	return XXH3_64bits_withSeed(frame, sizeof(*frame), before);
}

void hawk_snapshot_begin(struct hawk_snapshot_writer *writer, struct hawk_output *output,
			 uint64_t flags)
{
	struct hawk_snapshot_header header = {
		.version = HAWK_SNAPSHOT_VERSION,
		.compatible_flags = flags,
	};

	memcpy(header.magic, HAWK_SNAPSHOT_MAGIC, sizeof(header.magic));
	header.check = XXH3_64bits(&header, offsetof(struct hawk_snapshot_header, check));
	*writer = (struct hawk_snapshot_writer){.output = output, .flags = flags};
	hawk_output_append(output, &header, sizeof(header));
}

/** A frame ready for the file. */
struct packed {
	struct hawk_snapshot_frame frame;
	struct hawk_snapshot_piece piece;
	uint8_t *bytes; /**< compressed, owned; NULL = uncompressed */
	struct hawk_error *err;
};

static void hawk_cleanup_packed(struct packed *packed)
{
	hawk_column_deinit(&packed->piece.column);
	free(packed->bytes);
	hawk_error_destroy(packed->err);
}

#if HAWK_HAVE_ZSTD
static void compress_bytes(struct packed *packed)
{
	const struct hawk_column *raw = &packed->piece.column;
	size_t bound = ZSTD_compressBound(raw->size);
	size_t size;

	if (raw->size < PACKED_BYTES_MIN)
		return;
	packed->bytes = malloc(bound);
	size = packed->bytes
		       ? ZSTD_compress(packed->bytes, bound, raw->bytes, raw->size, ZSTD_LEVEL)
		       : bound;
	if (!packed->bytes || ZSTD_isError(size) || size >= raw->size) {
		free(packed->bytes);
		packed->bytes = NULL;
		return;
	}
	packed->frame.encoding = HAWK_SNAPSHOT_ZSTD;
	packed->frame.stored_bytes = size;
}
#else
static void compress_bytes(struct packed *packed)
{
	(void)packed;
}
#endif

static const void *stored_bytes(const struct packed *packed)
{
	return packed->bytes ? packed->bytes : packed->piece.column.bytes;
}

static void pack(struct packed *packed, enum hawk_snapshot_section section)
{
	const struct hawk_snapshot_piece *piece = &packed->piece;

	if (piece->column.failed) {
		packed->err = &hawk_enomem;
		return;
	}
	if (piece->column.size > HAWK_SNAPSHOT_FRAME_BYTES_MAX) {
		packed->err = hawk_error_create(HAWK_ERROR_UNSUPPORTED,
						"a part of the snapshot is larger than %d MiB",
						HAWK_SNAPSHOT_FRAME_BYTES_MAX >> 20);
		return;
	}
	packed->frame = (struct hawk_snapshot_frame){
		.magic = HAWK_SNAPSHOT_FRAME_MAGIC,
		.section = (uint16_t)section,
		.first = piece->first,
		.items = piece->items,
		.raw_bytes = piece->column.size,
		.stored_bytes = piece->column.size,
	};
	compress_bytes(packed);
	packed->frame.check =
		hawk_snapshot_check(&packed->frame, offsetof(struct hawk_snapshot_frame, check),
				    stored_bytes(packed), (size_t)packed->frame.stored_bytes);
}

static struct hawk_error *write_packed(struct hawk_snapshot_writer *writer, struct packed *packed)
{
	if (packed->err)
		return take_ptr(&packed->err);
	hawk_output_append(writer->output, &packed->frame, sizeof(packed->frame));
	hawk_output_append(writer->output, stored_bytes(packed),
			   (size_t)packed->frame.stored_bytes);
	writer->frames++;
	writer->list_check = hawk_snapshot_list_check(&packed->frame, writer->list_check);
	return NULL;
}

struct hawk_error *hawk_snapshot_put(struct hawk_snapshot_writer *writer,
				     enum hawk_snapshot_section section,
				     const struct hawk_snapshot_piece *piece)
{
	struct packed packed = {.piece = *piece};
	struct hawk_error *err;

	pack(&packed, section);
	err = write_packed(writer, &packed);
	packed.piece.column = (struct hawk_column){0}; // owned by the caller
	hawk_cleanup_packed(&packed);
	return err;
}

struct batch {
	enum hawk_snapshot_section section;
	hawk_snapshot_fill *fill;
	void *context;
	size_t first; /**< number of the batch's first piece */
	struct packed items[BATCH_MAX];
};

static void make_piece(void *context, unsigned part)
{
	struct batch *batch = context;
	struct packed *packed = &batch->items[part];

	packed->err = batch->fill(batch->context, batch->first + part, &packed->piece);
	if (!packed->err)
		pack(packed, batch->section);
}

struct hawk_error *hawk_snapshot_put_all(struct hawk_snapshot_writer *writer,
					 enum hawk_snapshot_section section, size_t count,
					 hawk_snapshot_fill *fill, void *context)
{
	unsigned most = hawk_parallel_threads();
	struct hawk_error *err = NULL;

	if (most > BATCH_MAX)
		most = BATCH_MAX;
	for (size_t first = 0; first < count && !err && !writer->output->errnum; first += most) {
		struct batch batch = {
			.section = section, .fill = fill, .context = context, .first = first};
		unsigned pieces = count - first < most ? (unsigned)(count - first) : most;

		hawk_parallel_run(pieces, make_piece, &batch);
		for (unsigned i = 0; i < pieces; i++) {
			if (!err)
				err = write_packed(writer, &batch.items[i]);
			hawk_cleanup_packed(&batch.items[i]);
		}
	}
	return err;
}

struct hawk_error *hawk_snapshot_finish(struct hawk_snapshot_writer *writer)
{
	const uint64_t list_check = writer->list_check;
	struct hawk_snapshot_piece piece = {.first = writer->frames};
	struct hawk_error *err;

	hawk_column_put_bytes(&piece.column, &list_check, sizeof(list_check));
	err = hawk_snapshot_put(writer, HAWK_SNAPSHOT_END, &piece);
	hawk_column_deinit(&piece.column);
	return err;
}

const char *hawk_snapshot_path(const struct hawk_snapshot_writer *writer, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && writer->flags & HAWK_SNAPSHOT_BASE_PATHS ? slash + 1 : path;
}

/* Returns the length of the leading folders of `text`, which begins with '/'. */
static size_t folders_of(const char *text)
{
	size_t length = strcspn(text, " \t\n\"'():;,");

	while (length && text[length - 1] != '/')
		length--;
	return length;
}

void hawk_snapshot_put_text(const struct hawk_snapshot_writer *writer, struct hawk_column *column,
			    const char *text)
{
	CLEANUP(text) struct hawk_text kept = {0};

	if (!(writer->flags & HAWK_SNAPSHOT_BASE_PATHS)) {
		hawk_column_put_string(column, text);
		return;
	}
	for (const char *at = text; *at;) {
		bool begins = at == text || strchr(" \t\n\"'(", at[-1]);

		at += *at == '/' && begins ? folders_of(at) : 0;
		if (*at)
			hawk_text_append(&kept, at++, 1);
	}
	if (kept.failed)
		column->failed = true;
	hawk_column_put_string(column, hawk_text_string(&kept));
}
