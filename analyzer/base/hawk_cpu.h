/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the processor can do beyond x86-64. The innermost loops exist twice: for every processor,
 * and in files named *_avx512.c, which are compiled for x86-64-v4 and give the same results.
 */
#ifndef HAWK_CPU_H
#define HAWK_CPU_H

#include <stdbool.h>

/** Whether functions of *_avx512.c may be called. */
bool hawk_cpu_has_avx512(void);

#endif
