/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A streaming JSON writer; keeps only the nesting.
 *
 * Output is always valid UTF-8: invalid bytes become U+FFFD, control characters are escaped.
 * Addresses are "0x..." strings, because JavaScript's numbers end at 2^53. Keys are hawk-core's own
 * and are written unchanged. Containers in the first `lines` levels put each element on its own
 * line, for line tools.
 */
#ifndef HAWK_ANALYZER_OUTPUT_JSON_H
#define HAWK_ANALYZER_OUTPUT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "hawk/base/text.h"
#include "hawk/output/output.h"

enum { HAWK_JSON_DEPTH_MAX = 32 };

struct hawk_json {
	struct hawk_output *output;
	unsigned depth;
	unsigned lines;
	bool after_key;
	bool filled[HAWK_JSON_DEPTH_MAX]; /**< the container at this depth has an element */
	struct hawk_json_frames *frames;  /**< the document's (report/json/frames.h); NULL = none */
	/** Entries of lists, lines of stacks, steps of paths (report/json/list.h); 0 = all. */
	size_t list_max, stack_max, path_max;
};

void hawk_json_init(struct hawk_json *json, struct hawk_output *output, unsigned lines);

void hawk_json_object(struct hawk_json *json);
void hawk_json_object_end(struct hawk_json *json);
void hawk_json_array(struct hawk_json *json);
void hawk_json_array_end(struct hawk_json *json);

/** `key` is plain ASCII without quotes and backslashes; the next call writes its value. */
void hawk_json_key(struct hawk_json *json, const char *key);

/** `string` may hold any bytes; NULL writes null. */
void hawk_json_string(struct hawk_json *json, const char *string);
void hawk_json_integer(struct hawk_json *json, uint64_t value);
void hawk_json_signed(struct hawk_json *json, int64_t value);
void hawk_json_boolean(struct hawk_json *json, bool value);
void hawk_json_null(struct hawk_json *json);
/** A site's id: 16 hex digits. */
void hawk_json_id(struct hawk_json *json, uint64_t id);
/** "0x..." */
void hawk_json_address(struct hawk_json *json, uint64_t address);
/** Fixed point with three digits; null unless finite. */
void hawk_json_seconds(struct hawk_json *json, double seconds);
/** Lower-case hex digits of bytes (a build-id); null for no bytes. */
void hawk_json_bytes(struct hawk_json *json, const uint8_t *bytes, uint32_t count);

/** Key and value in one; the container stays open. */
void hawk_json_put_object(struct hawk_json *json, const char *key);
void hawk_json_put_array(struct hawk_json *json, const char *key);
void hawk_json_put_null(struct hawk_json *json, const char *key);
void hawk_json_put_string(struct hawk_json *json, const char *key, const char *string);
void hawk_json_put_integer(struct hawk_json *json, const char *key, uint64_t value);
void hawk_json_put_boolean(struct hawk_json *json, const char *key, bool value);
void hawk_json_put_address(struct hawk_json *json, const char *key, uint64_t address);
void hawk_json_put_seconds(struct hawk_json *json, const char *key, double seconds);
void hawk_json_put_id(struct hawk_json *json, const char *key, uint64_t id);

/** Key and value, or null unless `known`. */
void hawk_json_put_integer_if(struct hawk_json *json, const char *key, bool known, uint64_t value);
void hawk_json_put_signed_if(struct hawk_json *json, const char *key, bool known, int64_t value);
void hawk_json_put_address_if(struct hawk_json *json, const char *key, bool known,
			      uint64_t address);
void hawk_json_put_seconds_if(struct hawk_json *json, const char *key, bool known, double seconds);

/** Ends the document with one newline. */
void hawk_json_finish(struct hawk_json *json);

#endif
