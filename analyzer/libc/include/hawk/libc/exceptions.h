/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the C++ library keeps for exceptions in case malloc() fails.
 */
#ifndef HAWK_ANALYZER_LIBC_EXCEPTIONS_H
#define HAWK_ANALYZER_LIBC_EXCEPTIONS_H

#include "hawk/target/target.h"

enum { HAWK_RESERVE_BYTES = 24, HAWK_RESERVE_ENTRY_BYTES = 8 };

/** Addresses of what it was found by. */
struct hawk_reserve {
	uint64_t variables; /**< HAWK_RESERVE_BYTES of the library's */
	uint64_t entry;     /**< HAWK_RESERVE_ENTRY_BYTES in the block */
	uint64_t block;     /**< the block that libstdc++ allocates at start; 0 = none was found */
};

/** Finds it. Reads the target. */
void hawk_reserve_find(const struct hawk_target *target, struct hawk_reserve *ret);

#endif
