/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON document of `hawk-core list`. Its prose twin is docs/json.md, its schema
 * docs/schema/list-3.json: change them together, and add keys only.
 */
#include "hawk/report/cores.h"

#include <time.h>

#include "hawk/names/signal.h"
#include "list.h"
#include "objects.h"

enum { DOCUMENT_LINES = 2, TIME_BYTES = 32 };

static const uint64_t NS_PER_S = 1000000000;

static void put_time(uint64_t time_ns, struct hawk_json *json)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	char text[TIME_BYTES];
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts))
		hawk_json_put_null(json, "time");
	else
		hawk_json_put_string(json, "time", text);
}

static void put_known(struct hawk_json *json, const char *key, bool known, bool value)
{
	if (known)
		hawk_json_put_boolean(json, key, value);
	else
		hawk_json_put_null(json, key);
}

static void put_core(const struct hawk_core_entry *entry, struct hawk_json *json)
{
	hawk_json_object(json);
	hawk_json_put_string(json, "path", entry->path);
	put_time(entry->time_ns, json);
	hawk_json_put_integer(json, "file_bytes", entry->file_bytes);
	hawk_json_put_string(json, "program", entry->program[0] ? entry->program : NULL);
	hawk_json_put_integer_if(json, "pid", entry->pid, entry->pid);
	hawk_json_put_signed_if(json, "signal", entry->signal, entry->signal);
	hawk_json_put_string(json, "signal_name", hawk_signal_name(entry->signal));
	put_known(json, "whole", entry->whole != HAWK_CORE_WHOLE_UNKNOWN,
		  entry->whole == HAWK_CORE_WHOLE);
	put_known(json, "traced", entry->modules_known, entry->traced);
	hawk_json_put_string(json, "trouble", entry->trouble);
	hawk_json_object_end(json);
}

void hawk_report_cores_json(const struct hawk_cores_report *report, struct hawk_output *output)
{
	struct hawk_json json;
	size_t shown;

	hawk_json_begin(&json, output, "hawk-core/list", NULL, DOCUMENT_LINES);
	hawk_json_limit(&json, report->top, 0);
	shown = hawk_json_put_list(&json, "cores", report->list->count);
	for (size_t i = 0; i < shown; i++)
		put_core(&report->list->items[i], &json);
	hawk_json_array_end(&json);
	hawk_json_end(&json, NULL, report->findings, hawk_findings_partial(report->findings));
}
