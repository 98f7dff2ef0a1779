/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names that the program gives to scopes and types, each with an id. Texts are copied: they may lie
 * in a library that goes away. Lock-free, async-signal-safe; nothing is ever forgotten, and their
 * number is limited by the directory of the label array.
 */
#ifndef HAWK_TRACER_TABLE_LABELS_H
#define HAWK_TRACER_TABLE_LABELS_H

#include <stdbool.h>

#include "arena.h"

/** Maps the hash buckets. False: no memory. */
bool hawk_labels_init(void);

/**
 * The label of a name (`length` bytes, NULL if 0) within `parent`, 0 for none; a new one if it was
 * never seen. 0: no room. About 10 ns for a name of 8 bytes.
 */
uint32_t hawk_labels_intern(enum hawk_label_kind kind, uint32_t parent, const char *name,
			    size_t length);

/** Whether `label` has this kind and name. */
bool hawk_labels_equal(uint32_t label, enum hawk_label_kind kind, const char *name, size_t length);

#endif
