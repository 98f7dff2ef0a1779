/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Short forms of long names. The page groups and searches by whole names, and shows short ones.
 */
#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/report/html.h"

/** About as many columns as the terminal's lists give a function. */
enum { SHORT_COLUMNS = 56 };

static void put_name(void *context, const char *name)
{
	static const char vtable[] = "vtable for "; // types are named by what follows
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_json *json = context;

	if (!strncmp(name, vtable, sizeof(vtable) - 1))
		name += sizeof(vtable) - 1;
	if (name[0] == '/' || (!strchr(name, '<') && !strstr(name, "::")))
		return;
	hawk_function_name_append(&text, name, SHORT_COLUMNS);
	if (text.failed || !strcmp(hawk_text_string(&text), name))
		return;
	hawk_json_array(json);
	hawk_json_string(json, name);
	hawk_json_string(json, text.bytes);
	hawk_json_array_end(json);
}

void hawk_html_put_names(const struct hawk_symbols *symbols, struct hawk_json *json)
{
	hawk_json_put_array(json, "names");
	hawk_symbols_each_string(symbols, put_name, json);
	hawk_json_array_end(json);
}
