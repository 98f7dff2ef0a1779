/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The schema of a site as JSON.
 */
#include "hawk_cleanup.h"
#include "hawk_report_schema.h"

static struct hawk_error *put_value(const struct hawk_schema_report *report,
				    const struct hawk_schema_word *of,
				    const struct hawk_schema_value *value, struct hawk_json *json)
{
	const struct hawk_block_graph *graph = report->pointers->graph;
	CLEANUP(text) struct hawk_text name = {0};
	struct hawk_word word = value->word;
	struct hawk_error *err =
		hawk_schema_append_value(report->pointers, of, word, SIZE_MAX, &name);
	bool block = word.class >= HAWK_WORD_BLOCK && word.class <= HAWK_WORD_END;
	bool number = word.class == HAWK_WORD_INTEGER;
	char id[17] = "";

	if (err)
		return err;
	if (block && word.key != HAWK_SCHEMA_OTHERS)
		hawk_report_site_id(graph, (uint32_t)word.key, id);
	hawk_json_object(json);
	hawk_json_put_string(json, "class", hawk_word_class_name(word.class));
	hawk_json_put_string(json, "name", name.bytes);
	hawk_json_put_string(json, "site", id[0] ? id : NULL);
	hawk_json_key(json, "value");
	if (number && word.key != HAWK_SCHEMA_OTHERS)
		hawk_json_signed(json, (int64_t)word.key);
	else
		hawk_json_null(json);
	hawk_json_put_integer(json, "count", value->count);
	hawk_json_object_end(json);
	return NULL;
}

static void put_range(struct hawk_json *json, const char *low, const char *high, bool known,
		      int64_t minimum, int64_t maximum)
{
	hawk_json_key(json, low);
	if (known)
		hawk_json_signed(json, minimum);
	else
		hawk_json_null(json);
	hawk_json_key(json, high);
	if (known)
		hawk_json_signed(json, maximum);
	else
		hawk_json_null(json);
}

static struct hawk_error *put_word(const struct hawk_schema_report *report, uint32_t index,
				   const struct hawk_schema_word *word, struct hawk_json *json)
{
	struct hawk_error *err = NULL;

	hawk_json_object(json);
	hawk_json_put_integer(json, "offset", (uint64_t)index * sizeof(uint64_t));
	hawk_json_put_integer(json, "count", word->count);
	put_range(json, "integer_min", "integer_max", word->integer_min <= word->integer_max,
		  word->integer_min, word->integer_max);
	put_range(json, "text_min", "text_max", word->text_max, (int64_t)word->text_min,
		  (int64_t)word->text_max);
	hawk_json_key(json, "values");
	hawk_json_array(json);
	for (uint32_t i = 0; i < word->value_count && !err; i++)
		err = put_value(report, word, &word->values[i], json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
	return err;
}

static struct hawk_error *put_misfit(const struct hawk_schema_report *report,
				     const struct hawk_schema_misfit *misfit,
				     struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text name = {0};
	struct hawk_error *err =
		hawk_schema_append_value(report->pointers, NULL, misfit->word, SIZE_MAX, &name);

	hawk_json_object(json);
	hawk_json_put_integer(json, "offset", misfit->offset);
	hawk_json_put_address(json, "value", misfit->value);
	hawk_json_put_string(json, "class", hawk_word_class_name(misfit->word.class));
	hawk_json_put_string(json, "name", name.bytes);
	hawk_json_key(json, "bits");
	hawk_json_seconds(json, misfit->bits);
	hawk_json_object_end(json);
	return err;
}

static struct hawk_error *put_outlier(const struct hawk_schema_report *report,
				      const struct hawk_schema_outlier *outlier,
				      struct hawk_json *json)
{
	struct hawk_error *err;

	hawk_json_object(json);
	err = hawk_report_json_block(report->pointers, outlier->block, json);
	hawk_json_put_integer(json, "misfits", outlier->misfit_count);
	hawk_json_key(json, "bits");
	hawk_json_seconds(json, outlier->bits);
	hawk_json_key(json, "words");
	hawk_json_array(json);
	for (uint32_t i = 0; i < outlier->misfit_count && i < HAWK_SCHEMA_MISFITS_MAX && !err; i++)
		err = put_misfit(report, &outlier->misfits[i], json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
	return err;
}

static struct hawk_error *put_group(const struct hawk_schema_report *report,
				    const struct hawk_schema_group *group, struct hawk_json *json)
{
	struct hawk_error *err = NULL;

	hawk_json_object(json);
	hawk_json_put_integer(json, "size_min", group->size_min);
	hawk_json_put_integer(json, "size_max", group->size_max);
	hawk_json_put_integer(json, "objects", group->objects);
	hawk_json_put_integer(json, "examined", group->examined);
	hawk_json_put_integer(json, "unreadable", group->unreadable);
	hawk_json_key(json, "element_bytes");
	if (group->period)
		hawk_json_integer(json, (uint64_t)group->period * sizeof(uint64_t));
	else
		hawk_json_null(json);
	hawk_json_key(json, "words");
	hawk_json_array(json);
	for (uint32_t i = 0; i < group->word_count && !err; i++)
		err = put_word(report, i, &group->words[i], json);
	hawk_json_array_end(json);
	hawk_json_put_integer(json, "outlier_count", group->outliers_all);
	hawk_json_key(json, "outliers");
	hawk_json_array(json);
	for (uint32_t i = 0; i < group->outlier_count && !err; i++)
		err = put_outlier(report, &group->outliers[i], json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
	return err;
}

struct hawk_error *hawk_report_schema_json(const struct hawk_schema_report *report,
					   struct hawk_json *json)
{
	const struct hawk_schema *schema = report->schema;
	struct hawk_error *err;
	char id[17];

	hawk_report_site_id(report->pointers->graph, report->site, id);
	hawk_json_put_string(json, "site", id[0] ? id : NULL);
	hawk_json_put_integer(json, "objects", schema->objects);
	hawk_json_put_integer(json, "bytes", schema->bytes);
	hawk_json_put_integer(json, "carved", schema->carved);
	hawk_json_put_integer(json, "rest_objects", schema->rest_objects);
	err = hawk_report_json_site_frames(report->pointers, report->site, json);
	hawk_json_key(json, "groups");
	hawk_json_array(json);
	for (size_t i = 0; i < schema->group_count && !err; i++)
		err = put_group(report, &schema->groups[i], json);
	hawk_json_array_end(json);
	return err;
}
