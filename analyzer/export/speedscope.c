/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * speedscope's JSON: a list of frames and, for each column, one "sampled" profile with a weight for
 * each stack. speedscope's own import of pprof would drop inlined functions.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/export/export.h"
#include "hawk/names/function_name.h"
#include "hawk/output/json.h"

enum { DOCUMENT_LINES = 2 };

static void put_frames(const struct hawk_profile *profile, struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text name = {0};

	hawk_json_put_object(json, "shared");
	hawk_json_put_array(json, "frames");
	for (uint32_t i = 1; i < profile->frame_count; i++) {
		const struct hawk_profile_frame *frame = &profile->frames[i];

		hawk_text_clear(&name);
		hawk_profile_append_frame(profile, frame, &name);
		hawk_json_object(json);
		hawk_json_put_string(json, "name", hawk_text_string(&name));
		if (frame->file)
			hawk_json_put_string(json, "file", profile->strings[frame->file]);
		if (frame->line)
			hawk_json_put_integer(json, "line", frame->line);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}

static void put_stack(const struct hawk_profile *profile, const struct hawk_profile_path *path,
		      struct hawk_json *json)
{
	hawk_json_array(json);
	for (size_t i = path->count; i-- > 0;) {
		const struct hawk_profile_location *location =
			&profile->locations[path->locations[i]];

		for (uint32_t j = location->count; j-- > 0;)
			hawk_json_integer(json, profile->frame_numbers[location->first + j] - 1);
	}
	hawk_json_array_end(json);
}

/** Stacks with a positive value, then their values in the same order. */
static struct hawk_error *put_samples(const struct hawk_profile *profile, const int64_t *flat,
				      struct hawk_json *json)
{
	CLEANUP(profile_path) struct hawk_profile_path path = {0};

	hawk_json_put_array(json, "samples");
	for (uint32_t step = 1; step < profile->step_count; step++) {
		if (flat[step] <= 0)
			continue;
		if (!hawk_profile_path_of(profile, step, &path))
			return &hawk_enomem;
		put_stack(profile, &path, json);
	}
	hawk_json_array_end(json);
	hawk_json_put_array(json, "weights");
	for (uint32_t step = 1; step < profile->step_count; step++)
		if (flat[step] > 0)
			hawk_json_integer(json, (uint64_t)flat[step]);
	hawk_json_array_end(json);
	return NULL;
}

static struct hawk_error *put_profile(const struct hawk_profile *profile, uint32_t column,
				      struct hawk_json *json)
{
	bool bytes = !strcmp(profile->columns[column].unit, "bytes");
	CLEANUP(free_ptr) int64_t *flat = NULL;
	struct hawk_error *err = hawk_profile_sums(profile, column, &flat, NULL);
	int64_t end = 0;

	if (err)
		return err;
	for (uint32_t step = 1; step < profile->step_count; step++)
		end = hawk_profile_plus(end, flat[step] > 0 ? flat[step] : 0);
	hawk_json_object(json);
	hawk_json_put_string(json, "type", "sampled");
	hawk_json_put_string(json, "name", profile->columns[column].name);
	hawk_json_put_string(json, "unit", bytes ? "bytes" : "none");
	hawk_json_put_integer(json, "startValue", 0);
	hawk_json_put_integer(json, "endValue", (uint64_t)end);
	err = put_samples(profile, flat, json);
	hawk_json_object_end(json);
	return err;
}

struct hawk_error *hawk_export_speedscope(const struct hawk_export *export,
					  struct hawk_output *output)
{
	const struct hawk_profile *profile = export->profile;
	struct hawk_error *err = NULL;
	struct hawk_json json;

	hawk_json_init(&json, output, DOCUMENT_LINES);
	hawk_json_object(&json);
	hawk_json_put_string(&json, "$schema",
			     "https://www.speedscope.app/file-format-schema.json");
	hawk_json_put_string(&json, "exporter", "hawk-core");
	hawk_json_put_string(&json, "name",
			     export->source ? hawk_path_base(export->source) : "process");
	hawk_json_put_integer(&json, "activeProfileIndex", export->column);
	put_frames(profile, &json);
	hawk_json_put_array(&json, "profiles");
	for (uint32_t i = 0; i < profile->column_count && !err; i++)
		err = put_profile(profile, i, &json);
	hawk_json_array_end(&json);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
	return err;
}
