/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Functions, files or modules with their flat and cumulative sums.
 */
#include "hawk/report/report.h"
#include "objects.h"

static void put_value(const struct hawk_profile *profile, const char *key, const char *column,
		      const int64_t *values, struct hawk_json *json)
{
	uint32_t number = hawk_profile_column(profile, column);

	hawk_json_put_signed_if(json, key, number != UINT32_MAX,
				number != UINT32_MAX ? values[number] : 0);
}

static void put_counts(const struct hawk_profile *profile, const char *key, uint32_t samples,
		       const int64_t *values, struct hawk_json *json)
{
	hawk_json_put_object(json, key);
	hawk_json_put_integer(json, "sites", samples);
	put_value(profile, "inuse_objects", "inuse_objects", values, json);
	put_value(profile, "inuse_bytes", "inuse_space", values, json);
	put_value(profile, "alloc_objects", "alloc_objects", values, json);
	put_value(profile, "alloc_bytes", "alloc_space", values, json);
	hawk_json_object_end(json);
}

static void put_text(const struct hawk_profile *profile, const char *key, uint32_t string,
		     struct hawk_json *json)
{
	hawk_json_put_string(json, key, string ? hawk_profile_text(profile, string) : NULL);
}

void hawk_report_json_groups(const struct hawk_report *report, struct hawk_json *json)
{
	const struct hawk_profile *profile = report->profile;
	const struct hawk_profile_groups *groups = report->groups;
	size_t end;

	hawk_json_put_string(json, "by", hawk_profile_by_name(groups->by));
	end = hawk_json_put_list(json, "groups", groups->count);
	for (size_t i = 0; i < end; i++) {
		const struct hawk_profile_group *group = &groups->items[i];

		hawk_json_object(json);
		put_text(profile, "name", group->name, json);
		put_text(profile, "module", group->module, json);
		put_counts(profile, "flat", group->flat_samples, group->flat, json);
		put_counts(profile, "cum", group->cum_samples, group->cum, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}
