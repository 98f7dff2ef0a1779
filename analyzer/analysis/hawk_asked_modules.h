/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which modules heuristics have asked for virtual tables: whoever takes their answers from an index
 * cache asks again, so that what cannot be found out of a module's file is told again.
 */
#ifndef HAWK_ASKED_MODULES_H
#define HAWK_ASKED_MODULES_H

#include "hawk_heuristics.h"

enum { HAWK_ASKED_MODULES_MAX = 1 << 16 };

/** A word of each module. */
struct hawk_asked_modules {
	const uint64_t *words;
	size_t count;
	uint64_t *owned; /**< NULL = words lie in memory of somebody else */
	bool told;       /**< they were asked in this process: what is wrong with them is known */
};

/** An oracle that passes on what it is asked, and notes it. */
struct hawk_asking {
	struct hawk_vtable_oracle oracle; /**< to be asked in place of the other one */
	const struct hawk_target *target;
	const struct hawk_vtable_oracle *other;
	const struct hawk_module *modules;
	uint64_t *words; /**< the first one of each module; 0 = none */
	size_t count;    /**< of modules */
};

/** `other` and `target` must outlive it; it must stay where it is. */
struct hawk_error *hawk_asking_init(struct hawk_asking *asking, const struct hawk_target *target,
				    const struct hawk_vtable_oracle *other);
/** What was asked, for `ret` to own. */
void hawk_asking_finish(struct hawk_asking *asking, struct hawk_asked_modules *ret);
/** Also after that. */
void hawk_asking_deinit(struct hawk_asking *asking);

static inline void hawk_cleanup_asking(struct hawk_asking *asking)
{
	hawk_asking_deinit(asking);
}

/** Asks `oracle`, which may be NULL, once for each module; a second time nothing is asked. */
struct hawk_error *hawk_asked_modules_ask(struct hawk_asked_modules *asked,
					  const struct hawk_vtable_oracle *oracle);

/** Accepts zeros, and leaves them behind. */
void hawk_asked_modules_deinit(struct hawk_asked_modules *asked);

#endif
