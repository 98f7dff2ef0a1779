/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the answers of verbs leave open: the first entry of a list, which a reader asks about first.
 */
#include "hawk/base/cleanup.h"
#include "hawk/report/balance.h"
#include "hawk/report/diff.h"
#include "hawk/report/growth.h"
#include "hawk/report/leaks.h"
#include "hawk/report/next.h"
#include "hawk/report/schema.h"
#include "hawk/report/source.h"
#include "hawk/report/suspects.h"
#include "hawk/report/tasks.h"
#include "hawk/report/types.h"
#include "hawk/report/verify.h"

/** Adds who lost a site's blocks, or who holds them. */
static void add_holders(const struct hawk_heap *heap, uint32_t site, bool is_lost,
			struct hawk_next *ret)
{
	hawk_next_add_site(ret, is_lost ? "leaks" : "merge-paths", heap->sites[site].id,
			   is_lost ? "who lost these blocks" : "who holds these blocks");
}

/** Returns true if half of the site or more is lost. */
static bool is_lost(const struct hawk_growth_facts *facts)
{
	return facts->reach_known && 2 * (facts->reach_bytes[HAWK_REACH_DEFINITELY_LOST] +
					  facts->reach_bytes[HAWK_REACH_INDIRECTLY_LOST]) >=
					     facts->bytes;
}

void hawk_next_of_suspects(const struct hawk_suspects_report *report, struct hawk_next *ret)
{
	for (size_t i = 0; report->found && i < report->found->count; i++) {
		const struct hawk_suspect *suspect = &report->found->items[i];

		add_holders(report->pointers->heap, suspect->site,
			    suspect->lost.objects || is_lost(&suspect->facts), ret);
	}
}

/** Adds the source of a site, if that is known: of who called a runtime, not of the runtime. */
static void add_source(struct hawk_site_names *names, uint32_t site, struct hawk_next *ret)
{
	const struct hawk_site_name *name = hawk_site_name(names, site);

	if (name->file)
		hawk_next_add_source(ret, name->runtime ? name->caller : name->function);
}

/** Adds what is to be asked about the block that stands for a record. */
static void add_record(const struct hawk_leaks_report *report,
		       const struct hawk_leak_record *record, struct hawk_next *ret)
{
	uint64_t address = hawk_block_start(&report->heap->index, record->example);
	const struct hawk_leak_cycle *cycle = NULL;
	uint64_t leaders;

	switch (record->kind) {
	case HAWK_REACH_DEFINITELY_LOST:
		cycle = hawk_leak_cycle_of(report->heap, report->cycles, record->site, &leaders);
		if (cycle)
			hawk_next_add_address(ret, "refs", address,
					      "what points at the lost block, in a cycle");
		else
			hawk_next_add_address(ret, "whatis", address, "what the lost block is");
		return;
	case HAWK_REACH_POSSIBLY:
		hawk_next_add_address(ret, "refs", address, "which pointers lead into the block");
		return;
	case HAWK_REACH_REACHABLE:
		hawk_next_add_address(ret, "path", address, "why the block is alive");
		return;
	default:
		if (report->leader_count)
			hawk_next_add_site(ret, "leaks",
					   report->heap->sites[report->leaders[0].site].id,
					   "the site that lost the block");
		else
			hawk_next_add_address(ret, "refs", address,
					      "which lost blocks hold the block");
	}
}

void hawk_next_of_leaks(const struct hawk_leaks_report *report, struct hawk_next *ret)
{
	const struct hawk_leak_record *record =
		report->selection->count ? report->selection->records[0] : NULL;

	if (!report->heap->knows)
		return;
	if (!report->filtered && (!record || record->kind == HAWK_REACH_REACHABLE)) {
		hawk_next_add(ret, "growth", NULL, NULL, "what grows all the same");
		return;
	}
	if (!record)
		return;
	add_record(report, record, ret);
	if (record->site < report->heap->site_count)
		add_source(report->names, record->site, ret);
}

/** Returns the first site that grows, else the first. */
static uint32_t find_growing(const struct hawk_growth_report *report, struct hawk_growth_facts *ret)
{
	uint32_t first = report->list->sites[0];

	for (size_t i = 0; i < report->list->count; i++) {
		uint32_t site = report->list->sites[i];

		*ret = hawk_site_ages_facts(report->pointers->graph, site, &report->ages[site],
					    report->filtered);
		if (hawk_growth_judge(ret).verdict == HAWK_GROWTH_LEAK)
			return site;
	}
	*ret = hawk_site_ages_facts(report->pointers->graph, first, &report->ages[first],
				    report->filtered);
	return first;
}

void hawk_next_of_growth(const struct hawk_growth_report *report, struct hawk_next *ret)
{
	const struct hawk_heap *heap = report->pointers->heap;
	struct hawk_growth_facts facts;
	uint32_t site;

	if (!heap->knows || !report->list->count)
		return;
	site = find_growing(report, &facts);
	add_holders(heap, site, is_lost(&facts), ret);
	add_source(report->pointers->names, site, ret);
}

static bool is_below_lost(const struct hawk_site_tree *tree, const struct hawk_site_tree_node *node)
{
	while (node->depth > 1)
		node = &tree->nodes[node->parent];
	return node->kind == HAWK_TREE_LOST;
}

void hawk_next_of_paths(const struct hawk_pointer_report *report, const struct hawk_site_tree *tree,
			struct hawk_next *ret)
{
	const struct hawk_site_tree_node *best = NULL;

	for (uint32_t i = 1; i < tree->count; i++)
		if (tree->nodes[i].kind == HAWK_TREE_SITE &&
		    (!best || tree->nodes[i].flat_bytes > best->flat_bytes))
			best = &tree->nodes[i];
	if (!best || best->key >= report->heap->site_count)
		return;
	if (is_below_lost(tree, best))
		add_holders(report->heap, best->key, true, ret);
	add_source(report->names, best->key, ret);
	if (!ret->count)
		hawk_next_add_site(ret, "path", report->heap->sites[best->key].id,
				   "the paths block by block");
}

void hawk_next_of_holders(const struct hawk_pointer_report *report,
			  const struct hawk_site_tree *tree, struct hawk_next *ret)
{
	const struct hawk_site_tree_node *best = NULL;

	for (uint32_t i = 1; i < tree->count; i++)
		if (tree->nodes[i].kind == HAWK_TREE_SITE &&
		    (!best || tree->nodes[i].cum_bytes > best->cum_bytes))
			best = &tree->nodes[i];
	if (best && best->key < report->heap->site_count)
		add_holders(report->heap, best->key, is_below_lost(tree, best), ret);
}

void hawk_next_of_verify(const struct hawk_verify_report *report, struct hawk_next *ret)
{
	const struct hawk_verify *verify = report->verify;

	for (size_t i = 0; i < verify->count; i++) {
		if (!verify->items[i].start)
			continue;
		hawk_next_add_address(ret, "whatis", verify->items[i].start,
				      "what the block at fault is");
		return;
	}
	if (verify->count)
		hawk_next_add_address(ret, "whatis", verify->items[0].damage.address,
				      "what lies at the damage");
}

void hawk_next_of_heap(const struct hawk_balance_report *report, struct hawk_next *ret)
{
	const struct hawk_fragmentation *fragmentation = report->fragmentation;

	if (fragmentation->verdict != HAWK_FRAGMENTATION_NONE && fragmentation->pin_count)
		hawk_next_add_address(ret, "whatis", fragmentation->pins[0].example,
				      "a block that pins free memory");
}

/** Returns the innermost frame of a stack. */
static const struct hawk_profile_frame *frame_of(const struct hawk_profile *profile, uint32_t step)
{
	return hawk_profile_location_frame(profile, profile->steps[step].location, 0);
}

void hawk_next_of_diff(const struct hawk_diff_report *report, bool has_blocks,
		       struct hawk_next *ret)
{
	const struct hawk_profile *after = report->diff->after;
	const struct hawk_profile_frame *frame;
	const struct hawk_diff_row *row = NULL;
	CLEANUP(text) struct hawk_text option = {0};

	if (hawk_diff_report_is_unknown(report))
		return;
	for (size_t i = 0; i < report->diff->count && !row; i++)
		if (report->diff->rows[i].bytes > 0 && report->diff->rows[i].after.step)
			row = &report->diff->rows[i];
	if (!row)
		return;
	frame = frame_of(after, row->after.step);
	if (row->after.site && has_blocks) {
		hawk_text_printf(&option, "--site=%s", hawk_profile_text(after, row->after.site));
		hawk_next_add(ret, "merge-paths", option.bytes, NULL, "who holds what has grown");
	}
	if (frame->function && frame->file)
		hawk_next_add_source(ret, hawk_profile_text(after, frame->function));
}

static bool is_flow(const struct hawk_type *type)
{
	return type->origin == HAWK_TYPE_DWARF || type->origin == HAWK_TYPE_CONTAINER;
}

void hawk_next_of_types(const struct hawk_types_report *report, struct hawk_next *ret)
{
	const struct hawk_heap *heap = report->pointers->heap;
	bool others_know = heap->type_names || !(heap->knows & HAWK_HEAP_CONTENTS);

	for (size_t i = 0; i < report->list->count; i++) {
		const struct hawk_type *type =
			hawk_types_at(report->types, report->list->items[i].type);

		if (type->origin <= HAWK_TYPE_CONTAINER && type->name &&
		    (others_know || !is_flow(type)) &&
		    hawk_next_add_type(ret, "merge-paths", type->name,
				       "who holds the type's blocks"))
			return;
	}
	if (report->list->count)
		hawk_next_add(ret, "sites", NULL, NULL, "which groups of blocks hold which");
}

void hawk_next_of_tasks(const struct hawk_tasks_report *report, struct hawk_next *ret)
{
	const struct hawk_tasks *tasks = report->tasks;

	if (tasks->count)
		hawk_next_add_address(
			ret, "path",
			hawk_block_start(&report->pointers->heap->index, tasks->groups[0].example),
			"what holds a task of the first group");
}

void hawk_next_of_schema(const struct hawk_schema_report *report, struct hawk_next *ret)
{
	CLEANUP(text) struct hawk_text option = {0};

	if (!report->schema || !report->schema->objects)
		return;
	if (report->site != HAWK_SCHEMA_ANY_SITE) {
		add_holders(report->pointers->heap, report->site, false, ret);
		return;
	}
	hawk_text_printf(&option, "--type=%s", report->type);
	hawk_next_add(ret, "merge-paths", hawk_text_string(&option), NULL,
		      "who holds these blocks");
}

void hawk_next_of_source(const struct hawk_source_report *report, const char *functions,
			 struct hawk_next *ret)
{
	const struct hawk_source_lines *lines = report->listing.lines;
	const struct hawk_profile *profile = report->listing.profile;
	CLEANUP(text) struct hawk_text option = {0};

	/* The first unit has most live bytes. */
	if (!lines->unit_count ||
	    !hawk_source_sums_of(profile, &lines->units[0].values).cum_objects)
		return;
	hawk_text_printf(&option, "--function=%s", functions);
	hawk_next_add(ret, "merge-paths", hawk_text_string(&option), NULL,
		      "who holds what the lines allocated");
}
