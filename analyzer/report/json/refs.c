/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointers to one block.
 */
#include "hawk/report/pointers.h"
#include "objects.h"

static void put_pointer(const struct hawk_referrer *pointer, struct hawk_json *json)
{
	hawk_json_put_boolean(json, "interior", pointer->interior);
	hawk_json_put_integer_if(json, "inside", pointer->inside != HAWK_OFFSET_UNKNOWN,
				 pointer->inside);
}

static void put_roots(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
		      struct hawk_json *json)
{
	size_t end = hawk_json_put_list(json, "roots", refs->root_count);

	for (size_t i = 0; i < end; i++) {
		hawk_json_object(json);
		hawk_json_put_root(json, "root", report->roots, refs->list.items[i].source);
		put_pointer(&refs->list.items[i], json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_blocks(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
		       struct hawk_json *json)
{
	const struct hawk_referrer *pointers = refs->list.items + refs->root_count;
	size_t end = hawk_json_put_list(json, "blocks", refs->list.count - refs->root_count);

	for (size_t i = 0; i < end; i++) {
		hawk_json_object(json);
		hawk_report_json_block(report, pointers[i].source, json);
		hawk_json_put_integer_if(json, "offset", pointers[i].offset != HAWK_OFFSET_UNKNOWN,
					 pointers[i].offset);
		put_pointer(&pointers[i], json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_groups(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
		       struct hawk_json *json)
{
	size_t end = hawk_json_put_list(json, "groups", refs->group_count);

	for (size_t i = 0; i < end; i++) {
		const struct hawk_refs_group *group = &refs->groups[i];

		hawk_json_object(json);
		hawk_json_put_site(json, "site", report->heap, group->site);
		hawk_json_put_integer_if(json, "offset", group->offset != HAWK_SITE_ANYWHERE,
					 group->offset);
		hawk_report_json_member(report, HAWK_BLOCK_NOWHERE, group->example, group->offset,
					json);
		hawk_json_put_integer(json, "pointers", group->pointers);
		hawk_json_put_integer(json, "interior", group->interior);
		hawk_json_put_address(json, "example",
				      hawk_block_start(&report->heap->index, group->example));
		hawk_report_json_site_stack(report, group->site, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_refs(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
		     struct hawk_json *json)
{
	uint64_t inside = refs->address - hawk_block_start(&report->heap->index, refs->block);

	hawk_json_object(json);
	hawk_json_put_object(json, "block");
	hawk_report_json_block(report, refs->block, json);
	hawk_json_put_integer(json, "inside", inside);
	hawk_json_object_end(json);
	put_roots(report, refs, json);
	put_blocks(report, refs, json);
	put_groups(report, refs, json);
	hawk_json_object_end(json);
}

void hawk_report_refs_json(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
			   size_t count, struct hawk_json *json)
{
	hawk_json_put_array(json, "addresses");
	for (size_t i = 0; i < count; i++)
		put_refs(report, &refs[i], json);
	hawk_json_array_end(json);
}
