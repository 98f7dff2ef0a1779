/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A library that hands out the functions that its own calls arrive at.
 */
#include <malloc.h>
#include <stdlib.h>

#include "past_preload.h"

#pragma weak _ZdlPv
#pragma weak _ZdlPvm
void _ZdlPv(void *pointer);
void _ZdlPvm(void *pointer, size_t size);
void fill_takers(struct takers *takers);

#ifdef OWN_FREE
void __libc_free(void *pointer);

void free(void *pointer)
{
	__libc_free(pointer);
}
#endif

void fill_takers(struct takers *takers)
{
	takers->malloc = malloc;
	takers->free = free;
	takers->realloc = realloc;
	takers->reallocarray = reallocarray;
	takers->malloc_usable_size = malloc_usable_size;
	takers->delete = _ZdlPv;
	takers->delete_sized = _ZdlPvm;
}
