/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names the sites, and finds the classes of blocks and their fields.
 */
#include "hprof_plan.h"

#include <search.h>
#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"

uint64_t hawk_hprof_rests(const struct hawk_hprof_class *class)
{
	return class->bytes > INT32_MAX ? class->bytes / HAWK_HPROF_REST_BYTES : 0;
}

static struct hawk_error *name_sites(struct hawk_hprof_plan *plan)
{
	size_t count = plan->graph->heap->site_count;
	CLEANUP(text) struct hawk_text name = {0};

	plan->site_names = calloc(count + 1, sizeof(*plan->site_names));
	if (!plan->site_names)
		return &hawk_enomem;
	for (size_t i = 0; i <= count; i++) {
		uint32_t site = i < count ? (uint32_t)i : UINT32_MAX;

		hawk_text_clear(&name);
		hawk_site_name_append_folded(&name, hawk_site_name(plan->objects->names, site));
		plan->site_names[i] = hawk_profile_string(plan->profile, hawk_text_string(&name));
	}
	return name.failed ? &hawk_enomem : NULL;
}

static int compare_classes(const void *left, const void *right)
{
	const struct hawk_hprof_class *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static struct hawk_hprof_class *add_class(struct hawk_hprof_plan *plan,
					  const struct hawk_hprof_class *wanted)
{
	struct hawk_hprof_class *class;

	if (!hawk_array_reserve(&plan->classes, plan->class_count, &plan->class_capacity,
				sizeof(*plan->classes)))
		return NULL;
	class = malloc(sizeof(*class));
	if (!class)
		return NULL;
	*class = *wanted;
	class->number = (uint32_t)plan->class_count;
	if (!tsearch(class, &plan->class_tree, compare_classes)) {
		free(class);
		return NULL;
	}
	return plan->classes[plan->class_count++] = class;
}

/** Finds or adds the class of a block; false = out of memory. */
static bool classify(struct hawk_hprof_plan *plan, struct hawk_near *near, uint32_t block)
{
	const struct hawk_heap *heap = plan->graph->heap;
	uint32_t site = hawk_heap_site_at(heap, block);
	struct hawk_hprof_class wanted = {.bytes = hawk_block_own_bytes(plan->index, block)};
	struct hawk_hprof_class *const *found, *class;
	struct hawk_block header;
	const char *type;

	hawk_heap_next_block(heap, near, block, &header);
	type = hawk_block_type(plan->objects->types, &header);
	wanted.name = type ? hawk_profile_string(plan->profile, type)
			   : plan->site_names[site < heap->site_count ? site : heap->site_count];
	found = tfind(&wanted, &plan->class_tree, compare_classes);
	class = found ? *found : add_class(plan, &wanted);
	if (class)
		plan->class_of[block] = class->number;
	return class;
}

static struct hawk_error *find_classes(struct hawk_hprof_plan *plan)
{
	struct hawk_near near = {.target = plan->graph->heap->target};
	struct hawk_progress progress;
	bool good;

	plan->class_of = calloc((size_t)plan->index->count + 1, sizeof(*plan->class_of));
	good = plan->class_of;
	hawk_progress_begin(&progress, "naming blocks", plan->index->count);
	for (uint32_t i = 0; good && i < plan->index->count; i++) {
		good = classify(plan, &near, i);
		hawk_progress_tick(i);
	}
	hawk_progress_end(&progress);
	return good ? NULL : &hawk_enomem;
}

/** The visitor that finds fields. */
struct finder {
	struct hawk_hprof_plan *plan;
	uint64_t listed; /**< pointers of this block that are in no field */
};

static bool note_pointer(void *context, uint32_t block, uint64_t offset, uint32_t target)
{
	struct finder *finder = context;
	struct hawk_hprof_class *class = finder->plan->classes[finder->plan->class_of[block]];
	uint64_t word = offset / sizeof(uint64_t);

	(void)target;
	if (hawk_hprof_is_field(offset))
		class->fields[word / 64] |= UINT64_C(1) << word % 64;
	else
		finder->listed++;
	return true;
}

static void note_list(struct hawk_hprof_plan *plan, uint64_t count)
{
	if (count > plan->list_max)
		plan->list_max = count;
}

static bool note_block(void *context, uint32_t block)
{
	struct finder *finder = context;
	struct hawk_hprof_class *class = finder->plan->classes[finder->plan->class_of[block]];

	finder->listed += hawk_hprof_rests(class);
	class->more |= finder->listed != 0;
	note_list(finder->plan, finder->listed);
	finder->listed = 0;
	return true;
}

static struct hawk_error *find_fields(struct hawk_hprof_plan *plan)
{
	struct finder finder = {.plan = plan};
	const struct hawk_hprof_visitor visitor = {
		.context = &finder, .pointer = note_pointer, .block = note_block};
	struct hawk_progress progress;
	struct hawk_error *err;

	hawk_progress_begin(&progress, "looking for fields", plan->index->count);
	err = hawk_hprof_walk(plan->graph, &visitor);
	hawk_progress_end(&progress);
	note_list(plan, plan->objects->reach->sums[HAWK_REACH_DEFINITELY_LOST].objects);
	for (size_t i = 0; i < plan->holder_count; i++)
		note_list(plan, plan->holders[i].count);
	return err;
}

struct hawk_error *hawk_hprof_plan_make(const struct hawk_object_graph *objects,
					struct hawk_hprof_plan *ret)
{
	const struct hawk_profile_column none = {0};
	struct hawk_error *err;

	*ret = (struct hawk_hprof_plan){
		.objects = objects,
		.graph = objects->graph,
		.index = &objects->graph->heap->index,
	};
	err = hawk_profile_create(&none, 0, &ret->profile);
	if (!err)
		err = hawk_hprof_find_holders(ret);
	if (!err)
		err = hawk_hprof_take_stacks(ret);
	if (!err)
		err = name_sites(ret);
	if (!err)
		err = find_classes(ret);
	if (!err)
		err = find_fields(ret);
	return err ? err : hawk_profile_finish(ret->profile);
}

void hawk_hprof_plan_deinit(struct hawk_hprof_plan *plan)
{
	hawk_profile_destroy(plan->profile);
	free(plan->site_names);
	free(plan->site_steps);
	free(plan->thread_steps);
	tdestroy(plan->class_tree, free);
	free(plan->classes);
	free(plan->class_of);
	free(plan->holders);
	free(plan->roots);
}
