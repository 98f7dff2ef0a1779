// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Linked at a fixed address, it takes the addresses of allocation functions: the loader then gives
 * its PLT entries as their addresses. Prints address and size of each block that it makes, and
 * dies.
 */
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>

struct alignas(64) Line {
	char bytes[640];
};

static void (*volatile release)(void *);
static void *(*volatile allocate)(size_t);
static void *(*volatile resize)(void *, size_t);
static void *(*volatile make)(size_t);

static void tell(const void *block, unsigned long size)
{
	printf("%#lx %lu\n", reinterpret_cast<unsigned long>(block), size);
}

int main()
{
	void *block = nullptr;

	release = free;
	allocate = malloc;
	resize = realloc;
	make = operator new;
	release(allocate(1000));
	tell(aligned_alloc(64, 640), 640);
	tell(memalign(32, 320), 320);
	if (!posix_memalign(&block, 64, 6400))
		tell(block, 6400);
	tell(valloc(111), 111);
	tell(resize(allocate(100), 200), 200);
	tell(reallocarray(allocate(10), 10, 30), 300);
	tell(make(33), 33);
	tell(new int[7], 28);
	tell(new (std::nothrow) char[77], 77);
	tell(new Line, 640);
	tell(new Line[3], 1920);
	fflush(stdout);
	abort();
}
