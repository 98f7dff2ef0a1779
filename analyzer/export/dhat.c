/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * DHAT's JSON, version 2: a "program point" for each stack, the innermost frame first. dh_view.html
 * refuses repeated stacks, so values are given by step.
 *
 * "t-gmax" and the maxima are the values at the end, as the course of time is unknown; lifetimes
 * are 0. Without counters, allocated memory equals live memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/export/export.h"
#include "hawk/output/json.h"
#include "roles.h"
#include "valgrind_frame.h"

enum { VERSION = 2, DOCUMENT_LINES = 2, NS_PER_US = 1000, SHORT_LIVED_US = 500 };

struct writer {
	const struct hawk_profile *profile;
	struct hawk_json json;
	int64_t *values[HAWK_EXPORT_ROLES]; /**< by step */
};

static void put_head(struct hawk_json *json, const struct hawk_export *export)
{
	uint64_t life_us = export->life_ns / NS_PER_US;

	hawk_json_put_integer(json, "dhatFileVersion", VERSION);
	hawk_json_put_string(json, "mode", "heap");
	hawk_json_put_string(json, "verb", "Allocated");
	hawk_json_put_boolean(json, "bklt", true);
	hawk_json_put_boolean(json, "bkacc", false);
	hawk_json_put_string(json, "tu", "µs");
	hawk_json_put_string(json, "Mtu", "s");
	hawk_json_put_integer(json, "tuth", SHORT_LIVED_US);
	hawk_json_put_string(json, "cmd", export->process->program);
	hawk_json_put_integer(json, "pid", export->process->pid);
	hawk_json_put_integer(json, "te", life_us);
	hawk_json_put_integer(json, "tg", life_us);
}

/** Number 0 of the table is "[root]", so that frame `n` of the profile's list is number `n` + 1. */
static void put_frame_numbers(struct writer *writer, const struct hawk_profile_path *path)
{
	hawk_json_put_array(&writer->json, "fs");
	for (size_t i = 0; i < path->count; i++) {
		const struct hawk_profile_location *location =
			&writer->profile->locations[path->locations[i]];

		for (uint32_t j = 0; j < location->count; j++)
			hawk_json_integer(&writer->json, location->first + j + 1);
	}
	hawk_json_array_end(&writer->json);
}

static void put_point(struct writer *writer, uint32_t step, const struct hawk_profile_path *path)
{
	static const struct {
		const char *key;
		enum hawk_export_role role;
	} members[] = {
		{"tb", HAWK_EXPORT_ALLOC_BYTES}, {"tbk", HAWK_EXPORT_ALLOC_OBJECTS},
		{"mb", HAWK_EXPORT_BYTES},       {"mbk", HAWK_EXPORT_OBJECTS},
		{"gb", HAWK_EXPORT_BYTES},       {"gbk", HAWK_EXPORT_OBJECTS},
		{"eb", HAWK_EXPORT_BYTES},       {"ebk", HAWK_EXPORT_OBJECTS},
	};

	hawk_json_object(&writer->json);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		int64_t value = writer->values[members[i].role][step];

		hawk_json_put_integer(&writer->json, members[i].key,
				      value > 0 ? (uint64_t)value : 0);
	}
	hawk_json_put_integer(&writer->json, "tl", 0);
	put_frame_numbers(writer, path);
	hawk_json_object_end(&writer->json);
}

static bool has_value(const struct writer *writer, uint32_t step)
{
	for (unsigned i = 0; i < HAWK_EXPORT_ROLES; i++)
		if (writer->values[i][step] > 0)
			return true;
	return false;
}

static struct hawk_error *put_points(struct writer *writer)
{
	CLEANUP(profile_path) struct hawk_profile_path path = {0};

	hawk_json_put_array(&writer->json, "pps");
	for (uint32_t step = 1; step < writer->profile->step_count; step++) {
		if (!has_value(writer, step))
			continue;
		if (!hawk_profile_path_of(writer->profile, step, &path))
			return &hawk_enomem;
		put_point(writer, step, &path);
	}
	hawk_json_array_end(&writer->json);
	return NULL;
}

static struct hawk_error *put_frames(struct writer *writer)
{
	const struct hawk_profile *profile = writer->profile;
	CLEANUP(text) struct hawk_text text = {0};
	uint32_t written = 0;

	hawk_json_put_array(&writer->json, "ftbl");
	hawk_json_string(&writer->json, "[root]");
	for (uint32_t i = 1; i < profile->location_count; i++) {
		assert(profile->locations[i].first == written);
		for (uint32_t j = 0; j < profile->locations[i].count; j++, written++) {
			hawk_text_clear(&text);
			hawk_export_append_valgrind_frame(profile, i, j, &text);
			if (text.failed)
				return &hawk_enomem;
			hawk_json_string(&writer->json, hawk_text_string(&text));
		}
	}
	hawk_json_array_end(&writer->json);
	return NULL;
}

static struct hawk_error *fill_values(struct writer *writer)
{
	struct hawk_export_roles roles = hawk_export_roles_of(writer->profile);
	struct hawk_error *err = NULL;

	if (!hawk_export_has_role(&roles, HAWK_EXPORT_ALLOC_BYTES)) {
		roles.columns[HAWK_EXPORT_ALLOC_BYTES] = roles.columns[HAWK_EXPORT_BYTES];
		roles.columns[HAWK_EXPORT_ALLOC_OBJECTS] = roles.columns[HAWK_EXPORT_OBJECTS];
	}
	for (unsigned i = 0; i < HAWK_EXPORT_ROLES && !err; i++)
		err = hawk_export_role_sums(writer->profile, &roles, i, &writer->values[i]);
	return err;
}

struct hawk_error *hawk_export_dhat(const struct hawk_export *export, struct hawk_output *output)
{
	struct writer writer = {.profile = export->profile};
	struct hawk_error *err = fill_values(&writer);

	hawk_json_init(&writer.json, output, DOCUMENT_LINES);
	hawk_json_object(&writer.json);
	put_head(&writer.json, export);
	if (!err)
		err = put_points(&writer);
	if (!err)
		err = put_frames(&writer);
	if (!err) {
		hawk_json_object_end(&writer.json);
		hawk_json_finish(&writer.json);
	}
	for (unsigned i = 0; i < HAWK_EXPORT_ROLES; i++)
		free(writer.values[i]);
	return err;
}
