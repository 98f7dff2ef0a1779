/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a few chosen blocks hang on: the path to each from a root, what it holds, who holds it, and
 * what it dominates. For documents that are read without the core: each list is cut to a limit, and
 * its whole length is known. Takes one pass over all pointers, not one a block.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_OBJECT_LINKS_H
#define HAWK_ANALYZER_ANALYSIS_OBJECT_LINKS_H

#include "hawk/analysis/paths.h"
#include "hawk/analysis/referrers.h"
#include "hawk/names/type_words.h"

enum { HAWK_OBJECT_LINKS = 10, HAWK_OBJECT_STEPS = 16 };

/** Another block. */
struct hawk_object_link {
	uint32_t block;
	uint64_t offset; /**< of the pointer, in the block that holds; or HAWK_OFFSET_UNKNOWN */
	struct hawk_type_words words; /**< of `block` */
};

struct hawk_object_links {
	struct hawk_object_link items[HAWK_OBJECT_LINKS];
	/** Length of the whole list. Beyond HAWK_OBJECT_LINKS it counts pointers, not blocks. */
	uint64_t count;
};

struct hawk_object {
	uint32_t block;
	struct hawk_type_words words;
	bool has_path;
	uint32_t root; /**< index into the roots, if it has a path */
	/** From the root to the block before this one; of a long path the last steps. */
	struct hawk_object_link path[HAWK_OBJECT_STEPS];
	uint32_t path_count;
	uint32_t path_left_out;             /**< steps between the root and `path` */
	struct hawk_object_links holds;     /**< by place of the pointer */
	struct hawk_object_links holders;   /**< ascending */
	struct hawk_object_links dominates; /**< directly; most retained first */
};

struct hawk_objects {
	struct hawk_object *items; /**< by block */
	size_t count;
};

/** Describes `count` different blocks, and sorts them. `paths` gets prepared for them. Reads types
 * and places of pointers; deinitialize `ret` also after an error. */
struct hawk_error *hawk_objects_describe(const struct hawk_graph *graph, struct hawk_paths *paths,
					 const struct hawk_dominators *dominators,
					 const struct hawk_module_words *modules, uint32_t *blocks,
					 size_t count, struct hawk_objects *ret);
void hawk_objects_deinit(struct hawk_objects *objects);

#endif
