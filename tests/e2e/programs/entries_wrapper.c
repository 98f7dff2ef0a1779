/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A library that stands between the program and its allocator and only passes on.
 */
#include <dlfcn.h>
#include <stdlib.h>

#define NEXT(name)                                                                                 \
	({                                                                                         \
		static __typeof__(&name) next_;                                                    \
		if (!next_)                                                                        \
			*(void **)&next_ = dlsym(RTLD_NEXT, #name);                                \
		next_;                                                                             \
	})

void *malloc(size_t size)
{
	return NEXT(malloc)(size);
}

void free(void *pointer)
{
	NEXT(free)(pointer);
}

void *realloc(void *pointer, size_t size)
{
	return NEXT(realloc)(pointer, size);
}
