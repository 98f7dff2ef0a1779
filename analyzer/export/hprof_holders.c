/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The objects that hold roots: one for each thread (its registers, its thread-local storage and
 * what of its stack is in no frame), for each frame, and for each group of other roots, as
 * `retained --by=root` names them. And one for what is lost.
 */
#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hprof_plan.h"

static bool add_holder(struct hawk_hprof_plan *plan, struct hawk_hprof_holder holder)
{
	if (!hawk_array_reserve(&plan->holders, plan->holder_count, &plan->holder_capacity,
				sizeof(*plan->holders)))
		return false;
	plan->holders[plan->holder_count++] = holder;
	return true;
}

static bool add_fixed(struct hawk_hprof_plan *plan)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(plan->graph->heap->target, &count);
	bool good = add_holder(
		plan, (struct hawk_hprof_holder){
			      .tag = HAWK_HPROF_ROOT_UNKNOWN,
			      .name = hawk_profile_string(plan->profile,
							  hawk_object_graph_lost(plan->objects)),
		      });

	plan->thread_count = (uint32_t)count;
	for (size_t i = 0; i < count && good; i++) {
		CLEANUP(text) struct hawk_text name = {0};

		hawk_text_printf(&name, "thread %u", threads[i].tid);
		good = add_holder(plan, (struct hawk_hprof_holder){
						.tag = HAWK_HPROF_ROOT_THREAD,
						.thread = (uint32_t)i,
						.name = hawk_profile_string(
							plan->profile, hawk_text_string(&name)),
					});
	}
	return good;
}

/** Finds the holder of a root on a stack. Roots are sorted, so that it is the last one or new. */
static bool find_frame(struct hawk_hprof_plan *plan, uint32_t root, uint32_t *ret)
{
	uint32_t thread = plan->graph->roots.items[root].owner;
	const struct hawk_hprof_holder *last = &plan->holders[plan->holder_count - 1];
	struct hawk_root_name name = hawk_root_find(plan->objects->roots, root);

	*ret = HAWK_HPROF_FIRST_THREAD + thread;
	if (!name.has_frame)
		return true;
	if ((last->tag != HAWK_HPROF_ROOT_JAVA_FRAME || last->thread != thread ||
	     last->frame != name.frame) &&
	    !add_holder(plan, (struct hawk_hprof_holder){.tag = HAWK_HPROF_ROOT_JAVA_FRAME,
							 .thread = thread,
							 .frame = name.frame,
							 .line = UINT32_MAX}))
		return false;
	*ret = (uint32_t)plan->holder_count - 1;
	return true;
}

/** Finds the holder of a root in a module or mapping. `holders` has those of groups; 0 = none yet.
 */
static bool find_group(struct hawk_hprof_plan *plan, const struct hawk_tree_roots *groups,
		       uint32_t *holders, uint32_t group, uint32_t *ret)
{
	if (!holders[group]) {
		holders[group] = (uint32_t)plan->holder_count;
		if (!add_holder(plan, (struct hawk_hprof_holder){
					      .tag = HAWK_HPROF_ROOT_JNI_GLOBAL,
					      .name = hawk_profile_string(plan->profile,
									  groups->names[group]),
				      }))
			return false;
	}
	*ret = holders[group];
	return true;
}

/** Replaces the groups of `groups->groups` by holders. */
static bool choose_holders(struct hawk_hprof_plan *plan, struct hawk_tree_roots *groups)
{
	const struct hawk_roots *roots = &plan->graph->roots;
	CLEANUP(free_ptr) uint32_t *holders = calloc(groups->count + 1, sizeof(*holders));
	bool good = holders && add_fixed(plan);

	for (size_t i = 0; i < roots->count && good; i++) {
		uint32_t *holder = &groups->groups[i];

		if (roots->items[i].kind == HAWK_ROOT_STACK)
			good = find_frame(plan, (uint32_t)i, holder);
		else if (roots->items[i].kind <= HAWK_ROOT_TLS)
			*holder = HAWK_HPROF_FIRST_THREAD + roots->items[i].owner;
		else
			good = find_group(plan, groups, holders, *holder, holder);
		if (good)
			plan->holders[*holder].count++;
	}
	return good;
}

static struct hawk_error *sort_roots(struct hawk_hprof_plan *plan, const uint32_t *holder_of)
{
	size_t count = plan->graph->roots.count;
	uint32_t first = 0;

	plan->roots = calloc(count + 1, sizeof(*plan->roots));
	if (!plan->roots)
		return &hawk_enomem;
	for (size_t i = 0; i < plan->holder_count; i++) {
		plan->holders[i].first = first;
		first += plan->holders[i].count;
		plan->holders[i].count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct hawk_hprof_holder *holder = &plan->holders[holder_of[i]];

		plan->roots[holder->first + holder->count++] = (uint32_t)i;
	}
	return NULL;
}

struct hawk_error *hawk_hprof_find_holders(struct hawk_hprof_plan *plan)
{
	struct hawk_tree_roots groups;
	struct hawk_error *err = hawk_tree_roots_make(plan->objects->roots, &groups);

	if (err)
		return err;
	err = choose_holders(plan, &groups) ? sort_roots(plan, groups.groups) : &hawk_enomem;
	hawk_tree_roots_deinit(&groups);
	return err;
}
