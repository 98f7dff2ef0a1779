/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The entry points of an allocator as lists of functions that make, resize, free and measure
 * blocks. Each one calls the allocator itself, so that its name is the innermost frame.
 */
#ifndef ENTRIES_H
#define ENTRIES_H

#include <stdbool.h>
#include <stddef.h>

struct entries_maker {
	const char *function;
	void *(*call)(size_t size, size_t alignment);
	void *there; /**< NULL: this allocator has no such function */
	const char *symbol;
	bool aligned; /**< heeds the alignment */
	bool zero;
};

struct entries_resizer {
	const char *function;
	void *(*call)(void *pointer, size_t size, size_t alignment);
	void *there; /**< NULL: this allocator has no such function */
	const char *symbol;
	bool aligned;
	bool in_place; /**< NULL says: not possible */
};

struct entries_freer {
	const char *name;
	void (*call)(void *pointer, size_t size);
	void *there; /**< NULL: this allocator has no such function */
	const char *symbol;
};

struct entries_query {
	const char *name;
	size_t (*call)(void *pointer);
	void *there; /**< NULL: this allocator has no such function */
	const char *symbol;
};

struct entries_family {
	const char *name;
	struct entries_maker *makers;
	unsigned maker_count;
	struct entries_resizer *resizers;
	unsigned resizer_count;
	struct entries_freer *freers;
	unsigned freer_count;
	struct entries_query *queries; /**< ends with a name of NULL */
	void (*at_thread_end)(void);
	/** What is special. Returns the name of the function that is wrong, or NULL. */
	const char *(*check)(void);
};

extern const struct entries_family entries_jemalloc;
extern const struct entries_family entries_tcmalloc;
extern const struct entries_family entries_mimalloc;

/* A weak function of the allocator, and how it is called. */

#define ENTRIES_FUNCTION(type, name, ...) extern type name(__VA_ARGS__) __attribute__((weak))

#ifdef ENTRIES_DLSYM
#include <dlfcn.h>
#define CALL(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))
#else
#define CALL(name) name
#endif

/** No tail call: the function's frame has to be there. */
#define ENTRIES_RESULT(call)                                                                       \
	({                                                                                         \
		void *result_ = (call);                                                            \
		__asm__ volatile("" : "+r"(result_));                                              \
		result_;                                                                           \
	})

#define ENTRIES_MAKER(name, call)                                                                  \
	static __attribute__((noinline)) void *make_##name(size_t size, size_t alignment)          \
	{                                                                                          \
		(void)alignment;                                                                   \
		return ENTRIES_RESULT(call);                                                       \
	}

#define ENTRIES_RESIZER(name, call)                                                                \
	static __attribute__((noinline)) void *resize_##name(void *pointer, size_t size,           \
							     size_t alignment)                     \
	{                                                                                          \
		(void)alignment;                                                                   \
		return ENTRIES_RESULT(call);                                                       \
	}

#define ENTRIES_FREER(name, call)                                                                  \
	static __attribute__((noinline)) void free_##name(void *pointer, size_t size)              \
	{                                                                                          \
		(void)size;                                                                        \
		call;                                                                              \
	}

#define ENTRIES_QUERY(name, call)                                                                  \
	static size_t query_##name(void *pointer)                                                  \
	{                                                                                          \
		return call;                                                                       \
	}

#define TEXT(symbol) #symbol
#define NAME(name)   TEXT(name) /**< of what stands for it */

#define MAKER(name, aligned, zero)                                                                 \
	{                                                                                          \
		"make_" #name, make_##name, (void *)name, NAME(name), aligned, zero                \
	}
#define RESIZER(name, aligned, in_place)                                                           \
	{                                                                                          \
		"resize_" #name, resize_##name, (void *)name, NAME(name), aligned, in_place        \
	}
#define FREER(name)                                                                                \
	{                                                                                          \
#name, free_##name, (void *)name, NAME(name)                                       \
	}
#define QUERY(name)                                                                                \
	{                                                                                          \
#name, query_##name, (void *)name, NAME(name)                                      \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** The lists of a family, which its file calls by these names. */
#define FAMILY_LISTS                                                                               \
	.makers = makers, .maker_count = COUNT(makers), .resizers = resizers,                      \
	.resizer_count = COUNT(resizers), .freers = freers, .freer_count = COUNT(freers),          \
	.queries = queries

#endif
