/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes the page, cut at the mark for its parts, and each part in an element that no browser runs.
 */
#include "hawk/report/html.h"

#include <assert.h>

#include "json/objects.h"
#include "page.h"

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
