/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types with the sums of their blocks.
 */
#include "hawk/report/types.h"
#include "objects.h"

static void put_containers(const struct hawk_types_report *report,
			   const struct hawk_type_containers *of, struct hawk_json *json)
{
	if (!of->count || report->pointers->filter) {
		hawk_json_put_null(json, "containers");
		return;
	}
	hawk_json_put_object(json, "containers");
	hawk_json_put_integer(json, "count", of->count);
	hawk_json_put_integer(json, "empty", of->empty);
	hawk_json_put_integer_if(json, "entries", of->entries || of->room, of->entries);
	hawk_json_put_integer_if(json, "room", of->room != 0, of->room);
	hawk_json_object_end(json);
}

static void put_type(const struct hawk_types_report *report, const struct hawk_type_sum *sum,
		     struct hawk_json *json)
{
	const struct hawk_type *type = hawk_types_at(report->types, sum->type);

	hawk_json_object(json);
	hawk_json_put_string(json, "type", type->name);
	if (type->name)
		hawk_json_put_id(json, "id", type->id);
	else
		hawk_json_put_null(json, "id");
	hawk_json_put_string(json, "known_by",
			     hawk_type_origin_name((enum hawk_type_origin)type->origin));
	hawk_json_put_boolean(json, "guess", type->is_guess);
	hawk_json_put_integer_if(json, "object_bytes", type->bytes != 0, type->bytes);
	hawk_json_put_integer(json, "objects", sum->blocks.objects);
	hawk_json_put_integer(json, "shallow_bytes", sum->blocks.bytes);
	hawk_report_json_retained(report->retained ? &sum->retained : NULL, false, json);
	hawk_json_put_seconds_if(json, "oldest_seconds", sum->oldest_units != UINT64_MAX,
				 hawk_heap_age_seconds(report->pointers->heap, sum->oldest_units));
	put_containers(report, &type->containers, json);
	hawk_json_object_end(json);
}

void hawk_report_types_json(const struct hawk_types_report *report, struct hawk_json *json)
{
	const struct hawk_type_list *list = report->list;
	size_t end;

	if (!report->types) {
		hawk_json_put_null(json, "known");
		hawk_json_put_null(json, "guessed");
	} else {
		hawk_json_put_sum(json, "known", list->known.objects, list->known.bytes);
		hawk_json_put_sum(json, "guessed", list->guessed.objects, list->guessed.bytes);
	}
	if (!hawk_json_put_known_list(json, "types", report->pointers->heap, list->count, &end))
		return;
	for (size_t i = 0; i < end; i++)
		put_type(report, &list->items[i], json);
	hawk_json_array_end(json);
}
