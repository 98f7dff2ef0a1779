/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows for a database: one JSON object a line for each sample, with its origin.
 * docs/schema/row-1.json describes a row.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <xxhash.h>

#include "hawk/base/cleanup.h"
#include "hawk/export/export.h"
#include "hawk/heap/heap.h"
#include "hawk/names/function_name.h"
#include "hawk/output/json.h"
#include "roles.h"

enum { NS_PER_SECOND = 1000000000, TIME_BYTES = 64 };

/** Fields common to all rows. */
struct common {
	uint64_t snapshot;
	char time[TIME_BYTES]; /**< RFC 3339, UTC; "" = not known */
	const char *service;
	const char *build_id; /**< "" = not known */
};

const char *hawk_export_build_id(const struct hawk_profile *profile)
{
	for (uint32_t i = 1; i < profile->module_count; i++)
		if (profile->modules[i].main)
			return profile->strings[profile->modules[i].build_id];
	return "";
}

/** Returns the snapshot's id. Leaves out the core file's time, as copying changes it. */
uint64_t hawk_export_snapshot_id(const struct hawk_export *export)
{
	const char *build_id = hawk_export_build_id(export->profile);
	const struct hawk_heap *heap = export->heap;
	const struct hawk_table_header *header =
		heap->table ? hawk_table_header(heap->table) : NULL;
	const uint64_t identity[] = {
		export->process->pid,
		header ? header->pid : 0,
		header ? header->start_realtime_ns : 0,
		header ? header->start_monotonic_ns : 0,
		header ? header->clock_units : 0,
		export->process->live ? export->end_ns : 0,
		heap->totals.alloc_objects,
		heap->totals.alloc_bytes,
		heap->sums.blocks,
		heap->sums.bytes,
	};

	return XXH3_64bits_withSeed(build_id, strlen(build_id),
				    XXH3_64bits(identity, sizeof(identity)));
}

static void set_time(struct common *common, uint64_t end_ns)
{
	time_t seconds = (time_t)(end_ns / NS_PER_SECOND);
	struct tm parts;
	size_t size;

	if (!end_ns || !gmtime_r(&seconds, &parts))
		return;
	size = strftime(common->time, sizeof(common->time), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(common->time + size, sizeof(common->time) - size, ".%09" PRIu64 "Z",
		 end_ns % NS_PER_SECOND);
}

static struct common common_of(const struct hawk_export *export)
{
	struct common common = {
		.service = hawk_path_base(export->process->program),
		.build_id = hawk_export_build_id(export->profile),
	};

	if (!common.service[0])
		common.service = export->process->name;
	common.snapshot = hawk_export_snapshot_id(export);
	set_time(&common, export->end_ns);
	return common;
}

static const char *text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static void put_common(struct hawk_json *json, const struct hawk_export *export,
		       const struct common *common)
{
	hawk_json_put_id(json, "snapshot_id", common->snapshot);
	hawk_json_put_string(json, "time", text_or_null(common->time));
	hawk_json_put_null(json, "host");
	hawk_json_put_string(json, "service", text_or_null(common->service));
	hawk_json_put_string(json, "build_id", text_or_null(common->build_id));
	hawk_json_put_seconds_if(json, "uptime_seconds", export->life_ns != 0,
				 (double)export->life_ns / NS_PER_SECOND);
	hawk_json_put_string(json, "what", export->profile->what);
}

/** Writes function names, the root first. */
static bool put_stack(struct hawk_json *json, const struct hawk_profile *profile,
		      const struct hawk_profile_path *path)
{
	CLEANUP(text) struct hawk_text name = {0};

	hawk_json_put_array(json, "stack");
	for (size_t i = path->count; i-- > 0;)
		for (uint32_t j = profile->locations[path->locations[i]].count; j-- > 0;) {
			hawk_text_clear(&name);
			hawk_profile_append_frame(
				profile,
				hawk_profile_location_frame(profile, path->locations[i], j), &name);
			hawk_json_string(json, hawk_text_string(&name));
		}
	hawk_json_array_end(json);
	return !name.failed;
}

static void put_values(struct hawk_json *json, const struct hawk_profile *profile,
		       const struct hawk_export_roles *roles, size_t number)
{
	static const struct {
		const char *key;
		enum hawk_export_role role;
	} members[] = {
		{"inuse_objects", HAWK_EXPORT_OBJECTS},
		{"inuse_bytes", HAWK_EXPORT_BYTES},
		{"alloc_objects", HAWK_EXPORT_ALLOC_OBJECTS},
		{"alloc_bytes", HAWK_EXPORT_ALLOC_BYTES},
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		hawk_json_put_signed_if(
			json, members[i].key, hawk_export_has_role(roles, members[i].role),
			hawk_export_role_value(profile, roles, number, members[i].role));
}

struct hawk_error *hawk_export_ndjson(const struct hawk_export *export, struct hawk_output *output)
{
	const struct hawk_profile *profile = export->profile;
	struct common common = common_of(export);
	CLEANUP(profile_path) struct hawk_profile_path path = {0};
	CLEANUP(free_ptr) uint64_t *signatures = NULL;
	struct hawk_error *err = hawk_profile_signatures(profile, true, &signatures);

	for (size_t i = 0; i < profile->sample_count && !err; i++) {
		const struct hawk_profile_sample *sample = &profile->samples[i];
		const char *site = profile->strings[sample->labels.site];
		const char *verdict = profile->strings[sample->labels.kind];
		struct hawk_export_roles roles = hawk_export_roles_of_kind(profile, verdict);
		struct hawk_json json;

		hawk_json_init(&json, output, 0);
		hawk_json_object(&json);
		put_common(&json, export, &common);
		hawk_json_put_string(&json, "site", text_or_null(site));
		hawk_json_put_id(&json, "signature", signatures[sample->step]);
		if (!hawk_profile_path_of(profile, sample->step, &path) ||
		    !put_stack(&json, profile, &path))
			err = &hawk_enomem;
		put_values(&json, profile, &roles, i);
		hawk_json_put_string(&json, "verdict", text_or_null(verdict));
		hawk_json_object_end(&json);
		hawk_json_finish(&json);
	}
	return err;
}
