/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The streaming JSON writer.
 */
#include "hawk/output/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hawk/base/utf8.h"

void hawk_json_init(struct hawk_json *json, struct hawk_output *output, unsigned lines)
{
	*json = (struct hawk_json){.output = output, .lines = lines};
}

/** Writes the comma and the line break before an element. */
static void begin_element(struct hawk_json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->depth == 0)
		return;
	if (json->filled[json->depth - 1])
		hawk_output_append(json->output, ",", 1);
	json->filled[json->depth - 1] = true;
	if (json->depth <= json->lines)
		hawk_output_append(json->output, "\n", 1);
}

static void open_container(struct hawk_json *json, char bracket)
{
	begin_element(json);
	assert(json->depth < HAWK_JSON_DEPTH_MAX);
	hawk_output_append(json->output, &bracket, 1);
	json->filled[json->depth++] = false;
}

static void close_container(struct hawk_json *json, char bracket)
{
	assert(json->depth > 0 && !json->after_key);
	json->depth--;
	if (json->filled[json->depth] && json->depth < json->lines)
		hawk_output_append(json->output, "\n", 1);
	hawk_output_append(json->output, &bracket, 1);
}

void hawk_json_object(struct hawk_json *json)
{
	open_container(json, '{');
}

void hawk_json_object_end(struct hawk_json *json)
{
	close_container(json, '}');
}

void hawk_json_array(struct hawk_json *json)
{
	open_container(json, '[');
}

void hawk_json_array_end(struct hawk_json *json)
{
	close_container(json, ']');
}

void hawk_json_key(struct hawk_json *json, const char *key)
{
	begin_element(json);
	hawk_output_append(json->output, "\"", 1);
	hawk_output_puts(json->output, key);
	hawk_output_append(json->output, "\":", 2);
	json->after_key = true;
}

/** The escape for one character of a string. */
struct escape {
	char text[8]; /**< "" at the end of the string */
};

static void set_escape(struct escape *escape, uint32_t character)
{
	if (character == '"' || character == '\\')
		snprintf(escape->text, sizeof(escape->text), "\\%c", (char)character);
	else if (character == '\n' || character == '\t')
		strcpy(escape->text, character == '\n' ? "\\n" : "\\t");
	else // characters that steer a terminal need no more digits
		snprintf(escape->text, sizeof(escape->text), "\\u%04x", character & 0xffff);
}

/** Sets `*plain` to the bytes at `string` that need no change, and `escape` to the following
 * character's escape. Returns the address behind it. */
static const char *read_piece(const char *string, size_t *plain, struct escape *escape)
{
	const char *at = string;

	escape->text[0] = '\0';
	while (*at) {
		size_t size = hawk_utf8_length(at);
		/* An escape gives the same string, and is safe wherever the document is shown. */
		uint32_t steering = size ? hawk_utf8_steering(at, size) : 0;

		if (!size || steering || *at == '"' || *at == '\\') {
			*plain = (size_t)(at - string);
			if (size)
				set_escape(escape, steering ? steering : (uint32_t)*at);
			else
				strcpy(escape->text, "\xef\xbf\xbd");
			return at + (size ? size : 1);
		}
		at += size;
	}
	*plain = (size_t)(at - string);
	return at;
}

void hawk_json_string(struct hawk_json *json, const char *string)
{
	struct escape escape;
	size_t plain;

	if (!string) {
		hawk_json_null(json);
		return;
	}
	begin_element(json);
	hawk_output_append(json->output, "\"", 1);
	while (*string) {
		const char *behind = read_piece(string, &plain, &escape);

		hawk_output_append(json->output, string, plain);
		hawk_output_puts(json->output, escape.text);
		string = behind;
	}
	hawk_output_append(json->output, "\"", 1);
}

void hawk_json_integer(struct hawk_json *json, uint64_t value)
{
	char digits[HAWK_DECIMAL_MAX];

	begin_element(json);
	hawk_output_append(json->output, digits,
			   (size_t)(hawk_format_decimal(digits, value) - digits));
}

void hawk_json_signed(struct hawk_json *json, int64_t value)
{
	begin_element(json);
	hawk_output_printf(json->output, "%lld", (long long)value);
}

void hawk_json_boolean(struct hawk_json *json, bool value)
{
	begin_element(json);
	hawk_output_puts(json->output, value ? "true" : "false");
}

void hawk_json_null(struct hawk_json *json)
{
	begin_element(json);
	hawk_output_puts(json->output, "null");
}

void hawk_json_id(struct hawk_json *json, uint64_t id)
{
	begin_element(json);
	hawk_output_printf(json->output, "\"%016llx\"", (unsigned long long)id);
}

void hawk_json_address(struct hawk_json *json, uint64_t address)
{
	char text[HAWK_HEX_MAX + 4] = "\"0x";
	char *end;

	begin_element(json);
	end = hawk_format_hex(text + 3, address);
	*end++ = '"';
	hawk_output_append(json->output, text, (size_t)(end - text));
}

void hawk_json_seconds(struct hawk_json *json, double seconds)
{
	if (!isfinite(seconds)) {
		hawk_json_null(json);
		return;
	}
	begin_element(json);
	hawk_output_printf(json->output, "%.3f", seconds);
}

void hawk_json_bytes(struct hawk_json *json, const uint8_t *bytes, uint32_t count)
{
	if (!count) {
		hawk_json_null(json);
		return;
	}
	begin_element(json);
	hawk_output_append(json->output, "\"", 1);
	for (uint32_t i = 0; i < count; i++) {
		const char pair[2] = {"0123456789abcdef"[bytes[i] >> 4],
				      "0123456789abcdef"[bytes[i] & 15]};

		hawk_output_append(json->output, pair, sizeof(pair));
	}
	hawk_output_append(json->output, "\"", 1);
}

void hawk_json_put_object(struct hawk_json *json, const char *key)
{
	hawk_json_key(json, key);
	hawk_json_object(json);
}

void hawk_json_put_array(struct hawk_json *json, const char *key)
{
	hawk_json_key(json, key);
	hawk_json_array(json);
}

void hawk_json_put_null(struct hawk_json *json, const char *key)
{
	hawk_json_key(json, key);
	hawk_json_null(json);
}

void hawk_json_put_string(struct hawk_json *json, const char *key, const char *string)
{
	hawk_json_key(json, key);
	hawk_json_string(json, string);
}

void hawk_json_put_integer(struct hawk_json *json, const char *key, uint64_t value)
{
	hawk_json_key(json, key);
	hawk_json_integer(json, value);
}

void hawk_json_put_boolean(struct hawk_json *json, const char *key, bool value)
{
	hawk_json_key(json, key);
	hawk_json_boolean(json, value);
}

void hawk_json_put_address(struct hawk_json *json, const char *key, uint64_t address)
{
	hawk_json_key(json, key);
	hawk_json_address(json, address);
}

void hawk_json_put_seconds(struct hawk_json *json, const char *key, double seconds)
{
	hawk_json_key(json, key);
	hawk_json_seconds(json, seconds);
}

void hawk_json_put_id(struct hawk_json *json, const char *key, uint64_t id)
{
	hawk_json_key(json, key);
	hawk_json_id(json, id);
}

void hawk_json_put_integer_if(struct hawk_json *json, const char *key, bool known, uint64_t value)
{
	hawk_json_key(json, key);
	known ? hawk_json_integer(json, value) : hawk_json_null(json);
}

void hawk_json_put_signed_if(struct hawk_json *json, const char *key, bool known, int64_t value)
{
	hawk_json_key(json, key);
	known ? hawk_json_signed(json, value) : hawk_json_null(json);
}

void hawk_json_put_address_if(struct hawk_json *json, const char *key, bool known, uint64_t address)
{
	hawk_json_key(json, key);
	known ? hawk_json_address(json, address) : hawk_json_null(json);
}

void hawk_json_put_seconds_if(struct hawk_json *json, const char *key, bool known, double seconds)
{
	hawk_json_put_seconds(json, key, known ? seconds : (double)NAN);
}

void hawk_json_finish(struct hawk_json *json)
{
	assert(json->depth == 0);
	hawk_output_append(json->output, "\n", 1);
}
