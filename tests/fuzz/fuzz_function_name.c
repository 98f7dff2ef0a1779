/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Any bytes as a function name: it fits every column that it is shortened to, steers no terminal,
 * is valid UTF-8, and comes out of JSON as JSON. The first byte chooses the width.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/names/function_name.h"
#include "hawk/output/json.h"
#include "hawk/base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void require_safe(const char *text)
{
	while (*text) {
		size_t length = hawk_utf8_length(text);

		require(length > 0);
		require((unsigned char)*text >= 0x20 && *text != 0x7f);
		text += length;
	}
}

static void check_shortened(const char *name, size_t width)
{
	struct hawk_text text = {0};

	hawk_function_name_append(&text, name, width);
	require(text.bytes && hawk_utf8_width(text.bytes) <= width);
	require_safe(text.bytes);
	hawk_text_clear(&text);
	hawk_utf8_append_middle_cut(&text, name, width);
	require(hawk_utf8_width(text.bytes) <= width);
	require_safe(text.bytes);
	hawk_text_deinit(&text);
}

/** The string's JSON holds no byte that has to be escaped, but the two quotes. */
static void check_json(const char *name)
{
	static struct hawk_output output;
	struct hawk_json json;
	size_t quotes = 0;

	hawk_output_init(&output, -1);
	hawk_json_init(&json, &output, 0);
	hawk_json_string(&json, name);
	if (output.errnum) // larger than the buffer: it went to a descriptor that is none
		return;
	output.buffer[output.used < sizeof(output.buffer) ? output.used : output.used - 1] = '\0';
	require_safe(output.buffer);
	for (size_t i = 0; i < output.used; i++) {
		if (output.buffer[i] == '\\')
			i++;
		else
			quotes += output.buffer[i] == '"';
	}
	require(quotes == 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name;

	if (!size || size > 1 << 16)
		return 0;
	name = malloc(size);
	if (!name)
		return 0;
	memcpy(name, data + 1, size - 1);
	name[size - 1] = '\0';
	check_shortened(name, 4 + data[0] % 120);
	check_json(name);
	(void)hawk_function_name_is_plumbing(name);
	free(name);
	return 0;
}
