/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where CPython is in a process, and the memory of its allocator. Both are found by shape; no
 * symbol and no file is needed. Private to heap/python/.
 *
 *     a word of the module's data -> array of arenas, 48 bytes each
 *     arena: pools of 4 or 16 KiB, each with a header of 48 bytes and blocks of one size
 */
#ifndef HAWK_ANALYZER_HEAP_PYTHON_PYMALLOC_H
#define HAWK_ANALYZER_HEAP_PYTHON_PYMALLOC_H

#include "../slabs.h"

/** Offsets in a PyTypeObject, and bits of its flags. The same from 3.9 to 3.13. */
enum {
	PYTHON_TYPE = 8, /**< of any object */
	PYTHON_TYPE_NAME = 24,
	PYTHON_TYPE_BASIC_BYTES = 32,
	PYTHON_TYPE_ITEM_BYTES = 40,
	PYTHON_TYPE_FLAGS = 168,
	PYTHON_TYPE_WEAK_LIST = 208, /**< offset of this field in objects; 0 = none */
	PYTHON_TYPE_MEMBERS = 240,
	PYTHON_TYPE_BASE = 256,
	PYTHON_TYPE_DICT = 264,
	PYTHON_TYPE_DICT_OFFSET = 288, /**< of the dict in objects; 0 = none */
	PYTHON_TYPE_BYTES = 400,
	PYTHON_READY = 1 << 12,
	PYTHON_COLLECTED = 1 << 14,
};
static const uint64_t PYTHON_TYPE_OF_TYPES = UINT64_C(1) << 31;

/** The module that CPython is linked into. */
struct hawk_python_home {
	const struct hawk_module *module;
	uint64_t type; /**< address of the type "type" */
};

/** Finds CPython in modules that are called so, and in the program. */
bool hawk_python_find_home(const struct hawk_target *target, struct hawk_python_home *ret);

enum { PYMALLOC_POOL_HEADER = 48 };

struct hawk_pymalloc {
	struct hawk_slab_heap heap; /**< incomplete: some arenas cannot be read */
	struct hawk_python_home home;
	struct hawk_claims arrays; /**< of arenas; blocks of another allocator */
};

#endif
