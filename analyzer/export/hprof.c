/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The object graph as Java's HPROF, written as a stream: strings, stacks and classes, then objects,
 * each block with the pointers that were read together with it.
 *
 *     thread, frame, variable ... -> block -> block
 *     (lost: ...)                 -> the leader of every leak
 *
 * There are no arrays: readers round their sizes.
 */
#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/progress.h"
#include "hprof_plan.h"

enum { NS_PER_MS = 1000000, ID_BYTES = sizeof(uint64_t) };

struct writer {
	struct hawk_hprof_plan plan;
	struct hawk_hprof_file file;
	/* The next block. */
	uint64_t fields[HAWK_HPROF_FIELDS]; /**< by word; 0 = no pointer */
	uint64_t *listed;                   /**< pointers for lists */
	size_t listed_count, listed_capacity;
	uint64_t list_count, rest_count; /**< objects of these kinds written */
};

static uint64_t block_id(const struct writer *writer, uint32_t block)
{
	return hawk_block_start(writer->plan.index, block);
}

static bool list(struct writer *writer, uint64_t id)
{
	if (!hawk_array_reserve(&writer->listed, writer->listed_count, &writer->listed_capacity,
				sizeof(*writer->listed)))
		return false;
	writer->listed[writer->listed_count++] = id;
	return true;
}

/** Writes the listed pointers as objects of 2^n pointers, each with a pointer to the next. Returns
 * the first one's id; 0 = nothing was listed. */
static uint64_t put_lists(struct writer *writer)
{
	struct hawk_hprof_file *file = &writer->file;
	uint64_t first = hawk_hprof_id(HAWK_HPROF_MORE, writer->list_count);
	size_t count = writer->listed_count, at = 0;

	writer->listed_count = 0;
	while (at < count) {
		unsigned log2 = HAWK_HPROF_LIST_LOG2;

		while (1u << log2 > count - at)
			log2--;
		hawk_hprof_instance(file, hawk_hprof_id(HAWK_HPROF_MORE, writer->list_count++),
				    HAWK_HPROF_NO_TRACE, hawk_hprof_id(HAWK_HPROF_MORE_CLASS, log2),
				    ((1u << log2) + 1) * ID_BYTES);
		for (size_t end = at + (1u << log2); at < end; at++)
			hawk_hprof_put(file, 8, writer->listed[at]);
		hawk_hprof_put(file, 8,
			       at < count ? hawk_hprof_id(HAWK_HPROF_MORE, writer->list_count) : 0);
		hawk_hprof_end_object(file, false);
	}
	return count ? first : 0;
}

/** Writes the sub-record that makes a holder a root. */
static void put_root(struct writer *writer, size_t number)
{
	const struct hawk_hprof_holder *holder = &writer->plan.holders[number];
	struct hawk_hprof_file *file = &writer->file;
	uint64_t id = hawk_hprof_id(HAWK_HPROF_HOLDER, number);

	hawk_hprof_put(file, 1, holder->tag);
	hawk_hprof_put(file, 8, id);
	if (holder->tag == HAWK_HPROF_ROOT_JNI_GLOBAL)
		hawk_hprof_put(file, 8, id);
	if (holder->tag == HAWK_HPROF_ROOT_JAVA_FRAME || holder->tag == HAWK_HPROF_ROOT_THREAD)
		hawk_hprof_put(file, 4, holder->thread + 1);
	if (holder->tag == HAWK_HPROF_ROOT_JAVA_FRAME)
		hawk_hprof_put(file, 4, holder->line);
	if (holder->tag == HAWK_HPROF_ROOT_THREAD)
		hawk_hprof_put(file, 4, hawk_hprof_thread_trace(&writer->plan, holder->thread));
	hawk_hprof_end_object(file, false);
}

/** Lists what the holder has no fields for. */
static bool list_of_holder(struct writer *writer, size_t number)
{
	const struct hawk_hprof_holder *holder = &writer->plan.holders[number];
	const uint8_t *kinds = writer->plan.objects->reach->kinds;
	const struct hawk_root *roots = writer->plan.graph->roots.items;
	bool good = true;

	for (uint32_t i = hawk_hprof_own_fields(holder); i < holder->count && good; i++)
		good = list(
			writer,
			block_id(writer, roots[writer->plan.roots[holder->first + i]].edge >> 1));
	for (uint32_t i = 0; number == HAWK_HPROF_LOST && i < writer->plan.index->count && good;
	     i++)
		if (kinds[i] == HAWK_REACH_DEFINITELY_LOST)
			good = list(writer, block_id(writer, i));
	return good;
}

static bool put_holder(struct writer *writer, size_t number)
{
	const struct hawk_hprof_holder *holder = &writer->plan.holders[number];
	const struct hawk_root *roots = writer->plan.graph->roots.items;
	struct hawk_hprof_file *file = &writer->file;
	bool more = hawk_hprof_has_list(&writer->plan, number);
	bool thread = holder->tag == HAWK_HPROF_ROOT_THREAD;
	uint64_t class = hawk_hprof_id(HAWK_HPROF_HOLDER_CLASS, number), lists;

	if (!list_of_holder(writer, number))
		return false;
	lists = put_lists(writer);
	put_root(writer, number);
	hawk_hprof_instance(
		file, hawk_hprof_id(HAWK_HPROF_HOLDER, number), HAWK_HPROF_NO_TRACE, class,
		(hawk_hprof_own_fields(holder) + more) * ID_BYTES + (thread ? ID_BYTES + 1 : 0));
	if (thread) {
		hawk_hprof_put(file, 8, class); /* VisualVM shows a class by its name */
		hawk_hprof_put(file, 1, false); /* no daemon */
	}
	for (uint32_t i = 0; i < hawk_hprof_own_fields(holder); i++)
		hawk_hprof_put(
			file, 8,
			block_id(writer, roots[writer->plan.roots[holder->first + i]].edge >> 1));
	if (more)
		hawk_hprof_put(file, 8, lists);
	hawk_hprof_end_object(file, false);
	return true;
}

static bool take_pointer(void *context, uint32_t block, uint64_t offset, uint32_t target)
{
	struct writer *writer = context;
	uint64_t id = block_id(writer, target);

	(void)block;
	if (!hawk_hprof_is_field(offset))
		return list(writer, id);
	writer->fields[offset / sizeof(uint64_t)] = id;
	return true;
}

static bool put_rests(struct writer *writer, const struct hawk_hprof_class *class)
{
	bool good = true;

	for (uint64_t i = hawk_hprof_rests(class); i > 0 && good; i--) {
		uint64_t id = hawk_hprof_id(HAWK_HPROF_REST, writer->rest_count++);

		hawk_hprof_instance(&writer->file, id, HAWK_HPROF_NO_TRACE,
				    hawk_hprof_id(HAWK_HPROF_REST_CLASS, 0), 0);
		hawk_hprof_end_object(&writer->file, false);
		good = list(writer, id);
	}
	return good;
}

static bool put_block(void *context, uint32_t block)
{
	struct writer *writer = context;
	const struct hawk_hprof_plan *plan = &writer->plan;
	const struct hawk_hprof_class *class = plan->classes[plan->class_of[block]];
	uint32_t site = hawk_heap_site_at(plan->graph->heap, block);
	uint64_t lists;

	if (!put_rests(writer, class))
		return false;
	lists = put_lists(writer);
	hawk_hprof_instance(&writer->file, block_id(writer, block),
			    hawk_hprof_site_trace(plan, site),
			    hawk_hprof_id(HAWK_HPROF_BLOCK_CLASS, class->number),
			    hawk_hprof_count_fields(class) * ID_BYTES);
	for (unsigned i = 0; i < HAWK_HPROF_FIELDS; i++)
		if (hawk_hprof_has_field(class, i)) {
			hawk_hprof_put(&writer->file, 8, writer->fields[i]);
			writer->fields[i] = 0;
		}
	if (class->more)
		hawk_hprof_put(&writer->file, 8, lists);
	hawk_hprof_end_object(&writer->file, false);
	return true;
}

static struct hawk_error *put_objects(struct writer *writer)
{
	const struct hawk_hprof_visitor visitor = {
		.context = writer, .pointer = take_pointer, .block = put_block};
	struct hawk_progress progress;
	struct hawk_error *err;
	bool good = true;

	hawk_hprof_write_classes(&writer->plan, &writer->file);
	for (size_t i = 0; i < writer->plan.holder_count && good; i++)
		good = put_holder(writer, i);
	if (!good)
		return &hawk_enomem;
	hawk_progress_begin(&progress, "writing blocks", writer->plan.index->count);
	err = hawk_hprof_walk(writer->plan.graph, &visitor);
	hawk_progress_end(&progress);
	hawk_hprof_end_object(&writer->file, true);
	return err;
}

static struct hawk_error *put_document(struct writer *writer, struct hawk_output *output)
{
	const struct hawk_end_times *end =
		&hawk_target_process(writer->plan.graph->heap->target)->end;
	struct hawk_error *err;

	hawk_hprof_file_begin(&writer->file, output,
			      (end->attribute_ns ? end->attribute_ns : end->file_ns) / NS_PER_MS);
	hawk_hprof_write_strings(&writer->plan, &writer->file);
	err = hawk_hprof_write_stacks(&writer->plan, &writer->file);
	if (err)
		return err;
	hawk_hprof_load_classes(&writer->plan, &writer->file);
	err = put_objects(writer);
	return err ? err : hawk_hprof_file_end(&writer->file);
}

struct hawk_error *hawk_export_hprof(const struct hawk_object_graph *objects,
				     struct hawk_output *output)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	struct hawk_error *err;

	if (!writer)
		return &hawk_enomem;
	err = hawk_hprof_plan_make(objects, &writer->plan);
	if (!err)
		err = put_document(writer, output);
	hawk_hprof_file_deinit(&writer->file);
	hawk_hprof_plan_deinit(&writer->plan);
	free(writer->listed);
	free(writer);
	return err;
}
