/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A look at a running process, as a line of "hawk-core/watch".
 */
#include "hawk/report/rates.h"

#include "hawk/output/json.h"

static bool changed(const struct hawk_rates *rates, const struct hawk_rate_site *site)
{
	return site->site != UINT32_MAX &&
	       (rates->looks == 1 || site->now.bytes != site->before.bytes ||
		site->now.objects != site->before.objects);
}

static void put_site(const struct hawk_rates_report *report, const struct hawk_rate_site *of,
		     struct hawk_json *json)
{
	const struct hawk_site *site = &report->heap->sites[of->site];
	const struct hawk_site_name *name = hawk_site_name(report->names, of->site);
	const bool live = report->rates->live;

	hawk_json_object(json);
	hawk_json_put_id(json, "site", site->id);
	hawk_json_put_string(json, "function", name->function);
	hawk_json_put_integer_if(json, "inuse_objects", live, site->inuse_objects);
	hawk_json_put_integer_if(json, "inuse_bytes", live, site->inuse_bytes);
	hawk_json_put_integer(json, "alloc_objects", site->alloc_objects);
	hawk_json_put_integer(json, "alloc_bytes", site->alloc_bytes);
	hawk_json_object_end(json);
}

void hawk_report_rates_json(const struct hawk_rates_report *report, struct hawk_output *output)
{
	const struct hawk_rates *rates = report->rates;
	const struct hawk_process *process = hawk_target_process(report->heap->target);
	struct hawk_json json;

	hawk_json_init(&json, output, 0);
	hawk_json_object(&json);
	hawk_json_put_string(&json, "schema", "hawk-core/watch");
	hawk_json_put_integer(&json, "version", 1);
	hawk_json_put_seconds(&json, "unix_seconds", (double)report->time_ns / 1e9);
	hawk_json_put_integer(&json, "pid", process->pid);
	hawk_json_put_string(&json, "name", process->name);
	hawk_json_put_integer(&json, "resident_bytes", process->resident_bytes);
	hawk_json_put_integer(&json, "inuse_objects", rates->all.now.objects);
	hawk_json_put_integer(&json, "inuse_bytes", rates->all.now.bytes);
	hawk_json_put_integer(&json, "alloc_objects", rates->made.objects);
	hawk_json_put_integer(&json, "alloc_bytes", rates->made.bytes);
	hawk_json_put_array(&json, "sites");
	for (size_t i = 0; i < rates->count; i++)
		if (changed(rates, &rates->sites[i]))
			put_site(report, &rates->sites[i], &json);
	hawk_json_array_end(&json);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
}
