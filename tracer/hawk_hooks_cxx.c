/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Every C++ operator new and delete, by their mangled names, in C.
 *
 * Two promises. A failing new still calls the new handler and throws std::bad_alloc: it is passed
 * on to the C++ library's own operator, whose malloc is ours again. A program that replaces
 * operators keeps its meaning: the library's default new[] and nothrow forms call the program's
 * operator, so where a base operator is not ours, the forms built upon it are passed on as well.
 */
#include "hawk_hooks.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "hawk_loader.h"
#include "hawk_init.h"

#define NOTHROW   "RKSt9nothrow_t"
#define ALIGNMENT "St11align_val_t"

/** A reference to a std::nothrow_t. */
struct nothrow;

void *_Znwm(size_t size);
void *_Znam(size_t size);
void *_ZnwmRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnamRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnwmSt11align_val_t(size_t size, size_t alignment);
void *_ZnamSt11align_val_t(size_t size, size_t alignment);
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const struct nothrow *tag);
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const struct nothrow *tag);
void _ZdlPv(void *pointer);
void _ZdaPv(void *pointer);
void _ZdlPvm(void *pointer, size_t size);
void _ZdaPvm(void *pointer, size_t size);
void _ZdlPvRKSt9nothrow_t(void *pointer, const struct nothrow *tag);
void _ZdaPvRKSt9nothrow_t(void *pointer, const struct nothrow *tag);
void _ZdlPvSt11align_val_t(void *pointer, size_t alignment);
void _ZdaPvSt11align_val_t(void *pointer, size_t alignment);
void _ZdlPvmSt11align_val_t(void *pointer, size_t size, size_t alignment);
void _ZdaPvmSt11align_val_t(void *pointer, size_t size, size_t alignment);
void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *pointer, size_t alignment,
					 const struct nothrow *tag);
void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *pointer, size_t alignment,
					 const struct nothrow *tag);

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

static const struct {
	const char *name;
	void *ours;
} bases[] = {
	{"_Znwm", _Znwm},
	{"_Znam", _Znam},
	{"_Znwm" ALIGNMENT, _ZnwmSt11align_val_t},
	{"_Znam" ALIGNMENT, _ZnamSt11align_val_t},
	{"_ZdlPv", _ZdlPv},
	{"_ZdaPv", _ZdaPv},
	{"_ZdlPv" ALIGNMENT, _ZdlPvSt11align_val_t},
	{"_ZdaPv" ALIGNMENT, _ZdaPvSt11align_val_t},
};

/** Bases that somebody before us in the search order defines: the program. */
static unsigned replaced = UNRESOLVED;

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
 * The C++ library's own operator. It may be loaded with RTLD_LOCAL, as part of a plug-in of a C
 * program: then it is found by the name of the library. NULL if there is none.
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

/** Looked up at the first use of each call site: dlsym takes locks and is too slow for every call.
 */
#define LIBRARY_OPERATOR(name, type)                                                               \
	({                                                                                         \
		static type *found;                                                                \
		type *function_ = __atomic_load_n(&found, __ATOMIC_ACQUIRE);                       \
		if (!function_) {                                                                  \
			function_ = (type *)library_operator(name);                                \
			__atomic_store_n(&found, function_, __ATOMIC_RELEASE);                     \
		}                                                                                  \
		function_;                                                                         \
	})

#define LIBRARY_NEW(name, type, ...)                                                               \
	({                                                                                         \
		type *function = LIBRARY_OPERATOR(name, type);                                     \
		function ? function(__VA_ARGS__) : NULL;                                           \
	})

#define LIBRARY_DELETE(name, type, pointer, ...)                                                   \
	do {                                                                                       \
		type *function = LIBRARY_OPERATOR(name, type);                                     \
		if (function)                                                                      \
			function(pointer, ##__VA_ARGS__);                                          \
		else                                                                               \
			hawk_release(pointer);                                                     \
	} while (0)

typedef void *plain_new(size_t);
typedef void *nothrow_new(size_t, const struct nothrow *);
typedef void *aligned_new(size_t, size_t);
typedef void *aligned_nothrow_new(size_t, size_t, const struct nothrow *);
typedef void sized_delete(void *, size_t);
typedef void nothrow_delete(void *, const struct nothrow *);
typedef void plain_delete(void *);
typedef void sized_aligned_delete(void *, size_t, size_t);
typedef void aligned_nothrow_delete(void *, size_t, const struct nothrow *);

HAWK_EXPORT void *_Znwm(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *pointer;

	if (is_replaced(BASE_MALLOC))
		return LIBRARY_NEW("_Znwm", plain_new, size);
	pointer = hawk_allocate(&caller, HAWK_KIND_NEW, size);
	return pointer ? pointer : LIBRARY_NEW("_Znwm", plain_new, size);
}

HAWK_EXPORT void *_Znam(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *pointer;

	if (is_replaced(BASE_NEW))
		return LIBRARY_NEW("_Znam", plain_new, size);
	pointer = hawk_allocate(&caller, HAWK_KIND_NEW_ARRAY, size);
	return pointer ? pointer : LIBRARY_NEW("_Znam", plain_new, size);
}

HAWK_EXPORT void *_ZnwmRKSt9nothrow_t(size_t size, const struct nothrow *tag)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *pointer;

	if (is_replaced(BASE_NEW))
		return LIBRARY_NEW("_Znwm" NOTHROW, nothrow_new, size, tag);
	pointer = hawk_allocate(&caller, HAWK_KIND_NEW, size);
	return pointer ? pointer : LIBRARY_NEW("_Znwm" NOTHROW, nothrow_new, size, tag);
}

HAWK_EXPORT void *_ZnamRKSt9nothrow_t(size_t size, const struct nothrow *tag)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *pointer;

	if (is_replaced(BASE_NEW | BASE_NEW_ARRAY))
		return LIBRARY_NEW("_Znam" NOTHROW, nothrow_new, size, tag);
	pointer = hawk_allocate(&caller, HAWK_KIND_NEW_ARRAY, size);
	return pointer ? pointer : LIBRARY_NEW("_Znam" NOTHROW, nothrow_new, size, tag);
}

HAWK_EXPORT void *_ZnwmSt11align_val_t(size_t size, size_t alignment)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *pointer;

	if (is_replaced(BASE_MALLOC))
		return LIBRARY_NEW("_Znwm" ALIGNMENT, aligned_new, size, alignment);
	pointer = hawk_allocate_aligned(&caller, HAWK_KIND_NEW, HAWK_CALL_ALIGNED_ALLOC, alignment,
					size);
	return pointer ? pointer : LIBRARY_NEW("_Znwm" ALIGNMENT, aligned_new, size, alignment);
}

HAWK_EXPORT void *_ZnamSt11align_val_t(size_t size, size_t alignment)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *pointer;

	if (is_replaced(BASE_NEW_ALIGNED))
		return LIBRARY_NEW("_Znam" ALIGNMENT, aligned_new, size, alignment);
	pointer = hawk_allocate_aligned(&caller, HAWK_KIND_NEW_ARRAY, HAWK_CALL_ALIGNED_ALLOC,
					alignment, size);
	return pointer ? pointer : LIBRARY_NEW("_Znam" ALIGNMENT, aligned_new, size, alignment);
}

HAWK_EXPORT void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment,
						     const struct nothrow *tag)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *pointer;

	if (is_replaced(BASE_NEW_ALIGNED))
		return LIBRARY_NEW("_Znwm" ALIGNMENT NOTHROW, aligned_nothrow_new, size, alignment,
				   tag);
	pointer = hawk_allocate_aligned(&caller, HAWK_KIND_NEW, HAWK_CALL_ALIGNED_ALLOC, alignment,
					size);
	return pointer ? pointer
		       : LIBRARY_NEW("_Znwm" ALIGNMENT NOTHROW, aligned_nothrow_new, size,
				     alignment, tag);
}

HAWK_EXPORT void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment,
						     const struct nothrow *tag)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *pointer;

	if (is_replaced(BASE_NEW_ALIGNED | BASE_NEW_ARRAY_ALIGNED))
		return LIBRARY_NEW("_Znam" ALIGNMENT NOTHROW, aligned_nothrow_new, size, alignment,
				   tag);
	pointer = hawk_allocate_aligned(&caller, HAWK_KIND_NEW_ARRAY, HAWK_CALL_ALIGNED_ALLOC,
					alignment, size);
	return pointer ? pointer
		       : LIBRARY_NEW("_Znam" ALIGNMENT NOTHROW, aligned_nothrow_new, size,
				     alignment, tag);
}

HAWK_EXPORT void _ZdlPv(void *pointer)
{
	if (is_replaced(BASE_MALLOC))
		LIBRARY_DELETE("_ZdlPv", plain_delete, pointer);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdaPv(void *pointer)
{
	if (is_replaced(BASE_DELETE))
		LIBRARY_DELETE("_ZdaPv", plain_delete, pointer);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdlPvm(void *pointer, size_t size)
{
	if (is_replaced(BASE_DELETE))
		LIBRARY_DELETE("_ZdlPvm", sized_delete, pointer, size);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdaPvm(void *pointer, size_t size)
{
	if (is_replaced(BASE_DELETE | BASE_DELETE_ARRAY))
		LIBRARY_DELETE("_ZdaPvm", sized_delete, pointer, size);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdlPvRKSt9nothrow_t(void *pointer, const struct nothrow *tag)
{
	if (is_replaced(BASE_DELETE))
		LIBRARY_DELETE("_ZdlPv" NOTHROW, nothrow_delete, pointer, tag);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdaPvRKSt9nothrow_t(void *pointer, const struct nothrow *tag)
{
	if (is_replaced(BASE_DELETE | BASE_DELETE_ARRAY))
		LIBRARY_DELETE("_ZdaPv" NOTHROW, nothrow_delete, pointer, tag);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdlPvSt11align_val_t(void *pointer, size_t alignment)
{
	if (is_replaced(BASE_MALLOC))
		LIBRARY_DELETE("_ZdlPv" ALIGNMENT, sized_delete, pointer, alignment);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdaPvSt11align_val_t(void *pointer, size_t alignment)
{
	if (is_replaced(BASE_DELETE_ALIGNED))
		LIBRARY_DELETE("_ZdaPv" ALIGNMENT, sized_delete, pointer, alignment);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdlPvmSt11align_val_t(void *pointer, size_t size, size_t alignment)
{
	if (is_replaced(BASE_DELETE_ALIGNED))
		LIBRARY_DELETE("_ZdlPvm" ALIGNMENT, sized_aligned_delete, pointer, size, alignment);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdaPvmSt11align_val_t(void *pointer, size_t size, size_t alignment)
{
	if (is_replaced(BASE_DELETE_ALIGNED | BASE_DELETE_ARRAY_ALIGNED))
		LIBRARY_DELETE("_ZdaPvm" ALIGNMENT, sized_aligned_delete, pointer, size, alignment);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *pointer, size_t alignment,
						     const struct nothrow *tag)
{
	if (is_replaced(BASE_DELETE_ALIGNED))
		LIBRARY_DELETE("_ZdlPv" ALIGNMENT NOTHROW, aligned_nothrow_delete, pointer,
			       alignment, tag);
	else
		hawk_release(pointer);
}

HAWK_EXPORT void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *pointer, size_t alignment,
						     const struct nothrow *tag)
{
	if (is_replaced(BASE_DELETE_ALIGNED | BASE_DELETE_ARRAY_ALIGNED))
		LIBRARY_DELETE("_ZdaPv" ALIGNMENT NOTHROW, aligned_nothrow_delete, pointer,
			       alignment, tag);
	else
		hawk_release(pointer);
}
