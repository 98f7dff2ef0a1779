/* SPDX-License-Identifier: Apache-2.0 */
/** @file A program with its own operator new and delete, on top of malloc: its choice is honoured,
 * and its blocks are malloc blocks. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

static long made, freed;

void *operator new(std::size_t size)
{
	void *block = std::malloc(size + 32);

	if (!block)
		throw std::bad_alloc();
	made++;
	std::memcpy(block, "own new", 8);
	return static_cast<char *>(block) + 32;
}

void operator delete(void *pointer) noexcept
{
	if (!pointer)
		return;
	char *block = static_cast<char *>(pointer) - 32;

	if (std::memcmp(block, "own new", 8))
		std::abort();
	freed++;
	std::free(block);
}

void operator delete(void *pointer, std::size_t) noexcept
{
	operator delete(pointer);
}

int main()
{
	long before = made - freed;
	{
		std::vector<std::string> words;

		for (int i = 0; i < 1000; i++)
			words.push_back(std::string(100, 'w'));
		delete[] new int[100];
	}
	bool ok = made - freed == before && made > 1000;
	std::puts(ok ? "all freed" : "some lost");
	return !ok;
}
