/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The standard functions, which stand at the head of each family's lists: an allocator's own ones
 * have to get along with them. Each family has copies of its own; included only by them.
 */
#ifndef ENTRIES_STANDARD_H
#define ENTRIES_STANDARD_H

#include <stdlib.h>

#include "entries.h"

ENTRIES_FUNCTION(void *, memalign, size_t alignment, size_t size);
ENTRIES_FUNCTION(void *, aligned_alloc, size_t alignment, size_t size);
ENTRIES_FUNCTION(void, free_sized, void *pointer, size_t size);

ENTRIES_MAKER(malloc, CALL(malloc)(size))
ENTRIES_MAKER(calloc, CALL(calloc)(1, size))
ENTRIES_MAKER(memalign, CALL(memalign)(alignment, size))
ENTRIES_MAKER(aligned_alloc, CALL(aligned_alloc)(alignment, size))
ENTRIES_RESIZER(realloc, CALL(realloc)(pointer, size))
ENTRIES_FREER(free, CALL(free)(pointer))
ENTRIES_FREER(free_sized, CALL(free_sized)(pointer, size))

#define STANDARD_MAKERS                                                                            \
	MAKER(malloc, false, false), MAKER(calloc, false, true), MAKER(memalign, true, false),     \
		MAKER(aligned_alloc, true, false)
#define STANDARD_RESIZERS RESIZER(realloc, false, false)
#define STANDARD_FREERS   FREER(free), FREER(free_sized)

#endif
