/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * UTF-8 as far as foreign names need it: what is one valid character, what may go to a terminal.
 */
#ifndef HAWK_ANALYZER_BASE_UTF8_H
#define HAWK_ANALYZER_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "hawk/base/text.h"

/** Bytes of the valid character at `string` (never past its NUL), or 0: overlong, surrogate, cut.
 */
size_t hawk_utf8_length(const char *string);

/** Characters in `string`; every byte of an invalid sequence counts as one. */
size_t hawk_utf8_width(const char *string);

/**
 * The valid character of `length` bytes at `string` if it can steer a terminal, else 0: a control
 * character (C0, DEL, C1), or one that turns the writing direction or breaks the line. Below 2^16.
 */
uint32_t hawk_utf8_steering(const char *string, size_t length);

/**
 * Appends `string` so that it cannot steer a terminal: control characters (C0, DEL, C1), characters
 * that turn the writing direction and invalid bytes become \xHH.
 */
void hawk_utf8_append_safe(struct hawk_text *text, const char *string);

/** `string`, made safe, in at most `width` columns: where it is longer "..." stands in its middle,
 * so that both where it begins and its end, a line number say, are seen. */
void hawk_utf8_append_middle_cut(struct hawk_text *text, const char *string, size_t width);

#endif
