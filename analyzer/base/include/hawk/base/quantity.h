/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sizes, counts, shares and times for people: printed into small buffers and parsed from options.
 * Sizes are IEC (KiB = 1024 bytes).
 */
#ifndef HAWK_ANALYZER_BASE_QUANTITY_H
#define HAWK_ANALYZER_BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/** Buffer size for any of the texts below. */
enum { HAWK_QUANTITY_BYTES = 32 };

struct hawk_quantity {
	char text[HAWK_QUANTITY_BYTES];
};

/** "0 B", "17 B", "1.5 KiB", "84.2 MiB" */
struct hawk_quantity hawk_quantity_bytes(uint64_t bytes);

/** Returns true if `bytes` exceeds `than` and also prints as a different text. */
bool hawk_quantity_more_bytes(uint64_t bytes, uint64_t than);

/** "1,234,567" */
struct hawk_quantity hawk_quantity_count(uint64_t count);

/** "47.6 %", "<0.1 %"; "-" if `whole` is 0. */
struct hawk_quantity hawk_quantity_share(uint64_t part, uint64_t whole);

/** "<0.1 s", "0.4 s", "12 s", "3 min 20 s", "2 h 5 min", "4 d 2 h" */
struct hawk_quantity hawk_quantity_seconds(double seconds);

/** "640 us", "12.5 ms", "1.25 s" */
struct hawk_quantity hawk_quantity_nanoseconds(uint64_t ns);

/** Inclusive. */
struct hawk_range {
	uint64_t low;
	uint64_t high;
};

struct hawk_seconds_range {
	double low;
	double high;
};

/* The parsers return false and leave `ret` alone if `text` is malformed or too large. */

/** Decimal digits only. */
bool hawk_quantity_parse_count(const char *text, uint64_t *ret);

/** "4096", "10k", "1M", "2GiB", "1.5 MB": all powers of 1024. */
bool hawk_quantity_parse_bytes(const char *text, uint64_t *ret);

/** "MIN", "MIN-MAX", "MIN-", "-MAX" */
bool hawk_quantity_parse_bytes_range(const char *text, struct hawk_range *ret);

/** The same for "90", "1.5s", "10m", "2h", "1d" */
bool hawk_quantity_parse_seconds_range(const char *text, struct hawk_seconds_range *ret);

/** Hex digits with or without 0x; 1 to 16 of them. */
bool hawk_quantity_parse_hex(const char *text, uint64_t *ret);

#endif
