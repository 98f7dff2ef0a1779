/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Why free memory is not given back, and which sites' blocks pin it.
 */
#include "hawk/report/fragmentation.h"

#include "hawk/base/cleanup.h"
#include "objects.h"

static void put_pin(const struct hawk_heap *heap, const struct hawk_pin *pin,
		    struct hawk_json *json)
{
	hawk_json_object(json);
	hawk_json_put_site(json, "site", heap, pin->site);
	hawk_json_put_boolean(json, "cached", pin->is_cached);
	hawk_json_put_integer(json, "objects", pin->objects);
	hawk_json_put_integer(json, "bytes", pin->bytes);
	hawk_json_put_integer(json, "units", pin->units);
	hawk_json_put_integer(json, "returns_bytes", pin->returns_bytes);
	hawk_json_put_integer(json, "shared_bytes", pin->shared_bytes);
	hawk_json_put_address(json, "example", pin->example);
	hawk_json_put_seconds_if(json, "example_seconds", pin->has_birth,
				 hawk_heap_age_seconds(heap, pin->birth_units));
	hawk_json_object_end(json);
}

void hawk_report_json_fragmentation(const struct hawk_heap *heap,
				    const struct hawk_fragmentation *fragmentation, size_t end,
				    struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text advice = {0};

	if (!fragmentation || !fragmentation->allocator) {
		hawk_json_put_null(json, "fragmentation");
		return;
	}
	hawk_fragmentation_append_advice(&advice, fragmentation);
	hawk_json_put_object(json, "fragmentation");
	hawk_json_put_string(json, "verdict",
			     hawk_fragmentation_verdict_name(fragmentation->verdict));
	hawk_json_put_string(json, "advice", advice.bytes);
	hawk_json_put_integer(json, "free_bytes", fragmentation->free_bytes);
	hawk_json_put_integer(json, "pinned_bytes", fragmentation->pinned_bytes);
	hawk_json_put_integer(json, "pinned_units", fragmentation->pinned_units);
	hawk_json_put_integer(json, "scattered_bytes", fragmentation->scattered_bytes);
	hawk_json_put_integer(json, "cached_bytes", fragmentation->cached_bytes);
	hawk_json_put_integer(json, "whole_bytes", fragmentation->whole_bytes);
	hawk_json_put_integer(json, "arena_bytes", fragmentation->arena_bytes);
	hawk_json_put_integer(json, "given_back_bytes", fragmentation->given_back_bytes);
	end = end < fragmentation->pin_count ? end : fragmentation->pin_count;
	end = json->list_max && json->list_max < end ? json->list_max : end;
	hawk_json_put_cut_list(json, "pins", end, fragmentation->pin_count);
	for (size_t i = 0; i < end; i++)
		put_pin(heap, &fragmentation->pins[i], json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}
