/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A library that stands between the program and its allocator and puts a header of its own before
 * each block. Its calloc(), realloc() and posix_memalign() call malloc() and free(), which are its
 * own if it comes first; a block without the header ends the program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EARLY_BYTES = 1 << 16 };

struct header {
	uint64_t magic;
	uint64_t size;
	void *base;
	uint64_t unused;
};

static const uint64_t magic = 0x1122334455667788;

/** For what dlsym() asks of us. */
static _Alignas(16) char early[EARLY_BYTES];
static size_t early_used;
static __thread bool looking;

#define NEXT(name)                                                                                 \
	({                                                                                         \
		static __typeof__(&name) next_;                                                    \
		looking = true;                                                                    \
		if (!next_)                                                                        \
			*(void **)&next_ = dlsym(RTLD_NEXT, #name);                                \
		looking = false;                                                                   \
		next_;                                                                             \
	})

static struct header *header_of(void *pointer)
{
	struct header *header = (struct header *)pointer - 1;
	static const char text[] = "header_wrapper: not a block of mine\n";

	if (header->magic == magic)
		return header;
	if (write(2, text, sizeof(text) - 1) < 0)
		_exit(4);
	_exit(3);
}

static void *finish(char *base, size_t alignment, size_t size)
{
	uintptr_t at = ((uintptr_t)base + sizeof(struct header) + alignment - 1) & -alignment;

	if (!base)
		return NULL;
	*((struct header *)at - 1) = (struct header){.magic = magic, .size = size, .base = base};
	return (void *)at;
}

void *malloc(size_t size)
{
	char *base;

	if (looking) {
		base = early + __atomic_fetch_add(&early_used, (size + 79) & -(size_t)16, 0);
		return finish(base, 16, size);
	}
	base = NEXT(malloc)(size + 2 * sizeof(struct header));
	return finish(base, 16, size);
}

void free(void *pointer)
{
	struct header *header = pointer ? header_of(pointer) : NULL;
	char *base = header ? header->base : NULL;

	if (!base || (base >= early && base < early + sizeof(early)))
		return;
	header->magic = 0;
	NEXT(free)(base);
}

void *calloc(size_t count, size_t size)
{
	void *pointer = malloc(count * size);

	return pointer ? memset(pointer, 0, count * size) : NULL;
}

void *realloc(void *pointer, size_t size)
{
	size_t old = pointer ? header_of(pointer)->size : 0;
	void *copy = malloc(size);

	if (!copy)
		return NULL;
	if (pointer)
		memcpy(copy, pointer, old < size ? old : size);
	free(pointer);
	return copy;
}

int posix_memalign(void **pointer, size_t alignment, size_t size)
{
	char *base = NEXT(malloc)(size + 2 * sizeof(struct header) + alignment);

	*pointer = finish(base, alignment < 16 ? 16 : alignment, size);
	return *pointer ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *pointer)
{
	return pointer ? header_of(pointer)->size : 0;
}
