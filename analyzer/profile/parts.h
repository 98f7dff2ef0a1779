/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The parts of a profile while it is made: each is looked up by its contents, and added if it is
 * new. All return 0 and set profile->failed if memory runs out.
 */
#ifndef HAWK_ANALYZER_PROFILE_PARTS_H
#define HAWK_ANALYZER_PROFILE_PARTS_H

#include "hawk/profile/profile.h"

/** Returns true if thing `number` is the one that `key` describes. */
typedef bool hawk_profile_same(const struct hawk_profile *profile, uint32_t number,
			       const void *key);

/**
 * Returns the number of the thing described by `key`, or 0 with `*slot` set to the place where its
 * number is to be stored. `*slot` is NULL if memory ran out: then do not add the thing.
 */
uint32_t hawk_profile_index_find(const struct hawk_profile *profile,
				 struct hawk_profile_index *index, uint64_t hash,
				 hawk_profile_same *same, const void *key, uint32_t **slot);

void hawk_profile_index_deinit(struct hawk_profile_index *index);

/** Appends the frame to those of the location that is added next, the innermost first. */
bool hawk_profile_push_frame(struct hawk_profile *profile, const struct hawk_profile_frame *frame);

/** Makes a location of the last `count` frames. */
uint32_t hawk_profile_add_location(struct hawk_profile *profile, uint64_t address, uint32_t module,
				   uint32_t count);

/** `location` 0: returns `parent`, as it does without memory. */
uint32_t hawk_profile_add_step(struct hawk_profile *profile, uint32_t parent, uint32_t location);

/** Adds the target's program as the first module: readers take that for what was profiled. */
void hawk_profile_add_program(struct hawk_profile *profile, const struct hawk_target *target);

/** Returns the length of a function's name without what compilers append to clones:
 * ".constprop.0", ".part.3.cold", " [clone .isra.0]". */
size_t hawk_profile_function_length(const char *name);

#endif
