// SPDX-License-Identifier: Apache-2.0
// Templates, anonymous namespaces, lambdas and chains of inlined calls for the line and name tests.
// With LIBRARY also those of the C++ library, which take a compiler ten times as long.
#include <cstdio>
#include <cstdlib>
#ifdef LIBRARY
#include <algorithm>
#include <string>
#include <vector>
#endif

namespace deep
{
template <class T> struct Box {
	T value;
	__attribute__((noinline)) T get(int count) const
	{
#ifdef LIBRARY
		std::vector<T> all;
		for (int i = 0; i < count; i++)
			all.push_back(value);
		std::sort(all.begin(), all.end());
		return all[all.size() / 2];
#else
		return value + count;
#endif
	}
	static inline int scale(int by)
	{
		return by * rand();
	}
};

namespace
{
struct Hidden {
	__attribute__((noinline)) int twice(int a)
	{
		auto add = [&](int b) { return b + Box<int>::scale(a); };
		return add(a) + add(3);
	}
};
__attribute__((noinline)) int hidden(int a)
{
	return Hidden().twice(a) + Box<int>::scale(a + 1);
}
} // namespace

#ifdef LIBRARY
__attribute__((noinline)) std::string join(int count)
{
	std::string all;
	for (int i = 0; i < count; i++)
		all += std::to_string(i) + ",";
	return all;
}
#endif
int counter = 4;
} // namespace deep

extern "C" __attribute__((noinline)) int plain(int a)
{
	return deep::hidden(a) + 1;
}

int main(int argc, char **argv)
{
	deep::Box<int> box{argc};

	(void)argv;
	deep::counter += argc;
	std::printf("%d\n", box.get(10) + plain(argc));
#ifdef LIBRARY
	std::puts(deep::join(deep::counter).c_str());
#endif
	return 0;
}
