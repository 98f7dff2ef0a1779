/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Unpacking the compressions that cores are stored in: zstd, lz4, xz and gzip, each if its library
 * was there at build time. From bytes to bytes; foreign input, so the memory of every decoder is
 * bounded, and what was unpacked before some damage counts.
 */
#ifndef HAWK_ANALYZER_TARGET_DECODER_H
#define HAWK_ANALYZER_TARGET_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"

struct hawk_decoder;

enum hawk_decoder_state {
	HAWK_DECODER_MORE = 0, /**< the buffer is full; there may be more */
	HAWK_DECODER_END,      /**< all was unpacked */
	HAWK_DECODER_CUT,      /**< the input ends too early */
	HAWK_DECODER_DAMAGED,
	HAWK_DECODER_TOO_LARGE, /**< it wants more memory than is allowed, or than there is */
};

/** Name of the compression that `bytes` begin with, if it can be unpacked here; else NULL. */
const char *hawk_decoder_format(const uint8_t *bytes, size_t size);

/** `bytes`, the whole input, are the caller's, who keeps them. Only if hawk_decoder_format() knows
 * them. */
struct hawk_error *hawk_decoder_create(const uint8_t *bytes, size_t size,
				       struct hawk_decoder **ret);

/** Fills `to` as far as the input goes; `*got`: so many bytes of it are good, in every state. */
enum hawk_decoder_state hawk_decoder_read(struct hawk_decoder *decoder, uint8_t *to, size_t size,
					  size_t *got);

/** Bytes of the input that have been read. */
uint64_t hawk_decoder_position(const struct hawk_decoder *decoder);

/** Accepts NULL. */
void hawk_decoder_destroy(struct hawk_decoder *decoder);

#endif
