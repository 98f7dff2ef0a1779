/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Any bytes as a compressed core: unpacking ends, stays inside of its buffer, reads no more than
 * there is, and never stands still without saying so. The first byte chooses the buffer's size.
 * Files of independent frames are unpacked in parallel, too.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "hawk/target/decoder.h"
#include "target/core/frames.h"

enum { OUTPUT_BYTES_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void unpack(struct hawk_decoder *decoder, size_t input, uint8_t *buffer, size_t bytes)
{
	enum hawk_decoder_state state = HAWK_DECODER_MORE;
	uint64_t output = 0;

	while (state == HAWK_DECODER_MORE && output < OUTPUT_BYTES_MAX) {
		size_t got = SIZE_MAX;

		state = hawk_decoder_read(decoder, buffer, bytes, &got);
		require(got <= bytes && hawk_decoder_position(decoder) <= input);
		require(state != HAWK_DECODER_MORE || got == bytes);
		output += got;
	}
}

static void unpack_frames(const uint8_t *data, size_t size)
{
	struct hawk_core_file *packed, *core = NULL;
	struct hawk_core_frames frames;
	struct hawk_findings findings;

	hawk_findings_init(&findings);
	if (hawk_core_file_over(data, size, &packed))
		return;
	if (hawk_core_frames_read(packed, &frames)) {
		uint64_t bytes = frames.bytes;

		hawk_core_frames_deinit(&frames);
		hawk_error_destroy(hawk_core_unpack(packed, "input", NULL, &findings, &core));
		require(!core || core->size == bytes);
		hawk_core_file_close(core);
	} else {
		hawk_core_file_close(packed);
	}
	hawk_findings_deinit(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hawk_decoder *decoder;
	uint8_t *buffer;
	size_t bytes;

	if (size < 2 || !hawk_decoder_format(data + 1, size - 1))
		return 0;
	bytes = data[0] ? (size_t)data[0] << 8 : 1;
	buffer = malloc(bytes);
	if (!buffer)
		return 0;
	if (!hawk_decoder_create(data + 1, size - 1, &decoder)) {
		unpack(decoder, size - 1, buffer, bytes);
		hawk_decoder_destroy(decoder);
	}
	free(buffer);
	unpack_frames(data + 1, size - 1);
	return 0;
}
