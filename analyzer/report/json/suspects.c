/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suspects.
 */
#include "hawk/report/suspects.h"

#include "hawk/base/cleanup.h"
#include "objects.h"

static const char *holder_kind(const struct hawk_suspects_report *suspects,
			       const struct hawk_suspect *suspect)
{
	switch (suspects->found->tree.nodes[suspect->holder.top].kind) {
	case HAWK_TREE_ROOT:
		return "root";
	case HAWK_TREE_SEVERAL:
		return "several";
	case HAWK_TREE_SHARED:
		return "shared";
	case HAWK_TREE_LOST:
		return "lost";
	}
	return NULL;
}

static void put_holder(const struct hawk_suspects_report *suspects,
		       const struct hawk_suspect *suspect, struct hawk_json *json)
{
	const struct hawk_site_tree_node *top = &suspects->found->tree.nodes[suspect->holder.top];
	bool root = top->kind == HAWK_TREE_ROOT || top->kind == HAWK_TREE_SEVERAL;
	uint32_t steps[HAWK_SITE_TREE_DEPTH];

	if (!suspect->holder.top) {
		hawk_json_put_null(json, "holder");
		return;
	}
	hawk_json_put_object(json, "holder");
	hawk_json_put_string(json, "kind", holder_kind(suspects, suspect));
	hawk_json_put_string(json, "root", root ? suspects->found->roots.names[top->key] : NULL);
	hawk_json_put_integer(json, "bytes", suspect->holder.bytes);
	hawk_json_put_integer(json, "objects", suspect->holder.objects);
	hawk_json_put_sites(json, "through", suspects->pointers->heap, steps,
			    hawk_suspect_steps(suspects->found, suspect, steps));
	hawk_json_object_end(json);
}

static void put_lost(const struct hawk_suspects_report *suspects,
		     const struct hawk_suspect *suspect, struct hawk_json *json)
{
	if (!suspect->lost.objects) {
		hawk_json_put_null(json, "lost_through");
		return;
	}
	hawk_json_put_object(json, "lost_through");
	hawk_json_put_integer(json, "objects", suspect->lost.objects);
	hawk_json_put_integer(json, "bytes", suspect->lost.bytes);
	hawk_json_put_sites(json, "sites", suspects->pointers->heap, suspect->followers,
			    suspect->follower_count);
	hawk_json_object_end(json);
}

static void put_structure(const struct hawk_suspects_report *suspects,
			  const struct hawk_suspect *suspect, struct hawk_json *json)
{
	size_t end;

	if (!suspect->part_count) {
		hawk_json_put_null(json, "structure");
		return;
	}
	hawk_json_put_object(json, "structure");
	hawk_json_put_integer(json, "objects", suspect->blocks.objects);
	hawk_json_put_integer(json, "bytes", suspect->blocks.bytes);
	end = hawk_json_put_list(json, "parts", suspect->part_count);
	for (size_t i = 0; i < end; i++) {
		const struct hawk_suspect_part *part = &suspect->parts[i];

		hawk_json_object(json);
		hawk_json_put_site(json, "site", suspects->pointers->heap, part->site);
		hawk_json_put_integer(json, "objects", part->blocks.objects);
		hawk_json_put_integer(json, "bytes", part->blocks.bytes);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}

static void put_cycle(const struct hawk_suspects_report *suspects,
		      const struct hawk_suspect *suspect, struct hawk_json *json)
{
	const struct hawk_leak_cycle *cycle = hawk_suspects_cycle(suspects, suspect);

	if (!cycle) {
		hawk_json_put_null(json, "cycle");
		return;
	}
	hawk_json_put_object(json, "cycle");
	hawk_leaks_report_json_cycle(suspects->leaks, cycle, json);
	hawk_json_object_end(json);
}

static void put_suspect(const struct hawk_suspects_report *suspects, size_t number,
			struct hawk_json *json)
{
	const struct hawk_suspect *suspect = &suspects->found->items[number];
	CLEANUP(text) struct hawk_text command = {0};

	hawk_next_append_shell(&command, &suspects->next->items[number]);
	hawk_json_object(json);
	hawk_json_put_site(json, "site", suspects->pointers->heap, suspect->site);
	hawk_json_put_string(json, "type", hawk_suspects_type(suspects, suspect));
	hawk_json_put_integer(json, "inuse_objects", suspect->facts.inuse_objects);
	hawk_json_put_integer(json, "inuse_bytes", suspect->facts.inuse_bytes);
	hawk_report_json_growth(&suspect->growth, &suspect->facts, json);
	hawk_report_json_reach(&suspect->facts, json);
	hawk_report_json_retained(&suspect->retained, true, json);
	put_holder(suspects, suspect, json);
	put_lost(suspects, suspect, json);
	put_structure(suspects, suspect, json);
	put_cycle(suspects, suspect, json);
	hawk_report_json_site_stack(suspects->pointers, suspect->site, json);
	hawk_json_put_string(json, "next", command.bytes);
	hawk_json_object_end(json);
}

void hawk_report_suspects_json(const struct hawk_suspects_report *suspects, struct hawk_json *json)
{
	size_t end = hawk_json_put_list(json, "suspects", suspects->found->count);

	for (size_t i = 0; i < end; i++)
		put_suspect(suspects, i, json);
	hawk_json_array_end(json);
	hawk_json_put_integer(json, "startup_bytes", suspects->found->startup_bytes);
	hawk_json_put_string(json, "suspects_skipped", suspects->skipped);
}
