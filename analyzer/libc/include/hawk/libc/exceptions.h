/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the C++ library keeps for exceptions in case malloc() fails.
 */
#ifndef HAWK_ANALYZER_LIBC_EXCEPTIONS_H
#define HAWK_ANALYZER_LIBC_EXCEPTIONS_H

#include "hawk/target/target.h"

/** Returns the address of the block that libstdc++ allocates for it at start; 0 = none was found.
 * Reads the target. */
uint64_t hawk_exceptions_reserve(const struct hawk_target *target);

#endif
