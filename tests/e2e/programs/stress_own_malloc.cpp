/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A program (-DWRAPPER: a library preloaded before the tracer, see below) with its own malloc,
 * free, calloc and realloc, but not the rest: in terms of the C library's, counted. operator new
 * must go through them as it does without a tracer, and blocks of functions that are not replaced
 * must be good for its free().
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <vector>

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void __libc_free(void *pointer);

static unsigned long allocations, frees;

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	allocations++;
	return __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size)
{
	return __libc_realloc(pointer, size);
}

void free(void *pointer)
{
	frees++;
	__libc_free(pointer);
}
}

static void *volatile keep;

template <typename Make, typename Drop> static void count(const char *what, Make make, Drop drop)
{
	unsigned long allocations_before = allocations, frees_before = frees;

	keep = make();
	if (keep)
		memset(keep, 1, 64);
	drop(keep);
	printf("%s: %lu %lu\n", what, allocations - allocations_before, frees - frees_before);
}

struct alignas(64) Wide {
	char bytes[64];
};

int main()
{
	setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
	printf("start\n");
	count(
		"malloc", [] { return malloc(64); }, [](void *p) { free(p); });
	count(
		"aligned_alloc", [] { return aligned_alloc(64, 64); }, [](void *p) { free(p); });
	count(
		"memalign", [] { return memalign(64, 64); },
		[](void *p) { free(realloc(p, 500)); });
	count(
		"valloc", [] { return valloc(64); }, [](void *p) { free(p); });
	count(
		"reallocarray", [] { return reallocarray(nullptr, 8, 8); },
		[](void *p) { free(p); });
	count(
		"posix_memalign",
		[] {
			void *p = nullptr;

			return posix_memalign(&p, 64, 64) ? nullptr : p;
		},
		[](void *p) { free(p); });
	count(
		"strdup",
		[] {
			return strndup("01234567890123456789012345678901234567890123456789012345678"
				       "90123456789",
				       66);
		},
		[](void *p) { free(p); });
	count(
		"new", [] { return operator new(64); }, [](void *p) { operator delete(p); });
	count(
		"new[]", [] { return operator new[](64); }, [](void *p) { operator delete[](p); });
	count(
		"nothrow", [] { return operator new(64, std::nothrow); },
		[](void *p) { operator delete(p, 64ul); });
	count(
		"aligned new", [] { return operator new(64, std::align_val_t(64)); },
		[](void *p) { operator delete(p, std::align_val_t(64)); });
	count(
		"wide", [] { return static_cast<void *>(new Wide); },
		[](void *p) { delete static_cast<Wide *>(p); });
	return 0;
}
