/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names for classes of blocks, the same for all allocators.
 */
#ifndef HAWK_ANALYZER_NAMES_CLASS_NAME_H
#define HAWK_ANALYZER_NAMES_CLASS_NAME_H

#include "hawk/heap/source.h"
#include "hawk/symbols/symbols.h"

/** Returns the name of a class: "malloc, 56 bytes", a type's. Belongs to `symbols` or to the heap.
 * NULL: the class is not known, or memory ran out. */
const char *hawk_class_name(struct hawk_symbols *symbols, const struct hawk_class *class);

#endif
