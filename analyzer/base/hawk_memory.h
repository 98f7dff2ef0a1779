/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How much memory the machine has left.
 */
#ifndef HAWK_MEMORY_H
#define HAWK_MEMORY_H

#include <stdint.h>

/** Bytes that the kernel calls available; UINT64_MAX = not known. */
uint64_t hawk_memory_available(void);

#endif
