/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes the page, cut at the mark for its parts, and each part in an element that no browser runs.
 */
#include "hawk/report/html.h"

#include <assert.h>

#include "hawk/target/memory_map.h"
#include "json/objects.h"
#include "page.h"

/** Upper limit on rows of the memory map: more would be too small to see. */
enum { MAP_ROWS = 400 };

static const char *find_mark(void)
{
	const char *mark = strstr(hawk_html_page, HAWK_HTML_MARK);

	assert(mark);
	return mark;
}

void hawk_html_begin(struct hawk_output *output)
{
	hawk_output_append(output, hawk_html_page, (size_t)(find_mark() - hawk_html_page));
}

void hawk_html_end(struct hawk_output *output)
{
	const char *rest = find_mark() + strlen(HAWK_HTML_MARK);

	hawk_output_append(output, rest, (size_t)(hawk_html_page_end - rest));
}

struct hawk_error *hawk_html_part_begin(struct hawk_output *output, const char *name)
{
	struct hawk_error *err;

	hawk_output_printf(output, "<script type=\"text/plain\" data-part=\"%s\">", name);
	err = hawk_output_base64(output);
	return err ? err : hawk_output_gzip(output);
}

void hawk_html_part_end(struct hawk_output *output)
{
	hawk_output_end_filters(output);
	hawk_output_puts(output, "</script>\n");
}

void hawk_html_put_findings(const struct hawk_findings *findings, struct hawk_json *json)
{
	hawk_json_put_findings(json, findings);
}

static void put_row(const struct hawk_map_row *row, struct hawk_json *json)
{
	char rights[] = {row->flags & HAWK_MAPPING_READ ? 'r' : '-',
			 row->flags & HAWK_MAPPING_WRITE ? 'w' : '-',
			 row->flags & HAWK_MAPPING_EXEC ? 'x' : '-', '\0'};

	hawk_json_object(json);
	hawk_json_put_address(json, "start", row->start);
	hawk_json_put_address(json, "end", row->end);
	hawk_json_put_integer(json, "bytes", row->bytes);
	hawk_json_put_integer(json, "present_bytes", row->present_bytes);
	hawk_json_put_string(json, "rights", row->mixed ? NULL : rights);
	hawk_json_put_string(json, "path", row->vdso ? "[vdso]" : row->path);
	hawk_json_put_integer_if(json, "stack_of", row->stack, row->stack ? row->stack->tid : 0);
	hawk_json_object_end(json);
}

struct hawk_error *hawk_html_put_map(const struct hawk_target *target, struct hawk_json *json)
{
	struct hawk_memory_map map;
	struct hawk_error *err = hawk_memory_map_make(target, MAP_ROWS, &map);

	if (err)
		return err;
	hawk_json_put_array(json, "mappings");
	for (size_t i = 0; i < map.count; i++)
		put_row(&map.rows[i], json);
	hawk_json_array_end(json);
	hawk_json_put_integer(json, "mappings_left_out_bytes", map.left_out_bytes);
	hawk_memory_map_deinit(&map);
	return NULL;
}
