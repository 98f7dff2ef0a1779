/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Decompresses cores: zstd, lz4, xz, gzip and Apport reports. zstd and lz4 are known if their
 * libraries were found at build time. Input is
 * foreign: every decoder's memory is bounded, and data before any damage is kept.
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
	HAWK_DECODER_TOO_LARGE, /**< needs more memory than allowed or available */
};

/** Returns the name of the compression at the start of `bytes` if this build supports it, else
 * NULL. */
const char *hawk_decoder_format(const uint8_t *bytes, size_t size);

/** Returns the command that unpacks such a file. hawk_decoder_format() must know it. */
const char *hawk_decoder_tool(const uint8_t *bytes, size_t size);

/** Creates a decoder of `bytes`, the whole input, which must outlive it. hawk_decoder_format() must
 * know them. */
struct hawk_error *hawk_decoder_create(const uint8_t *bytes, size_t size,
				       struct hawk_decoder **ret);

/** Fills `to` as far as the input goes. `*got` = valid bytes in `to`, whatever the state. */
enum hawk_decoder_state hawk_decoder_read(struct hawk_decoder *decoder, uint8_t *to, size_t size,
					  size_t *got);

/** Returns the number of input bytes read. */
uint64_t hawk_decoder_position(const struct hawk_decoder *decoder);

/** Accepts NULL. */
void hawk_decoder_destroy(struct hawk_decoder *decoder);

#endif
