/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suspended tasks: the frames of coroutines, grouped by where they wait, and who awaits them.
 *
 * A frame that a thread runs at this moment looks as if it waited where it did last.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_TASKS_H
#define HAWK_ANALYZER_ANALYSIS_TASKS_H

#include "hawk/analysis/selection.h"
#include "hawk/objects/types.h"

enum hawk_task_state {
	HAWK_TASK_SUSPENDED,
	HAWK_TASK_ENDED,     /**< at its final suspend point: it is not resumed again */
	HAWK_TASK_DESTROYED, /**< its frame is being destroyed */
};

/** Tasks of another group that await those of this one. */
struct hawk_task_awaiters {
	uint32_t group;
	uint64_t tasks; /**< awaited ones */
};

struct hawk_task_group {
	const struct hawk_coroutine *coroutine;
	enum hawk_task_state state;
	bool has_point; /**< the next three are known */
	uint64_t index; /**< as in frames */
	uint64_t point; /**< the compiler's number, from 0 */
	struct hawk_coroutine_line line;
	struct hawk_chosen blocks;
	uint32_t number;                     /**< in the order of addresses */
	uint32_t example;                    /**< block of its first task */
	struct hawk_task_awaiters *awaiters; /**< most tasks first */
	size_t awaiter_count;
};

struct hawk_tasks {
	struct hawk_task_group *groups; /**< most tasks first */
	size_t count;
	struct hawk_chosen all;
	uint64_t guessed;                    /**< of these: frames by a guess */
	struct hawk_task_awaiters *awaiters; /**< of all groups */
};

/**
 * Groups the tasks in `chosen` (a bit for each block; NULL = all). A task is awaited by another one
 * if its promise points to that one's frame, whose other words point back. Reads; names the lines
 * of the groups. Deinitialize after success only.
 */
struct hawk_error *hawk_tasks_make(const struct hawk_types *types, struct hawk_block_types *names,
				   struct hawk_symbols *symbols, const uint64_t *chosen,
				   struct hawk_tasks *ret);

/** Finds the numbers of suspend points in frames, which redacted cores must keep; caller frees. */
struct hawk_error *hawk_tasks_numbers(const struct hawk_heap *heap, struct hawk_block_types *names,
				      struct hawk_span **ret, size_t *count);

/** Accepts zeros. */
void hawk_tasks_deinit(struct hawk_tasks *tasks);

#endif
