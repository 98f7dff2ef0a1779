/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The allocator underneath: the next definition of each function after ours in the program's search
 * order. A small bootstrap heap serves requests during their lookup.
 */
#ifndef HAWK_TRACER_HOOKS_NEXT_H
#define HAWK_TRACER_HOOKS_NEXT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Which function of the next allocator makes an aligned block. */
enum hawk_aligned_call {
	HAWK_CALL_MEMALIGN,
	HAWK_CALL_ALIGNED_ALLOC,
	HAWK_CALL_POSIX_MEMALIGN,
	HAWK_CALL_VALLOC,
	HAWK_CALL_PVALLOC,
};

struct hawk_next {
	void *(*malloc)(size_t size);
	void (*free)(void *pointer);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *pointer, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	int (*posix_memalign)(void **pointer, size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	size_t (*malloc_usable_size)(void *pointer);
	int (*madvise)(void *address, size_t length, int advice);
	int (*sigaltstack)(const stack_t *stack, stack_t *before);
	/** Set only if the program's free() is not ours: it calls the program's realloc. */
	void *(*reallocarray)(void *pointer, size_t count, size_t size);
	uint32_t elsewhere; /**< bit of enum hawk_aligned_call: see hawk_next_goes_elsewhere() */
};

/** Filled by hawk_next_resolve(), constant afterwards. */
extern struct hawk_next hawk_next __attribute__((visibility("hidden")));

/** Looks everything up with dlsym(). Returns false if malloc or free is missing. */
bool hawk_next_resolve(void);

/**
 * Returns true if the program calls this function of ours but another free(): it defines some
 * functions of the family itself on top of the C library's. Such blocks must not have a header.
 */
static inline bool hawk_next_goes_elsewhere(enum hawk_aligned_call call)
{
	return hawk_next.elsewhere >> call & 1;
}

/** Returns zeroed, 16-byte aligned memory that is never freed; NULL once the bootstrap heap is
 * full. */
void *hawk_bootstrap_allocate(size_t bytes);

enum { HAWK_BOOTSTRAP_BYTES = 256 << 10 };

/** Start of the bootstrap heap; NULL until its first use. */
extern char *hawk_bootstrap __attribute__((visibility("hidden")));

static inline bool hawk_bootstrap_owns(const void *pointer)
{
	return (uintptr_t)pointer - (uintptr_t)hawk_bootstrap < HAWK_BOOTSTRAP_BYTES &&
	       hawk_bootstrap;
}

#endif
