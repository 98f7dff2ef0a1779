/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Every C++ operator new and delete, by their mangled names, in C.
 *
 * Two promises. A failing new still calls the new handler and throws std::bad_alloc: the call goes
 * to the C++ library's own operator, whose malloc is ours again. A program's replacement operators
 * keep their meaning: the library's default new[] and nothrow forms call the program's operator, so
 * if a base operator is not ours, the forms built on it are passed on as well.
 */
#include "hooks.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "unwind/loader.h"
#include "init.h"

/** The base operators on which the C++ library builds the other forms. */
enum base {
	BASE_NEW = 1 << 0,
	BASE_NEW_ARRAY = 1 << 1,
	BASE_NEW_ALIGNED = 1 << 2,
	BASE_NEW_ARRAY_ALIGNED = 1 << 3,
	BASE_DELETE = 1 << 4,
	BASE_DELETE_ARRAY = 1 << 5,
	BASE_DELETE_ALIGNED = 1 << 6,
	BASE_DELETE_ARRAY_ALIGNED = 1 << 7,
	EVERY_BASE = (1 << 8) - 1,
	BASE_MALLOC = 1 << 8,
	UNRESOLVED = 1 << 9,
};

/** Base operators that the program, before us in the search order, replaces. */
static unsigned replaced = UNRESOLVED;

static __attribute__((noinline)) bool is_replaced_slowly(unsigned any_of)
{
	if (__atomic_load_n(&replaced, __ATOMIC_RELAXED) == UNRESOLVED) {
		if (hawk_init_once() == HAWK_PHASE_STARTING)
			return false;
		hawk_hooks_cxx_resolve();
	}
	return __atomic_load_n(&replaced, __ATOMIC_RELAXED) & any_of;
}

static inline bool is_replaced(unsigned any_of)
{
	unsigned now = __atomic_load_n(&replaced, __ATOMIC_RELAXED);

	return __builtin_expect(now & (any_of | UNRESOLVED), 0) && is_replaced_slowly(any_of);
}

/**
 * Returns the C++ library's own operator, or NULL. A C program's plug-in may load that library with
 * RTLD_LOCAL; then it is found by the library's name.
 */
static __attribute__((noinline)) void *library_operator(const char *name)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
	void *function = dlsym(RTLD_NEXT, name);

	for (unsigned i = 0; !function && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		if (!library)
			continue;
		function = dlsym(library, name);
		dlclose(library);
	}
	return function;
}

/** Gives the library's operator of this name, or NULL. Looked up at first use: dlsym takes locks
 * and is too slow for every call. */
#define LIBRARY_OPERATOR(name)                                                                     \
	({                                                                                         \
		static __typeof__(name) *found;                                                    \
		__typeof__(name) *function_ = __atomic_load_n(&found, __ATOMIC_ACQUIRE);           \
		if (!function_) {                                                                  \
			function_ = (__typeof__(name) *)library_operator(#name);                   \
			__atomic_store_n(&found, function_, __ATOMIC_RELEASE);                     \
		}                                                                                  \
		function_;                                                                         \
	})

/** Defines an operator new, served by `make` unless the program replaces one of `bases`. */
#define OPERATOR_NEW(name, bases, parameters, arguments, make)                                     \
	void *name parameters;                                                                     \
	HAWK_EXPORT void *name parameters                                                          \
	{                                                                                          \
		struct hawk_frame_state caller = HAWK_CALLER();                                    \
		void *pointer = is_replaced(bases) ? NULL : (make);                                \
		__typeof__(name) *function;                                                        \
                                                                                                   \
		if (pointer)                                                                       \
			return pointer;                                                            \
		function = LIBRARY_OPERATOR(name);                                                 \
		return function ? function arguments : NULL;                                       \
	}

/** Defines an operator delete. */
#define OPERATOR_DELETE(name, bases, parameters, arguments)                                        \
	void name parameters;                                                                      \
	HAWK_EXPORT void name parameters                                                           \
	{                                                                                          \
		__typeof__(name) *function = is_replaced(bases) ? LIBRARY_OPERATOR(name) : NULL;   \
                                                                                                   \
		if (function)                                                                      \
			function arguments;                                                        \
		else                                                                               \
			hawk_release(pointer);                                                     \
	}

#define PLAIN(kind)   hawk_allocate(&caller, kind, size)
#define ALIGNED(kind) hawk_allocate_aligned(&caller, kind, HAWK_CALL_ALIGNED_ALLOC, alignment, size)

/** A reference to a std::nothrow_t. */
struct nothrow;

OPERATOR_NEW(_Znwm, BASE_MALLOC, (size_t size), (size), PLAIN(HAWK_KIND_NEW))
OPERATOR_NEW(_Znam, BASE_NEW, (size_t size), (size), PLAIN(HAWK_KIND_NEW_ARRAY))
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, BASE_NEW, (size_t size, const struct nothrow *tag), (size, tag),
	     PLAIN(HAWK_KIND_NEW))
OPERATOR_NEW(_ZnamRKSt9nothrow_t, BASE_NEW | BASE_NEW_ARRAY,
	     (size_t size, const struct nothrow *tag), (size, tag), PLAIN(HAWK_KIND_NEW_ARRAY))
OPERATOR_NEW(_ZnwmSt11align_val_t, BASE_MALLOC, (size_t size, size_t alignment), (size, alignment),
	     ALIGNED(HAWK_KIND_NEW))
OPERATOR_NEW(_ZnamSt11align_val_t, BASE_NEW_ALIGNED, (size_t size, size_t alignment),
	     (size, alignment), ALIGNED(HAWK_KIND_NEW_ARRAY))
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, BASE_NEW_ALIGNED,
	     (size_t size, size_t alignment, const struct nothrow *tag), (size, alignment, tag),
	     ALIGNED(HAWK_KIND_NEW))
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, BASE_NEW_ALIGNED | BASE_NEW_ARRAY_ALIGNED,
	     (size_t size, size_t alignment, const struct nothrow *tag), (size, alignment, tag),
	     ALIGNED(HAWK_KIND_NEW_ARRAY))

OPERATOR_DELETE(_ZdlPv, BASE_MALLOC, (void *pointer), (pointer))
OPERATOR_DELETE(_ZdaPv, BASE_DELETE, (void *pointer), (pointer))
OPERATOR_DELETE(_ZdlPvm, BASE_DELETE, (void *pointer, size_t size), (pointer, size))
OPERATOR_DELETE(_ZdaPvm, BASE_DELETE | BASE_DELETE_ARRAY, (void *pointer, size_t size),
		(pointer, size))
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, BASE_DELETE, (void *pointer, const struct nothrow *tag),
		(pointer, tag))
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, BASE_DELETE | BASE_DELETE_ARRAY,
		(void *pointer, const struct nothrow *tag), (pointer, tag))
OPERATOR_DELETE(_ZdlPvSt11align_val_t, BASE_MALLOC, (void *pointer, size_t alignment),
		(pointer, alignment))
OPERATOR_DELETE(_ZdaPvSt11align_val_t, BASE_DELETE_ALIGNED, (void *pointer, size_t alignment),
		(pointer, alignment))
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, BASE_DELETE_ALIGNED,
		(void *pointer, size_t size, size_t alignment), (pointer, size, alignment))
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, BASE_DELETE_ALIGNED | BASE_DELETE_ARRAY_ALIGNED,
		(void *pointer, size_t size, size_t alignment), (pointer, size, alignment))
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, BASE_DELETE_ALIGNED,
		(void *pointer, size_t alignment, const struct nothrow *tag),
		(pointer, alignment, tag))
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t,
		BASE_DELETE_ALIGNED | BASE_DELETE_ARRAY_ALIGNED,
		(void *pointer, size_t alignment, const struct nothrow *tag),
		(pointer, alignment, tag))

static const struct {
	const char *name;
	void *ours;
} bases[] = {
	{"_Znwm", _Znwm},
	{"_Znam", _Znam},
	{"_ZnwmSt11align_val_t", _ZnwmSt11align_val_t},
	{"_ZnamSt11align_val_t", _ZnamSt11align_val_t},
	{"_ZdlPv", _ZdlPv},
	{"_ZdaPv", _ZdaPv},
	{"_ZdlPvSt11align_val_t", _ZdlPvSt11align_val_t},
	{"_ZdaPvSt11align_val_t", _ZdaPvSt11align_val_t},
};

void hawk_hooks_cxx_resolve(void)
{
	unsigned found = 0;

	for (unsigned i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (!hawk_loader_is_first(bases[i].name, bases[i].ours))
			found |= 1u << i;
	/* The C++ library's operators call the program's malloc. */
	if (!hawk_loader_is_first("malloc", (void *)malloc))
		found = EVERY_BASE | BASE_MALLOC;
	__atomic_store_n(&replaced, found, __ATOMIC_RELAXED);
}
