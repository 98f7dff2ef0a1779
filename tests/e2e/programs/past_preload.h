/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The functions of a library that past_preload.c gives blocks to; NULL where it has none.
 */
#ifndef PAST_PRELOAD_H
#define PAST_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

struct takers {
	void *(*malloc)(size_t size); /**< the library's own */
	void (*free)(void *pointer);
	void *(*realloc)(void *pointer, size_t size);
	void *(*reallocarray)(void *pointer, size_t count, size_t size);
	size_t (*malloc_usable_size)(void *pointer);
	void (*delete)(void *pointer);
	void (*delete_sized)(void *pointer, size_t size);
};

#endif
