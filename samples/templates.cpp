/* SPDX-License-Identifier: Apache-2.0 */
/** @file Templates, members of templates, lambdas and namespaces on the way to an allocation: names
 * that only demangle well with care. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace pool
{

template <typename T, int Count> struct Block {
	T values[Count];
};

template <typename T> class Store
{
      public:
	template <int Count> __attribute__((noinline)) void add()
	{
		auto make = [] { return static_cast<void *>(new Block<T, Count>()); };

		kept_.push_back(make());
	}

	std::size_t size() const
	{
		return kept_.size();
	}

      private:
	std::vector<void *> kept_;
};

} // namespace pool

template <typename Visitor> __attribute__((noinline)) static void visit(Visitor &&visitor)
{
	for (int i = 0; i < 20; i++)
		visitor(i);
}

int main(int argc, char **argv)
{
	pool::Store<std::pair<int, double>> store;

	visit([&store](int i) {
		if (i % 2)
			store.add<3>();
		else
			store.add<7>();
	});
	std::printf("%zu blocks\n", store.size());
	std::fflush(stdout);
	if (argc > 1 && !std::strcmp(argv[1], "abort"))
		std::abort();
	return 0;
}
