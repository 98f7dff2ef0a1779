/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * UTF-8 checks (Unicode 15, table 3-7: well-formed byte sequences).
 */
#include "hawk/base/utf8.h"

#include <stdbool.h>
#include <stdint.h>

#include "hawk/base/cleanup.h"

static bool in_range(unsigned char byte, unsigned char low, unsigned char high)
{
	return byte >= low && byte <= high;
}

size_t hawk_utf8_length(const char *string)
{
	const unsigned char *s = (const unsigned char *)string;
	size_t length;
	unsigned char low = 0x80, high = 0xbf; // of the second byte

	if (s[0] < 0x80)
		return s[0] ? 1 : 0;
	if (in_range(s[0], 0xc2, 0xdf))
		length = 2;
	else if (in_range(s[0], 0xe0, 0xef))
		length = 3;
	else if (in_range(s[0], 0xf0, 0xf4))
		length = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (!in_range(s[1], low, high))
		return 0;
	for (size_t i = 2; i < length; i++)
		if (!in_range(s[i], 0x80, 0xbf))
			return 0;
	return length;
}

size_t hawk_utf8_width(const char *string)
{
	size_t width = 0;

	while (*string) {
		size_t length = hawk_utf8_length(string);

		string += length ? length : 1;
		width++;
	}
	return width;
}

static uint32_t decode(const char *string, size_t length)
{
	const unsigned char *s = (const unsigned char *)string;

	if (length == 1)
		return s[0];
	if (length == 2)
		return (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f);
	if (length == 3)
		return (uint32_t)(s[0] & 0xf) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);
	return (uint32_t)(s[0] & 7) << 18 | (uint32_t)(s[1] & 0x3f) << 12 |
	       (uint32_t)(s[2] & 0x3f) << 6 | (s[3] & 0x3f);
}

/** Returns true for C0, DEL, C1; line separators; marks, embeddings, overrides and isolates of
 * direction. */
static bool steers_terminal(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character <= 0x9f) || character == 0x61c ||
	       (character >= 0x200b && character <= 0x200f) ||
	       (character >= 0x2028 && character <= 0x202e) ||
	       (character >= 0x2060 && character <= 0x2069) || character == 0xfeff;
}

uint32_t hawk_utf8_steering(const char *string, size_t length)
{
	uint32_t character = decode(string, length);

	return steers_terminal(character) ? character : 0;
}

void hawk_utf8_append_safe(struct hawk_text *text, const char *string)
{
	while (*string) {
		size_t length = hawk_utf8_length(string);

		if (length && !hawk_utf8_steering(string, length)) {
			hawk_text_append(text, string, length);
			string += length;
			continue;
		}
		for (size_t i = 0; i < (length ? length : 1); i++)
			hawk_text_printf(text, "\\x%02x", (unsigned char)*string++);
	}
}

void hawk_utf8_append_middle_cut(struct hawk_text *text, const char *string, size_t width)
{
	CLEANUP(text) struct hawk_text safe = {0};
	size_t columns, kept, excess;
	const char *at;

	hawk_text_puts(text, ""); // never NULL, not even for an empty string
	hawk_utf8_append_safe(&safe, string);
	if (!safe.bytes)
		return;
	at = safe.bytes;
	columns = hawk_utf8_width(at);
	if (columns <= width) {
		hawk_text_puts(text, at);
		return;
	}
	kept = width > 3 ? (width - 3) / 2 : 0;
	excess = columns - (width > 3 ? width - 3 : 0);
	for (size_t i = 0; i < kept; i++)
		at += hawk_utf8_length(at); // all bytes are valid by now
	hawk_text_append(text, safe.bytes, (size_t)(at - safe.bytes));
	hawk_text_append(text, "...", width < 3 ? width : 3);
	for (; excess && *at; excess--)
		at += hawk_utf8_length(at);
	hawk_text_puts(text, at);
}
