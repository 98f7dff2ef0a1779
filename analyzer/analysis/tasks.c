/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Groups frames by coroutine, state and number of the suspend point, then looks for awaiters along
 * the pointers between frames.
 */
#include "hawk/analysis/tasks.h"

#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"

enum {
	SLOTS_MIN = 64,
	FRAME_WORDS_MAX = 8192, /**< of a frame, looked at for pointers */
	NO_GROUP = UINT32_MAX,
};

struct task {
	uint32_t block;
	uint32_t group;   /**< in the order of finding */
	uint32_t awaiter; /**< group of who awaits it */
};

struct making {
	const struct hawk_types *types;
	struct hawk_block_types *names;
	const uint64_t *chosen;
	struct hawk_near near;
	struct task *tasks; /**< by block */
	size_t count, capacity;
	struct hawk_task_group *groups;
	size_t group_count, group_capacity;
	uint32_t *slots; /**< hash table of groups, numbers from 1; 0 = free */
	size_t slot_count;
	uint64_t words[2][FRAME_WORDS_MAX]; /**< of a task and its awaiter */
};

static uint64_t hash_of(const struct hawk_task_group *group)
{
	uint64_t hash = (uint64_t)(uintptr_t)group->coroutine ^ group->index << 40 ^
			(uint64_t)group->state << 60;

	return hash * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

static uint32_t *find_slot(const struct making *making, const struct hawk_task_group *group)
{
	for (size_t at = (size_t)hash_of(group);; at++) {
		uint32_t *slot = &making->slots[at & (making->slot_count - 1)];
		const struct hawk_task_group *found = *slot ? &making->groups[*slot - 1] : NULL;

		if (!found || (found->coroutine == group->coroutine &&
			       found->state == group->state && found->index == group->index))
			return slot;
	}
}

/* Keeps the hash table half empty. */
static bool make_room(struct making *making)
{
	size_t count = making->slot_count ? 2 * making->slot_count : SLOTS_MIN;
	uint32_t *slots;

	if (making->slot_count > 2 * making->group_count)
		return true;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return false;
	free(making->slots);
	making->slots = slots;
	making->slot_count = count;
	for (uint32_t i = 0; i < making->group_count; i++)
		*find_slot(making, &making->groups[i]) = i + 1;
	return true;
}

/* Reads where a frame waits. gcc counts in twos: 2 is the first suspend point, and odd numbers mean
 * that the frame is being destroyed. */
static void read_point(struct making *making, uint64_t start, uint64_t size,
		       struct hawk_task_group *group)
{
	const struct hawk_coroutine *coroutine = group->coroutine;
	uint16_t index = 0;

	if (!coroutine->index_bytes || coroutine->index_at >= size ||
	    hawk_near_read(&making->near, start + coroutine->index_at, &index,
			   coroutine->index_bytes) != coroutine->index_bytes)
		return;
	if (coroutine->by_gcc && index & 1)
		group->state = HAWK_TASK_DESTROYED;
	if (group->state != HAWK_TASK_SUSPENDED || (coroutine->by_gcc && !index))
		return;
	group->index = index;
	group->point = coroutine->by_gcc ? index / 2 - 1 : index;
	group->has_point = true;
}

static bool add_task(struct making *making, uint32_t block, const struct hawk_coroutine *coroutine,
		     bool ended)
{
	const struct hawk_block_index *index = &making->types->heap->index;
	struct hawk_task_group group = {.coroutine = coroutine,
					.state = ended ? HAWK_TASK_ENDED : HAWK_TASK_SUSPENDED,
					.example = block};
	uint32_t *slot;

	read_point(making, hawk_block_start(index, block), hawk_block_size(index, block), &group);
	if (!make_room(making) ||
	    !hawk_array_reserve(&making->groups, making->group_count, &making->group_capacity,
				sizeof(*making->groups)) ||
	    !hawk_array_reserve(&making->tasks, making->count, &making->capacity,
				sizeof(*making->tasks)))
		return false;
	slot = find_slot(making, &group);
	if (!*slot) {
		group.number = (uint32_t)making->group_count;
		making->groups[making->group_count++] = group;
		*slot = (uint32_t)making->group_count;
	}
	hawk_chosen_add(&making->groups[*slot - 1].blocks, index, block);
	making->tasks[making->count++] = (struct task){block, *slot - 1, NO_GROUP};
	return true;
}

static struct hawk_error *find_tasks(struct making *making)
{
	const struct hawk_types *types = making->types;
	const struct hawk_block_index *index = &types->heap->index;
	const struct hawk_module_words *modules = hawk_block_types_modules(making->names);

	for (uint32_t i = hawk_block_next_chosen(making->chosen, 0, index->count); i < index->count;
	     i = hawk_block_next_chosen(making->chosen, i + 1, index->count)) {
		const struct hawk_type *type = hawk_types_at(types, hawk_types_of(types, i));
		const struct hawk_coroutine *coroutine;
		struct hawk_type_words words;

		if (type->origin != HAWK_TYPE_COROUTINE)
			continue;
		words = hawk_type_words_at(modules, &making->near, hawk_block_start(index, i),
					   hawk_block_size(index, i));
		coroutine = hawk_block_coroutine(making->names, &words);
		if (coroutine && !add_task(making, i, coroutine, !words.resume))
			return &hawk_enomem;
	}
	return NULL;
}

/* Reads a frame's words; returns how many. */
static size_t read_frame(struct making *making, uint32_t block, uint64_t *words)
{
	const struct hawk_block_index *index = &making->types->heap->index;
	uint64_t size = hawk_block_size(index, block) / sizeof(*words);

	size = size < FRAME_WORDS_MAX ? size : FRAME_WORDS_MAX;
	return hawk_near_read(&making->near, hawk_block_start(index, block), words,
			      (size_t)size * sizeof(*words)) /
	       sizeof(*words);
}

/* Returns the task whose frame, or the promise in it, is at `address`; NULL = none. */
static struct task *task_at(const struct making *making, uint64_t address)
{
	const struct hawk_block_index *index = &making->types->heap->index;
	size_t low = 0, high = making->count;
	uint32_t block;
	bool interior;

	if (!address)
		return NULL;
	block = hawk_block_index_find(index, address, &interior);
	if (block == HAWK_BLOCK_NOWHERE ||
	    (interior && address - hawk_block_start(index, block) != HAWK_COROUTINE_PROMISE))
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (making->tasks[middle].block < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low < making->count && making->tasks[low].block == block ? &making->tasks[low]
									: NULL;
}

/* Returns the word behind the promise: gcc's frames have their own address there. */
static size_t promise_end(const struct making *making, const struct task *task,
			  const uint64_t *words, size_t count)
{
	const struct hawk_coroutine *coroutine = making->groups[task->group].coroutine;
	uint64_t start = hawk_block_start(&making->types->heap->index, task->block);
	uint64_t end = (HAWK_COROUTINE_PROMISE + coroutine->promise_bytes + 7) / 8;

	if (!coroutine->by_gcc)
		return coroutine->promise_bytes && end < count ? (size_t)end : count;
	for (size_t i = HAWK_COROUTINE_PROMISE / 8; i < count; i++)
		if (words[i] == start)
			return i;
	return count;
}

/* Sets who awaits a task: the first frame that its promise points to, if that one points back from
 * behind its own promise. Where the end of that promise is not known, it is taken to be as long as
 * the task's is up to the pointer: both mostly have the same type. */
static void find_awaiter(struct making *making, struct task *task)
{
	size_t count = read_frame(making, task->block, making->words[0]);
	size_t end = promise_end(making, task, making->words[0], count);
	size_t behind_pointer = HAWK_COROUTINE_PROMISE / 8;
	struct task *other = NULL;

	for (; behind_pointer < end && !other; behind_pointer++) {
		other = task_at(making, making->words[0][behind_pointer]);
		other = other == task ? NULL : other;
	}
	if (!other)
		return;
	count = read_frame(making, other->block, making->words[1]);
	end = promise_end(making, other, making->words[1], count);
	for (size_t at = end < count ? end : behind_pointer;
	     at < count && task->awaiter == NO_GROUP; at++)
		if (task_at(making, making->words[1][at]) == task)
			task->awaiter = other->group;
}

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int compare_awaiters(const void *left, const void *right)
{
	const struct hawk_task_awaiters *a = left, *b = right;

	if (a->tasks != b->tasks)
		return a->tasks > b->tasks ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

/* Sums awaiters up by group. */
static struct hawk_error *add_awaiters(struct making *making, struct hawk_tasks *tasks)
{
	CLEANUP(free_ptr) uint64_t *pairs = calloc(making->count + 1, sizeof(*pairs));
	size_t count = 0, used = 0;

	tasks->awaiters = calloc(making->count + 1, sizeof(*tasks->awaiters));
	if (!pairs || !tasks->awaiters)
		return &hawk_enomem;
	for (size_t i = 0; i < making->count; i++)
		if (making->tasks[i].awaiter != NO_GROUP)
			pairs[count++] =
				(uint64_t)making->tasks[i].group << 32 | making->tasks[i].awaiter;
	qsort(pairs, count, sizeof(*pairs), compare_numbers);
	for (size_t i = 0; i < count; i++) {
		struct hawk_task_group *group = &making->groups[pairs[i] >> 32];

		if (!group->awaiter_count)
			group->awaiters = &tasks->awaiters[used];
		if (!i || pairs[i] != pairs[i - 1]) {
			tasks->awaiters[used++].group = (uint32_t)pairs[i];
			group->awaiter_count++;
		}
		tasks->awaiters[used - 1].tasks++;
	}
	return NULL;
}

static int compare_groups(const void *left, const void *right)
{
	const struct hawk_task_group *a = left, *b = right;

	if (a->blocks.objects != b->blocks.objects)
		return a->blocks.objects > b->blocks.objects ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Sorts the groups, and renumbers them in the tasks. */
static struct hawk_error *sort_groups(struct making *making)
{
	CLEANUP(free_ptr)
	uint32_t *places = calloc(making->group_count + 1, sizeof(*places));

	if (!places)
		return &hawk_enomem;
	if (making->group_count)
		qsort(making->groups, making->group_count, sizeof(*making->groups), compare_groups);
	for (uint32_t i = 0; i < making->group_count; i++)
		places[making->groups[i].number] = i;
	for (size_t i = 0; i < making->count; i++) {
		struct task *task = &making->tasks[i];

		task->group = places[task->group];
		if (task->awaiter != NO_GROUP)
			task->awaiter = places[task->awaiter];
	}
	return NULL;
}

/* Adds up groups, and names lines. */
static void finish(struct making *making, struct hawk_symbols *symbols, struct hawk_tasks *tasks)
{
	for (size_t i = 0; i < making->group_count; i++) {
		struct hawk_task_group *group = &making->groups[i];

		tasks->all.objects += group->blocks.objects;
		tasks->all.bytes += group->blocks.bytes;
		tasks->guessed += group->coroutine->is_guess ? group->blocks.objects : 0;
		if (group->has_point)
			group->line = hawk_symbols_coroutine_line(symbols, group->coroutine,
								  group->index);
		if (group->awaiter_count)
			qsort(group->awaiters, group->awaiter_count, sizeof(*group->awaiters),
			      compare_awaiters);
	}
}

static struct hawk_error *make(struct making *making, struct hawk_tasks *tasks)
{
	struct hawk_progress progress;
	struct hawk_error *err = find_tasks(making);

	if (err)
		return err;
	hawk_progress_begin(&progress, "finding who awaits", making->count);
	for (size_t i = 0; i < making->count; i++) {
		find_awaiter(making, &making->tasks[i]);
		hawk_progress_tick(i);
	}
	hawk_progress_end(&progress);
	err = sort_groups(making);
	return err ? err : add_awaiters(making, tasks);
}

struct hawk_error *hawk_tasks_make(const struct hawk_types *types, struct hawk_block_types *names,
				   struct hawk_symbols *symbols, const uint64_t *chosen,
				   struct hawk_tasks *ret)
{
	CLEANUP(free_ptr) struct making *making = calloc(1, sizeof(*making));
	struct hawk_tasks tasks = {0};
	struct hawk_error *err;

	if (!making)
		return &hawk_enomem;
	making->types = types;
	making->names = names;
	making->chosen = chosen;
	making->near.target = types->heap->target;
	err = make(making, &tasks);
	free(making->tasks);
	free(making->slots);
	if (!err)
		finish(making, symbols, &tasks);
	tasks.groups = making->groups;
	tasks.count = making->group_count;
	if (err)
		hawk_tasks_deinit(&tasks);
	else
		*ret = tasks;
	return err;
}

struct hawk_error *hawk_tasks_numbers(const struct hawk_heap *heap, struct hawk_block_types *names,
				      struct hawk_span **ret, size_t *count)
{
	const struct hawk_module_words *modules = hawk_block_types_modules(names);
	struct hawk_near near = {.target = heap->target};
	struct hawk_span *spans = NULL;
	size_t capacity = 0;

	*count = 0;
	for (uint32_t i = 0; i < heap->index.count; i++) {
		uint64_t start = hawk_block_start(&heap->index, i);
		struct hawk_type_words words =
			hawk_type_words_at(modules, &near, start, hawk_block_size(&heap->index, i));
		const struct hawk_coroutine *coroutine = hawk_block_coroutine(names, &words);

		if (!coroutine || !coroutine->index_bytes)
			continue;
		if (!hawk_array_reserve(&spans, *count, &capacity, sizeof(*spans))) {
			free(spans);
			return &hawk_enomem;
		}
		start += coroutine->index_at;
		spans[(*count)++] = (struct hawk_span){start, start + coroutine->index_bytes};
	}
	*ret = spans;
	return NULL;
}

void hawk_tasks_deinit(struct hawk_tasks *tasks)
{
	free(tasks->groups);
	free(tasks->awaiters);
	*tasks = (struct hawk_tasks){0};
}
