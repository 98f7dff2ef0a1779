/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Hashes a report but for the values of some keys. The report is one of ours: keys are followed by a
 * colon, and strings are escaped.
 */
#include "hawk/travel/redact.h"

#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* the state on the stack */
#include <xxhash.h>

/* Of the file and not of the process, or what is gone on purpose. */
static const char *const left_out[] = {"\"source\":", "\"arguments\":", "\"scanned_bytes\":"};

/* The end of the key at `at`, or NULL if it is none of them. */
static const char *end_of_key(const char *at, const char *end)
{
	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++) {
		size_t length = strlen(left_out[i]);

		if ((size_t)(end - at) >= length && !memcmp(at, left_out[i], length))
			return at + length;
	}
	return NULL;
}

static const char *end_of_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\';
	return at < end ? at + 1 : end;
}

/* Of a string or a number. */
static const char *end_of_value(const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	if (at < end && *at == '"')
		return end_of_string(at, end);
	while (at < end && !strchr(",}]\n", *at))
		at++;
	return at;
}

uint64_t hawk_redact_digest(const char *json, size_t size)
{
	const char *end = json + size, *from = json, *at = json;
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	while (at < end) {
		const char *value = *at == '"' ? end_of_key(at, end) : NULL;

		if (*at != '"') {
			at++;
		} else if (!value) {
			at = end_of_string(at, end);
		} else {
			XXH3_64bits_update(&state, from, (size_t)(value - from));
			from = at = end_of_value(value, end);
		}
	}
	XXH3_64bits_update(&state, from, (size_t)(end - from));
	return XXH3_64bits_digest(&state);
}
