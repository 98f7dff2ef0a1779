/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes the functions and the list `functions` of a family from ENTRIES_LIST, a file with a line
 * for each entry point: its name, its parameters, and what it promises. Included once by each.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "entries.h"

/** A weak function of the allocator that is not in a list. */
#define ENTRIES_FUNCTION(type, name, ...) extern type name(__VA_ARGS__) __attribute__((weak))

#ifdef ENTRIES_DLSYM
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

/* Parameters, and what is passed. */
#define SIZE            (size_t size), (size)
#define SIZE_ALIGN      (size_t size, size_t alignment), (size, alignment)
#define ALIGN_SIZE      (size_t alignment, size_t size), (alignment, size)
#define SIZE_ALIGN_AT   (size_t size, size_t alignment, size_t offset), (size, alignment, 0)
#define ONE_SIZE        (size_t count, size_t size), (1, size)
#define ONE_SIZE_ALIGN  (size_t count, size_t size, size_t alignment), (1, size, alignment)
#define SIZE_TAG        (size_t size, const void *tag), (size, NULL)
#define SIZE_ALIGN_TAG  (size_t size, size_t alignment, const void *tag), (size, alignment, NULL)
#define HEAP_SIZE       (void *own, size_t size), (heap(), size)
#define HEAP_SIZE_ALIGN (void *own, size_t size, size_t alignment), (heap(), size, alignment)
#define HEAP_SIZE_ALIGN_AT                                                                         \
	(void *own, size_t size, size_t alignment, size_t offset), (heap(), size, alignment, 0)
#define HEAP_ONE_SIZE (void *own, size_t count, size_t size), (heap(), 1, size)
#define HEAP_ONE_SIZE_ALIGN                                                                        \
	(void *own, size_t count, size_t size, size_t alignment), (heap(), 1, size, alignment)
#define OLD            (void *pointer), (pointer)
#define OLD_TAG        (void *pointer, const void *tag), (pointer, NULL)
#define OLD_SIZE       (void *pointer, size_t size), (pointer, size)
#define OLD_ONE_SIZE   (void *pointer, size_t count, size_t size), (pointer, 1, size)
#define OLD_SIZE_ALIGN (void *pointer, size_t size, size_t alignment), (pointer, size, alignment)
#define OLD_SIZE_ALIGN_AT                                                                          \
	(void *pointer, size_t size, size_t alignment, size_t offset), (pointer, size, alignment, 0)
#define OLD_ONE_SIZE_ALIGN                                                                         \
	(void *pointer, size_t count, size_t size, size_t alignment), (pointer, 1, size, alignment)
#define HEAP_OLD_SIZE (void *own, void *pointer, size_t size), (heap(), pointer, size)
#define HEAP_OLD_ONE_SIZE                                                                          \
	(void *own, void *pointer, size_t count, size_t size), (heap(), pointer, 1, size)
#define HEAP_OLD_SIZE_ALIGN                                                                        \
	(void *own, void *pointer, size_t size, size_t alignment),                                 \
		(heap(), pointer, size, alignment)
#define HEAP_OLD_SIZE_ALIGN_AT                                                                     \
	(void *own, void *pointer, size_t size, size_t alignment, size_t offset),                  \
		(heap(), pointer, size, alignment, 0)
#define HEAP_OLD_ONE_SIZE_ALIGN                                                                    \
	(void *own, void *pointer, size_t count, size_t size, size_t alignment),                   \
		(heap(), pointer, 1, size, alignment)

/* First the functions: MAKER_AS has a name of its own, KNOWN is declared by a header, and what
 * calls a ROW stands in the family's file. */
#define MAKER(name, shape, flags)            MAKER_WEAK(name, name, shape)
#define MAKER_AS(name, symbol, shape, flags) MAKER_WEAK(name, symbol, shape)
#define MAKER_WEAK(name, symbol, parameters, arguments)                                            \
	extern void *symbol parameters __attribute__((weak));                                      \
	MAKER_CALL(name, symbol, arguments)
#define MAKER_KNOWN(name, arguments, flags) MAKER_CALL(name, name, arguments)
#define MAKER_CALL(name, symbol, arguments) MAKER_CALLS(name, CALL(symbol) arguments)
#define MAKER_CALLS(name, call)                                                                    \
	static __attribute__((noinline)) void *make_##name(size_t size, size_t alignment)          \
	{                                                                                          \
		(void)alignment;                                                                   \
		return ENTRIES_RESULT(call);                                                       \
	}
#define MAKER_ROW(name, symbol, flags)
#define RESIZER(name, shape, flags)            RESIZER_WEAK(name, name, shape)
#define RESIZER_AS(name, symbol, shape, flags) RESIZER_WEAK(name, symbol, shape)
#define RESIZER_WEAK(name, symbol, parameters, arguments)                                          \
	extern void *symbol parameters __attribute__((weak));                                      \
	RESIZER_CALL(name, symbol, arguments)
#define RESIZER_KNOWN(name, arguments, flags) RESIZER_CALL(name, name, arguments)
#define RESIZER_CALL(name, symbol, arguments)                                                      \
	static __attribute__((noinline)) void *resize_##name(void *pointer, size_t size,           \
							     size_t alignment)                     \
	{                                                                                          \
		(void)alignment;                                                                   \
		return ENTRIES_RESULT(CALL(symbol) arguments);                                     \
	}
#define RESIZER_ROW(name, symbol, flags)
#define FREER(name, shape)            FREER_WEAK(name, name, shape)
#define FREER_AS(name, symbol, shape) FREER_WEAK(name, symbol, shape)
#define FREER_WEAK(name, symbol, parameters, arguments)                                            \
	extern void symbol parameters __attribute__((weak));                                       \
	FREER_CALL(name, symbol, arguments)
#define FREER_KNOWN(name, arguments) FREER_CALL(name, name, arguments)
#define FREER_CALL(name, symbol, arguments)                                                        \
	static __attribute__((noinline)) void free_##name(void *pointer, size_t size)              \
	{                                                                                          \
		(void)size;                                                                        \
		CALL(symbol) arguments;                                                            \
	}
#define QUERY(name, shape) QUERY_WEAK(name, shape)
#define QUERY_WEAK(name, parameters, arguments)                                                    \
	extern size_t name parameters __attribute__((weak));                                       \
	static size_t query_##name(void *pointer)                                                  \
	{                                                                                          \
		return CALL(name) arguments;                                                       \
	}
#include "entries_standard.def"
#include ENTRIES_LIST
#undef MAKER
#undef MAKER_AS
#undef MAKER_KNOWN
#undef MAKER_ROW
#undef RESIZER
#undef RESIZER_AS
#undef RESIZER_KNOWN
#undef RESIZER_ROW
#undef FREER
#undef FREER_AS
#undef FREER_KNOWN
#undef QUERY

/* Then the list. */
#define ROW(kind, verb, name, symbol, flags)                                                       \
	{kind, #verb "_" #name, {.verb = verb##_##name}, (void *)symbol, #symbol, flags},
#define MAKER_ROW(name, symbol, flags)         ROW(ENTRIES_MAKE, make, name, symbol, flags)
#define MAKER(name, shape, flags)              MAKER_ROW(name, name, flags)
#define MAKER_AS(name, symbol, shape, flags)   MAKER_ROW(name, symbol, flags)
#define MAKER_KNOWN(name, arguments, flags)    MAKER_ROW(name, name, flags)
#define RESIZER_ROW(name, symbol, flags)       ROW(ENTRIES_RESIZE, resize, name, symbol, flags)
#define RESIZER(name, shape, flags)            RESIZER_ROW(name, name, flags)
#define RESIZER_AS(name, symbol, shape, flags) RESIZER_ROW(name, symbol, flags)
#define RESIZER_KNOWN(name, arguments, flags)  RESIZER_ROW(name, name, flags)
#define FREER(name, shape)                     ROW(ENTRIES_FREE, free, name, name, 0)
#define FREER_AS(name, symbol, shape)          ROW(ENTRIES_FREE, free, name, symbol, 0)
#define FREER_KNOWN(name, arguments)           ROW(ENTRIES_FREE, free, name, name, 0)
#define QUERY(name, shape)                     ROW(ENTRIES_QUERY, query, name, name, 0)
