/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The schema of a site as JSON.
 */
#include "hawk/base/cleanup.h"
#include "objects.h"
#include "hawk/report/schema.h"

static void put_name(const struct hawk_schema_report *report, const struct hawk_schema_word *of,
		     struct hawk_word word, struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text name = {0};

	hawk_schema_append_value(report->pointers, of, word, SIZE_MAX, &name);
	hawk_json_put_string(json, "class", hawk_word_class_name(word.class));
	hawk_json_put_string(json, "name", name.bytes);
}

static void put_value(const struct hawk_schema_report *report, const struct hawk_schema_word *of,
		      const struct hawk_schema_value *value, struct hawk_json *json)
{
	struct hawk_word word = value->word;
	bool one = word.key != HAWK_SCHEMA_OTHERS;
	bool block = one && word.class >= HAWK_WORD_BLOCK && word.class <= HAWK_WORD_END;

	hawk_json_object(json);
	put_name(report, of, word, json);
	hawk_json_put_site(json, "site", report->pointers->heap,
			   block ? (uint32_t)word.key : UINT32_MAX);
	hawk_json_put_signed_if(json, "value", one && word.class == HAWK_WORD_INTEGER,
				(int64_t)word.key);
	hawk_json_put_integer(json, "count", value->count);
	hawk_json_object_end(json);
}

static void put_word(const struct hawk_schema_report *report, uint32_t index,
		     const struct hawk_schema_word *word, struct hawk_json *json)
{
	bool integers = word->integer_min <= word->integer_max;
	size_t end;

	hawk_json_object(json);
	hawk_json_put_integer(json, "offset", (uint64_t)index * sizeof(uint64_t));
	hawk_json_put_integer(json, "count", word->count);
	hawk_json_put_signed_if(json, "integer_min", integers, word->integer_min);
	hawk_json_put_signed_if(json, "integer_max", integers, word->integer_max);
	hawk_json_put_integer_if(json, "text_min", word->text_max, word->text_min);
	hawk_json_put_integer_if(json, "text_max", word->text_max, word->text_max);
	end = hawk_json_put_list(json, "values", word->value_count);
	for (size_t i = 0; i < end; i++)
		put_value(report, word, &word->values[i], json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}

static void put_outlier(const struct hawk_schema_report *report,
			const struct hawk_schema_outlier *outlier, struct hawk_json *json)
{
	hawk_json_object(json);
	hawk_report_json_block(report->pointers, outlier->block, json);
	hawk_json_put_integer(json, "misfits", outlier->misfit_count);
	hawk_json_put_seconds(json, "bits", outlier->bits);
	hawk_json_put_array(json, "words");
	for (uint32_t i = 0; i < outlier->misfit_count && i < HAWK_SCHEMA_MISFITS_MAX; i++) {
		const struct hawk_schema_misfit *misfit = &outlier->misfits[i];

		hawk_json_object(json);
		hawk_json_put_integer(json, "offset", misfit->offset);
		hawk_json_put_address(json, "value", misfit->value);
		put_name(report, NULL, misfit->word, json);
		hawk_json_put_seconds(json, "bits", misfit->bits);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}

static void put_group(const struct hawk_schema_report *report,
		      const struct hawk_schema_group *group, struct hawk_json *json)
{
	size_t end = group->outlier_count;

	hawk_json_object(json);
	hawk_json_put_integer(json, "size_min", group->size_min);
	hawk_json_put_integer(json, "size_max", group->size_max);
	hawk_json_put_integer(json, "objects", group->objects);
	hawk_json_put_integer(json, "examined", group->examined);
	hawk_json_put_integer(json, "unreadable", group->unreadable);
	hawk_json_put_integer_if(json, "element_bytes", group->period,
				 (uint64_t)group->period * sizeof(uint64_t));
	hawk_json_put_array(json, "words");
	for (uint32_t i = 0; i < group->word_count; i++)
		put_word(report, i, &group->words[i], json);
	hawk_json_array_end(json);
	hawk_json_put_integer(json, "outlier_count", group->outliers_all);
	end = json->list_max && json->list_max < end ? json->list_max : end;
	hawk_json_put_cut_list(json, "outliers", end, group->outliers_all);
	for (size_t i = 0; i < end; i++)
		put_outlier(report, &group->outliers[i], json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}

void hawk_report_schema_json(const struct hawk_schema_report *report, struct hawk_json *json)
{
	const struct hawk_schema *schema = report->schema;

	hawk_json_put_site(json, "site", report->pointers->heap, report->site);
	hawk_json_put_integer(json, "objects", schema->objects);
	hawk_json_put_integer(json, "bytes", schema->bytes);
	hawk_json_put_integer(json, "carved", schema->carved);
	hawk_json_put_integer(json, "rest_objects", schema->rest_objects);
	hawk_report_json_site_stack(report->pointers, report->site, json);
	hawk_json_put_array(json, "groups");
	for (size_t i = 0; i < schema->group_count; i++)
		put_group(report, &schema->groups[i], json);
	hawk_json_array_end(json);
}
