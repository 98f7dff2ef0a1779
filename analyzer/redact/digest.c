/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Hashes a report except for the values of some keys. The report is one of ours: a key is a string
 * right before a colon, its value a string or a number.
 */
#include "hawk/redact/digest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* the state in a struct */
#include <xxhash.h>

/* Keys left out: the file's name; data removed on purpose; and figures that change if a page of
 * zeros is a hole in the file, as in one that was compressed. */
static const char *const left_out[] = {
	"source", "arguments", "scanned_bytes", "overhead_bytes", "never_used_bytes",
};

enum place {
	BETWEEN = 0,
	IN_STRING,
	BEHIND_STRING,
	IN_VALUE,        /**< a number left out, or the bytes before a string */
	IN_VALUE_STRING, /**< likewise a string */
};

struct hawk_report_digest {
	XXH3_state_t state;
	enum place place;
	bool escaped;  /**< the byte before was a backslash in a string */
	char word[32]; /**< of the string: its beginning */
	size_t length; /**< of the string, as far as that is below the size of `word` */
};

struct hawk_error *hawk_report_digest_create(struct hawk_report_digest **ret)
{
	struct hawk_report_digest *digest =
		aligned_alloc(_Alignof(struct hawk_report_digest), sizeof(*digest));

	if (!digest)
		return &hawk_enomem;
	memset(digest, 0, sizeof(*digest));
	XXH3_64bits_reset(&digest->state);
	*ret = digest;
	return NULL;
}

static bool is_left_out(const struct hawk_report_digest *digest)
{
	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		if (strlen(left_out[i]) == digest->length &&
		    !memcmp(left_out[i], digest->word, digest->length))
			return true;
	return false;
}

/* Returns true if the byte ends the string it is in. */
static bool ends_string(struct hawk_report_digest *digest, char c)
{
	bool ends = c == '"' && !digest->escaped;

	digest->escaped = c == '\\' && !digest->escaped;
	return ends;
}

static void begin_string(struct hawk_report_digest *digest)
{
	digest->place = IN_STRING;
	digest->escaped = false;
	digest->length = 0;
}

/* Takes one byte. Returns true if it is hashed. */
static bool take(struct hawk_report_digest *digest, char c)
{
	switch (digest->place) {
	case IN_STRING:
		if (ends_string(digest, c))
			digest->place = BEHIND_STRING;
		else if (digest->length < sizeof(digest->word))
			digest->word[digest->length++] = c;
		return true;
	case IN_VALUE_STRING:
		if (ends_string(digest, c))
			digest->place = BETWEEN;
		return false;
	case IN_VALUE:
		if (c == '"') {
			digest->place = IN_VALUE_STRING;
			digest->escaped = false;
		} else if (strchr(",}]\n", c)) {
			digest->place = BETWEEN;
			return true;
		}
		return false;
	case BEHIND_STRING:
		digest->place = c == ':' && is_left_out(digest) ? IN_VALUE : BETWEEN;
		break;
	case BETWEEN:
	default:
		break;
	}
	if (c == '"')
		begin_string(digest);
	return true;
}

void hawk_report_digest_add(struct hawk_report_digest *digest, const char *bytes, size_t size)
{
	size_t run = 0;

	for (size_t i = 0; i < size; i++) {
		if (take(digest, bytes[i]))
			continue;
		XXH3_64bits_update(&digest->state, bytes + run, i - run);
		run = i + 1;
	}
	XXH3_64bits_update(&digest->state, bytes + run, size - run);
}

uint64_t hawk_report_digest_value(const struct hawk_report_digest *digest)
{
	return XXH3_64bits_digest(&digest->state);
}

void hawk_report_digest_destroy(struct hawk_report_digest *digest)
{
	free(digest);
}
