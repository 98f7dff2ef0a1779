/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Who answers to a name in the program: we, or a definition before ours in its search order.
 */
#ifndef HAWK_FIRST_H
#define HAWK_FIRST_H

#include <stdbool.h>

/**
 * Whether a call of `name` from the program arrives at `ours`. Calls the loader (locks, no
 * allocation): for start-up only.
 */
bool hawk_first_is(const char *name, const void *ours);

#endif
