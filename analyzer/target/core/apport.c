/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds and decodes the core in an Apport report.
 */
#include "apport.h"

#include <string.h>

enum {
	SEARCHED_BYTES = 16 << 20, /**< logs and package lists come before the core */
	GROUP_BYTES = 3,
	GROUP_LETTERS = 4,
	NO_LETTER = 64,
};

static const char field[] = "\nCoreDump: base64\n ";

size_t hawk_apport_core(const uint8_t *bytes, size_t size)
{
	size_t searched = size < SEARCHED_BYTES ? size : SEARCHED_BYTES;
	const uint8_t *found = memmem(bytes, searched, field, sizeof(field) - 1);

	return found ? (size_t)(found - bytes) + sizeof(field) - 1 : size;
}

static unsigned value_of(uint8_t letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return letter - 'A';
	if (letter >= 'a' && letter <= 'z')
		return letter - 'a' + 26;
	if (letter >= '0' && letter <= '9')
		return letter - '0' + 52;
	return letter == '+' ? 62 : letter == '/' ? 63 : NO_LETTER;
}

/** Decodes four letters. Returns the number of bytes; 0 = no base64. */
static size_t decode_group(const uint8_t *letters, uint8_t *to)
{
	size_t count = GROUP_LETTERS;
	unsigned word = 0;

	while (count > 1 && letters[count - 1] == '=')
		count--;
	for (size_t i = 0; i < GROUP_LETTERS; i++) {
		unsigned value = i < count ? value_of(letters[i]) : 0;

		if (value == NO_LETTER)
			return 0;
		word = word << 6 | value;
	}
	to[0] = (uint8_t)(word >> 16);
	to[1] = (uint8_t)(word >> 8);
	to[2] = (uint8_t)word;
	return count - 1;
}

size_t hawk_apport_decode(const uint8_t *bytes, size_t size, size_t *at, uint8_t *to, size_t room)
{
	size_t got = 0;

	while (room - got >= GROUP_BYTES && size - *at >= GROUP_LETTERS) {
		size_t some;

		if (bytes[*at] == '\n' && bytes[*at + 1] == ' ') {
			*at += 2;
			continue;
		}
		some = decode_group(bytes + *at, to + got);
		if (!some)
			break;
		got += some;
		*at += GROUP_LETTERS;
	}
	return got;
}
