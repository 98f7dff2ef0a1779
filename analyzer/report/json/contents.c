/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Strings, and blocks with equal contents.
 */
#include "hawk/report/contents.h"

#include "objects.h"

/* Writes the text, at most HAWK_STRING_SHOWN_MAX bytes of whole characters. */
static void put_text(const struct hawk_contents_report *report, const struct hawk_content *content,
		     struct hawk_json *json)
{
	size_t bytes =
		content->bytes < HAWK_STRING_SHOWN_MAX ? content->bytes : HAWK_STRING_SHOWN_MAX;
	char copy[HAWK_STRING_SHOWN_MAX + 1];

	bytes = hawk_target_read_some(report->pointers->heap->target, content->address, copy,
				      bytes);
	if (bytes < content->bytes) {
		while (bytes && ((uint8_t)copy[bytes - 1] & 0xc0) == 0x80)
			bytes--;
		bytes -= bytes && (uint8_t)copy[bytes - 1] >= 0xc0;
	}
	copy[bytes] = '\0';
	hawk_json_put_string(json, "text", copy);
	hawk_json_put_boolean(json, "cut", bytes < content->bytes);
}

static void put_sum(const struct hawk_contents_report *report, const char *key,
		    const struct hawk_chosen *sum, struct hawk_json *json)
{
	if (report->pointers->heap->knows)
		hawk_json_put_sum(json, key, sum->objects, sum->bytes);
	else
		hawk_json_put_null(json, key);
}

static void put_sums(const struct hawk_contents_report *report, struct hawk_json *json)
{
	put_sum(report, "all", &report->contents->all, json);
	put_sum(report, "repeated", &report->contents->repeated, json);
	put_sum(report, "unread", &report->contents->unread, json);
}

static void put_group(const struct hawk_content_group *group, struct hawk_json *json)
{
	hawk_json_put_integer(json, "objects", group->count);
	hawk_json_put_integer(json, "bytes", group->bytes);
	hawk_json_put_integer(json, "wasted_bytes", hawk_content_wasted(group));
}

void hawk_report_strings_json(const struct hawk_contents_report *report, struct hawk_json *json)
{
	const struct hawk_contents *contents = report->contents;
	const struct hawk_heap *heap = report->pointers->heap;
	size_t end;

	put_sums(report, json);
	if (!hawk_json_put_known_list(json, "strings", heap, contents->group_count, &end))
		return;
	for (size_t i = 0; i < end; i++) {
		const struct hawk_content *first = contents->groups[i].first;

		hawk_json_object(json);
		put_text(report, first, json);
		hawk_json_put_integer(json, "length", first->bytes);
		put_group(&contents->groups[i], json);
		hawk_json_put_address(json, "example", first->address);
		hawk_json_put_site(json, "site", heap, hawk_heap_site_at(heap, first->block));
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_sites(const struct hawk_contents_report *report, const char *key,
		      const struct hawk_wasting_sites *sites, struct hawk_json *json)
{
	size_t end;

	if (!sites) {
		hawk_json_put_no_list(json, key);
		return;
	}
	if (!hawk_json_put_known_list(json, key, report->pointers->heap, sites->count, &end))
		return;
	for (size_t i = 0; i < end; i++) {
		hawk_json_object(json);
		hawk_json_put_site(json, "site", report->pointers->heap, sites->items[i].site);
		hawk_json_put_integer(json, "objects", sites->items[i].blocks.objects);
		hawk_json_put_integer(json, "bytes", sites->items[i].blocks.bytes);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

void hawk_report_duplicates_json(const struct hawk_contents_report *report, struct hawk_json *json)
{
	const struct hawk_contents *contents = report->contents;
	size_t end;

	put_sums(report, json);
	put_sum(report, "zeros", &contents->zeros, json);
	if (hawk_json_put_known_list(json, "contents", report->pointers->heap,
				     contents->group_count, &end)) {
		for (size_t i = 0; i < end; i++) {
			hawk_json_object(json);
			put_group(&contents->groups[i], json);
			hawk_json_put_object(json, "first");
			hawk_report_json_block(report->pointers, contents->groups[i].first->block,
					       json);
			hawk_json_object_end(json);
			hawk_json_object_end(json);
		}
		hawk_json_array_end(json);
	}
	put_sites(report, "sites", report->sites, json);
	put_sites(report, "holders", report->holders, json);
}
