/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A plug-in of stress_random.c, compiled twice with other names of its functions and other frames:
 * -DINNER=stress_red_inner -DPADDING=0.
 */
#include <stdlib.h>

void *stress_make(size_t size);

static __attribute__((noinline)) void *INNER(size_t size)
{
	char padding[64 + PADDING];
	void *pointer;

	__asm__ volatile("" : : "r"(padding) : "memory");
	pointer = malloc(size);
	__asm__ volatile("" : "+r"(pointer));
	return pointer;
}

void *stress_make(size_t size)
{
	void *pointer = INNER(size);

	__asm__ volatile("" : "+r"(pointer));
	return pointer;
}
