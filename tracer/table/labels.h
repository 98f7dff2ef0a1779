/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names that the program gives to scopes and types, each with an id. Texts are copied, because
 * their library may be unloaded. Lock-free, async-signal-safe. Labels are never forgotten; the
 * directory of the label array limits their number.
 */
#ifndef HAWK_TRACER_TABLE_LABELS_H
#define HAWK_TRACER_TABLE_LABELS_H

#include <stdbool.h>

#include "arena.h"

/** Maps the hash buckets. Returns false without memory. */
bool hawk_labels_init(void);

/**
 * Returns the label of a name (`length` bytes, NULL if 0) within `parent` (0 = none), making it if
 * new. Returns 0 without room. Costs about 10 ns for a name of 8 bytes.
 */
uint32_t hawk_labels_intern(enum hawk_label_kind kind, uint32_t parent, const char *name,
			    size_t length);

/** Returns true if `label` has this kind and name. */
bool hawk_labels_equal(uint32_t label, enum hawk_label_kind kind, const char *name, size_t length);

#endif
