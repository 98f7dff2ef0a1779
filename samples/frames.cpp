/* SPDX-License-Identifier: Apache-2.0 */
/** @file Ways for a stack to change behind one's back: deep recursion, longjmp, alloca, exceptions
 * through many frames; each is followed by an allocation. */
#include <alloca.h>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

static jmp_buf point;
static void *volatile kept[100];
static int count;

__attribute__((noinline)) static void keep(std::size_t size)
{
	kept[count++] = std::malloc(size);
}

__attribute__((noinline)) static int recurse(int depth)
{
	if (depth == 0) {
		keep(111);
		return 0;
	}
	int result = recurse(depth - 1) + 1;

	__asm__ volatile("" : "+r"(result)); // no tail call, no loop
	return result;
}

__attribute__((noinline)) static void jump(int depth)
{
	keep(222);
	if (depth == 0 && count > 0)
		std::longjmp(point, 1);
	if (depth > 0)
		jump(depth - 1);
	__asm__ volatile("" : "+r"(depth)); // no tail call, no loop
}

__attribute__((noinline)) static void throw_from(int depth)
{
	keep(333);
	if (depth == 0 && count > 0)
		throw std::runtime_error("thrown");
	if (depth > 0)
		throw_from(depth - 1);
	__asm__ volatile("" : "+r"(depth)); // no tail call, no loop
}

__attribute__((noinline)) static void use_alloca(std::size_t size)
{
	char *space = static_cast<char *>(alloca(size));

	std::memset(space, 1, size);
	__asm__ volatile("" : : "r"(space) : "memory");
	keep(444);
}

int main(int argc, char **argv)
{
	int depth = recurse(10000);

	if (!setjmp(point))
		jump(10);
	keep(555);
	try {
		throw_from(10);
	} catch (const std::runtime_error &error) {
		std::printf("%s\n", error.what());
	}
	for (std::size_t size = 16; size < 16 * 1024; size *= 2)
		use_alloca(size);
	std::printf("depth %d, %d blocks\n", depth, count);
	std::fflush(stdout);
	if (argc > 1 && !std::strcmp(argv[1], "abort"))
		std::abort();
	return 0;
}
