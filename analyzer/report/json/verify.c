/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON document of `hawk-core verify`. Its prose twin is docs/json.md, its schema
 * docs/schema/verify-3.json: change them together, and add keys only.
 */
#include "hawk/report/verify.h"

#include "objects.h"

enum { DOCUMENT_LINES = 2 };

const char *hawk_corruption_key(uint8_t kind)
{
	static const char *const keys[HAWK_CORRUPTION_KINDS] = {
		[HAWK_CORRUPTION_OVERFLOW] = "heap_overflow",
		[HAWK_CORRUPTION_UNDERFLOW] = "heap_underflow",
		[HAWK_CORRUPTION_DOUBLE_FREE] = "double_free",
		[HAWK_CORRUPTION_USE_AFTER_FREE] = "use_after_free",
		[HAWK_CORRUPTION_INVALID_FREE] = "invalid_free",
		[HAWK_CORRUPTION_METADATA] = "metadata_damaged",
	};

	return keys[kind];
}

static uint32_t site_of(const struct hawk_heap *heap, const struct hawk_whatis *block)
{
	const struct hawk_site *site =
		block->state == HAWK_BLOCK_NONE ? NULL : hawk_heap_site(heap, block->block.trace);

	return site ? (uint32_t)(site - heap->sites) : UINT32_MAX;
}

static void put_block(const struct hawk_verify_report *report, const struct hawk_corruption *item,
		      struct hawk_json *json)
{
	uint32_t site = site_of(report->heap, &item->block);
	bool is_live =
		item->block.state == HAWK_BLOCK_LIVE || item->block.state == HAWK_BLOCK_HEADER;

	if (!item->start) {
		hawk_json_put_null(json, "block");
		return;
	}
	hawk_json_put_object(json, "block");
	hawk_json_put_address(json, "address", item->start);
	hawk_json_put_integer_if(json, "size", item->size, item->size);
	hawk_json_put_boolean(json, "live", is_live);
	hawk_json_put_string(json, "type", item->block.type);
	hawk_json_put_site(json, "site", report->heap, site);
	if (site != UINT32_MAX)
		hawk_json_put_site_stack(json, report->symbols, report->heap, site);
	hawk_json_object_end(json);
}

static void put_place(const struct hawk_whatis *place, struct hawk_json *json)
{
	bool is_block = place->state == HAWK_BLOCK_LIVE || place->state == HAWK_BLOCK_HEADER;

	hawk_json_put_address(json, "address", place->address);
	if (is_block)
		hawk_json_put_address(json, "block", place->block.start);
	else
		hawk_json_put_null(json, "block");
	hawk_json_put_string(json, "type", is_block ? place->type : NULL);
	hawk_json_put_string(json, "symbol", place->symbol);
	hawk_json_put_string(json, "module", place->module ? place->module->path : NULL);
}

static void put_place_if(const struct hawk_whatis *place, const char *key, struct hawk_json *json)
{
	if (!place->mapping) {
		hawk_json_put_null(json, key);
		return;
	}
	hawk_json_put_object(json, key);
	put_place(place, json);
	hawk_json_object_end(json);
}

static void put_item(const struct hawk_verify_report *report, const struct hawk_corruption *item,
		     struct hawk_json *json)
{
	const struct hawk_damage *damage = &item->damage;

	hawk_json_object(json);
	hawk_json_put_string(json, "kind", hawk_corruption_key(item->kind));
	hawk_json_put_boolean(json, "refused", item->refused);
	hawk_json_put_string(json, "allocator", damage->allocator);
	hawk_json_put_address(json, "address", damage->address);
	hawk_json_put_integer_if(json, "bytes", item->bytes, item->bytes);
	if (item->refused)
		hawk_json_put_null(json, "found");
	else
		hawk_json_put_address(json, "found", damage->found);
	if (damage->expected)
		hawk_json_put_address(json, "expected", damage->expected);
	else
		hawk_json_put_null(json, "expected");
	put_block(report, item, json);
	put_place_if(&item->victim, "victim", json);
	put_place_if(&item->to, "leads_to", json);
	hawk_json_put_array(json, "also_at");
	for (unsigned i = 0; i < item->place_count; i++) {
		hawk_json_object(json);
		put_place(&item->places[i], json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}

void hawk_verify_put_json(const struct hawk_verify_report *report, struct hawk_json *json)
{
	const struct hawk_crash *crash = &report->verify->crash;
	size_t end = report->verify->count;

	hawk_json_put_string(json, "died_in", crash->function);
	hawk_json_put_string(json, "message", crash->message.text[0] ? crash->message.text : NULL);
	hawk_json_put_integer(json, "corruption_count", report->verify->all);
	end = json->list_max && json->list_max < end ? json->list_max : end;
	hawk_json_put_cut_list(json, "corruptions", end, report->verify->all);
	for (size_t i = 0; i < end; i++)
		put_item(report, &report->verify->items[i], json);
	hawk_json_array_end(json);
}

void hawk_verify_report_json(const struct hawk_verify_report *report, struct hawk_output *output)
{
	struct hawk_json json;

	hawk_json_begin(&json, output, "hawk-core/verify", report->source, DOCUMENT_LINES);
	hawk_json_limit(&json, report->top, report->depth);
	hawk_verify_put_json(report, &json);
	hawk_json_end(&json, report->next, report->findings, report->partial);
}
