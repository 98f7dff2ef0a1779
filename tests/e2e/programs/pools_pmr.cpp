/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A std::pmr::memory_resource over a monotonic one that stamps what it gives out: a list of 1,000
 * nodes in an arena, each a block.
 */
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory_resource>

#include "hawk_annotate.h"

class stamped : public std::pmr::memory_resource
{
      public:
	explicit stamped(std::pmr::memory_resource *upstream)
	    : upstream(upstream), header(hawk_pool_header_bytes())
	{
	}

      private:
	void *do_allocate(size_t bytes, size_t) override
	{
		char *base = static_cast<char *>(upstream->allocate(header + bytes, 16));

		if (header)
			hawk_block_begin(base + header, bytes);
		return base + header;
	}

	void do_deallocate(void *pointer, size_t bytes, size_t) override
	{
		if (header)
			hawk_block_end(pointer);
		upstream->deallocate(static_cast<char *>(pointer) - header, header + bytes, 16);
	}

	bool do_is_equal(const memory_resource &other) const noexcept override
	{
		return this == &other;
	}

	std::pmr::memory_resource *upstream;
	size_t header;
};

static std::pmr::monotonic_buffer_resource arena;
static stamped resource(&arena);
static std::pmr::list<long> numbers(&resource);

__attribute__((noinline)) void fill_list()
{
	for (long i = 0; i < 1500; i++)
		numbers.push_back(i);
	for (int i = 0; i < 500; i++)
		numbers.pop_front();
}

int main()
{
	fill_list();
	printf("%zu\n", numbers.size());
	fflush(stdout);
	abort();
}
