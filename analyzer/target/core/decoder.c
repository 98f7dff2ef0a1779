/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Four libraries behind one interface, and the cores in Apport reports. Consecutive frames
 * (members, streams) form one file, as in their tools.
 */
#include "hawk/target/decoder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <lzma.h>
#include <zlib.h>

#include "apport.h"
#if HAWK_HAVE_LZ4
#include <lz4frame.h>
#endif
#if HAWK_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

struct format {
	const char *name;
	const char *tool; /**< that unpacks it */
	const char *magic;
	size_t magic_bytes;
	/** Returns true if a file with the magic can be read; NULL = always. */
	bool (*fits)(const uint8_t *bytes, size_t size);
	/** Creates the library's state; NULL = out of memory. */
	void *(*open)(void);
	enum hawk_decoder_state (*read)(struct hawk_decoder *decoder, uint8_t *to, size_t size,
					size_t *got);
	void (*close)(void *state);
};

struct hawk_decoder {
	const struct format *format;
	void *state; /**< the library's */
	const uint8_t *bytes;
	size_t size;
	size_t at;    /**< bytes[0 .. at) have been read */
	bool between; /**< between frames: the input may end here */
};

#if HAWK_HAVE_ZSTD

static void *open_zstd(void)
{
	return ZSTD_createDStream(); /* its window is at most 128 MiB */
}

static void close_zstd(void *state)
{
	ZSTD_freeDStream(state);
}

static enum hawk_decoder_state judge_zstd(size_t result)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_frameParameter_windowTooLarge:
	case ZSTD_error_memory_allocation:
		return HAWK_DECODER_TOO_LARGE;
	default:
		return HAWK_DECODER_DAMAGED;
	}
}

static enum hawk_decoder_state read_zstd(struct hawk_decoder *decoder, uint8_t *to, size_t size,
					 size_t *got)
{
	ZSTD_inBuffer in = {decoder->bytes, decoder->size, decoder->at};
	ZSTD_outBuffer out = {to, size, 0};
	enum hawk_decoder_state state = HAWK_DECODER_MORE;

	while (out.pos < out.size && state == HAWK_DECODER_MORE) {
		size_t before = out.pos, result;

		if (in.pos == in.size && decoder->between) {
			state = HAWK_DECODER_END;
			break;
		}
		result = ZSTD_decompressStream(decoder->state, &out, &in);
		decoder->between = result == 0;
		if (ZSTD_isError(result))
			state = judge_zstd(result);
		else if (result && in.pos == in.size && out.pos == before)
			state = HAWK_DECODER_CUT;
	}
	decoder->at = in.pos;
	*got = out.pos;
	return state;
}

#endif

#if HAWK_HAVE_LZ4

static void *open_lz4(void)
{
	LZ4F_dctx *state;

	return LZ4F_isError(LZ4F_createDecompressionContext(&state, LZ4F_VERSION)) ? NULL : state;
}

static void close_lz4(void *state)
{
	LZ4F_freeDecompressionContext(state);
}

static enum hawk_decoder_state read_lz4(struct hawk_decoder *decoder, uint8_t *to, size_t size,
					size_t *got)
{
	enum hawk_decoder_state state = HAWK_DECODER_MORE;

	*got = 0;
	while (*got < size && state == HAWK_DECODER_MORE) {
		size_t in = decoder->size - decoder->at, out = size - *got, result;

		if (!in && decoder->between) {
			state = HAWK_DECODER_END;
			break;
		}
		result = LZ4F_decompress(decoder->state, to + *got, &out,
					 decoder->bytes + decoder->at, &in, NULL);
		if (LZ4F_isError(result))
			return HAWK_DECODER_DAMAGED;
		decoder->at += in;
		*got += out;
		decoder->between = result == 0;
		if (result && !in && !out)
			state = HAWK_DECODER_CUT;
	}
	return state;
}

#endif

enum { XZ_BYTES_MAX = 256 << 20 };

static void *open_xz(void)
{
	lzma_stream *stream = calloc(1, sizeof(*stream));

	if (stream && lzma_stream_decoder(stream, XZ_BYTES_MAX, LZMA_CONCATENATED) == LZMA_OK)
		return stream;
	free(stream);
	return NULL;
}

static void close_xz(void *state)
{
	lzma_end(state);
	free(state);
}

static enum hawk_decoder_state read_xz(struct hawk_decoder *decoder, uint8_t *to, size_t size,
				       size_t *got)
{
	lzma_stream *stream = decoder->state;
	lzma_ret result = LZMA_OK;

	stream->next_in = decoder->bytes + decoder->at;
	stream->avail_in = decoder->size - decoder->at;
	stream->next_out = to;
	stream->avail_out = size;
	while (result == LZMA_OK && stream->avail_out)
		result = lzma_code(stream, LZMA_FINISH);
	decoder->at = decoder->size - stream->avail_in;
	*got = size - stream->avail_out;
	switch (result) {
	case LZMA_OK:
		return HAWK_DECODER_MORE;
	case LZMA_STREAM_END:
		return HAWK_DECODER_END;
	case LZMA_BUF_ERROR:
		return HAWK_DECODER_CUT;
	case LZMA_MEM_ERROR:
	case LZMA_MEMLIMIT_ERROR:
		return HAWK_DECODER_TOO_LARGE;
	default:
		return HAWK_DECODER_DAMAGED;
	}
}

enum { GZIP_WINDOW = 15 + 16, GZIP_BYTES_AT_ONCE = 1 << 30 };

static void *open_gzip(void)
{
	z_stream *stream = calloc(1, sizeof(*stream));

	if (stream && inflateInit2(stream, GZIP_WINDOW) == Z_OK)
		return stream;
	free(stream);
	return NULL;
}

static void close_gzip(void *state)
{
	inflateEnd(state);
	free(state);
}

/** Called behind a member; returns true if another one follows. */
static bool next_member(struct hawk_decoder *decoder)
{
	return decoder->size - decoder->at > 2 && decoder->bytes[decoder->at] == 0x1f &&
	       decoder->bytes[decoder->at + 1] == 0x8b && inflateReset(decoder->state) == Z_OK;
}

static enum hawk_decoder_state read_gzip(struct hawk_decoder *decoder, uint8_t *to, size_t size,
					 size_t *got)
{
	z_stream *stream = decoder->state;

	*got = 0;
	while (*got < size) {
		size_t left = decoder->size - decoder->at;
		int result;

		stream->next_in = (Bytef *)(decoder->bytes + decoder->at);
		stream->avail_in = left < GZIP_BYTES_AT_ONCE ? (uInt)left : GZIP_BYTES_AT_ONCE;
		stream->next_out = to + *got;
		stream->avail_out = (uInt)(size - *got);
		result = inflate(stream, Z_NO_FLUSH);
		decoder->at = (size_t)(stream->next_in - decoder->bytes);
		*got = (size_t)(stream->next_out - to);
		if (result == Z_BUF_ERROR)
			return HAWK_DECODER_CUT;
		if (result == Z_STREAM_END && !next_member(decoder))
			return HAWK_DECODER_END;
		if (result != Z_OK && result != Z_STREAM_END)
			return HAWK_DECODER_DAMAGED;
	}
	return HAWK_DECODER_MORE;
}

enum { APPORT_BYTES = 1 << 15, ZLIB_OR_GZIP_WINDOW = 15 + 32 };

/** The core of an Apport report, as it leaves base64. */
struct apport {
	z_stream stream;
	uint8_t packed[APPORT_BYTES];
};

static bool fits_apport(const uint8_t *bytes, size_t size)
{
	return hawk_apport_core(bytes, size) < size;
}

static void *open_apport(void)
{
	struct apport *apport = calloc(1, sizeof(*apport));

	if (apport && inflateInit2(&apport->stream, ZLIB_OR_GZIP_WINDOW) == Z_OK)
		return apport;
	free(apport);
	return NULL;
}

static void close_apport(void *state)
{
	struct apport *apport = state;

	inflateEnd(&apport->stream);
	free(apport);
}

static enum hawk_decoder_state read_apport(struct hawk_decoder *decoder, uint8_t *to, size_t size,
					   size_t *got)
{
	struct apport *apport = decoder->state;
	z_stream *stream = &apport->stream;
	int result = Z_OK;

	if (!decoder->at)
		decoder->at = hawk_apport_core(decoder->bytes, decoder->size);
	stream->next_out = to;
	stream->avail_out = (uInt)size;
	while (result == Z_OK && stream->avail_out) {
		if (!stream->avail_in) {
			stream->next_in = apport->packed;
			stream->avail_in = (uInt)hawk_apport_decode(decoder->bytes, decoder->size,
								    &decoder->at, apport->packed,
								    APPORT_BYTES);
		}
		result = inflate(stream, Z_NO_FLUSH);
	}
	*got = size - stream->avail_out;
	switch (result) {
	case Z_OK:
		return HAWK_DECODER_MORE;
	case Z_STREAM_END:
		return HAWK_DECODER_END;
	case Z_BUF_ERROR:
		return HAWK_DECODER_CUT;
	default:
		return HAWK_DECODER_DAMAGED;
	}
}

static const struct format formats[] = {
#if HAWK_HAVE_ZSTD
	{"zstd", "zstd -d", "\x28\xb5\x2f\xfd", 4, NULL, open_zstd, read_zstd, close_zstd},
#endif
#if HAWK_HAVE_LZ4
	{"lz4", "lz4 -d", "\x04\x22\x4d\x18", 4, NULL, open_lz4, read_lz4, close_lz4},
#endif
	{"xz", "xz -d",
	 "\xfd"
	 "7zXZ\0",
	 6, NULL, open_xz, read_xz, close_xz},
	{"gzip", "gzip -d", "\x1f\x8b", 2, NULL, open_gzip, read_gzip, close_gzip},
	{"apport", "apport-unpack", "ProblemType:", 12, fits_apport, open_apport, read_apport,
	 close_apport},
	{0},
};

static const struct format *find_format(const uint8_t *bytes, size_t size)
{
	for (const struct format *format = formats; format->name; format++)
		if (size >= format->magic_bytes &&
		    memcmp(bytes, format->magic, format->magic_bytes) == 0 &&
		    (!format->fits || format->fits(bytes, size)))
			return format;
	return NULL;
}

const char *hawk_decoder_format(const uint8_t *bytes, size_t size)
{
	const struct format *format = find_format(bytes, size);

	return format ? format->name : NULL;
}

const char *hawk_decoder_tool(const uint8_t *bytes, size_t size)
{
	return find_format(bytes, size)->tool;
}

struct hawk_error *hawk_decoder_create(const uint8_t *bytes, size_t size, struct hawk_decoder **ret)
{
	struct hawk_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return &hawk_enomem;
	decoder->format = find_format(bytes, size);
	decoder->state = decoder->format->open();
	decoder->bytes = bytes;
	decoder->size = size;
	if (!decoder->state) {
		free(decoder);
		return &hawk_enomem;
	}
	*ret = decoder;
	return NULL;
}

enum hawk_decoder_state hawk_decoder_read(struct hawk_decoder *decoder, uint8_t *to, size_t size,
					  size_t *got)
{
	return decoder->format->read(decoder, to, size, got);
}

uint64_t hawk_decoder_position(const struct hawk_decoder *decoder)
{
	return decoder->at;
}

void hawk_decoder_destroy(struct hawk_decoder *decoder)
{
	if (!decoder)
		return;
	decoder->format->close(decoder->state);
	free(decoder);
}
