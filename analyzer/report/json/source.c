/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Source lines with the memory that they allocate.
 */
#include "hawk/report/source.h"

#include "hawk/base/cleanup.h"
#include "objects.h"

enum { DOCUMENT_LINES = 4 };

static const char *known(const struct hawk_profile *profile, uint32_t string)
{
	return string ? hawk_profile_text(profile, string) : NULL;
}

static void put_sums(struct hawk_json *json, const char *key, const uint64_t inuse[2],
		     const uint64_t alloc[2], bool has_alloc)
{
	hawk_json_put_object(json, key);
	hawk_json_put_integer(json, "inuse_objects", inuse[0]);
	hawk_json_put_integer(json, "inuse_bytes", inuse[1]);
	hawk_json_put_integer_if(json, "alloc_objects", has_alloc, alloc[0]);
	hawk_json_put_integer_if(json, "alloc_bytes", has_alloc, alloc[1]);
	hawk_json_object_end(json);
}

static void put_values(const struct hawk_profile *profile, const struct hawk_source_values *from,
		       struct hawk_json *json)
{
	struct hawk_source_sums values = hawk_source_sums_of(profile, from);

	put_sums(json, "flat", (uint64_t[]){values.flat_objects, values.flat_bytes},
		 (uint64_t[]){values.flat_alloc_objects, values.flat_alloc_bytes},
		 values.has_alloc);
	put_sums(json, "cum", (uint64_t[]){values.cum_objects, values.cum_bytes},
		 (uint64_t[]){values.cum_alloc_objects, values.cum_alloc_bytes}, values.has_alloc);
}

static void put_line(const struct hawk_profile *profile, struct hawk_source_file *file,
		     const struct hawk_source_line *line, struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text text = {0};
	size_t bytes;
	const char *code = hawk_source_file_line(file, line->number, &bytes);

	if (code)
		hawk_text_append(&text, code, bytes);
	hawk_json_object(json);
	hawk_json_put_integer_if(json, "line", line->number, line->number);
	hawk_json_put_string(json, "text", code ? hawk_text_string(&text) : NULL);
	put_values(profile, &line->values, json);
	hawk_json_object_end(json);
}

static void put_function(const struct hawk_source_listing *listing,
			 const struct hawk_source_unit *unit, struct hawk_source_text *text,
			 struct hawk_json *json)
{
	const struct hawk_profile *profile = listing->profile;

	hawk_json_object(json);
	hawk_json_put_string(json, "function", known(profile, unit->function));
	hawk_json_put_string(json, "module", known(profile, profile->modules[unit->module].path));
	hawk_json_put_string(json, "file", known(profile, unit->file));
	hawk_json_put_string(json, "found", text->file.path);
	hawk_json_put_boolean(json, "newer", text->newer);
	put_values(profile, &unit->values, json);
	hawk_json_put_array(json, "lines");
	for (size_t i = 0; i < unit->count; i++)
		put_line(profile, &text->file, &listing->lines->lines[unit->first + i], json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}

static struct hawk_error *put_functions(const struct hawk_source_report *report,
					struct hawk_json *json)
{
	const struct hawk_source_lines *lines = report->listing.lines;
	size_t end = hawk_json_put_list(json, "functions", lines->unit_count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < end && !err; i++) {
		struct hawk_source_text text;

		err = hawk_source_text_open(&report->listing, &lines->units[i], &text);
		if (err)
			break;
		put_function(&report->listing, &lines->units[i], &text, json);
		hawk_source_file_deinit(&text.file);
	}
	hawk_json_array_end(json);
	return err;
}

struct hawk_error *hawk_report_source_json(const struct hawk_source_report *report,
					   struct hawk_output *output)
{
	struct hawk_error *err = NULL;
	struct hawk_json json;

	hawk_report_json_begin(report->pointers, &json, output, "hawk-core/source", DOCUMENT_LINES);
	if (report->pointers->heap->knows)
		err = put_functions(report, &json);
	else
		hawk_json_put_no_list(&json, "functions");
	hawk_report_json_end(report->pointers, &json);
	return err;
}
