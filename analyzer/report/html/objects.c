/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Chosen blocks with their paths, pointers and dominators, for the page's view of objects.
 */
#include "hawk/analysis/leaks.h"
#include "hawk/report/html.h"
#include "json/objects.h"

struct putting {
	const struct hawk_pointer_report *report;
	const struct hawk_dominators *dominators;
	struct hawk_json *json;
};

static void put_block(const struct putting *putting, uint32_t number,
		      const struct hawk_type_words *words)
{
	const struct hawk_pointer_report *report = putting->report;
	struct hawk_json *json = putting->json;
	struct hawk_block block;

	hawk_heap_block(report->heap, number, &block);
	hawk_json_put_address(json, "address", block.start);
	hawk_json_put_integer(json, "size", block.size);
	hawk_json_put_site(json, "site", report->heap, hawk_heap_site_at(report->heap, number));
	hawk_json_put_string(json, "type", hawk_block_type_of_words(report->types, &block, words));
	hawk_json_put_integer(json, "retained_bytes",
			      hawk_dominators_retained(putting->dominators, number));
}

static void put_list(const struct putting *putting, const char *key,
		     const struct hawk_object_link *links, size_t count)
{
	struct hawk_json *json = putting->json;

	hawk_json_put_array(json, key);
	for (size_t i = 0; i < count; i++) {
		hawk_json_object(json);
		put_block(putting, links[i].block, &links[i].words);
		hawk_json_put_integer_if(json, "offset", links[i].offset != HAWK_OFFSET_UNKNOWN,
					 links[i].offset);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_links(const struct putting *putting, const char *key,
		      const struct hawk_object_links *links)
{
	uint64_t shown = links->count < HAWK_OBJECT_LINKS ? links->count : HAWK_OBJECT_LINKS;

	hawk_json_put_object(putting->json, key);
	hawk_json_put_integer(putting->json, "total", links->count);
	put_list(putting, "blocks", links->items, (size_t)shown);
	hawk_json_object_end(putting->json);
}

static void put_object(const struct putting *putting, const struct hawk_object *object)
{
	const struct hawk_pointer_report *report = putting->report;
	const struct hawk_dominators *dominators = putting->dominators;
	struct hawk_json *json = putting->json;
	struct hawk_block block;

	hawk_heap_block(report->heap, object->block, &block);
	hawk_json_object(json);
	put_block(putting, object->block, &object->words);
	hawk_json_put_integer(json, "retained_objects",
			      dominators->sizes[dominators->numbers[object->block]]);
	hawk_json_put_seconds_if(
		json, "age_seconds", hawk_heap_knows_of(report->heap, block.trace) & HAWK_HEAP_AGES,
		hawk_heap_age_seconds(report->heap, hawk_birth_decode(block.birth)));
	hawk_json_put_string(
		json, "reach",
		hawk_json_reach_key(hawk_leaks_kind(report->graph, report->reach, object->block)));
	if (object->has_path)
		hawk_json_put_root(json, "root", report->roots, object->root);
	else
		hawk_json_put_null(json, "root");
	put_list(putting, "path", object->path, object->path_count);
	hawk_json_put_integer(json, "path_left_out", object->path_left_out);
	put_links(putting, "holds", &object->holds);
	put_links(putting, "holders", &object->holders);
	put_links(putting, "dominates", &object->dominates);
	hawk_json_object_end(json);
}

struct hawk_error *hawk_html_put_objects(const struct hawk_pointer_report *report,
					 const struct hawk_dominators *dominators,
					 const struct hawk_objects *objects,
					 struct hawk_output *output)
{
	struct hawk_json json;
	const struct putting putting = {report, dominators, &json};
	struct hawk_error *err = hawk_html_part_begin(output, "objects");

	if (err)
		return err;
	hawk_json_init(&json, output, 2);
	hawk_json_object(&json);
	hawk_json_put_array(&json, "objects");
	for (size_t i = 0; i < objects->count; i++)
		put_object(&putting, &objects->items[i]);
	hawk_json_array_end(&json);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
	hawk_html_part_end(output);
	return NULL;
}
