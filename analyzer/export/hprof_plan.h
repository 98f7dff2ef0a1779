/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The classes, stacks and holders of roots in an HPROF file, which are all written before the first
 * block. Internal to export/.
 *
 * HPROF knows sizes by class, so that blocks of one name and one size are a class. Its fields are
 * the places at which any of its blocks has a pointer. Pointers at other places, beyond
 * HAWK_HPROF_FIELDS words or not known, are in lists that the last field leads to.
 *
 * Roots are fields, too, of an object for each thread, stack frame, variable or mapping. A reader
 * that counts a root into what its only referrer retains, as VisualVM does, is right this way: no
 * block is a root itself.
 */
#ifndef HAWK_ANALYZER_EXPORT_HPROF_PLAN_H
#define HAWK_ANALYZER_EXPORT_HPROF_PLAN_H

#include "hawk/base/numbers.h"
#include "hawk/export/object_graph.h"
#include "hawk/profile/profile.h"
#include "hprof_file.h"

enum {
	HAWK_HPROF_FIELDS = 256, /**< words of a block that can be fields */
	/** Upper limit on the pointers of a list, or of a holder's own: VisualVM counts fields in
	 * 15 bits. */
	HAWK_HPROF_LIST_LOG2 = 14,
	HAWK_HPROF_LIST_MAX = 1 << HAWK_HPROF_LIST_LOG2,
	/** Bytes of a rest. Readers keep a size in 31 bits: a larger block retains rests. */
	HAWK_HPROF_REST_BYTES = 1 << 30,
};

struct hawk_hprof_class {
	uint32_t name; /**< string of the profile */
	uint64_t bytes;
	uint32_t number;
	bool more; /**< has a field for lists */
	uint64_t fields[HAWK_HPROF_FIELDS / 64];
};

/** An object that stands for a part of the root set, and is a root. */
struct hawk_hprof_holder {
	enum hawk_hprof_tag tag;
	uint32_t thread; /**< of a thread and its frames: index */
	uint32_t frame;  /**< of a frame: 0 = innermost */
	uint32_t line;   /**< of a frame: index in the thread's stack trace; UINT32_MAX = unknown */
	uint32_t name;   /**< string of the profile */
	uint32_t count;  /**< roots */
	uint32_t first;  /**< of them, in hawk_hprof_plan.roots */
};

/** Numbers of holders; threads follow, then all others. */
enum { HAWK_HPROF_LOST, HAWK_HPROF_FIRST_THREAD };

struct hawk_hprof_plan {
	const struct hawk_object_graph *objects;
	const struct hawk_graph *graph;
	const struct hawk_block_index *index;
	struct hawk_profile *profile; /**< keeps strings, modules, frames and stacks */
	uint32_t *site_names;         /**< by site, and of none: strings */
	uint32_t *site_steps;         /**< by site: the stack; 0 = none */
	uint32_t *thread_steps;
	void *class_tree;
	struct hawk_hprof_class **classes; /**< by number; of the tree */
	size_t class_count, class_capacity;
	uint32_t *class_of; /**< by block */
	struct hawk_hprof_holder *holders;
	size_t holder_count, holder_capacity;
	uint32_t *roots; /**< sorted by holder */
	uint32_t thread_count;
	uint64_t list_max; /**< pointers of the longest list */
};

/** Makes the plan; reads the blocks. Deinitialize `ret` in any case. */
struct hawk_error *hawk_hprof_plan_make(const struct hawk_object_graph *objects,
					struct hawk_hprof_plan *ret);
void hawk_hprof_plan_deinit(struct hawk_hprof_plan *plan);

/** Finds the holders of all roots. */
struct hawk_error *hawk_hprof_find_holders(struct hawk_hprof_plan *plan);

/** Takes in the stacks of sites and threads, and names the frames' holders. */
struct hawk_error *hawk_hprof_take_stacks(struct hawk_hprof_plan *plan);

/** Writes the strings that are names of fields. */
void hawk_hprof_write_strings(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file);

/** Writes the names of all classes but those of modules. */
void hawk_hprof_load_classes(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file);

/** Writes all classes as objects. */
void hawk_hprof_write_classes(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file);

/** Writes the strings, classes, frames and traces of the stacks. These classes come first. */
struct hawk_error *hawk_hprof_write_stacks(const struct hawk_hprof_plan *plan,
					   struct hawk_hprof_file *file);

/** Returns the serial number of the stack trace of a site or a thread. */
uint32_t hawk_hprof_site_trace(const struct hawk_hprof_plan *plan, uint32_t site);
uint32_t hawk_hprof_thread_trace(const struct hawk_hprof_plan *plan, uint32_t thread);

/** Returns how many rests a block of this class has. */
uint64_t hawk_hprof_rests(const struct hawk_hprof_class *class);

/** Returns true if a block of this class has a pointer in that word. */
static inline bool hawk_hprof_has_field(const struct hawk_hprof_class *class, unsigned word)
{
	return class->fields[word / 64] >> word % 64 & 1;
}

static inline uint32_t hawk_hprof_count_fields(const struct hawk_hprof_class *class)
{
	uint32_t count = class->more;

	for (unsigned i = 0; i < HAWK_HPROF_FIELDS / 64; i++)
		count += hawk_popcount(class->fields[i]);
	return count;
}

/** Returns how many roots are fields of the holder; those beyond are in its list. */
static inline uint32_t hawk_hprof_own_fields(const struct hawk_hprof_holder *holder)
{
	return (uint32_t)hawk_least(holder->count, HAWK_HPROF_LIST_MAX);
}

static inline bool hawk_hprof_has_list(const struct hawk_hprof_plan *plan, size_t holder)
{
	return holder == HAWK_HPROF_LOST || plan->holders[holder].count > HAWK_HPROF_LIST_MAX;
}

/** The place of a pointer that could not be read again. */
static const uint64_t HAWK_HPROF_NOWHERE = UINT64_MAX;

/** Returns true if a pointer at `offset` is in a field. */
static inline bool hawk_hprof_is_field(uint64_t offset)
{
	return offset / sizeof(uint64_t) < HAWK_HPROF_FIELDS;
}

/** Called for all blocks and their pointers, in order. */
struct hawk_hprof_visitor {
	void *context;
	/** Returns false if memory ran out. */
	bool (*pointer)(void *context, uint32_t block, uint64_t offset, uint32_t target);
	/** Called behind the block's last pointer. Likewise. */
	bool (*block)(void *context, uint32_t block);
};

struct hawk_error *hawk_hprof_walk(const struct hawk_graph *graph,
				   const struct hawk_hprof_visitor *visitor);

#endif
