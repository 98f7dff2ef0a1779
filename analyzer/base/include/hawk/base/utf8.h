/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * UTF-8 for foreign names: validates characters and makes strings safe for a terminal.
 */
#ifndef HAWK_ANALYZER_BASE_UTF8_H
#define HAWK_ANALYZER_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "hawk/base/text.h"

/**
 * Returns the length of the valid character at `string` (never past its NUL), or 0 if overlong, a
 * surrogate or cut off.
 */
size_t hawk_utf8_length(const char *string);

/** Counts characters in `string`; every byte of an invalid sequence counts as one. */
size_t hawk_utf8_width(const char *string);

/**
 * Returns the valid character of `length` bytes at `string` if it can steer a terminal, else 0.
 * Those are control characters (C0, DEL, C1), and characters that change the writing direction or
 * break the line. Below 2^16.
 */
uint32_t hawk_utf8_steering(const char *string, size_t length);

/**
 * Appends `string`, made safe for a terminal: steering characters (above) and invalid bytes become
 * \xHH.
 */
void hawk_utf8_append_safe(struct hawk_text *text, const char *string);

/** Appends `string`, made safe, in at most `width` columns. A longer one gets "..." in its middle,
 * so that its start and end (a line number, say) stay visible. */
void hawk_utf8_append_middle_cut(struct hawk_text *text, const char *string, size_t width);

#endif
