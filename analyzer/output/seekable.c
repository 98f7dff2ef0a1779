/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes zstd in independent frames, with a table of their sizes.
 */
#include "hawk/output/seekable.h"

#if HAWK_HAVE_ZSTD

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "hawk/base/array.h"
#include "hawk/base/numbers.h"
#include "hawk/output/file.h"

enum {
	FRAME_BYTES = HAWK_SEEKABLE_FRAME_BYTES,
	HOLE_BYTES_MAX = 64 << 20,    /**< of a frame; a multiple of FRAME_BYTES */
	ZERO_BLOCK_BYTES = 128 << 10, /**< zstd's largest block, in a window as large */
	ZERO_BLOCKS_MAX = HOLE_BYTES_MAX / ZERO_BLOCK_BYTES,
	ZERO_HEADER_BYTES = 10,
	BLOCK_BYTES = 4, /**< a header, and the byte that is repeated */
	ZEROS_BYTES_MAX = ZERO_HEADER_BYTES + ZERO_BLOCKS_MAX * BLOCK_BYTES,
	BLOCK_LAST = 1,
	BLOCK_REPEATS = 1 << 1,
	BLOCK_SIZE_SHIFT = 3,
	FRAMES_MAX = 1 << 27, /**< limit of the format */
};

static const uint32_t FRAME_MAGIC = 0xfd2fb528;

/** Sizes as the file has them. */
struct frame {
	uint32_t packed;
	uint32_t unpacked;
};

struct hawk_seekable {
	ZSTD_CCtx *context;
	int fd;
	const char *path;
	struct frame *frames;
	size_t frame_count;
	size_t frame_capacity;
	uint64_t hole_bytes; /**< not written yet; whole frames */
	size_t held;         /**< of `bytes` */
	size_t packed_bytes; /**< room in `packed` */
	uint8_t bytes[FRAME_BYTES];
	uint8_t packed[];
};

struct hawk_error *hawk_seekable_create(int fd, const char *path, int level,
					struct hawk_seekable **ret)
{
	size_t packed_bytes = ZSTD_compressBound(FRAME_BYTES);
	struct hawk_seekable *seekable = calloc(1, sizeof(*seekable) + packed_bytes);

	if (!seekable)
		return &hawk_enomem;
	seekable->fd = fd;
	seekable->path = path;
	seekable->packed_bytes = packed_bytes;
	seekable->context = ZSTD_createCCtx();
	*ret = seekable;
	if (!seekable->context ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(seekable->context, ZSTD_c_checksumFlag, 1)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(seekable->context, ZSTD_c_compressionLevel, level)))
		return &hawk_enomem;
	return NULL;
}

/** Writes the first `packed` bytes of the buffer as a frame. */
static struct hawk_error *write_frame(struct hawk_seekable *seekable, size_t packed,
				      size_t unpacked)
{
	if (seekable->frame_count == FRAMES_MAX)
		return hawk_error_create(HAWK_ERROR_LIMIT, "cannot write %s: it is too large",
					 seekable->path);
	if (!hawk_array_reserve(&seekable->frames, seekable->frame_count, &seekable->frame_capacity,
				sizeof(*seekable->frames)))
		return &hawk_enomem;
	seekable->frames[seekable->frame_count++] =
		(struct frame){htole32((uint32_t)packed), htole32((uint32_t)unpacked)};
	return hawk_output_file_write(seekable->fd, seekable->path, seekable->packed, packed);
}

static uint8_t *put_word(uint8_t *to, uint32_t word)
{
	word = htole32(word);
	memcpy(to, &word, sizeof(word));
	return to + sizeof(word);
}

/** Makes a frame of `size` zeros: its header, and blocks that repeat a byte (RFC 8878, 3.1.1). */
static size_t make_zeros(uint32_t size, uint8_t *to)
{
	static const uint8_t size_of_4_bytes = 2 << 6, window_of_128_kib = 7 << 3;
	uint8_t *at = put_word(to, FRAME_MAGIC);

	*at++ = size_of_4_bytes;
	*at++ = window_of_128_kib;
	at = put_word(at, size);
	while (size) {
		uint32_t block = size < ZERO_BLOCK_BYTES ? size : ZERO_BLOCK_BYTES;

		size -= block;
		/* Three bytes of header; the fourth, which is 0, is the byte. */
		at = put_word(at,
			      block << BLOCK_SIZE_SHIFT | BLOCK_REPEATS | (size ? 0 : BLOCK_LAST));
	}
	return (size_t)(at - to);
}

static_assert(ZEROS_BYTES_MAX <= FRAME_BYTES, "a hole fits into the buffer");

bool hawk_seekable_is_hole(const uint8_t *frame, size_t packed, uint32_t unpacked)
{
	uint8_t zeros[ZEROS_BYTES_MAX];

	return unpacked && unpacked <= HOLE_BYTES_MAX && packed <= sizeof(zeros) &&
	       make_zeros(unpacked, zeros) == packed && memcmp(frame, zeros, packed) == 0;
}

static struct hawk_error *write_hole(struct hawk_seekable *seekable)
{
	struct hawk_error *err = NULL;

	while (seekable->hole_bytes && !err) {
		uint32_t size = (uint32_t)hawk_least(seekable->hole_bytes, HOLE_BYTES_MAX);

		err = write_frame(seekable, make_zeros(size, seekable->packed), size);
		seekable->hole_bytes -= size;
	}
	return err;
}

static struct hawk_error *write_held(struct hawk_seekable *seekable)
{
	struct hawk_error *err = write_hole(seekable);
	size_t packed;

	if (err || !seekable->held)
		return err;
	packed = ZSTD_compress2(seekable->context, seekable->packed, seekable->packed_bytes,
				seekable->bytes, seekable->held);
	if (ZSTD_isError(packed))
		return hawk_error_create(HAWK_ERROR_OS, "cannot compress %s: %s", seekable->path,
					 ZSTD_getErrorName(packed));
	err = write_frame(seekable, packed, seekable->held);
	seekable->held = 0;
	return err;
}

/** Called with a full buffer. */
static struct hawk_error *end_frame(struct hawk_seekable *seekable)
{
	const uint8_t *bytes = seekable->bytes;

	if (bytes[0] || memcmp(bytes, bytes + 1, FRAME_BYTES - 1) != 0)
		return write_held(seekable);
	seekable->hole_bytes += FRAME_BYTES;
	seekable->held = 0;
	return NULL;
}

/** Adds `size` bytes, or zeros if `bytes` is NULL. */
static struct hawk_error *add(struct hawk_seekable *seekable, const uint8_t *bytes, uint64_t size)
{
	struct hawk_error *err = NULL;

	while (size && !err) {
		size_t some = (size_t)hawk_least(size, FRAME_BYTES - seekable->held);

		if (bytes)
			memcpy(seekable->bytes + seekable->held, bytes, some);
		else
			memset(seekable->bytes + seekable->held, 0, some);
		bytes = bytes ? bytes + some : NULL;
		seekable->held += some;
		size -= some;
		if (seekable->held == FRAME_BYTES)
			err = end_frame(seekable);
	}
	return err;
}

struct hawk_error *hawk_seekable_write(struct hawk_seekable *seekable, const void *bytes,
				       size_t size)
{
	return add(seekable, bytes, size);
}

struct hawk_error *hawk_seekable_skip(struct hawk_seekable *seekable, uint64_t size)
{
	uint64_t first = hawk_least(size, (FRAME_BYTES - seekable->held) % FRAME_BYTES);
	struct hawk_error *err = add(seekable, NULL, first);

	size -= first;
	if (err || !size)
		return err;
	seekable->hole_bytes += size - size % FRAME_BYTES;
	return add(seekable, NULL, size % FRAME_BYTES);
}

struct hawk_error *hawk_seekable_finish(struct hawk_seekable *seekable)
{
	struct hawk_error *err = write_held(seekable);
	size_t bytes = seekable->frame_count * sizeof(*seekable->frames);
	uint8_t head[2 * sizeof(uint32_t)], foot[HAWK_SEEKABLE_FOOTER_BYTES] = {0};

	if (err)
		return err;
	put_word(put_word(head, HAWK_SEEKABLE_TABLE_MAGIC),
		 (uint32_t)(bytes + HAWK_SEEKABLE_FOOTER_BYTES));
	put_word(foot, (uint32_t)seekable->frame_count);
	put_word(foot + HAWK_SEEKABLE_FOOTER_BYTES - sizeof(uint32_t), HAWK_SEEKABLE_FOOTER_MAGIC);
	err = hawk_output_file_write(seekable->fd, seekable->path, head, sizeof(head));
	if (!err)
		err = hawk_output_file_write(seekable->fd, seekable->path, seekable->frames, bytes);
	return err ? err : hawk_output_file_write(seekable->fd, seekable->path, foot, sizeof(foot));
}

void hawk_seekable_destroy(struct hawk_seekable *seekable)
{
	if (!seekable)
		return;
	ZSTD_freeCCtx(seekable->context);
	free(seekable->frames);
	free(seekable);
}

#else

struct hawk_error *hawk_seekable_create(int fd, const char *path, int level,
					struct hawk_seekable **ret)
{
	(void)fd, (void)path, (void)level, (void)ret;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "this hawk-core was built without zstd: choose a name that does "
				 "not end in .zst");
}

struct hawk_error *hawk_seekable_write(struct hawk_seekable *seekable, const void *bytes,
				       size_t size)
{
	(void)seekable, (void)bytes, (void)size;
	return NULL;
}

struct hawk_error *hawk_seekable_skip(struct hawk_seekable *seekable, uint64_t size)
{
	(void)seekable, (void)size;
	return NULL;
}

struct hawk_error *hawk_seekable_finish(struct hawk_seekable *seekable)
{
	(void)seekable;
	return NULL;
}

void hawk_seekable_destroy(struct hawk_seekable *seekable)
{
	(void)seekable;
}

#endif
