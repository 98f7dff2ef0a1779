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

/** Returns the class of the virtual table that `address` of `module` lies in, by its symbol or
 * type_info; NULL = it has neither, or is no table. Belongs to `symbols`. */
const char *hawk_vtable_class(struct hawk_symbols *symbols, const struct hawk_module *module,
			      uint64_t address);

/** Returns the place of a virtual table whose class has no name: "server+0x3a10". Belongs to
 * `symbols`; NULL if memory ran out. */
const char *hawk_vtable_place(struct hawk_symbols *symbols, const struct hawk_module *module,
			      uint64_t address);

#endif
