/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The program and libraries of the process, and how each was found.
 */
#include "objects.h"
#include "hawk/report/report.h"

const char *hawk_report_origin_name(const struct hawk_module *module)
{
	static const char *const keys[HAWK_MODULE_ORIGINS] = {
		[HAWK_MODULE_BY_MAPPING] = "mapping",
		[HAWK_MODULE_BY_LINK] = "link_map",
		[HAWK_MODULE_BY_AUXV] = "auxv",
		[HAWK_MODULE_BY_HEADER] = "elf_header",
	};

	return keys[module->origin];
}

void hawk_report_json_modules(const struct hawk_report *report, struct hawk_json *json)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(report->target, &count);
	size_t shown = hawk_json_put_list(json, "modules", count);

	for (size_t i = 0; i < shown; i++) {
		const struct hawk_module *module = &modules[i];

		hawk_json_object(json);
		hawk_json_put_string(json, "path", module->path[0] ? module->path : NULL);
		hawk_json_put_address(json, "start", module->start);
		hawk_json_put_address(json, "end", module->end);
		hawk_json_key(json, "build_id");
		hawk_json_bytes(json, module->build_id, module->build_id_bytes);
		hawk_json_put_string(json, "found_by", hawk_report_origin_name(module));
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}
