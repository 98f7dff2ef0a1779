/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Embeds source files in the page, only on request: they belong to the user of hawk-core.
 */
#include "hawk/base/cleanup.h"
#include "hawk/report/html.h"

enum { TEXTS_BYTES_MAX = 32 << 20 };

static void put_file(const struct hawk_profile *profile, const struct hawk_source_unit *unit,
		     const struct hawk_source_text *text, struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text path = {0};

	hawk_source_append_path(profile, unit, &path);
	hawk_json_object(json);
	hawk_json_put_string(json, "path", hawk_text_string(&path));
	hawk_json_put_boolean(json, "newer", text->newer || text->too_short);
	hawk_json_put_string(json, "text", text->file.text);
	hawk_json_object_end(json);
}

/** Adds the bytes of the file to `*used`; leaves out a file that would exceed the limit. */
static struct hawk_error *put_unit(const struct hawk_source_listing *listing,
				   const struct hawk_source_unit *unit, size_t *used,
				   struct hawk_json *json)
{
	struct hawk_source_text text;
	struct hawk_error *err = hawk_source_text_open(listing, unit, &text);

	if (err)
		return err;
	if (text.file.text && text.file.bytes > TEXTS_BYTES_MAX - *used) {
		hawk_findings_add(listing->findings, HAWK_FINDING_MISSING, false,
				  "source-too-large",
				  "%s is not in the page: all sources would be more than %d MiB",
				  text.file.path, TEXTS_BYTES_MAX >> 20);
	} else if (text.file.text) {
		*used += text.file.bytes;
		put_file(listing->profile, unit, &text, json);
	}
	hawk_source_file_deinit(&text.file);
	return NULL;
}

struct hawk_error *hawk_html_sources(const struct hawk_source_listing *listing,
				     struct hawk_output *output)
{
	const struct hawk_source_lines *lines = listing->lines;
	struct hawk_json json;
	size_t used = 0;
	struct hawk_error *err = hawk_html_part_begin(output, "sources");

	if (err)
		return err;
	hawk_json_init(&json, output, 2);
	hawk_json_object(&json);
	hawk_json_put_array(&json, "files");
	for (size_t i = 0; i < lines->unit_count && !err; i++)
		if (lines->units[i].file)
			err = put_unit(listing, &lines->units[i], &used, &json);
	hawk_json_array_end(&json);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
	hawk_html_part_end(output);
	return err;
}
