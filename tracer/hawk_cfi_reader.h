/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Bounds-checked reading of call frame information in the host's own mapped modules.
 *
 * A reader that ran past its end is `failed`: it returns zeros from then on and never moves again,
 * so that callers check once, after a group of reads.
 */
#ifndef HAWK_CFI_READER_H
#define HAWK_CFI_READER_H

#include <stdbool.h>
#include <stdint.h>

struct hawk_cfi_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

/** A little-endian number of 1 to 8 bytes. */
static inline uint64_t hawk_cfi_number(struct hawk_cfi_reader *reader, unsigned bytes)
{
	uint64_t value = 0;

	if (reader->failed || (uint64_t)(reader->end - reader->at) < bytes) {
		reader->failed = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)reader->at[i] << (8 * i);
	reader->at += bytes;
	return value;
}

/** As above, sign-extended. */
static inline int64_t hawk_cfi_signed_number(struct hawk_cfi_reader *reader, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(hawk_cfi_number(reader, bytes) << shift) >> shift;
}

static inline void hawk_cfi_skip(struct hawk_cfi_reader *reader, uint64_t bytes)
{
	if (reader->failed || (uint64_t)(reader->end - reader->at) < bytes)
		reader->failed = true;
	else
		reader->at += bytes;
}

/** Unsigned LEB128; bits above 63 are dropped. */
uint64_t hawk_cfi_uleb(struct hawk_cfi_reader *reader);

/** Signed LEB128. */
int64_t hawk_cfi_sleb(struct hawk_cfi_reader *reader);

/**
 * A pointer in encoding DW_EH_PE_*; `data_base` is what "datarel" is relative to. Indirect pointers
 * are refused: no field that is used here has them.
 */
uint64_t hawk_cfi_pointer(struct hawk_cfi_reader *reader, uint8_t encoding, uint64_t data_base);

#endif
